//! Quotients of sums that are read limb by limb: the results of [`quotient`](super::quotient), without arrays, slices or
//! anything that could panic, so that they compile for the GPU and need no memory there.
//!
//! The first 128 bits of a sum, and whether anything is set below them, decide nearly every quotient. Where they do not,
//! numerator and rounded quotient times denominator are compared exactly, digit by digit from the low end.

use core::cmp::Ordering;
use core::num::NonZeroU64;

use super::{LIMB_BITS, round};
use crate::Scalar;
use crate::scalar::power_of_two;

/// A sum in limbs as for [`accumulate`](super::accumulate), carried or not, each read by calling a function with its index.
#[derive(Clone, Copy)]
pub struct LimbSum<F> {
    limb: F,
    len: u32,
    base: i32,
}

/// What a number that is not zero begins with: ±(`top` + less than 1)·2^`exponent`.
#[derive(Clone, Copy)]
struct Leading {
    negative: bool,
    /// At least 2^127.
    top: u128,
    exponent: i32,
    /// Whether anything is set below `top`.
    rest: bool,
}

/// The magnitude of a sum in base 2^32, least significant digit first; zeros after its end.
struct Magnitude<F> {
    sum: LimbSum<F>,
    negative: bool,
    index: u32,
    carried: i64,
}

impl<F: Fn(u32) -> i64> Magnitude<F> {
    #[inline(always)]
    fn next(&mut self) -> u32 {
        // Two's complement of the whole number when it is negative: negate each limb, then carry.
        let value = match self.index < self.sum.len {
            true if self.negative => self.carried - (self.sum.limb)(self.index),
            true => self.carried + (self.sum.limb)(self.index),
            false => self.carried,
        };
        self.index += 1;
        self.carried = value >> LIMB_BITS;
        value as u32
    }
}

impl<F: Fn(u32) -> i64 + Copy> LimbSum<F> {
    /// Of `len` limbs, the first of which counts 2^`base`.
    #[inline(always)]
    pub fn new(limb: F, len: u32, base: i32) -> Self {
        Self { limb, len, base }
    }

    /// `self / count`, rounded once to `T`; `count` ≥ 1.
    #[inline(always)]
    pub fn divide_by_count<T: Scalar>(self, count: u64) -> T {
        match self.leading() {
            Some(leading) => leading.divide_by_count(count),
            None => T::ZERO,
        }
    }

    /// `self / divisor`, rounded once to `T`; nothing if the divisor is zero.
    #[inline(always)]
    pub fn divide<T: Scalar, G: Fn(u32) -> i64 + Copy>(self, divisor: LimbSum<G>) -> Option<T> {
        let b = divisor.leading()?;
        let Some(a) = self.leading() else { return Some(T::ZERO) };
        let negative = a.negative != b.negative;
        // a.top / b.top = (quotient + remainder / b.top) · 2^(exponent − a.exponent + b.exponent), a bit at a time.
        let fits = a.top >= b.top;
        let (mut quotient, mut remainder) = (fits as u64, if fits { a.top - b.top } else { a.top });
        let mut exponent = a.exponent - b.exponent;
        while quotient >> 63 == 0 {
            let overflows = remainder >> 127 == 1;
            remainder <<= 1;
            let fits = overflows || remainder >= b.top;
            if fits {
                remainder = remainder.wrapping_sub(b.top);
            }
            quotient = quotient << 1 | fits as u64;
            exponent -= 1;
        }
        let quotient = quotient as u128;
        if !(a.rest || b.rest) {
            return Some(round(negative, quotient, exponent, remainder != 0));
        }
        // What is below the tops changes the quotient by less than 2^64·2^−126. Halfway between two values of T, and at
        // them, it is an integer; so what counts is between which integers it lies.
        let margin = b.top >> 40;
        if margin < remainder && remainder < b.top - margin {
            return Some(round(negative, quotient, exponent, true));
        }
        let (a, b) = ((self, a.negative), (divisor, b.negative));
        Some(match compare(a, b, quotient, exponent) {
            Ordering::Less => round(negative, quotient - 1, exponent, true),
            Ordering::Equal => round(negative, quotient, exponent, false),
            Ordering::Greater => match compare(a, b, quotient + 1, exponent) {
                Ordering::Less => round(negative, quotient, exponent, true),
                Ordering::Equal => round(negative, quotient + 1, exponent, false),
                Ordering::Greater => round(negative, quotient + 1, exponent, true),
            },
        })
    }

