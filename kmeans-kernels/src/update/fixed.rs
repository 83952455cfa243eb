//! How a sum is held: integers of 64-bit words, added by atomics in any order.
//!
//! | format | words | for |
//! |---|---|---|
//! | [`Narrow`] | 1 | data whose sums fit an `i64` |
//! | [`Wide`] | 2 | data whose sums fit an `i128`: the low word's overflow is added to the high word |
//! | [`Limbs`] | any | everything else: limbs of 32 bits in an `i64` each, carried by whoever reads them |
//!
//! `kmeans_core::fixed` chooses the format for given data and says why its sums are exact.

use kmeans_core::fixed::{FixedPoint, Width};
use kmeans_core::scalar::{decode, power_of_two};

use crate::device::{Out, Shared, to_integer};

/// Memory that holds sums, in global or shared memory.
pub trait Words: Copy {
    /// Adds to a word, wrapping.
    fn add(self, index: u64, value: u64);
    /// Adds to a word, wrapping, and returns what it was.
    fn fetch_add(self, index: u64, value: u64) -> u64;
}

impl Words for Out<'_, u64> {
    #[inline(always)]
    fn add(self, index: u64, value: u64) {
        Out::add(self, index, value);
    }
    #[inline(always)]
    fn fetch_add(self, index: u64, value: u64) -> u64 {
        Out::fetch_add(self, index, value)
    }
}

impl Words for Shared<'_, u64> {
    #[inline(always)]
    fn add(self, index: u64, value: u64) {
        Shared::add(self, index as u32, value);
    }
    #[inline(always)]
    fn fetch_add(self, index: u64, value: u64) -> u64 {
        Shared::fetch_add(self, index as u32, value)
    }
}

/// A way to hold a sum.
pub trait Format: Copy {
    /// The format with unit 2^`exponent` and `words` words, as [`FixedPoint`] gives them.
    fn new(exponent: i32, words: u32) -> Self;
    /// Words per sum.
    fn words(self) -> u32;
    /// Adds `value` to the sum that starts at word `at`.
    fn add(self, sums: impl Words, at: u64, value: f64);
    /// Adds a·b, exactly, to the sum that starts at word `at`.
    fn add_product(self, sums: impl Words, at: u64, a: f64, b: f64);
    /// Adds a sum, given word by word, to the sum that starts at word `at`.
    fn merge(self, sums: impl Words, at: u64, word: impl Fn(u32) -> u64);
}

/// One 64-bit integer.
#[derive(Clone, Copy)]
pub struct Narrow {
    factor: f64,
    exponent: i32,
}

impl Narrow {
    /// `value` in units of the format.
    #[inline(always)]
    pub fn integer(self, value: f64) -> i64 {
        to_integer(value * self.factor)
    }
}

impl Format for Narrow {
    #[inline(always)]
    fn new(exponent: i32, _: u32) -> Self {
        Self { factor: power_of_two(-exponent), exponent }
    }
    #[inline(always)]
    fn words(self) -> u32 {
        1
    }
    #[inline(always)]
    fn add(self, sums: impl Words, at: u64, value: f64) {
        sums.add(at, self.integer(value) as u64);
    }
    #[inline(always)]
    fn add_product(self, sums: impl Words, at: u64, a: f64, b: f64) {
        // a·b need not be an f64, so the factor does not do here.
        let format = FixedPoint { exponent: self.exponent, width: Width::I64 };
        sums.add(at, format.product_to_i128(a, b) as u64);
    }
    #[inline(always)]
    fn merge(self, sums: impl Words, at: u64, word: impl Fn(u32) -> u64) {
        let value = word(0);
        if value != 0 {
            sums.add(at, value);
        }
    }
}

/// One 128-bit integer, low word first.
#[derive(Clone, Copy)]
pub struct Wide {
    format: FixedPoint,
}

/// Adds a 128-bit integer. Each overflow of the low word is seen by exactly one addition, so the total is exact whatever
/// the order.
#[inline(always)]
fn add_wide(sums: impl Words, at: u64, low: u64, high: u64) {
    let before = if low == 0 { 0 } else { sums.fetch_add(at, low) };
    let high = high.wrapping_add(before.checked_add(low).is_none() as u64);
    if high != 0 {
        sums.add(at + 1, high);
    }
}

impl Wide {
    /// `value` in units of the format.
    #[inline(always)]
    pub fn integer(self, value: f64) -> i128 {
        self.format.to_i128(value)
    }
}

impl Format for Wide {
    #[inline(always)]
    fn new(exponent: i32, _: u32) -> Self {
        Self { format: FixedPoint { exponent, width: Width::I128 } }
    }
    #[inline(always)]
    fn words(self) -> u32 {
        2
    }
    #[inline(always)]
    fn add(self, sums: impl Words, at: u64, value: f64) {
        let value = self.format.to_i128(value);
        add_wide(sums, at, value as u64, (value >> 64) as u64);
    }
    #[inline(always)]
    fn add_product(self, sums: impl Words, at: u64, a: f64, b: f64) {
        let value = self.format.product_to_i128(a, b);
        add_wide(sums, at, value as u64, (value >> 64) as u64);
    }
    #[inline(always)]
    fn merge(self, sums: impl Words, at: u64, word: impl Fn(u32) -> u64) {
        add_wide(sums, at, word(0), word(1));
    }
}

/// Limbs of 32 bits, lowest first, as `kmeans_core::exact::accumulate` lays them out. Up to 2³¹ values may be added
/// before someone carries.
#[derive(Clone, Copy)]
pub struct Limbs {
    exponent: i32,
    words: u32,
}

impl Limbs {
    /// Adds `integer · 2^exponent`.
    #[inline(always)]
    pub(crate) fn add_integer(self, sums: impl Words, at: u64, integer: i128, exponent: i32) {
        // The bits below the format's unit are zeros: drop them, so that the first limb is not negative.
        let low = self.exponent - exponent;
        let (magnitude, position) = match low {
            ..=0 => (integer.unsigned_abs(), (-low) as u32),
            _ => (integer.unsigned_abs() >> low.min(127), 0),
        };
        let (shift, mut limb) = (position % 32, at + (position / 32) as u64);
        // The lowest digit is shifted on its own: magnitude << shift could lose its top bits.
        let (mut digit, mut rest) = ((magnitude << shift) as u32, magnitude >> (32 - shift));
        while digit != 0 || rest != 0 {
            if digit != 0 {
                sums.add(limb, if integer < 0 { (digit as u64).wrapping_neg() } else { digit as u64 });
            }
            (digit, rest) = (rest as u32, rest >> 32);
            limb += 1;
        }
    }
}

impl Format for Limbs {
    #[inline(always)]
    fn new(exponent: i32, words: u32) -> Self {
        Self { exponent, words }
    }
    #[inline(always)]
    fn words(self) -> u32 {
        self.words
    }
    #[inline(always)]
    fn add(self, sums: impl Words, at: u64, value: f64) {
        let (significand, exponent) = decode(value);
        self.add_integer(sums, at, significand as i128, exponent);
    }
    #[inline(always)]
    fn add_product(self, sums: impl Words, at: u64, a: f64, b: f64) {
        let ((a, i), (b, j)) = (decode(a), decode(b));
        self.add_integer(sums, at, a as i128 * b as i128, i + j);
    }
    #[inline(always)]
    fn merge(self, sums: impl Words, at: u64, word: impl Fn(u32) -> u64) {
        for limb in 0..self.words {
            let value = word(limb);
            if value != 0 {
                sums.add(at + limb as u64, value);
            }
        }
    }
}
