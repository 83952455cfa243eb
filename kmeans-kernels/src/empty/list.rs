//! The clusters without members, in ascending order. One block: each warp takes a run of clusters, counts, and once all
//! counts are known writes.

use crate::device::{self, In, Out, SharedMemory, WARP, ballot, block_size, lane, sync_block, thread_index};

/// `list`: the clusters without members; `count[0]`: how many.
#[inline(always)]
pub fn list(members: In<u64>, list: Out<u32>, count: Out<u32>, k: u32) {
    let warps = block_size() / WARP;
    let per_warp = SharedMemory::new().array::<u32>(warps);
    let warp = thread_index() / WARP;
    // Whole groups of 32 clusters, so that all lanes vote together.
    let run = k.div_ceil(WARP).checked_div(warps).unwrap_or(0) + 1;
    let groups = (warp * run, (warp + 1) * run);
    let mut found = 0;
    for group in groups.0..groups.1 {
        found += vote(members, group, k).count_ones();
    }
    if lane() == 0 {
        per_warp.set(warp, found);
    }
    sync_block();
    let (mut before, mut total) = (0, 0);
    for other in 0..warps {
        let found = per_warp.get(other);
        total += found;
        before += if other < warp { found } else { 0 };
    }
    for group in groups.0..groups.1 {
        let empty = vote(members, group, k);
        if empty >> lane() & 1 == 1 {
            let rank = (empty & ((1 << lane()) - 1)).count_ones();
            list.set((before + rank) as u64, group * WARP + lane());
        }
        before += empty.count_ones();
    }
    if thread_index() == 0 {
        count.set(0, total);
    }
}

/// One bit per cluster of a group of 32: whether it has no members.
#[inline(always)]
fn vote(members: In<u64>, group: u32, k: u32) -> u32 {
    let cluster = group * WARP + lane();
    ballot(cluster < k && members.get(cluster as u64) == 0)
}

device::entries! {
    list(members: In<u64>, list: Out<u32>, count: Out<u32>, k: u32);
    empty_list: (),
}
