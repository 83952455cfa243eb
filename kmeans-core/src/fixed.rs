//! How narrow an integer can carry the exact sums of given data.
//!
//! Every finite value is an integer multiple of a power of two. Over a data set, let 2^low be a power that divides all of
//! them and 2^high a power above all of them in magnitude. Then each value is an integer below 2^(high − low) in units
//! of 2^low, and the sum of n of them needs high − low + ⌈log₂ n⌉ bits and a sign. Pixels, `f16`, and `f32` data drawn
//! from a grid fit 64 bits; most other `f32` data fit 128; anything else takes as many 32-bit limbs as it needs.

use crate::scalar::{decode, power_of_two};

/// The range of exponents of a set of numbers: all are multiples of 2^`low` and below 2^`high` in magnitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExponentRange {
    /// Exponent of the lowest bit that is set in any of them.
    pub low: i32,
    /// One more than the exponent of the highest bit that is set in any of them.
    pub high: i32,
}

impl ExponentRange {
    /// The range of no numbers, or of zeros only.
    pub const ZERO: Self = Self { low: i32::MAX, high: i32::MIN };

    /// The range of one finite value.
    #[inline]
    pub fn of(value: f64) -> Self {
        let (significand, exponent) = decode(value);
        if significand == 0 {
            return Self::ZERO;
        }
        Self {
            low: exponent + significand.trailing_zeros() as i32,
            high: exponent + 64 - significand.unsigned_abs().leading_zeros() as i32,
        }
    }

    /// Whether there was no number but zero.
    pub fn is_zero(self) -> bool {
        self.low > self.high
    }

    /// Bits from the lowest to the highest, 0 for no numbers but zero.
    #[inline]
    pub fn span(self) -> i32 {
        if self.is_zero() { 0 } else { self.high - self.low }
    }

    /// The range that covers both.
    #[inline]
    pub fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The range of all products of a number here with a number there.
    pub fn product(self, other: Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::ZERO;
        }
        Self { low: self.low + other.low, high: self.high + other.high }
    }
}

/// The integer that carries a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One 64-bit integer.
    I64,
    /// One 128-bit integer.
    I128,
    /// This many 32-bit limbs, each in an `i64` ([`crate::exact::accumulate`]).
    Limbs(usize),
}

/// A fixed-point format: integers of some width in units of 2^`exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPoint {
    /// The unit is 2^`exponent`.
    pub exponent: i32,
    /// The integer's width.
    pub width: Width,
}

impl FixedPoint {
    /// The narrowest format in which every sum of up to `terms` numbers of `range` is exact.
    pub fn for_sums(range: ExponentRange, terms: u64) -> Self {
        if range.is_zero() {
            return Self { exponent: 0, width: Width::I64 };
        }
        let bits = range.span() + ceil_log2(terms);
        let width = match bits {
            // The conversion multiplies by 2^−low in f64, so that factor must be a normal number.
            ..=63 if (-1022..=1022).contains(&range.low) => Width::I64,
            ..=127 => Width::I128,
            // One limb more than the bits fill, since `low` need not fall on a limb, and one for the sign.
            _ => Width::Limbs(bits as usize / 32 + 2),
        };
        Self { exponent: range.low, width }
    }

    /// The factor that turns a value into an integer of this format, exactly. For [`Width::I64`].
    #[inline]
    pub fn factor(self) -> f64 {
        power_of_two(-self.exponent)
    }

    /// `value` in units of this format. For [`Width::I128`], and a value of the format's range.
    #[inline]
    pub fn to_i128(self, value: f64) -> i128 {
        let (significand, exponent) = decode(value);
        shift(significand as i128, exponent - self.exponent)
    }

    /// a·b in units of this format. For [`Width::I128`] or less, and a product of the format's range.
    #[inline]
    pub fn product_to_i128(self, a: f64, b: f64) -> i128 {
        let ((ma, ea), (mb, eb)) = (decode(a), decode(b));
        shift(ma as i128 * mb as i128, ea + eb - self.exponent)
    }
}

/// `integer · 2^by`, where the bits shifted out are known to be zero.
#[inline]
fn shift(integer: i128, by: i32) -> i128 {
    if by >= 0 { integer << by.min(127) } else { integer >> (-by).min(127) }
}

/// ⌈log₂ n⌉, 0 for n ≤ 1.
#[inline]
pub const fn ceil_log2(n: u64) -> i32 {
    64 - n.saturating_sub(1).leading_zeros() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(values: &[f64]) -> ExponentRange {
        values.iter().fold(ExponentRange::ZERO, |r, &v| r.union(ExponentRange::of(v)))
    }

    #[test]
    fn pixels_fit_64_bits_for_any_number_of_rows() {
        let format = FixedPoint::for_sums(range(&[0.0, 255.0, 1.0, 254.0]), 1 << 40);
        assert_eq!(format, FixedPoint { exponent: 0, width: Width::I64 });
    }

    #[test]
    fn width_grows_with_range_and_rows() {
        let unit = range(&[1.0 - 2.0_f64.powi(-24), 2.0_f64.powi(-24)]);
        assert_eq!(unit, ExponentRange { low: -24, high: 0 });
        assert_eq!(FixedPoint::for_sums(unit, 1 << 39).width, Width::I64);
        assert_eq!(FixedPoint::for_sums(unit, (1 << 39) + 1).width, Width::I128);
        assert_eq!(FixedPoint::for_sums(range(&[f32::MAX as f64, 1e-45_f32 as f64]), 1000).width, Width::Limbs(10));
        assert_eq!(FixedPoint::for_sums(range(&[f64::MAX, 5e-324]), 1).width, Width::Limbs(67));
        assert_eq!(FixedPoint::for_sums(ExponentRange::ZERO, 10).width, Width::I64);
    }

    #[test]
    fn conversions_are_exact() {
        let values = [0.75, -1e6, 3.0, 0.0, -0.0];
        let format = FixedPoint::for_sums(range(&values), 5);
        assert_eq!(values.map(|v| (v * format.factor()) as i64), [3, -4_000_000, 12, 0, 0]);
        assert_eq!(values.map(|v| format.to_i128(v)), [3, -4_000_000, 12, 0, 0]);
        let weighted = FixedPoint::for_sums(range(&values).product(range(&[0.5, 3.0])), 5);
        assert_eq!(weighted.product_to_i128(-1e6, 0.5), -4_000_000);
        assert_eq!(weighted.product_to_i128(0.75, 3.0), 18);
    }

    #[test]
    fn ceil_log2_rounds_up() {
        assert_eq!([0, 1, 2, 3, 4, 5, 1 << 40].map(ceil_log2), [0, 0, 1, 2, 2, 3, 40]);
    }
}
