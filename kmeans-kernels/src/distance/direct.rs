//! One thread per row and centroid, both read from global memory. Rungs: see [`super`].

use super::{SIDE, between};
use crate::device::{self, In, Number, Out, block_index, block_row, grid_rows, thread_index};

/// D of every row of the chunk to every centroid; 16 rows and 16 centroids per block.
#[inline(always)]
pub fn direct<T: Number>(points: In<T>, centroids: In<T>, distances: Out<f64>, first: u64, rows: u64, k: u32, d: u32) {
    let row = block_index() as u64 * SIDE as u64 + (thread_index() / SIDE) as u64;
    if row >= rows {
        return;
    }
    let mut cluster = block_row() * SIDE + thread_index() % SIDE;
    while cluster < k {
        let distance = between(points, (first + row) * d as u64, centroids, cluster as u64 * d as u64, d);
        distances.set(row * k as u64 + cluster as u64, distance);
        cluster += grid_rows() * SIDE;
    }
}

device::entries! {
    direct(points: In<T>, centroids: In<T>, distances: Out<f64>, first: u64, rows: u64, k: u32, d: u32);
    distance_direct_f32: (f32),
    distance_direct_f64: (f64),
    distance_direct_f16: (half::f16),
    distance_direct_bf16: (half::bf16),
}
