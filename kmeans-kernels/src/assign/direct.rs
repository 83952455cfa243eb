//! One thread per row, centroids read from global memory. Rungs: see [`super`].

use crate::argmin::Nearest;
use crate::device::{self, In, Number, Out, block_index, block_size, thread_index};
use crate::distance::between;

/// The label of every row.
#[inline(always)]
pub fn direct<T: Number>(points: In<T>, centroids: In<T>, labels: Out<u32>, n: u64, k: u32, d: u32) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row >= n {
        return;
    }
    let mut nearest = Nearest::NONE;
    for label in 0..k {
        nearest = nearest.offer(label, between(points, row * d as u64, centroids, label as u64 * d as u64, d));
    }
    labels.set(row, nearest.label());
}

device::entries! {
    direct(points: In<T>, centroids: In<T>, labels: Out<u32>, n: u64, k: u32, d: u32);
    assign_direct_f32: (f32),
    assign_direct_f64: (f64),
    assign_direct_f16: (half::f16),
    assign_direct_bf16: (half::bf16),
}
