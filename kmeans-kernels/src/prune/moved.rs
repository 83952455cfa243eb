//! How far centroids have moved, as bounds of rows need it. [`scale`](crate::scale) has what stop rules need.

use super::above;
use crate::device::{self, In, Number, Out, WARP, block_index, block_size, grid_size, lane, shuffle_xor, thread_index};

/// `moved`, `[k]`: `scale` times the distance of every centroid from where it was, or a little more, and 0 for one that
/// stayed; raises `farthest[0]` to the bits of the largest. A warp per centroid.
#[inline(always)]
pub fn moved<T: Number>(centroids: In<T>, old: In<T>, moved: Out<f32>, farthest: Out<u32>, scale: f32, k: u32, d: u32) {
    let warps = grid_size() as u64 * (block_size() / WARP) as u64;
    let mut cluster = block_index() as u64 * (block_size() / WARP) as u64 + (thread_index() / WARP) as u64;
    let mut most = 0.0;
    while cluster < k as u64 {
        let mut squared = 0.0;
        let mut column = lane();
        while column < d {
            let at = cluster * d as u64 + column as u64;
            let difference = centroids.get(at).double() - old.get(at).double();
            squared += difference * difference;
            column += WARP;
        }
        let mut mask = WARP / 2;
        while mask > 0 {
            squared += shuffle_xor(squared, mask);
            mask /= 2;
        }
        // The sum has (d + 2)·2⁻⁵³ of error, less than this makes room for.
        let scaled = squared * (1.0 + 1e-6) * (scale as f64 * scale as f64);
        let far = if squared == 0.0 { 0.0 } else { above(scaled) };
        if lane() == 0 {
            moved.set(cluster, far);
        }
        // Not by f32::max: what is no number must stay.
        most = if far <= most { most } else { far };
        cluster += warps;
    }
    if lane() == 0 && most != 0.0 {
        farthest.raise(0, most.to_bits());
    }
}

device::entries! {
    moved(centroids: In<T>, old: In<T>, moved: Out<f32>, farthest: Out<u32>, scale: f32, k: u32, d: u32);
    prune_moved_f32: (f32),
    prune_moved_f16: (half::f16),
    prune_moved_bf16: (half::bf16),
}
