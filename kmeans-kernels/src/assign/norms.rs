//! Squared norms of rows, and the largest of them.

use crate::device::{self, In, Number, Out, block_index, block_size, thread_index};

/// Writes the squared norm of every row, `[rows]`, rounded to `f32`, and raises `largest[0]` to the bits of the largest:
/// non-negative floats are ordered as their bits are.
#[inline(always)]
pub fn norms<T: Number>(matrix: In<T>, norms: Out<f32>, largest: Out<u32>, rows: u64, d: u32) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row >= rows {
        return;
    }
    let mut sum = 0.0;
    for column in 0..d as u64 {
        let value = matrix.get(row * d as u64 + column).double();
        sum += value * value;
    }
    norms.set(row, sum as f32);
    largest.raise(0, (sum as f32).to_bits());
}

device::entries! {
    norms(matrix: In<T>, norms: Out<f32>, largest: Out<u32>, rows: u64, d: u32);
    norms_f32: (f32),
    norms_f16: (half::f16),
    norms_bf16: (half::bf16),
}
