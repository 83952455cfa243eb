//! Sums without rounding, and their quotient rounded once.
//!
//! A centroid is the exact weighted mean of its points, rounded once to the element type (nearest, ties to even). So it
//! depends neither on the order of the points, nor on how they were split over threads, nor on what other clusters
//! hold, and there is no range of data for which it is less accurate.
//!
//! The sums are integers in limbs of 32 bits, each held in an `i64` so that carries can wait (Kulisch's long
//! accumulator, with deferred carries as in Neal, "Fast exact summation using small and large superaccumulators", 2015).
//! Engines carry the same sums in one `i64` or `i128` where [`crate::fixed`] shows that they fit.

mod streamed;

pub use streamed::{LimbSum, quotient_by_count};

use crate::Scalar;
use crate::scalar::{decode, encode};

const LIMB_BITS: i32 = 32;
/// Products of three `f64` are multiples of 2^−3222; this is the multiple of 32 below.
const BASE: i32 = -3232;
/// Covers 2^−3232 to 2^3360: three factors below 2^1024 each, and 2^288 of them.
const LIMBS: usize = 206;
/// Additions between two carries: each adds less than 2^32 to a limb, so that limbs stay far below 2^63.
const CARRY_AFTER: u32 = 1 << 30;

/// Adds `integer · 2^exponent` to the number that `limbs` hold, limb j counting 2^(`base` + 32·j).
///
/// The caller carries ([`carry`]) before a limb can have taken 2^31 additions, and provides limbs for the whole range
/// of its values: `exponent` ≥ `base`, and five limbs above the one `exponent` falls in, or as many as are not zero.
#[inline]
pub fn accumulate(limbs: &mut [i64], base: i32, integer: i128, exponent: i32) {
    let position = (exponent - base) as usize;
    let (mut limb, shift) = (position / LIMB_BITS as usize, (position % LIMB_BITS as usize) as u32);
    let sign = if integer < 0 { -1 } else { 1 };
    let magnitude = integer.unsigned_abs();
    // The lowest digit is shifted on its own: magnitude << shift could lose its top bits.
    limbs[limb] += sign * (((magnitude << shift) as u32) as i64);
    let mut rest = magnitude >> (32 - shift);
    while rest != 0 {
        limb += 1;
        limbs[limb] += sign * ((rest as u32) as i64);
        rest >>= 32;
    }
}

/// Moves what exceeds 32 bits in each limb to the next one; the last limb keeps the sign.
#[inline]
pub fn carry(limbs: &mut [i64]) {
    let mut carried = 0;
    let last = limbs.len() - 1;
    for limb in &mut limbs[..last] {
        let value = *limb + carried;
        *limb = value & 0xffff_ffff;
        carried = value >> LIMB_BITS;
    }
    limbs[last] += carried;
}

/// An exact sum of `f64` values, or of products of up to three of them. Order does not matter.
///
/// ```
/// use kmeans_core::exact::ExactSum;
/// let mut sum = ExactSum::new();
/// for x in [1e300, 1.0, -1e300] {
///     sum.add(x);
/// }
/// assert_eq!(sum.to_f64(), 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct ExactSum {
    limbs: [i64; LIMBS],
    pending: u32,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self::new()
    }
}

impl ExactSum {
    /// Zero.
    pub fn new() -> Self {
        Self { limbs: [0; LIMBS], pending: 0 }
    }

    /// Adds `integer · 2^exponent`, where −3222 ≤ exponent and |integer · 2^exponent| < 2^3200.
    #[inline]
    pub fn add_integer(&mut self, integer: i128, exponent: i32) {
        if integer == 0 {
            return;
        }
        if self.pending == CARRY_AFTER {
            self.carry();
        }
        self.pending += 1;
        accumulate(&mut self.limbs, BASE, integer, exponent);
    }

