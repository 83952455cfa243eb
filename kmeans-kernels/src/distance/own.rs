//! D of every row to the centroid of its own label: what the policy for empty clusters looks at.

use super::between;
use crate::device::{self, In, Load, Out, block_index, block_size, thread_index};

/// Writes `distances`, `[n]`, one thread per row.
#[inline(always)]
pub fn own<P: Load>(points: In<P>, centroids: In<P::Value>, labels: In<u32>, distances: Out<f64>, n: u64, d: u32) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row < n {
        let centroid = labels.get(row) as u64 * d as u64;
        distances.set(row, between(points, row * d as u64, centroids, centroid, d));
    }
}

device::entries! {
    own(points: In<T>, centroids: In<<T as Load>::Value>, labels: In<u32>, distances: Out<f64>, n: u64, d: u32);
    distance_own_f32: (f32),
    distance_own_f64: (f64),
    distance_own_f16: (half::f16),
    distance_own_bf16: (half::bf16),
    distance_own_u8: (u8),
}
