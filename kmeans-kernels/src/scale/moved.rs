//! How far each centroid moved, for the stop rules.

use crate::device::{self, In, Number, Out, block_index, block_size, thread_index};
use crate::distance::between;

/// `moved`, `[k]`: D(new, old) of every centroid, a thread each. Blocks are a warp, so that the rows of many warps, each in
/// lines of memory of its own, are read by many multiprocessors.
#[inline(always)]
pub fn moved<T: Number>(centroids: In<T>, old: In<T>, moved: Out<f64>, k: u32, d: u32) {
    let cluster = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if cluster < k as u64 {
        let at = cluster * d as u64;
        moved.set(cluster, between(centroids, at, old, at, d));
    }
}

device::entries! {
    moved(centroids: In<T>, old: In<T>, moved: Out<f64>, k: u32, d: u32);
    scale_moved_f32: (f32),
    scale_moved_f64: (f64),
    scale_moved_f16: (half::f16),
    scale_moved_bf16: (half::bf16),
}
