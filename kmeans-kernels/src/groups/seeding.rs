//! k-means++ in each group: as [`crate::seeding`], with a table of tiles in place of ranges of rows. `picked`, `rows` and `trial_rows` are
//! rows of the whole, and draws count from a group's first row.

use kmeans_core::amounts::Quantizer;
use kmeans_core::launch::{SEED_COLUMNS, SEED_TRIALS};
use kmeans_core::rng::{Purpose, Random};

use super::Table;
use crate::device::{
    self, In, Number, Out, SharedMemory, WARP, block_index, block_size, lane, sync_block, thread_index,
};
use crate::seeding::draw::Run;
use crate::seeding::tile::{self, ROWS, Tile, add_square};
use crate::seeding::{NO_ROW, larger, raise};
use crate::together::{sum_before, sum_lanes};

/// The scale of a group's amounts; nothing where there is nothing to draw from.
#[inline(always)]
fn quantizer(largest: In<u64>, ranges: In<u64>, group: u64) -> Option<Quantizer> {
    let rows = ranges.get(2 * group + 1) - ranges.get(2 * group);
    Quantizer::new(f64::from_bits(largest.get(group)), rows as usize)
}

/// `nearest` = D to the row that was picked for the group, `rows[group]`, if `first`, else the least of that and what it was. Raises
/// `largest` to the bits of each group's largest. A block per tile.
#[inline(always)]
pub fn nearest<T: Number>(
    points: In<T>,
    ranges: In<u64>,
    starts: In<u32>,
    owners: In<u32>,
    rows: In<u64>,
    nearest: Out<f64>,
    largest: Out<u64>,
    tile_rows: u32,
    first: u32,
    d: u32,
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(block_tile) = table.tile() else { return };
    let picked = rows.get(block_tile.group as u64);
    if picked == NO_ROW {
        return;
    }
    let mut shared = SharedMemory::new();
    let chosen = shared.array::<f64>(SEED_COLUMNS);
    let elements = tile::memory::<T>(&mut shared);
    let mut most = 0;
    let mut start = block_tile.first;
    while start < block_tile.end {
        let row = start + thread_index() as u64;
        let mut sum = 0.0;
        let mut column = 0;
        while column < d {
            let tile = Tile::load(elements, points, start, column, block_tile.end, d);
            if thread_index() < tile.width() {
                let at = picked * d as u64 + (column + thread_index()) as u64;
                chosen.set(thread_index(), points.get(at).double());
            }
            sync_block();
            if row < block_tile.end {
                for column in 0..tile.width() {
                    sum = add_square(sum, tile.get(column), chosen.get(column));
                }
            }
            sync_block();
            column += SEED_COLUMNS;
        }
        if row < block_tile.end {
            let near = if first != 0 { sum } else { nearest.get(row).min(sum) };
            nearest.set(row, near);
            most = larger(most, near);
        }
        start += ROWS as u64;
    }
    raise(largest.skip(block_tile.group as u64), most);
}

/// `amounts`: per tile, the sum of its rows' amounts. A block per tile.
#[inline(always)]
pub fn amounts(
    nearest: In<f64>,
    ranges: In<u64>,
    starts: In<u32>,
    owners: In<u32>,
    largest: In<u64>,
    amounts: Out<u64>,
    tile_rows: u32,
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(tile) = table.tile() else { return };
    let Some(quantizer) = quantizer(largest, ranges, tile.group as u64) else { return };
    let per_warp = SharedMemory::new().array::<u64>(block_size() / WARP);
    let mut sum = 0;
    let mut row = tile.first + thread_index() as u64;
    while row < tile.end {
        sum += quantizer.amount(nearest.get(row));
        row += block_size() as u64;
    }
    let (_, total) = sum_before(sum, per_warp);
    if thread_index() == 0 {
        amounts.set(block_index() as u64, total);
    }
}

/// `trial_rows`, `[groups, trials]`: a row for each trial, or `NO_ROW` if there is nothing to draw from. A block per trial.
#[inline(always)]
pub fn draw(
    nearest: In<f64>,
    ranges: In<u64>,
    starts: In<u32>,
    seeds: In<u64>,
    largest: In<u64>,
    amounts: In<u64>,
    trial_rows: Out<u64>,
    tile_rows: u32,
    restart: u32,
    purpose: u32,
    step: u32,
    trials: u32,
) {
    let group = block_index().checked_div(trials).unwrap_or(0) as u64;
    let trial = block_index() as u64 - group * trials as u64;
    let Some(quantizer) = quantizer(largest, ranges, group) else {
        if thread_index() == 0 {
            trial_rows.set(block_index() as u64, NO_ROW);
        }
        return;
    };
    let mut shared = SharedMemory::new();
    let per_warp = shared.array::<u64>(block_size() / WARP);
    let place = shared.array::<u64>(2);
    let (begin, end) = (ranges.get(2 * group), ranges.get(2 * group + 1));
    let (tile, tiles) = (starts.get(group) as u64, starts.get(group + 1) as u64);

    let run = Run::new((tiles - tile).div_ceil(block_size() as u64), tile, tiles);
    let own = run.sum(|tile| amounts.get(tile));
    let (before, total) = sum_before(own, per_warp);
    let purpose = Purpose::from_number(purpose).unwrap_or(Purpose::PlusPlus);
    let draw = Random::new(seeds.get(group), restart).below(total, purpose, step, trial);
    if before <= draw && draw - before < own {
        let (tile, rest) = run.find(draw - before, |tile| amounts.get(tile));
        place.set(0, tile);
        place.set(1, rest);
    }
    sync_block();
    let (chosen, rest) = (place.get(0), place.get(1));

    let first = begin + (chosen - tile) * tile_rows as u64;
    let last = end.min(first + tile_rows as u64);
    let run = Run::new((tile_rows as u64).div_ceil(block_size() as u64), first, last);
    let own = run.sum(|row| quantizer.amount(nearest.get(row)));
    let (before, _) = sum_before(own, per_warp);
    if before <= rest && rest - before < own {
        let (row, _) = run.find(rest - before, |row| quantizer.amount(nearest.get(row)));
        trial_rows.set(block_index() as u64, row);
    }
}