    #[inline(always)]
    fn magnitude(self, negative: bool) -> Magnitude<F> {
        Magnitude { sum: self, negative, index: 0, carried: 0 }
    }

    /// The first 128 bits of its magnitude; nothing if it is zero.
    #[inline(always)]
    fn leading(self) -> Option<Leading> {
        let mut carried = 0;
        for index in 0..self.len {
            carried = ((self.limb)(index) + carried) >> LIMB_BITS;
        }
        let negative = carried < 0;
        let mut digits = self.magnitude(negative);
        // The last four digits, the one before, and whether any further down was not zero; as they were at the last digit
        // that was not zero.
        let (mut high, mut low, mut below) = (0_u128, 0_u32, false);
        let mut found = None;
        for index in 0..self.len + 2 {
            let digit = digits.next();
            below |= low != 0;
            low = high as u32;
            high = high >> 32 | (digit as u128) << 96;
            if digit != 0 {
                found = Some((high, low, below, index));
            }
        }
        let (high, low, below, index) = found?;
        let shift = high.leading_zeros();
        let low = (low as u64) << shift;
        Some(Leading {
            negative,
            top: high << shift | (low >> 32) as u128,
            exponent: self.base + LIMB_BITS * (index as i32 - 3) - shift as i32,
            rest: below || low as u32 != 0,
        })
    }
}

impl Leading {
    #[inline(always)]
    fn divide_by_count<T: Scalar>(self, count: u64) -> T {
        // What is below an integer does not change the integer part of its quotient by another. At least 128 − 64 bits:
        // enough for every type but f64, whose 53 bits + 1 they also cover.
        let (quotient, remainder) = divide_128(self.top, count);
        round(self.negative, quotient, self.exponent, self.rest || remainder != 0)
    }
}

/// Quotient and remainder; zeros for a divisor of zero.
#[inline(always)]
fn divide_128(dividend: u128, divisor: u64) -> (u128, u64) {
    debug_assert!(divisor > 0);
    let Some(divisor) = NonZeroU64::new(divisor) else { return (0, 0) };
    if divisor.get() >> 32 != 0 {
        let quotient = dividend.checked_div(divisor.get() as u128).unwrap_or(0);
        return (quotient, (dividend - quotient * divisor.get() as u128) as u64);
    }
    // By digits of 32 bits: GPUs have no wider division.
    let (mut quotient, mut remainder) = (0_u128, 0_u64);
    let mut digit = u128::BITS;
    while digit > 0 {
        digit -= 32;
        let part = remainder << 32 | (dividend >> digit) as u32 as u64;
        quotient = quotient << 32 | (part / divisor) as u128;
        remainder = part % divisor;
    }
    (quotient, remainder)
}

/// `sum · 2^exponent / count`, rounded once to `T`; `count` ≥ 1. The same result as [`quotient`](super::quotient), faster.
#[inline]
pub fn quotient_by_count<T: Scalar>(sum: i128, exponent: i32, count: u64) -> T {
    if sum == 0 {
        return T::ZERO;
    }
    let (negative, magnitude) = (sum < 0, sum.unsigned_abs());
    if let Some(quotient) = quick_quotient(negative, magnitude, exponent, count) {
        return quotient;
    }
    let shift = magnitude.leading_zeros();
    let leading = Leading { negative, top: magnitude << shift, exponent: exponent - shift as i32, rest: false };
    leading.divide_by_count(count)
}

/// ±`magnitude · 2^exponent / count` in `T` where a few roundings in `f64` provably give what one rounding would: a GPU takes
/// twenty times as long for the division of integers.
///
/// The `f64` quotient is off by less than 2^−51 relative: three roundings of 2^−53, for the low half of the magnitude, its sum with the
/// high half, which is exact below 2^53 as the count is, and the quotient. If both ends of that interval round to the same `T`, so does
/// the exact quotient, since rounding is monotone.
#[inline(always)]
fn quick_quotient<T: Scalar>(negative: bool, magnitude: u128, exponent: i32, count: u64) -> Option<T> {
    const SLACK: f64 = 1.0 / (1_u64 << 51) as f64;
    let (high, low) = ((magnitude >> 64) as u64, magnitude as u64);
    if T::DIGITS > 24 || !(-900..900).contains(&exponent) || (high | count) >> 53 != 0 {
        return None;
    }
    let sum = high as f64 * power_of_two(64) + low as f64;
    let sum = if negative { -sum } else { sum };
    let quotient = sum / count as f64 * power_of_two(exponent);
    let (down, up) = (T::from_f64(quotient * (1.0 - SLACK)), T::from_f64(quotient * (1.0 + SLACK)));
    (down == up).then_some(down)
}

