//! The label of every row among its group's centroids, by D alone: 16 rows against 16 centroids in shared memory, as
//! `assign::tiled`. For `f64`, which `f32` arithmetic does not filter.

use super::Table;
use super::assign::{Labels, add_changes};
use crate::argmin::Nearest;
use crate::device::{self, In, Number, Out, SharedMemory, sync_block, thread_index};
use crate::distance::coalesced::PITCH;
use crate::distance::{SIDE, add_tile, or_zero};

/// Labels, those before, and how many of each group's changed, for groups of a state up to `most`. A block takes a tile, 16
/// rows at a time.
#[inline(always)]
pub fn exact<T: Number>(
    points: In<T>,
    centroids: In<T>,
    ranges: In<u64>,
    starts: In<u32>,
    owners: In<u32>,
    states: In<u32>,
    labels: Out<u32>,
    before: Out<u32>,
    changed: Out<u64>,
    tile_rows: u32,
    most: u32,
    k: u32,
    d: u32,
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(block_tile) = table.tile_of_running(states, most) else { return };
    let centroids = centroids.skip(block_tile.group as u64 * k as u64 * d as u64);
    let mut shared = SharedMemory::new();
    let (xs, cs) = (shared.array::<T>(SIDE * SIDE), shared.array::<T>(SIDE * PITCH));
    let (y, x) = (thread_index() / SIDE, thread_index() % SIDE);
    let mut changes = 0;
    let mut first = block_tile.first;
    while first < block_tile.end {
        let row = first + y as u64;
        let mut nearest = Nearest::NONE;
        let mut tile = 0;
        while tile < k {
            let mut sum = 0.0;
            let mut column = 0;
            while column < d {
                xs.set(y * SIDE + x, or_zero(points, row, block_tile.end, column + x, d));
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
        if row < block_tile.end && x == 0 {
            let labels = Labels { labels, before };
            changes += labels.set(row, block_tile.group * k + nearest.label());
        }
        first += SIDE as u64;
    }
    add_changes(changed, block_tile, changes);
}

device::entries! {
    exact(points: In<T>, centroids: In<T>, ranges: In<u64>, starts: In<u32>, owners: In<u32>, states: In<u32>,
        labels: Out<u32>, before: Out<u32>, changed: Out<u64>, tile_rows: u32, most: u32, k: u32, d: u32);
    groups_exact_f64: (f64),
}
