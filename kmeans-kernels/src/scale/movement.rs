//! How far the centroids moved, for the stop rules.

use crate::device::{self, In, Number, Out, block_size, sync_block, thread_index};
use crate::distance::between;

/// `total[0]` = the sum over clusters, in their order, of D(new, old); `moved` is `[k]`, one D each. One block.
#[inline(always)]
pub fn movement<T: Number>(centroids: In<T>, old: In<T>, moved: Out<f64>, total: Out<f64>, k: u32, d: u32) {
    let mut cluster = thread_index();
    while cluster < k {
        let at = cluster as u64 * d as u64;
        moved.set(cluster as u64, between(centroids, at, old, at, d));
        cluster += block_size();
    }
    sync_block();
    // The definition adds them one after the other, so no tree.
    if thread_index() == 0 {
        let mut sum = 0.0;
        for cluster in 0..k as u64 {
            sum += moved.get(cluster);
        }
        total.set(0, sum);
    }
}

device::entries! {
    movement(centroids: In<T>, old: In<T>, moved: Out<f64>, total: Out<f64>, k: u32, d: u32);
    scale_movement_f32: (f32),
    scale_movement_f64: (f64),
    scale_movement_f16: (half::f16),
    scale_movement_bf16: (half::bf16),
}
