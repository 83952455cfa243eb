//! One thread per element: 16 columns of 16 rows per block, so that neighbouring threads read neighbouring elements.
//! Rungs: see [`super`].

use super::fixed::{Format, Limbs, Narrow, Wide};
use crate::device::{self, In, Load, Number, Out, block_index, block_row, grid_rows, thread_index};

/// Rows, and columns, of a block.
const SIDE: u32 = 16;

/// Adds every element to the sum of its cluster and column. `sums` is [k, d] sums of `words` words.
#[inline(always)]
pub fn per_element<P: Load, F: Format>(
    points: In<P>,
    labels: In<u32>,
    sums: Out<u64>,
    exponent: i32,
    words: u32,
    n: u64,
    d: u32,
) {
    let format = F::new(exponent, words);
    let row = block_index() as u64 * SIDE as u64 + (thread_index() / SIDE) as u64;
    if row >= n {
        return;
    }
    let sum = labels.get(row) as u64 * d as u64;
    let mut column = block_row() * SIDE + thread_index() % SIDE;
    while column < d {
        let value = points.get(row * d as u64 + column as u64).load().double();
        format.add(sums, (sum + column as u64) * format.words() as u64, value);
        column += grid_rows() * SIDE;
    }
}

device::entries! {
    per_element(points: In<T>, labels: In<u32>, sums: Out<u64>, exponent: i32, words: u32, n: u64, d: u32);
    sum_per_element_narrow_f32: (f32, Narrow),
    sum_per_element_narrow_f64: (f64, Narrow),
    sum_per_element_narrow_f16: (half::f16, Narrow),
    sum_per_element_narrow_bf16: (half::bf16, Narrow),
    sum_per_element_narrow_u8: (u8, Narrow),
    sum_per_element_wide_f32: (f32, Wide),
    sum_per_element_wide_f64: (f64, Wide),
    sum_per_element_wide_f16: (half::f16, Wide),
    sum_per_element_wide_bf16: (half::bf16, Wide),
    sum_per_element_limbs_f32: (f32, Limbs),
    sum_per_element_limbs_f64: (f64, Limbs),
    sum_per_element_limbs_f16: (half::f16, Limbs),
    sum_per_element_limbs_bf16: (half::bf16, Limbs),
}