/// Adds to `potentials`, `[groups, trials]`, the amounts of all rows of the group with the trial's row among those picked. A
/// block per tile.
#[inline(always)]
pub fn potentials<T: Number>(
    points: In<T>,
    ranges: In<u64>,
    starts: In<u32>,
    owners: In<u32>,
    trial_rows: In<u64>,
    nearest: In<f64>,
    largest: In<u64>,
    potentials: Out<u64>,
    tile_rows: u32,
    trials: u32,
    d: u32,
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(block_tile) = table.tile() else { return };
    let group = block_tile.group as u64;
    let Some(quantizer) = quantizer(largest, ranges, group) else { return };
    let mut shared = SharedMemory::new();
    // The trials' rows as f64: converted once per tile, read by every thread.
    let chosen = shared.array::<f64>(SEED_TRIALS * SEED_COLUMNS);
    let elements = tile::memory::<T>(&mut shared);
    let mut from = 0;
    while from < trials {
        let count = if trials - from < SEED_TRIALS { trials - from } else { SEED_TRIALS };
        let mut left = [0_u64; SEED_TRIALS as usize];
        let mut start = block_tile.first;
        while start < block_tile.end {
            let row = start + thread_index() as u64;
            let mut sums = [0.0; SEED_TRIALS as usize];
            let mut column = 0;
            while column < d {
                let tile = Tile::load(elements, points, start, column, block_tile.end, d);
                let mut index = thread_index();
                while index < count * SEED_COLUMNS {
                    let (trial, at) = (index / SEED_COLUMNS, index % SEED_COLUMNS);
                    if at < tile.width() {
                        let row = trial_rows.get(group * trials as u64 + (from + trial) as u64);
                        chosen.set(index, points.get(row * d as u64 + (column + at) as u64).double());
                    }
                    index += block_size();
                }
                sync_block();
                if row < block_tile.end {
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
            if row < block_tile.end {
                let near = nearest.get(row);
                for (trial, (left, &sum)) in (0..).zip(left.iter_mut().zip(&sums)) {
                    if trial < count {
                        *left += quantizer.amount(near.min(sum));
                    }
                }
            }
            start += ROWS as u64;
        }
        for (trial, &left) in (0..).zip(&left) {
            let sum = sum_lanes(left);
            if lane() == 0 && sum > 0 {
                potentials.add(group * trials as u64 + (from + trial) as u64, sum);
            }
        }
        from += count;
    }
}

/// `rows[group]` and `picked[group, step]`: the row with the lowest potential, the first among equals, or `NO_ROW`. Sets potentials
/// and `largest` to zero for the next step, unless there was nothing to draw from. A thread per group.
#[inline(always)]
pub fn choose(
    trial_rows: In<u64>,
    potentials: Out<u64>,
    largest: Out<u64>,
    picked: Out<u64>,
    rows: Out<u64>,
    trials: u32,
    step: u32,
    k: u32,
    groups: u32,
) {
    let group = (block_index() * block_size() + thread_index()) as u64;
    if group >= groups as u64 {
        return;
    }
    let start = group * trials as u64;
    let (mut best, mut lowest) = (trial_rows.get(start), potentials.get(start));
    if best != NO_ROW {
        for trial in start..start + trials as u64 {
            let potential = potentials.get(trial);
            if potential < lowest {
                (best, lowest) = (trial_rows.get(trial), potential);
            }
            potentials.set(trial, 0);
        }
        largest.set(group, 0);
    }
    rows.set(group, best);
    picked.set(group * k as u64 + step as u64, best);
}

device::entries! {
    nearest(points: In<T>, ranges: In<u64>, starts: In<u32>, owners: In<u32>, rows: In<u64>, nearest: Out<f64>,
        largest: Out<u64>, tile_rows: u32, first: u32, d: u32);
    groups_seed_nearest_f32: (f32),
    groups_seed_nearest_f64: (f64),
    groups_seed_nearest_f16: (half::f16),
    groups_seed_nearest_bf16: (half::bf16),
}

device::entries! {
    amounts(nearest: In<f64>, ranges: In<u64>, starts: In<u32>, owners: In<u32>, largest: In<u64>, amounts: Out<u64>,
        tile_rows: u32);
    groups_seed_amounts: (),
}

device::entries! {
    draw(nearest: In<f64>, ranges: In<u64>, starts: In<u32>, seeds: In<u64>, largest: In<u64>, amounts: In<u64>,
        trial_rows: Out<u64>, tile_rows: u32, restart: u32, purpose: u32, step: u32, trials: u32);
    groups_seed_draw: (),
}

device::entries! {
    potentials(points: In<T>, ranges: In<u64>, starts: In<u32>, owners: In<u32>, trial_rows: In<u64>, nearest: In<f64>,
        largest: In<u64>, potentials: Out<u64>, tile_rows: u32, trials: u32, d: u32);
    groups_seed_potentials_f32: (f32),
    groups_seed_potentials_f64: (f64),
    groups_seed_potentials_f16: (half::f16),
    groups_seed_potentials_bf16: (half::bf16),
}

device::entries! {
    choose(trial_rows: In<u64>, potentials: Out<u64>, largest: Out<u64>, picked: Out<u64>, rows: Out<u64>, trials: u32,
        step: u32, k: u32, groups: u32);
    groups_seed_choose: (),
}
