//! Neighbouring threads load neighbouring elements of both operands. Rungs: see [`super`].

use kmeans_core::Scalar;

use super::{SIDE, add_tile, or_zero};
use crate::device::{self, In, Load, Out, SharedMemory, block_index, block_row, grid_rows, sync_block, thread_index};

/// Elements from one centroid to the next in shared memory: one more than a tile has columns, so that threads that read
/// the same column of 16 centroids hit different banks.
pub(crate) const PITCH: u32 = SIDE + 1;

/// D of every row of the chunk to every centroid; 16 rows and 16 centroids per block.
#[inline(always)]
pub fn coalesced<P: Load>(
    points: In<P>,
    centroids: In<P::Value>,
    distances: Out<f64>,
    first: u64,
    rows: u64,
    k: u32,
    d: u32,
) {
    let mut shared = SharedMemory::new();
    let (xs, cs) = (shared.array::<P::Value>(SIDE * SIDE), shared.array::<P::Value>(SIDE * PITCH));
    let (y, x) = (thread_index() / SIDE, thread_index() % SIDE);
    let row = block_index() as u64 * SIDE as u64 + y as u64;
    let mut tile = block_row() * SIDE;
    while tile < k {
        let mut sum = 0.0;
        let mut column = 0;
        while column < d {
            let point = if row < rows { or_zero(points, first + row, u64::MAX, column + x, d) } else { P::Value::ZERO };
            xs.set(y * SIDE + x, point);
            cs.set(y * PITCH + x, or_zero(centroids, (tile + y) as u64, k as u64, column + x, d));
            sync_block();
            sum = add_tile(sum, xs, y * SIDE, cs, x * PITCH, (1, 1));
            sync_block();
            column += SIDE;
        }
        if row < rows && tile + x < k {
            distances.set(row * k as u64 + (tile + x) as u64, sum);
        }
        tile += grid_rows() * SIDE;
    }
}

device::entries! {
    coalesced(points: In<T>, centroids: In<<T as Load>::Value>, distances: Out<f64>, first: u64, rows: u64, k: u32, d: u32);
    distance_coalesced_f32: (f32),
    distance_coalesced_f64: (f64),
    distance_coalesced_f16: (half::f16),
    distance_coalesced_bf16: (half::bf16),
    distance_coalesced_u8: (u8),
}
