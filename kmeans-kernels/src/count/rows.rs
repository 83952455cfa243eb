//! Which points changed their label: a list in no particular order, one global addition per block that has any.

use crate::device::{self, In, Out, SharedMemory, WARP, block_index, block_size, sync_block, thread_index};
use crate::together::sum_before;

/// Adds to `changed[0]` the number of points whose label is not what it was, and lists them in `rows`, whose first
/// `changed[0]` elements are in use.
///
/// Sums are of integers, so that nobody can see in which order blocks found their place in the list.
#[inline(always)]
pub fn rows(before: In<u32>, labels: In<u32>, rows: Out<u32>, changed: Out<u64>, n: u64) {
    let mut shared = SharedMemory::new();
    let per_warp = shared.array::<u64>(block_size() / WARP);
    let start = shared.array::<u64>(1);
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    let differs = row < n && before.get(row) != labels.get(row);
    let (place, total) = sum_before(differs as u64, per_warp);
    if thread_index() == 0 && total > 0 {
        start.set(0, changed.fetch_add(0, total));
    }
    sync_block();
    if differs {
        rows.set(start.get(0) + place, row as u32);
    }
}

device::entries! {
    rows(before: In<u32>, labels: In<u32>, rows: Out<u32>, changed: Out<u64>, n: u64);
    changed_rows: (),
}
