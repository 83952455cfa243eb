//! Amounts per range of rows, so that a draw need look at one range only.

use kmeans_core::launch::SEED_ROWS;

use super::Amounts;
use crate::device::{self, In, Out, SharedMemory, WARP, block_index, block_size, thread_index};
use crate::together::sum_before;

/// `sums`: per range of `SEED_ROWS` rows, the sum of their amounts. A block per range.
#[inline(always)]
pub fn amounts(nearest: In<f64>, weights: In<f64>, largest: In<u64>, sums: Out<u64>, weighted: u32, n: u64) {
    let Some(amounts) = Amounts::new(nearest, weights, weighted, largest, n) else { return };
    let per_warp = SharedMemory::new().array::<u64>(block_size() / WARP);
    let first = block_index() as u64 * SEED_ROWS as u64;
    let mut sum = 0;
    let mut offset = thread_index();
    while offset < SEED_ROWS {
        let row = first + offset as u64;
        sum += if row < n { amounts.of(row) } else { 0 };
        offset += block_size();
    }
    let (_, total) = sum_before(sum, per_warp);
    if thread_index() == 0 {
        sums.set(block_index() as u64, total);
    }
}

device::entries! {
    amounts(nearest: In<f64>, weights: In<f64>, largest: In<u64>, sums: Out<u64>, weighted: u32, n: u64);
    seed_amounts: (),
}