    /// Adds a finite value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let (m, e) = decode(value);
        self.add_integer(m as i128, e);
    }

    /// Adds a·b, exactly.
    #[inline]
    pub fn add_product(&mut self, a: f64, b: f64) {
        let ((ma, ea), (mb, eb)) = (decode(a), decode(b));
        self.add_integer(ma as i128 * mb as i128, ea + eb);
    }

    /// Adds a·b·c, exactly.
    pub fn add_triple(&mut self, a: f64, b: f64, c: f64) {
        let ((ma, ea), (mb, eb), (mc, ec)) = (decode(a), decode(b), decode(c));
        // 106 bits times 53 bits is more than an i128 holds: take the product of a and b in two parts.
        let ab = ma as i128 * mb as i128;
        let (high, low) = (ab >> 53, ab & ((1 << 53) - 1));
        self.add_integer(low * mc as i128, ea + eb + ec);
        self.add_integer(high * mc as i128, ea + eb + ec + 53);
    }

    /// Adds `limbs` · `factor`, the limbs as for [`accumulate`] with `base`, |factor| < 2^62, limbs carried.
    pub fn add_scaled(&mut self, limbs: &[i64], base: i32, factor: i64, exponent: i32) {
        for (j, &limb) in limbs.iter().enumerate() {
            self.add_integer(limb as i128 * factor as i128, base + LIMB_BITS * j as i32 + exponent);
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        self.carry();
        let mut other = other.clone();
        other.carry();
        for (a, b) in self.limbs.iter_mut().zip(other.limbs) {
            *a += b;
        }
        self.pending = 1;
    }

    fn carry(&mut self) {
        carry(&mut self.limbs);
        self.pending = 1;
    }

    /// Whether the sum is exactly zero.
    pub fn is_zero(&self) -> bool {
        Digits::new(&self.limbs, BASE).length == 0
    }

    /// The sum rounded once to `f64`.
    pub fn to_f64(&self) -> f64 {
        self.divide(&Self::from_count(1))
    }

    /// A sum that holds an integer count.
    pub fn from_count(count: u64) -> Self {
        let mut sum = Self::new();
        sum.add_integer(count as i128, 0);
        sum
    }

    /// `self / divisor` rounded once to `T`; `divisor` must not be zero.
    pub fn divide<T: Scalar>(&self, divisor: &Self) -> T {
        quotient((&self.limbs, BASE), (&divisor.limbs, BASE))
    }

    /// The limbs and their base exponent, in the layout of [`accumulate`].
    pub fn limbs(&self) -> (&[i64], i32) {
        (&self.limbs, BASE)
    }
}

/// A sign and a magnitude in base 2^32, least significant digit first, for reading a carried or uncarried sum.
struct Digits {
    digits: [u32; LIMBS + 2],
    length: usize,
    exponent: i32,
    negative: bool,
}

impl Digits {
    fn new(limbs: &[i64], base: i32) -> Self {
        assert!(limbs.len() <= LIMBS, "a sum has at most {LIMBS} limbs");
        let negative = Self::is_negative(limbs);
        let mut digits = [0_u32; LIMBS + 2];
        let mut carried = 0_i64;
        for (digit, &limb) in digits.iter_mut().zip(limbs) {
            // Two's complement of the whole number when it is negative: negate each limb, then carry.
            let value = if negative { -limb } else { limb } + carried;
            *digit = value as u32;
            carried = value >> LIMB_BITS;
        }
        digits[limbs.len()] = carried as u32;
        digits[limbs.len() + 1] = (carried >> LIMB_BITS) as u32;
        let length = digits.iter().rposition(|&d| d != 0).map_or(0, |p| p + 1);
        // Zero digits at the low end only make the division slower.
        let low = digits.iter().position(|&d| d != 0).unwrap_or(0);
        digits.copy_within(low..length, 0);
        digits[length - low..].fill(0);
        Self { digits, length: length - low, exponent: base + LIMB_BITS * low as i32, negative }
    }

    /// The sign of the number, whatever the signs of the single limbs.
    fn is_negative(limbs: &[i64]) -> bool {
        let mut carried = 0_i64;
        for &limb in limbs {
            carried = (limb + carried) >> LIMB_BITS;
        }
        carried < 0
    }

    fn bits(&self) -> i32 {
        match self.length {
            0 => 0,
            n => LIMB_BITS * n as i32 - self.digits[n - 1].leading_zeros() as i32,
        }
    }

    fn bit(&self, index: i32) -> bool {
        index >= 0 && self.digits[(index / LIMB_BITS) as usize] >> (index % LIMB_BITS) & 1 == 1
    }
}

/// Significant bits of a quotient before it is rounded: more than any element type has, plus a bit to round by.
const QUOTIENT_BITS: u32 = 66;

