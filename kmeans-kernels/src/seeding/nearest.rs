//! D of every row to a row just picked, and to the nearest of all so far.

use kmeans_core::launch::SEED_COLUMNS;

use super::tile::{self, ROWS, Tile, add_square};
use super::{NO_ROW, Weights, larger, raise};
use crate::device::{
    self, In, Load, Number, Out, SharedMemory, block_index, block_size, grid_size, sync_block, thread_index,
};

/// `nearest` = D to row `row[0]` if `first`, else the least of that and what it was. Raises `largest[0]` to the bits of the
/// largest cost.
#[inline(always)]
pub fn nearest<P: Load>(
    points: In<P>,
    row: In<u64>,
    nearest: Out<f64>,
    weights: In<f64>,
    largest: Out<u64>,
    weighted: u32,
    first: u32,
    n: u64,
    d: u32,
) {
    let picked = row.get(0);
    if picked == NO_ROW {
        return;
    }
    let weights = Weights::new(weights, weighted);
    let mut shared = SharedMemory::new();
    let chosen = shared.array::<f64>(SEED_COLUMNS);
    let elements = tile::memory::<P::Value>(&mut shared);
    let mut most = 0;
    let mut start = block_index() as u64 * ROWS as u64;
    while start < n {
        let row = start + thread_index() as u64;
        let mut sum = 0.0;
        let mut column = 0;
        while column < d {
            let tile = Tile::load(elements, points, start, column, n, d);
            if thread_index() < tile.width() {
                let at = picked * d as u64 + (column + thread_index()) as u64;
                chosen.set(thread_index(), points.get(at).load().double());
            }
            sync_block();
            if row < n {
                for column in 0..tile.width() {
                    sum = add_square(sum, tile.get(column), chosen.get(column));
                }
            }
            sync_block();
            column += SEED_COLUMNS;
        }
        if row < n {
            let near = if first != 0 { sum } else { nearest.get(row).min(sum) };
            nearest.set(row, near);
            most = larger(most, weights.of(row) * near);
        }
        start += grid_size() as u64 * block_size() as u64;
    }
    raise(largest, most);
}

device::entries! {
    nearest(
        points: In<T>, row: In<u64>, nearest: Out<f64>, weights: In<f64>, largest: Out<u64>, weighted: u32, first: u32,
        n: u64, d: u32
    );
    seed_nearest_f32: (f32),
    seed_nearest_f64: (f64),
    seed_nearest_f16: (half::f16),
    seed_nearest_bf16: (half::bf16),
    seed_nearest_u8: (u8),
}
