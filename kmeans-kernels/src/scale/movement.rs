//! How far the centroids moved, for the stop rules: each ([`moved`]), and all together ([`movement`]).

use kmeans_core::launch::MOVEMENT_CLUSTERS;

use crate::device::{self, In, Number, Out, SharedMemory, block_index, block_size, sync_block, thread_index};
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

/// `total[0]` = the sum of `moved` in the order of the clusters. One block.
#[inline(always)]
pub fn movement(moved: In<f64>, total: Out<f64>, k: u32) {
    let staged = SharedMemory::new().array::<f64>(MOVEMENT_CLUSTERS);
    let (mut sum, mut first) = (0.0, 0);
    while first < k {
        let len = if k - first < MOVEMENT_CLUSTERS { k - first } else { MOVEMENT_CLUSTERS };
        let mut place = thread_index();
        while place < len {
            staged.set(place, moved.get((first + place) as u64));
            place += block_size();
        }
        sync_block();
        // The definition adds them one after the other, so no tree.
        if thread_index() == 0 {
            for place in 0..len {
                sum += staged.get(place);
            }
        }
        sync_block();
        first += MOVEMENT_CLUSTERS;
    }
    if thread_index() == 0 {
        total.set(0, sum);
    }
}

device::entries! {
    moved(centroids: In<T>, old: In<T>, moved: Out<f64>, k: u32, d: u32);
    scale_moved_f32: (f32),
    scale_moved_f64: (f64),
    scale_moved_f16: (half::f16),
    scale_moved_bf16: (half::bf16),
}

device::entries! {
    movement(moved: In<f64>, total: Out<f64>, k: u32);
    scale_movement: (),
}