/// `numerator / denominator`, rounded once to `T` (nearest, ties to even). Each is limbs and base exponent as for
/// [`accumulate`]; the denominator must not be zero.
///
/// Schoolbook division, a bit at a time: slow, obviously right, and used where the fast paths cannot decide.
///
/// # Panics
/// If the denominator is zero, or a sum has more limbs than [`ExactSum`].
pub fn quotient<T: Scalar>(numerator: (&[i64], i32), denominator: (&[i64], i32)) -> T {
    let a = Digits::new(numerator.0, numerator.1);
    let b = Digits::new(denominator.0, denominator.1);
    assert!(b.length > 0, "division by a sum of zero");
    if a.length == 0 {
        return T::ZERO;
    }
    // remainder < b at every step, so one digit more than b has is enough.
    let width = b.length + 1;
    let mut remainder = [0_u32; LIMBS + 3];
    let mut result = 0_u128;
    let mut next = a.bits() - 1;
    while result >> (QUOTIENT_BITS - 1) == 0 {
        let mut incoming = a.bit(next) as u32;
        for digit in &mut remainder[..width] {
            let outgoing = *digit >> 31;
            *digit = *digit << 1 | incoming;
            incoming = outgoing;
        }
        let fits = remainder[..width].iter().rev().cmp(b.digits[..width].iter().rev()).is_ge();
        if fits {
            let mut borrow = 0_i64;
            for (digit, &d) in remainder[..width].iter_mut().zip(&b.digits[..width]) {
                let value = *digit as i64 - d as i64 + borrow;
                *digit = value as u32;
                borrow = value >> LIMB_BITS;
            }
        }
        result = result << 1 | fits as u128;
        next -= 1;
    }
    let below = (0..a.length as i32).any(|j| {
        let kept = (next + 1 - LIMB_BITS * j).clamp(0, LIMB_BITS);
        a.digits[j as usize] as u64 & ((1_u64 << kept) - 1) != 0
    });
    let inexact = below || remainder[..width].iter().any(|&d| d != 0);
    round(a.negative != b.negative, result, next + 1 + a.exponent - b.exponent, inexact)
}

