//! Sums that a thread keeps in registers as integers.

use super::fixed::{Format, Narrow, Wide};

/// A format whose sums a thread can keep in registers.
pub trait InRegisters: Format {
    /// The sum's integer.
    type Integer: Copy;
    /// Zero.
    const ZERO: Self::Integer;
    /// `sum` and `value`.
    fn plus(self, sum: Self::Integer, value: f64) -> Self::Integer;
    /// A word of the sum.
    fn word(sum: Self::Integer, word: u32) -> u64;
}

impl InRegisters for Narrow {
    type Integer = i64;
    const ZERO: i64 = 0;
    #[inline(always)]
    fn plus(self, sum: i64, value: f64) -> i64 {
        sum.wrapping_add(self.integer(value))
    }
    #[inline(always)]
    fn word(sum: i64, _: u32) -> u64 {
        sum as u64
    }
}

impl InRegisters for Wide {
    type Integer = i128;
    const ZERO: i128 = 0;
    #[inline(always)]
    fn plus(self, sum: i128, value: f64) -> i128 {
        sum.wrapping_add(self.integer(value))
    }
    #[inline(always)]
    fn word(sum: i128, word: u32) -> u64 {
        (sum >> (64 * word)) as u64
    }
}
