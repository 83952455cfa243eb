//! What each trial would leave: the sum of amounts if its row were picked. All trials, up to `SEED_TRIALS` of them, in one
//! pass over the points.

use kmeans_core::launch::{SEED_COLUMNS, SEED_TRIALS};

use super::Amounts;
use super::tile::{self, ROWS, Tile, add_square};
use crate::device::{
    self, In, Load, Number, Out, SharedMemory, block_index, block_size, grid_size, lane, sync_block, thread_index,
};
use crate::together::sum_lanes;

/// Adds to `potentials`, per trial, the amounts of all rows with the trial's row among those picked.
#[inline(always)]
pub fn potentials<P: Load>(
    points: In<P>,
    rows: In<u64>,
    nearest: In<f64>,
    weights: In<f64>,
    largest: In<u64>,
    potentials: Out<u64>,
    weighted: u32,
    trials: u32,
    n: u64,
    d: u32,
) {
    let Some(amounts) = Amounts::new(nearest, weights, weighted, largest, n) else { return };
    let mut shared = SharedMemory::new();
    // The trials' rows as f64: converted once per tile, read by every thread.
    let chosen = shared.array::<f64>(SEED_TRIALS * SEED_COLUMNS);
    let elements = tile::memory::<P::Value>(&mut shared);
    let mut first = 0;
    while first < trials {
        let count = if trials - first < SEED_TRIALS { trials - first } else { SEED_TRIALS };
        let mut left = [0_u64; SEED_TRIALS as usize];
        let mut start = block_index() as u64 * ROWS as u64;
        while start < n {
            let row = start + thread_index() as u64;
            let mut sums = [0.0; SEED_TRIALS as usize];
            let mut column = 0;
            while column < d {
                let tile = Tile::load(elements, points, start, column, n, d);
                let mut index = thread_index();
                while index < count * SEED_COLUMNS {
                    let (trial, at) = (index / SEED_COLUMNS, index % SEED_COLUMNS);
                    if at < tile.width() {
                        let from = rows.get((first + trial) as u64) * d as u64 + (column + at) as u64;
                        chosen.set(index, points.get(from).load().double());
                    }
                    index += block_size();
                }
                sync_block();
                if row < n {
                    for column in 0..tile.width() {
                        let x = tile.get(column);
                        // A branch that all threads take alike: a trial that is not there costs no arithmetic.
                        for (trial, sum) in (0..).zip(&mut sums) {
                            if trial < count {
                                *sum = add_square(*sum, x, chosen.get(trial * SEED_COLUMNS + column));
                            }
                        }
                    }
                }
                sync_block();
                column += SEED_COLUMNS;
            }
            if row < n {
                let row = amounts.row(row);
                for (trial, (left, &sum)) in (0..).zip(left.iter_mut().zip(&sums)) {
                    if trial < count {
                        *left += amounts.with(row, sum);
                    }
                }
            }
            start += grid_size() as u64 * block_size() as u64;
        }
        for (trial, &left) in (0..).zip(&left) {
            let sum = sum_lanes(left);
            if lane() == 0 && sum > 0 {
                potentials.add((first + trial) as u64, sum);
            }
        }
        first += count;
    }
}

device::entries! {
    potentials(
        points: In<T>, rows: In<u64>, nearest: In<f64>, weights: In<f64>, largest: In<u64>, potentials: Out<u64>,
        weighted: u32, trials: u32, n: u64, d: u32
    );
    seed_potentials_f32: (f32),
    seed_potentials_f64: (f64),
    seed_potentials_f16: (half::f16),
    seed_potentials_bf16: (half::bf16),
    seed_potentials_u8: (u8),
}
