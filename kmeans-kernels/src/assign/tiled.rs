//! Both operands staged in shared memory, 16 rows against 16 centroids at a time. Rungs: see [`super`].

use crate::argmin::Nearest;
use crate::device::{self, In, Number, Out, SharedMemory, block_index, sync_block, thread_index};
use crate::distance::coalesced::PITCH;
use crate::distance::{SIDE, add_tile, or_zero};

/// The label of every row; 16 rows per block, 16 threads per row. Each thread sees every 16th centroid; at the end the
/// threads of a row, which are half a warp, agree on the best.
#[inline(always)]
pub fn tiled<T: Number>(points: In<T>, centroids: In<T>, labels: Out<u32>, n: u64, k: u32, d: u32) {
    let mut shared = SharedMemory::new();
    let (xs, cs) = (shared.array::<T>(SIDE * SIDE), shared.array::<T>(SIDE * PITCH));
    let (y, x) = (thread_index() / SIDE, thread_index() % SIDE);
    let row = block_index() as u64 * SIDE as u64 + y as u64;
    let mut nearest = Nearest::NONE;
    let mut tile = 0;
    while tile < k {
        let mut sum = 0.0;
        let mut column = 0;
        while column < d {
            xs.set(y * SIDE + x, or_zero(points, row, n, column + x, d));
            cs.set(y * PITCH + x, or_zero(centroids, (tile + y) as u64, k as u64, column + x, d));
            sync_block();
            sum = add_tile(sum, xs, y * SIDE, cs, x * PITCH, (1, 1));
            sync_block();
            column += SIDE;
        }
        // A tile's rows beyond k are no centroids: they must not win.
        if tile + x < k {
            nearest = nearest.offer(tile + x, sum);
        }
        tile += SIDE;
    }
    nearest = nearest.merge_lanes(SIDE);
    if row < n && x == 0 {
        labels.set(row, nearest.label());
    }
}

device::entries! {
    tiled(points: In<T>, centroids: In<T>, labels: Out<u32>, n: u64, k: u32, d: u32);
    assign_tiled_f32: (f32),
    assign_tiled_f64: (f64),
    assign_tiled_f16: (half::f16),
    assign_tiled_bf16: (half::bf16),
}
