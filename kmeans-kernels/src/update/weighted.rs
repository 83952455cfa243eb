//! Weighted sums, one thread per element. The weights' own sums are those of points with one column, of `f64`
//! ([`per_element`](super::per_element)).

use super::fixed::{Format, Limbs, Narrow, Wide};
use crate::device::{self, In, Load, Number, Out, block_index, block_row, grid_rows, thread_index};

/// Rows, and columns, of a block.
const SIDE: u32 = 16;

/// Adds every element times its row's weight to the sum of its cluster and column, exactly. `sums` is [k, d] sums of
/// `words` words, in a format for such products.
#[inline(always)]
pub fn weighted<P: Load, F: Format>(
    points: In<P>,
    weights: In<f64>,
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
    let weight = weights.get(row);
    let sum = labels.get(row) as u64 * d as u64;
    let mut column = block_row() * SIDE + thread_index() % SIDE;
    while column < d {
        let value = points.get(row * d as u64 + column as u64).load().double();
        format.add_product(sums, (sum + column as u64) * format.words() as u64, weight, value);
        column += grid_rows() * SIDE;
    }
}

device::entries! {
    weighted(points: In<T>, weights: In<f64>, labels: In<u32>, sums: Out<u64>, exponent: i32, words: u32, n: u64, d: u32);
    sum_weighted_narrow_f32: (f32, Narrow),
    sum_weighted_narrow_f64: (f64, Narrow),
    sum_weighted_narrow_f16: (half::f16, Narrow),
    sum_weighted_narrow_bf16: (half::bf16, Narrow),
    sum_weighted_narrow_u8: (u8, Narrow),
    sum_weighted_wide_f32: (f32, Wide),
    sum_weighted_wide_f64: (f64, Wide),
    sum_weighted_wide_f16: (half::f16, Wide),
    sum_weighted_wide_bf16: (half::bf16, Wide),
    sum_weighted_wide_u8: (u8, Wide),
    sum_weighted_limbs_f32: (f32, Limbs),
    sum_weighted_limbs_f64: (f64, Limbs),
    sum_weighted_limbs_f16: (half::f16, Limbs),
    sum_weighted_limbs_bf16: (half::bf16, Limbs),
    sum_weighted_limbs_u8: (u8, Limbs),
}
