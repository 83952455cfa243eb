//! The element types of points and centroids.

use core::fmt::{Debug, Display};

use half::{bf16, f16};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for half::f16 {}
    impl Sealed for half::bf16 {}
}

/// An element type that points and centroids can be stored in: `f32`, `f64`, [`struct@f16`] or [`bf16`].
///
/// Every value of the four types is exactly an `f64`, which is how the definition reads it. The trait is sealed: the
/// error bounds of the engines are derived for these types.
pub trait Scalar: sealed::Sealed + Copy + PartialEq + PartialOrd + Debug + Display + Send + Sync + 'static {
    /// The type's name as users write it, such as `"f32"`.
    const NAME: &'static str;
    /// Bits of the significand, the implicit one included (24 for `f32`).
    const DIGITS: i32;
    /// Exponent of the smallest positive value, 2^`MIN_EXPONENT` (−149 for `f32`).
    const MIN_EXPONENT: i32;
    /// Zero.
    const ZERO: Self;

    /// The same value as `f64`; never rounds.
    fn to_f64(self) -> f64;

    /// The nearest value of this type, ties to even; beyond the largest value, infinity.
    fn from_f64(value: f64) -> Self;

    /// The nearest `f32`, ties to even.
    fn to_f32(self) -> f32;
}

impl Scalar for f32 {
    const NAME: &'static str = "f32";
    const DIGITS: i32 = 24;
    const MIN_EXPONENT: i32 = -149;
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }
}

impl Scalar for f64 {
    const NAME: &'static str = "f64";
    const DIGITS: i32 = 53;
    const MIN_EXPONENT: i32 = -1074;
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self as f32
    }
}

impl Scalar for f16 {
    const NAME: &'static str = "f16";
    const DIGITS: i32 = 11;
    const MIN_EXPONENT: i32 = -24;
    const ZERO: Self = f16::ZERO;

    #[inline(always)]
    fn to_f64(self) -> f64 {
        Scalar::to_f32(self) as f64
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        // Not f16::from_f64, which drops the low half of the significand before it rounds.
        f16::from_f32(round_to_odd(value))
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        // Without branches or calls, so that loops over it vectorise: the 15 bits are a float whose exponent is 112 too
        // small; multiplying by 2^112 is exact and handles subnormal values.
        let magnitude = (self.to_bits() & 0x7fff) as u32;
        let special = if magnitude >= 0x7c00 { 0x7f80_0000 } else { 0 };
        let scaled = f32::from_bits(magnitude << 13) * f32::from_bits((112 + 127) << 23);
        f32::from_bits(scaled.to_bits() | special | ((self.to_bits() & 0x8000) as u32) << 16)
    }
}

impl Scalar for bf16 {
    const NAME: &'static str = "bf16";
    const DIGITS: i32 = 8;
    const MIN_EXPONENT: i32 = -133;
    const ZERO: Self = bf16::ZERO;

    #[inline(always)]
    fn to_f64(self) -> f64 {
        bf16::to_f64(self)
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        // As for f16.
        bf16::from_f32(round_to_odd(value))
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        bf16::to_f32(self)
    }
}

/// `value` as `f32`, an inexact result being the neighbour with an odd significand. Rounding that to a type with at most
/// 22 bits gives what rounding `value` once would give (Boldo & Melquiond, "Emulation of a FMA and correctly rounded
/// sums: proved algorithms using rounding to odd", 2008).
#[inline]
fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let bits = nearest.to_bits();
    if nearest as f64 == value || bits & 1 == 1 || !nearest.is_finite() {
        nearest
    } else if (nearest as f64).abs() < value.abs() {
        f32::from_bits(bits + 1)
    } else {
        f32::from_bits(bits - 1)
    }
}

