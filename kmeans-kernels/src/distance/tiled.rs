//! Both operands staged in shared memory, so that each element is read from global memory once per 16 rows or
//! centroids. Rungs: see [`super`].

use super::{SIDE, add_tile, or_zero};
use crate::device::{self, In, Number, Out, SharedMemory, block_index, block_row, grid_rows, sync_block, thread_index};

/// D of every row of the chunk to every centroid; 16 rows and 16 centroids per block.
///
/// Each thread loads one element of either operand: its row's, and its centroid's. So neighbouring threads read
/// different centroids, d elements apart; the next rung cures that.
#[inline(always)]
pub fn tiled<T: Number>(points: In<T>, centroids: In<T>, distances: Out<f64>, first: u64, rows: u64, k: u32, d: u32) {
    let mut shared = SharedMemory::new();
    let (xs, cs) = (shared.array::<T>(SIDE * SIDE), shared.array::<T>(SIDE * SIDE));
    let (y, x) = (thread_index() / SIDE, thread_index() % SIDE);
    let row = block_index() as u64 * SIDE as u64 + y as u64;
    let mut tile = block_row() * SIDE;
    while tile < k {
        let cluster = tile + x;
        let mut sum = 0.0;
        let mut column = 0;
        while column < d {
            let point = if row < rows { or_zero(points, first + row, u64::MAX, column + x, d) } else { T::ZERO };
            xs.set(y * SIDE + x, point);
            cs.set(y * SIDE + x, or_zero(centroids, cluster as u64, k as u64, column + y, d));
            sync_block();
            sum = add_tile(sum, xs, y * SIDE, cs, x, (1, SIDE));
            sync_block();
            column += SIDE;
        }
        if row < rows && cluster < k {
            distances.set(row * k as u64 + cluster as u64, sum);
        }
        tile += grid_rows() * SIDE;
    }
}

device::entries! {
    tiled(points: In<T>, centroids: In<T>, distances: Out<f64>, first: u64, rows: u64, k: u32, d: u32);
    distance_tiled_f32: (f32),
    distance_tiled_f64: (f64),
    distance_tiled_f16: (half::f16),
    distance_tiled_bf16: (half::bf16),
}
