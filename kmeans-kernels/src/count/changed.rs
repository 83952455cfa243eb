//! How many points changed their label: a vote per warp, one global addition per warp that has any.

use crate::device::{self, In, Out, ballot, block_index, block_size, lane, thread_index};

/// Adds to `changed[0]` the number of points whose label is not what it was.
#[inline(always)]
pub fn changed(before: In<u32>, labels: In<u32>, changed: Out<u64>, n: u64) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    let votes = ballot(row < n && before.get(row) != labels.get(row));
    if lane() == 0 && votes != 0 {
        changed.add(0, votes.count_ones() as u64);
    }
}

device::entries! {
    changed(before: In<u32>, labels: In<u32>, changed: Out<u64>, n: u64);
    count_changed: (),
}