/// Splits a finite value into an integer and an exponent: `value = significand · 2^exponent`, with
/// |significand| < 2^53 and exponent ≥ −1074.
#[inline]
pub fn decode(value: f64) -> (i64, i32) {
    let bits = value.to_bits();
    let biased = ((bits >> 52) & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let (magnitude, exponent) = if biased == 0 { (fraction, -1074) } else { (fraction | (1 << 52), biased - 1075) };
    (if value.is_sign_negative() { -magnitude } else { magnitude }, exponent)
}

/// `significand · 2^exponent` where that is exactly an `f64`: |significand| ≤ 2^53, exponent ≥ −1074. Larger than
/// the largest `f64` gives infinity.
#[inline]
pub fn encode(significand: i64, exponent: i32) -> f64 {
    // Two factors, so that neither is out of range; both products are exact for the arguments allowed.
    let half = exponent / 2;
    significand as f64 * power_of_two(half) * power_of_two(exponent - half)
}

/// 2^`exponent` for −1022 ≤ exponent ≤ 1023; infinity above that range.
#[inline]
pub fn power_of_two(exponent: i32) -> f64 {
    debug_assert!(exponent >= -1022);
    f64::from_bits(((exponent.min(1024) + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_and_encode_are_inverse_over_the_whole_range() {
        for value in [0.0, 1.0, -1.0, 0.1, 5e-324, -2.2e-308, 1.797e308, 3e38, 2.0_f64.powi(-149)] {
            let (significand, exponent) = decode(value);
            assert_eq!(encode(significand, exponent), value);
            assert!(significand.abs() < 1 << 53 && exponent >= -1074);
        }
    }

    #[test]
    fn half_precision_rounds_once() {
        // A hair above and below the midpoint of two neighbours; a step through f32 would see a tie.
        let hair = 2.0_f64.powi(-45);
        for (low, high) in [(f16::from_f32(1.0), 1.0 + 2.0_f64.powi(-10)), (f16::from_f32(2048.0), 2050.0)] {
            let middle = f64::midpoint(low.to_f64(), high);
            assert_eq!(<f16 as Scalar>::from_f64(middle * (1.0 + hair)).to_f64(), high);
            assert_eq!(<f16 as Scalar>::from_f64(middle * (1.0 - hair)), low);
            assert_eq!(<f16 as Scalar>::from_f64(middle), low, "a tie goes to the even neighbour");
        }
        let middle = -870_400.0;
        assert_eq!(<bf16 as Scalar>::from_f64(middle * (1.0 + hair)).to_f64(), -872_448.0);
        assert_eq!(<bf16 as Scalar>::from_f64(middle * (1.0 - hair)).to_f64(), -868_352.0);
        assert_eq!(<bf16 as Scalar>::from_f64(3.4e38), bf16::INFINITY);
        assert_eq!(<bf16 as Scalar>::from_f64(-1e300), bf16::NEG_INFINITY);
        assert_eq!(<f16 as Scalar>::from_f64(1e-300).to_bits(), 0);
    }

    #[test]
    fn every_f16_widens_to_the_same_value() {
        for bits in 0..=u16::MAX {
            let value = f16::from_bits(bits);
            let (ours, theirs) = (Scalar::to_f32(value), f16::to_f32(value));
            assert!(
                ours == theirs && ours.is_sign_negative() == theirs.is_sign_negative()
                    || ours.is_nan() && theirs.is_nan()
            );
        }
    }

    #[test]
    fn digits_and_min_exponent_describe_each_type() {
        fn check<T: Scalar>() {
            let tiny = power_of_two_wide(T::MIN_EXPONENT);
            assert_eq!(T::from_f64(tiny).to_f64(), tiny);
            assert_eq!(T::from_f64(tiny * 0.5).to_f64(), 0.0, "half of the smallest {} rounds to even", T::NAME);
            let ulp = 2.0_f64.powi(1 - T::DIGITS);
            assert_eq!(T::from_f64(1.0 + ulp).to_f64(), 1.0 + ulp);
            assert_eq!(T::from_f64(1.0 + ulp / 2.0).to_f64(), 1.0);
        }
        fn power_of_two_wide(e: i32) -> f64 {
            encode(1, e)
        }
        check::<f32>();
        check::<f64>();
        check::<f16>();
        check::<bf16>();
    }
}
