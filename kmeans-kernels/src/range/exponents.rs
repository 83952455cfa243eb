//! The range of exponents of all values, and the first that is not finite.

use kmeans_core::fixed::ExponentRange;
use kmeans_core::launch::EXPONENT_BIAS;

use crate::device::{self, In, Number, Out, WARP, block_index, block_size, grid_size, lane, shuffle_xor, thread_index};

/// Raises `range[0]` to `EXPONENT_BIAS` + high and `range[1]` to `EXPONENT_BIAS` − low of the values' [`ExponentRange`]; zeros
/// leave both as they are. Raises `faulty[0]` to 2⁶⁴ − 1 − the index of the first value that is not finite.
#[inline(always)]
pub fn exponents<T: Number>(values: In<T>, range: Out<u32>, faulty: Out<u64>, len: u64) {
    let (mut high, mut low, mut fault) = (0_u32, 0_u32, 0_u64);
    let mut index = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    while index < len {
        let value = values.get(index).double();
        if value.is_finite() {
            let range = ExponentRange::of(value);
            if !range.is_zero() {
                high = high.max((EXPONENT_BIAS + range.high) as u32);
                low = low.max((EXPONENT_BIAS - range.low) as u32);
            }
        } else {
            fault = fault.max(u64::MAX - index);
        }
        index += grid_size() as u64 * block_size() as u64;
    }
    let mut mask = WARP / 2;
    while mask > 0 {
        high = high.max(shuffle_xor(high, mask));
        low = low.max(shuffle_xor(low, mask));
        fault = fault.max(shuffle_xor(fault, mask));
        mask /= 2;
    }
    if lane() == 0 {
        if high > 0 {
            range.raise(0, high);
            range.raise(1, low);
        }
        if fault > 0 {
            faulty.raise(0, fault);
        }
    }
}

device::entries! {
    exponents(values: In<T>, range: Out<u32>, faulty: Out<u64>, len: u64);
    range_exponents_f32: (f32),
    range_exponents_f64: (f64),
    range_exponents_f16: (half::f16),
    range_exponents_bf16: (half::bf16),
}