/// Compares |a| with `factor` · 2^`exponent` · |b|, for factors up to 2^64; each sum comes with its sign.
#[inline(always)]
fn compare<F: Fn(u32) -> i64 + Copy, G: Fn(u32) -> i64 + Copy>(
    a: (LimbSum<F>, bool),
    b: (LimbSum<G>, bool),
    factor: u128,
    exponent: i32,
) -> Ordering {
    // In digits of a: b begins `places` higher, once the factor has taken up what is not a whole digit.
    let offset = exponent + b.0.base - a.0.base;
    let places = offset >> 5;
    let factor = factor << (offset & 31);
    let digit = |position: u32| (factor >> position) as u32 as u128;
    let (low, middle, high) = (digit(0), digit(32), digit(64));
    let last = (a.0.len as i32 + 2).max(places + b.0.len as i32 + 5);
    let (mut a, mut b) = (a.0.magnitude(a.1), b.0.magnitude(b.1));
    let (mut first, mut second) = (0_u128, 0_u128);
    let (mut carried, mut differs) = (0_i128, false);
    for position in places.min(0)..last {
        let minuend = if position >= 0 { a.next() } else { 0 };
        let newest = if position >= places { b.next() as u128 } else { 0 };
        let product = newest * low + first * middle + second * high;
        (first, second) = (newest, first);
        let difference = carried + minuend as i128 - product as i128;
        differs |= difference as u32 != 0;
        carried = difference >> 32;
    }
    match carried {
        ..0 => Ordering::Less,
        0 if !differs => Ordering::Equal,
        _ => Ordering::Greater,
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::super::{ExactSum, quotient};
    use super::*;
    use crate::rng::{Purpose, Random};
    use crate::scalar::encode;

    fn check<T: Scalar>(a: (&[i64], i32), b: (&[i64], i32)) {
        let of = |limbs: &[i64], index: u32| limbs[index as usize];
        let numerator = LimbSum::new(|i| of(a.0, i), a.0.len() as u32, a.1);
        let denominator = LimbSum::new(|i| of(b.0, i), b.0.len() as u32, b.1);
        let expected: T = quotient(a, b);
        let found: T = numerator.divide(denominator).unwrap();
        assert_eq!(found.to_f64().to_bits(), expected.to_f64().to_bits(), "{a:?} / {b:?}");
        if let (&[count], 0) = b
            && count > 0
        {
            let found: T = numerator.divide_by_count(count as u64);
            assert_eq!(found.to_f64().to_bits(), expected.to_f64().to_bits(), "{a:?} / {count}");
        }
    }

    fn check_all(a: (&[i64], i32), b: (&[i64], i32)) {
        check::<f32>(a, b);
        check::<f64>(a, b);
        check::<f16>(a, b);
    }

    #[test]
    fn streamed_quotients_are_those_of_long_division() {
        let random = Random::new(17, 0);
        let draw = |i: u64, what: u32, below: u64| random.below(below, Purpose::Point, what, i);
        for i in 0..4000 {
            let limbs = |what: u32, len: u64| -> Vec<i64> {
                let bits = 1 + draw(i, what, 62);
                (0..len).map(|j| random.bits(Purpose::Point, what + 1, i * 16 + j) as i64 >> bits).collect()
            };
            let (a, b) = (limbs(10, 1 + draw(i, 0, 12)), limbs(20, 1 + draw(i, 1, 8)));
            let (base_a, base_b) = (draw(i, 2, 500) as i32 - 250, draw(i, 3, 300) as i32 - 150);
            if b.iter().any(|&limb| limb != 0) && LimbSum::new(|j| b[j as usize], b.len() as u32, 0).leading().is_some()
            {
                check_all((&a, base_a), (&b, base_b));
            }
            check_all((&a, base_a), (&[1 + draw(i, 4, 1 << (1 + i % 60)) as i64], 0));
        }
    }

    #[test]
    fn quotients_at_and_beside_what_rounding_decides_by_are_exact() {
        // b has bits far below its first 128, and a is b times a number halfway between two values, give or take the least
        // that a can hold.
        let random = Random::new(19, 0);
        for i in 0..300 {
            let mut b = ExactSum::new();
            for (what, exponent) in [(0, 0), (1, -60), (3, -120), (4, -400)] {
                b.add(encode(1 + random.below(1 << 50, Purpose::Point, what, i) as i64, exponent));
            }
            let half = (1 << 53 | random.bits(Purpose::Point, 2, i) >> 12 | 1) as i64;
            for least in [-1, 0, 1] {
                for (factor, exponent) in [(half, -60), (half << 1, -60), (1 << 53, 3), ((1 << 24) + 1, -20)] {
                    let mut a = ExactSum::new();
                    let (limbs, base) = b.limbs();
                    a.add_scaled(limbs, base, factor, exponent);
                    a.add_integer(least, -900);
                    check::<f64>(a.limbs(), b.limbs());
                    check::<f32>(a.limbs(), b.limbs());
                }
            }
        }
    }

    /// Sums of one and of two words, some of which lie exactly between two values.
    #[test]
    fn quick_quotients_are_the_rounded_quotients() {
        fn check<T: Scalar>(sum: i128, exponent: i32, count: u64) -> bool {
            let digit = |i: u32| (sum >> (32 * i)) as u32 as i64;
            let limbs = [digit(0), digit(1), digit(2), (sum >> 96) as i64];
            let expected: T = quotient((&limbs, exponent), (&[count as i64], 0));
            let quick = quick_quotient::<T>(sum < 0, sum.unsigned_abs(), exponent, count);
            for found in quick.into_iter().chain([quotient_by_count(sum, exponent, count)]) {
                let same = found.to_f64().to_bits() == expected.to_f64().to_bits();
                assert!(same, "{sum} · 2^{exponent} / {count}: {} and not {}", found.to_f64(), expected.to_f64());
            }
            quick.is_some()
        }
        let random = Random::new(23, 0);
        let (mut decided, cases) = (0, 20_000);
        for i in 0..cases {
            let bits = 1 + random.below(110, Purpose::Point, 0, i) as u32;
            let wide = (random.bits(Purpose::Point, 1, i) as u128) << 64 | random.bits(Purpose::Point, 2, i) as u128;
            let sum = (wide as i128) >> (128 - bits);
            let count = 1 + random.below(1 << (1 + i % 50), Purpose::Point, 3, i);
            let exponent = -(random.below(170, Purpose::Point, 4, i) as i32);
            check::<f16>(sum, exponent, count);
            check::<half::bf16>(sum, exponent, count);
            decided += check::<f32>(sum, exponent, count) as u64;
        }
        assert!(decided > cases * 9 / 10, "{decided}");
        // Exactly between two values: only the exact division may decide.
        assert!(!check::<f32>((1 << 25) + 2, 0, 1) && !check::<f32>(-3 * ((1 << 25) + 2), 0, 3));
        // Too small for the type, and so small that it is rounded coarsely.
        for (sum, exponent, count) in
            [(-1, -149, 3), (1, -149, 2), (-3, -149, 2), (5, -150, 7), (-1, -400, 1), (1, -899, 9)]
        {
            check::<f32>(sum, exponent, count);
        }
        // Beyond its limits.
        assert!(!check::<f32>(1 << 120, -100, 3) && !check::<f32>(1, -100, 1 << 60) && !check::<f64>(1, 0, 3));
    }

    #[test]
    fn division_by_zero_gives_nothing_and_zero_divides_to_zero() {
        let zero = LimbSum::new(|j| [1 << 32, -1, 0][j as usize], 3, 7);
        let one = LimbSum::new(|_| 1, 1, 0);
        assert_eq!(one.divide::<f32, _>(zero), None);
        assert_eq!(zero.divide::<f64, _>(one), Some(0.0));
        assert_eq!(zero.divide_by_count::<f32>(3), 0.0);
    }
}
