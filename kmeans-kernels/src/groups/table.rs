//! The table of tiles: how many of them come before each group's ([`starts`]), and whose tile a block's is ([`owners`]).

use kmeans_core::launch::NO_GROUP;

use crate::device::{self, In, Out, SharedMemory, WARP, block_index, block_size, thread_index};
use crate::together::sum_before;

/// `starts`, `[groups + 1]`: the tiles of `tile_rows` rows before those of each group, and in the end of all. One block.
#[inline(always)]
pub fn starts(ranges: In<u64>, starts: Out<u32>, tile_rows: u32, groups: u32) {
    let per_warp = SharedMemory::new().array::<u64>(block_size() / WARP);
    let tiles = |group: u32| {
        let rows = ranges.get(2 * group as u64 + 1) - ranges.get(2 * group as u64);
        (rows + tile_rows as u64 - 1).checked_div(tile_rows as u64).unwrap_or(0)
    };
    // Each thread has a run of groups.
    let run = groups.div_ceil(block_size());
    let first = thread_index() * run;
    let end = if first + run < groups { first + run } else { groups };
    let mut own = 0;
    let mut group = first;
    while group < end {
        own += tiles(group);
        group += 1;
    }
    let (mut before, total) = sum_before(own, per_warp);
    let mut group = first;
    while group < end {
        starts.set(group as u64, before as u32);
        before += tiles(group);
        group += 1;
    }
    if thread_index() == 0 {
        starts.set(groups as u64, total as u32);
    }
}

/// `owners`, `[blocks]`: the group that each block's tile belongs to, [`NO_GROUP`] for blocks beyond the last tile.
#[inline(always)]
pub fn owners(starts: In<u32>, owners: Out<u32>, tiles: u32, groups: u32) {
    let tile = block_index() * block_size() + thread_index();
    if tile >= tiles {
        return;
    }
    // The last group that begins at or before the tile: groups without tiles begin where the next one does.
    let (mut low, mut high) = (0, groups);
    while low < high {
        let middle = low + (high - low) / 2;
        if starts.get(middle as u64 + 1) <= tile {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    owners.set(tile as u64, if low < groups { low } else { NO_GROUP });
}

device::entries! {
    starts(ranges: In<u64>, starts: Out<u32>, tile_rows: u32, groups: u32);
    groups_starts: (),
}

device::entries! {
    owners(starts: In<u32>, owners: Out<u32>, tiles: u32, groups: u32);
    groups_owners: (),
}
