//! Centroids in the order of their norms: those of a tile are then alike, and share a margin that is not much wider than
//! that of each.

use crate::device::{self, In, Out, SharedMemory, WARP, block_size, sync_block, thread_index};
use crate::together::sum_before;

/// Norms are told apart by exponent and the first three bits after the point.
const BUCKETS: u32 = 2048;

/// Writes the labels of k centroids in ascending order of what buckets can tell of |c|², `[k]`; any order within a
/// bucket. One block of `BUCKETS` / 2 threads.
#[inline(always)]
pub fn order(c_norms: In<f32>, order: Out<u32>, k: u32) {
    let mut shared = SharedMemory::new();
    let places = shared.array::<u32>(BUCKETS);
    let per_warp = shared.array::<u64>(block_size() / WARP);
    // Non-negative floats are ordered as their bits are.
    let bucket = |label: u32| c_norms.get(label as u64).to_bits() >> 20;
    let own = 2 * thread_index();
    places.set(own, 0);
    places.set(own + 1, 0);
    sync_block();
    let mut label = thread_index();
    while label < k {
        places.add(bucket(label), 1);
        label += block_size();
    }
    sync_block();
    let (low, high) = (places.get(own), places.get(own + 1));
    let (before, _) = sum_before((low + high) as u64, per_warp);
    places.set(own, before as u32);
    places.set(own + 1, before as u32 + low);
    sync_block();
    let mut label = thread_index();
    while label < k {
        order.set(places.fetch_add(bucket(label), 1) as u64, label);
        label += block_size();
    }
}

device::entries! {
    in hopper: order(c_norms: In<f32>, order: Out<u32>, k: u32);
    assign_order: (),
}
