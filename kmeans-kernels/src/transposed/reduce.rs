//! The second stage: what the blocks of the first found, brought together.

use crate::device::{
    self, In, Out, SharedMemory, WARP, block_index, block_size, lane, shuffle_down, sync_block, thread_index,
};
use crate::scale::divide::Integer;
use crate::update::fixed::{Narrow, Wide};

/// `total[0]` = the sum of `blocks` counts, by one block: strided sums, then warps by shuffles, then the first warp.
#[inline(always)]
pub fn changes(changed: In<u64>, total: Out<u64>, blocks: u64) {
    let per_warp = SharedMemory::new().array::<u64>(WARP);
    let mut count = 0;
    let mut block = thread_index() as u64;
    while block < blocks {
        count += changed.get(block);
        block += block_size() as u64;
    }
    count = add_lanes(count);
    if lane() == 0 {
        per_warp.set(thread_index() / WARP, count);
    }
    sync_block();
    if thread_index() < WARP {
        let count = add_lanes(if lane() < block_size() / WARP { per_warp.get(lane()) } else { 0 });
        if lane() == 0 {
            total.set(0, count);
        }
    }
}

/// Lane 0 gets the sum of all lanes.
#[inline(always)]
fn add_lanes(mut count: u64) -> u64 {
    let mut reach = WARP / 2;
    while reach > 0 {
        count = count.wrapping_add(shuffle_down(count, reach));
        reach /= 2;
    }
    count
}

/// `sums`, [k, d], from `partial`, [blocks, k, d]; one block per cluster.
#[inline(always)]
pub fn sums<F: Integer>(partial: In<u64>, sums: Out<u64>, blocks: u32, k: u32, d: u32) {
    let words = F::new(0, 0).words() as u64;
    let mut column = thread_index();
    while column < d {
        let at = block_index() as u64 * d as u64 + column as u64;
        let mut sum = 0_i128;
        for block in 0..blocks as u64 {
            sum = sum.wrapping_add({
                let first = (block * k as u64 * d as u64 + at) * words;
                F::integer(|word| partial.get(first + word as u64))
            });
        }
        for word in 0..words {
            sums.set(at * words + word, (sum >> (64 * word)) as u64);
        }
        column += block_size();
    }
}

device::entries! {
    changes(changed: In<u64>, total: Out<u64>, blocks: u64);
    transposed_reduce_changes: (),
}

device::entries! {
    sums(partial: In<u64>, sums: Out<u64>, blocks: u32, k: u32, d: u32);
    transposed_reduce_sums_narrow: (Narrow),
    transposed_reduce_sums_wide: (Wide),
}