/// ±`integer · 2^exponent`, with `inexact` saying that the true magnitude lies strictly between this and the next
/// integer, rounded once to `T`. Values beyond the largest give infinity.
fn round<T: Scalar>(negative: bool, integer: u128, exponent: i32, inexact: bool) -> T {
    let top = 127 - integer.leading_zeros() as i32;
    let target = (top + exponent - (T::DIGITS - 1)).max(T::MIN_EXPONENT);
    let dropped = target - exponent;
    let mut significand = match dropped {
        ..=0 => integer << -dropped, // the integer has fewer bits than T, and nothing was inexact below them
        1..=127 => integer >> dropped,
        _ => 0,
    };
    if (1..=128).contains(&dropped) {
        let half = integer >> (dropped - 1) & 1 == 1;
        let below = inexact || integer & ((1_u128 << (dropped - 1)) - 1) != 0;
        if half && (below || significand & 1 == 1) {
            significand += 1;
        }
    }
    let value = encode(significand as i64, target);
    T::from_f64(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;
    use crate::rng::{Purpose, Random};

    fn sum(values: &[f64]) -> ExactSum {
        let mut total = ExactSum::new();
        for &v in values {
            total.add(v);
        }
        total
    }

    #[test]
    fn nothing_is_lost_over_the_whole_range_of_f64() {
        let values = [f64::MAX, 5e-324, -f64::MAX, 1.0, 5e-324, -1.0];
        assert_eq!(sum(&values).to_f64(), 1e-323);
        assert_eq!(sum(&[-1e308, -0.7e308]).to_f64(), -1.7e308);
        assert!(sum(&[0.1, 0.2, -0.1, -0.2]).is_zero());
    }

    #[test]
    fn an_outlier_does_not_cost_the_others_a_bit() {
        let mut total = sum(&[1e30, 0.1]);
        total.add(-1e30);
        assert_eq!(total.to_f64(), 0.1);
    }

    #[test]
    fn order_does_not_matter() {
        let random = Random::new(3, 0);
        let values: Vec<f64> = (0..1000)
            .map(|i| {
                encode(
                    random.bits(Purpose::Point, 0, i) as i64 >> 11,
                    random.below(400, Purpose::Point, 1, i) as i32 - 250,
                )
            })
            .collect();
        let mut reversed = values.clone();
        reversed.reverse();
        let mut halves = sum(&values[500..]);
        halves.merge(&sum(&values[..500]));
        assert_eq!(sum(&values).to_f64(), sum(&reversed).to_f64());
        assert_eq!(sum(&values).to_f64(), halves.to_f64());
    }

    #[test]
    fn a_quotient_is_rounded_once() {
        // 1/3 in every type is what the hardware's correctly rounded division gives.
        let (one, three) = (sum(&[1.0]), sum(&[3.0]));
        assert_eq!(one.divide::<f64>(&three), 1.0 / 3.0);
        assert_eq!(one.divide::<f32>(&three), 1.0_f32 / 3.0);
        // A tie of f32 that a double rounding through f64 would get wrong: 1 + 2^-24 + 2^-60.
        let tie = sum(&[1.0, 2.0_f64.powi(-24), 2.0_f64.powi(-60)]);
        assert_eq!(tie.divide::<f32>(&one), 1.0 + f32::EPSILON);
        assert_eq!(sum(&[1.0, 2.0_f64.powi(-24)]).divide::<f32>(&one), 1.0);
        assert_eq!(sum(&[f32::MAX as f64; 3]).divide::<f32>(&three), f32::MAX);
        assert_eq!(sum(&[1e-45_f32 as f64]).divide::<f32>(&sum(&[2.0])), 0.0);
        assert_eq!(sum(&[-3e-45_f32 as f64]).divide::<f32>(&sum(&[4.0])), -1e-45_f32 * 0.0);
        assert_eq!(sum(&[65504.0, 65504.0]).divide::<f16>(&sum(&[2.0])), f16::MAX);
        assert_eq!(sum(&[1.0, 2.0]).divide::<bf16>(&sum(&[2.0])), bf16::from_f32(1.5));
    }

    #[test]
    fn division_by_counts_agrees_with_long_division_and_the_hardware() {
        let random = Random::new(11, 0);
        for i in 0..20_000 {
            let numerator = random.bits(Purpose::Point, 0, i) as i64 >> random.below(60, Purpose::Point, 1, i);
            let count = 1 + (random.bits(Purpose::Point, 2, i) >> random.below(63, Purpose::Point, 3, i) >> 1);
            let exponent = random.below(300, Purpose::Point, 4, i) as i32 - 160;
            let mut a = ExactSum::new();
            a.add_integer(numerator as i128, exponent);
            let b = ExactSum::from_count(count);
            assert_eq!(a.divide::<f32>(&b), quotient_by_count::<f32>(numerator as i128, exponent, count));
            assert_eq!(a.divide::<f64>(&b), quotient_by_count::<f64>(numerator as i128, exponent, count));
            assert_eq!(
                a.divide::<f16>(&b).to_bits(),
                quotient_by_count::<f16>(numerator as i128, exponent, count).to_bits()
            );
            if numerator.abs() < 1 << 53 && count < 1 << 53 {
                assert_eq!(a.divide::<f64>(&b), encode(numerator, 0) / count as f64 * encode(1, exponent));
            }
        }
    }

    #[test]
    fn products_are_exact() {
        let mut total = ExactSum::new();
        // (1 + 2^-52)^2 - 1 - 2^-51 = 2^-104
        let x = 1.0 + f64::EPSILON;
        total.add_product(x, x);
        total.add(-1.0 - 2.0 * f64::EPSILON);
        assert_eq!(total.to_f64(), 2.0_f64.powi(-104));
        let mut cube = ExactSum::new();
        cube.add_triple(x, x, -x);
        cube.add_triple(1.0, x, x);
        // -x^2 (x - 1)
        assert_eq!(cube.to_f64(), -(x * x) * f64::EPSILON);
        let mut extreme = ExactSum::new();
        extreme.add_triple(f64::MAX, f64::MAX, f64::MAX);
        extreme.add_triple(5e-324, 5e-324, -5e-324);
        extreme.add_triple(-f64::MAX, f64::MAX, f64::MAX);
        assert!(!extreme.is_zero());
        extreme.add_triple(5e-324, 5e-324, 5e-324);
        assert!(extreme.is_zero());
    }

    #[test]
    fn scaled_limbs_add_up() {
        let mut total = ExactSum::new();
        let parts = sum(&[0.1, 1e20, -3.5]);
        let mut carried = parts.clone();
        carried.carry();
        let (limbs, base) = carried.limbs();
        total.add_scaled(limbs, base, -3, 1);
        for v in [0.1, 1e20, -3.5] {
            total.add_product(6.0, v);
        }
        assert!(total.is_zero());
    }

    #[test]
    fn more_additions_than_a_limb_could_hold_without_carrying() {
        // 2^31 additions would take minutes: start close to the carry instead.
        let mut total = ExactSum::new();
        total.pending = CARRY_AFTER - 2;
        for _ in 0..10 {
            total.add(1.5);
        }
        assert_eq!(total.to_f64(), 15.0);
        assert!(total.pending < 100);
    }
}
