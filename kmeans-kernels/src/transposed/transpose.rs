//! [n, d] to [d, n], by tiles of 32 by 32 in shared memory, so that both sides are read and written in rows.

use crate::device::{
    self, In, Number, Out, SharedMemory, block_index, block_row, block_size, grid_rows, sync_block, thread_index,
};

/// Rows and columns of a tile.
const TILE: u32 = 32;
/// One more than a row has: a column of the tile hits different banks.
const PITCH: u32 = TILE + 1;

/// Copies `points`, [n, d], to `columns`, [d, n].
#[inline(always)]
pub fn transpose<T: Number>(points: In<T>, columns: Out<T>, n: u64, d: u32) {
    let tile = SharedMemory::new().array::<T>(TILE * PITCH);
    let (across, step) = (thread_index() % TILE, block_size() / TILE);
    let first = block_index() as u64 * TILE as u64;
    let mut left = block_row() * TILE;
    while left < d {
        let mut down = thread_index() / TILE;
        while down < TILE {
            let (row, column) = (first + down as u64, left + across);
            if row < n && column < d {
                tile.set(down * PITCH + across, points.get(row * d as u64 + column as u64));
            }
            down += step;
        }
        sync_block();
        let mut down = thread_index() / TILE;
        while down < TILE {
            let (row, column) = (first + across as u64, left + down);
            if row < n && column < d {
                columns.set(column as u64 * n + row, tile.get(across * PITCH + down));
            }
            down += step;
        }
        sync_block();
        left += grid_rows() * TILE;
    }
}

device::entries! {
    transpose(points: In<T>, columns: Out<T>, n: u64, d: u32);
    transposed_transpose_f32: (f32),
    transposed_transpose_f64: (f64),
    transposed_transpose_f16: (half::f16),
    transposed_transpose_bf16: (half::bf16),
}
