//! Amounts: costs as integers whose sums do not depend on order, for the draws of seeding.

use crate::fixed::{ExponentRange, ceil_log2};
use crate::rng::{Purpose, Random};
use crate::scalar::power_of_two;

/// Expected candidates per round of k-means||, as a multiple of k.
pub const PARALLEL_OVERSAMPLING: u64 = 2;

/// Turns non-negative numbers into integers whose sums cannot overflow, so that sums and draws do not depend on order.
///
/// The largest of n numbers becomes an integer of 62 − ⌈log₂ n⌉ bits; a number more than that many bits smaller becomes 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantizer {
    // Two powers of two, since one could be out of range.
    factors: [f64; 2],
}

impl Quantizer {
    /// For `n` numbers of which `largest` is the largest; `None` if that is zero or not finite.
    #[inline]
    pub fn new(largest: f64, n: usize) -> Option<Self> {
        if !(largest > 0.0 && largest.is_finite()) {
            return None;
        }
        let exponent = 62 - ceil_log2(n as u64) - ExponentRange::of(largest).high;
        let half = exponent / 2;
        Some(Self { factors: [power_of_two(half), power_of_two(exponent - half)] })
    }

    /// The integer for `value`, 0 ≤ `value` ≤ largest.
    #[inline]
    pub fn amount(&self, value: f64) -> u64 {
        (value * self.factors[0] * self.factors[1]) as u64
    }
}

/// Whether row `i`, whose share of `total` is `amount`, becomes a candidate of k-means|| in `round`.
#[inline]
pub fn is_candidate(i: usize, amount: u64, total: u64, k: usize, round: u32, random: &Random) -> bool {
    let scaled = amount as u128 * (PARALLEL_OVERSAMPLING * k as u64) as u128;
    (random.below(total, Purpose::Parallel, round, i as u64) as u128) < scaled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantized_sums_cannot_overflow() {
        for largest in [5e-324, 1e-300, 1.0, 1e300, f64::MAX] {
            let quantizer = Quantizer::new(largest, 1 << 30).unwrap();
            let top = quantizer.amount(largest);
            assert!((1 << 31..1 << 32).contains(&top), "{largest}: {top}");
        }
        assert_eq!(Quantizer::new(0.0, 5), None);
        assert_eq!(Quantizer::new(f64::INFINITY, 5), None);
        assert_eq!(Quantizer::new(f64::NAN, 5), None);
    }
}
