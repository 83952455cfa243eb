//! Means by one division in `f64`, where that provably gives what one rounding would.

use kmeans_core::Scalar;
use kmeans_core::exact::quotient_by_count;
use kmeans_core::scalar::power_of_two;

/// `sum · 2^exponent / count`, rounded once; `count` ≥ 1.
///
/// The quotient in `f64` passes through at most five roundings of 2⁻⁵³ each, two of them where the sum has two words, so it is off by
/// less than 2⁻⁵⁰ of itself. If both ends of that interval round to the same number, so does what lies between; nearly always. Else, and for `f64`, integers decide.
#[inline(always)]
pub(crate) fn quotient<T: Scalar>(sum: i128, words: u32, exponent: i32, count: u64) -> T {
    const SLACK: f64 = 1.0 / (1_u64 << 50) as f64;
    if T::DIGITS <= 24 && exponent > -900 && exponent < 900 {
        // Of magnitudes, whose words add up without cancelling.
        let magnitude = sum.unsigned_abs();
        let mut value = magnitude as u64 as f64;
        if words > 1 {
            value += (magnitude >> 64) as u64 as f64 * power_of_two(64);
        }
        let signed = if sum < 0 { -value } else { value };
        let mean = signed / count as f64 * power_of_two(exponent);
        let (low, high) = (T::from_f64(mean * (1.0 - SLACK)), T::from_f64(mean * (1.0 + SLACK)));
        // A zero may stand for a number that is too small.
        if low == high && low != T::ZERO {
            return low;
        }
    }
    quotient_by_count(sum, exponent, count)
}
