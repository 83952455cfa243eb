//! Gives an empty cluster the farthest point that its own cluster can spare: per block the farthest ([`farthest`]), then
//! the farthest of all, which moves ([`take`]). Both kernels, in turn, for each empty cluster.
//!
//! The reference sorts the points once, by falling distance and rising row, and gives each empty cluster in turn the next
//! one whose cluster has more than one member at that time. Looking for the best from the start each time finds the same:
//! - A point passed over because its cluster had one member stays ineligible, since members only fall.
//! - A point that moved is ineligible: its new cluster was empty, and members of it are not counted up.
//! - So the eligible points are those behind the last one taken in the sorted order, and the best is the first of them.
//!
//! If none is eligible the reference stops, and here all further rounds find none.

use crate::device::{
    self, In, Out, Shared, SharedMemory, WARP, block_index, block_size, grid_size, lane, shuffle_xor, sync_block,
    thread_index,
};

/// The farthest point so far: the bits of its distance, which order as distances do, and its row. No point: 0.
#[derive(Clone, Copy)]
pub(crate) struct Farthest {
    pub distance: u64,
    pub row: u64,
}

impl Farthest {
    pub const NONE: Self = Self { distance: 0, row: u64::MAX };

    /// The farther of two, the lower row of two as far.
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        let better = other.distance > self.distance || (other.distance == self.distance && other.row < self.row);
        if better { other } else { self }
    }

    /// The farthest of the block, in thread 0. `per_warp` has two elements per warp.
    #[inline(always)]
    pub fn of_block(mut self, per_warp: Shared<u64>) -> Self {
        let mut mask = WARP / 2;
        while mask > 0 {
            self = self.merge(Self { distance: shuffle_xor(self.distance, mask), row: shuffle_xor(self.row, mask) });
            mask /= 2;
        }
        if lane() == 0 {
            per_warp.set(thread_index() / WARP * 2, self.distance);
            per_warp.set(thread_index() / WARP * 2 + 1, self.row);
        }
        sync_block();
        if thread_index() == 0 {
            for warp in 1..block_size() / WARP {
                self = self.merge(Self { distance: per_warp.get(warp * 2), row: per_warp.get(warp * 2 + 1) });
            }
        }
        self
    }
}

/// Per block, the point with the largest distance above 0 among those whose cluster has more than one member, and its row;
/// 0 if there is none.
#[inline(always)]
pub fn farthest(distances: In<f64>, labels: In<u32>, members: In<u64>, best: Out<u64>, rows: Out<u64>, n: u64) {
    let per_warp = SharedMemory::new().array::<u64>(2 * block_size() / WARP);
    let mut found = Farthest::NONE;
    let mut row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    while row < n {
        let distance = distances.get(row);
        // Rows come in ascending order. What cannot be the best needs no look at its cluster.
        if distance > 0.0 && distance.to_bits() > found.distance && members.get(labels.get(row) as u64) > 1 {
            found = Farthest { distance: distance.to_bits(), row };
        }
        row += grid_size() as u64 * block_size() as u64;
    }
    found = found.of_block(per_warp);
    if thread_index() == 0 {
        best.set(block_index() as u64, found.distance);
        rows.set(block_index() as u64, found.row);
    }
}

/// Moves the best of all blocks to cluster `list[index]`, if there is one. One block.
#[inline(always)]
pub fn take(best: In<u64>, rows: In<u64>, list: In<u32>, labels: Out<u32>, members: Out<u64>, blocks: u32, index: u32) {
    let per_warp = SharedMemory::new().array::<u64>(2 * block_size() / WARP);
    let mut found = Farthest::NONE;
    let mut block = thread_index();
    while block < blocks {
        found = found.merge(Farthest { distance: best.get(block as u64), row: rows.get(block as u64) });
        block += block_size();
    }
    found = found.of_block(per_warp);
    if thread_index() == 0 && found.distance > 0 {
        let label = labels.get(found.row) as u64;
        members.set(label, members.get(label) - 1);
        labels.set(found.row, list.get(index as u64));
    }
}

device::entries! {
    farthest(distances: In<f64>, labels: In<u32>, members: In<u64>, best: Out<u64>, rows: Out<u64>, n: u64);
    empty_farthest: (),
}

device::entries! {
    take(best: In<u64>, rows: In<u64>, list: In<u32>, labels: Out<u32>, members: Out<u64>, blocks: u32, index: u32);
    empty_move: (),
}
