//! A histogram per block in shared memory, one global addition per block and cluster. Rungs: see [`super`].

use kmeans_core::launch::COUNT_BINS;

use crate::device::{
    self, In, Out, SharedMemory, block_index, block_row, block_size, grid_rows, grid_size, sync_block, thread_index,
};

/// Adds to the counts of k clusters. Blocks share the points in x, and windows of clusters in y.
///
/// A block's bins have 32 bits: the launch gives it fewer points than that.
#[inline(always)]
pub fn histogram(labels: In<u32>, counts: Out<u64>, n: u64, k: u32) {
    let bins = SharedMemory::new().array::<u32>(COUNT_BINS);
    let mut first = block_row() * COUNT_BINS;
    while first < k {
        let len = if k - first < COUNT_BINS { k - first } else { COUNT_BINS };
        let mut bin = thread_index();
        while bin < len {
            bins.set(bin, 0);
            bin += block_size();
        }
        sync_block();
        let mut row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
        while row < n {
            let bin = labels.get(row).wrapping_sub(first);
            if bin < len {
                bins.add(bin, 1);
            }
            row += grid_size() as u64 * block_size() as u64;
        }
        sync_block();
        let mut bin = thread_index();
        while bin < len {
            let count = bins.get(bin);
            if count > 0 {
                counts.add((first + bin) as u64, count as u64);
            }
            bin += block_size();
        }
        sync_block();
        first += grid_rows() * COUNT_BINS;
    }
}

device::entries! {
    histogram(labels: In<u32>, counts: Out<u64>, n: u64, k: u32);
    count_histogram: (),
}
