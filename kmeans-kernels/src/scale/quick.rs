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

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use kmeans_core::rng::{Purpose, Random};

    use super::*;

    fn check<T: Scalar>(sum: i128, words: u32, exponent: i32, count: u64) {
        let (quick, exact) = (quotient::<T>(sum, words, exponent, count), quotient_by_count::<T>(sum, exponent, count));
        assert_eq!(quick.to_f64().to_bits(), exact.to_f64().to_bits(), "{} {sum} 2^{exponent} {count}", T::NAME);
    }

    #[test]
    fn quick_quotients_are_the_exact_ones() {
        let random = Random::new(3, 0);
        for i in 0..100_000_u64 {
            let draw = |bound: u64, step: u32| random.below(bound, Purpose::Point, step, i);
            let (words, count) = (1 + (i % 2) as u32, 1 + draw(1 << (1 + i % 40), 0));
            let wide = ((draw(1 << 62, 1) as i128) << 64 | draw(1 << 62, 2) as i128) - (1 << 125);
            let sum = wide >> if words == 1 { 63 + draw(62, 3) } else { draw(124, 3) };
            let exponent = draw(160, 4) as i32 - 149;
            check::<f32>(sum, words, exponent, count);
            check::<f16>(sum, words, -20, count);
            check::<bf16>(sum, words, exponent, count);
            // Exactly between two numbers of f32, and next to it.
            let middle =
                ((1 << 25) + 2 * draw(1 << 24, 5) as i128 + 1) * count as i128 * if i % 3 == 0 { -1 } else { 1 };
            for near in -1..=1 {
                check::<f32>(middle + near, 2, exponent, count);
            }
        }
        check::<f32>(0, 1, 0, 5);
        check::<f32>(-1, 1, -149, 1 << 40);
    }
}
