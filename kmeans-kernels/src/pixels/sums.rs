//! Sums and counts of pixels per block in shared memory, one global addition per block and cluster.

use kmeans_core::launch::PIXEL_BINS;

use super::COLOURS;
use crate::device::{
    self, In, Out, SharedMemory, block_index, block_row, block_size, grid_rows, grid_size, sync_block, thread_index,
};

/// Red, green, blue and the count.
const CELLS: u32 = COLOURS + 1;

/// Adds to `sums`, [k, 3], and `counts`, `[k]`. Blocks share the pixels in x, and windows of clusters in y.
///
/// A block's cells have 32 bits: the launch gives it fewer than 2²⁴ pixels.
#[inline(always)]
pub fn sums(pixels: In<u8>, labels: In<u32>, sums: Out<u64>, counts: Out<u64>, n: u64, k: u32) {
    let cells = SharedMemory::new().array::<u32>(PIXEL_BINS * CELLS);
    let mut first = block_row() * PIXEL_BINS;
    while first < k {
        let len = if k - first < PIXEL_BINS { k - first } else { PIXEL_BINS };
        let mut cell = thread_index();
        while cell < len * CELLS {
            cells.set(cell, 0);
            cell += block_size();
        }
        sync_block();
        let mut pixel = block_index() as u64 * block_size() as u64 + thread_index() as u64;
        while pixel < n {
            let cluster = labels.get(pixel).wrapping_sub(first);
            if cluster < len {
                for channel in 0..COLOURS {
                    let value = pixels.get(pixel * COLOURS as u64 + channel as u64);
                    cells.add(cluster * CELLS + channel, value as u32);
                }
                cells.add(cluster * CELLS + COLOURS, 1);
            }
            pixel += grid_size() as u64 * block_size() as u64;
        }
        sync_block();
        let mut cluster = thread_index();
        while cluster < len {
            let count = cells.get(cluster * CELLS + COLOURS);
            if count > 0 {
                for channel in 0..COLOURS {
                    let at = (first + cluster) as u64 * COLOURS as u64 + channel as u64;
                    sums.add(at, cells.get(cluster * CELLS + channel) as u64);
                }
                counts.add((first + cluster) as u64, count as u64);
            }
            cluster += block_size();
        }
        sync_block();
        first += grid_rows() * PIXEL_BINS;
    }
}

device::entries! {
    sums(pixels: In<u8>, labels: In<u32>, sums: Out<u64>, counts: Out<u64>, n: u64, k: u32);
    pixel_sums: (),
}
