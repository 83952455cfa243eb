//! One thread per row, an atomic addition per column. Rungs: see [`super`].

use super::fixed::{Format, Narrow};
use crate::device::{self, In, Number, Out, block_index, block_size, thread_index};

/// Adds every row to the sums of its cluster, [k, d] sums of `words` words.
#[inline(always)]
pub fn per_sample<T: Number, F: Format>(
    points: In<T>,
    labels: In<u32>,
    sums: Out<u64>,
    exponent: i32,
    words: u32,
    n: u64,
    d: u32,
) {
    let format = F::new(exponent, words);
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row >= n {
        return;
    }
    let sum = labels.get(row) as u64 * d as u64;
    for column in 0..d as u64 {
        let value = points.get(row * d as u64 + column).double();
        format.add(sums, (sum + column) * format.words() as u64, value);
    }
}

device::entries! {
    per_sample(points: In<T>, labels: In<u32>, sums: Out<u64>, exponent: i32, words: u32, n: u64, d: u32);
    sum_per_sample_narrow_f32: (f32, Narrow),
    sum_per_sample_narrow_f64: (f64, Narrow),
    sum_per_sample_narrow_f16: (half::f16, Narrow),
    sum_per_sample_narrow_bf16: (half::bf16, Narrow),
}
