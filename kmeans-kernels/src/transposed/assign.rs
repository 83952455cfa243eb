//! Labels from transposed points, and per block how many changed: votes of the warps, then a tree in shared memory.

use crate::argmin::Nearest;
use crate::device::{
    self, In, Number, Out, SharedMemory, WARP, ballot, block_index, block_size, lane, shuffle_down, sync_block,
    thread_index,
};
use crate::distance::add_square;

/// Replaces every label; `changed` is per block the number of labels that are not what they were. At most 32 warps.
#[inline(always)]
pub fn assign<T: Number>(
    columns: In<T>,
    centroids: In<T>,
    labels: Out<u32>,
    changed: Out<u64>,
    n: u64,
    k: u32,
    d: u32,
) {
    let per_warp = SharedMemory::new().array::<u32>(WARP);
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    let mut differs = false;
    if row < n {
        let mut nearest = Nearest::NONE;
        for label in 0..k {
            let mut sum = 0.0;
            for column in 0..d as u64 {
                let c = centroids.get(label as u64 * d as u64 + column);
                sum = add_square(sum, columns.get(column * n + row), c);
            }
            nearest = nearest.offer(label, sum);
        }
        differs = labels.get(row) != nearest.label();
        labels.set(row, nearest.label());
    }
    let votes = ballot(differs);
    if lane() == 0 {
        per_warp.set(thread_index() / WARP, votes.count_ones());
    }
    sync_block();
    // The first warp adds up what the warps found.
    if thread_index() < WARP {
        let mut count = if lane() < block_size() / WARP { per_warp.get(lane()) } else { 0 };
        let mut reach = WARP / 2;
        while reach > 0 {
            count += shuffle_down(count, reach);
            reach /= 2;
        }
        if lane() == 0 {
            changed.set(block_index() as u64, count as u64);
        }
    }
}

device::entries! {
    assign(columns: In<T>, centroids: In<T>, labels: Out<u32>, changed: Out<u64>, n: u64, k: u32, d: u32);
    transposed_assign_f32: (f32),
    transposed_assign_f64: (f64),
    transposed_assign_f16: (half::f16),
    transposed_assign_bf16: (half::bf16),
}
