//! Points without weight are as if they lay on their centroids: no empty cluster takes them.

use crate::device::{self, In, Out, block_index, block_size, thread_index};

/// Sets `distances` to 0 where the weight is 0.
#[inline(always)]
pub fn mask(distances: Out<f64>, weights: In<f64>, n: u64) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row < n && !(weights.get(row) > 0.0) {
        distances.set(row, 0.0);
    }
}

device::entries! {
    mask(distances: Out<f64>, weights: In<f64>, n: u64);
    empty_mask: (),
}
