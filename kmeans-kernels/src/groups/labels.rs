//! Labels that are not found: random ones to start from, and those of rows that belong to no group.

use kmeans_core::rng::{Purpose, Random};

use super::Table;
use crate::device::{self, In, Out, block_index, block_size, thread_index};

/// Labels every row with `cluster`: one of rows that belong to no group. A thread per row.
#[inline(always)]
pub fn outside(labels: Out<u32>, cluster: u32, n: u64) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row < n {
        labels.set(row, cluster);
    }
}

/// Random labels, drawn by each group's seed and the row's number within the group.
#[inline(always)]
pub fn random(
    ranges: In<u64>,
    starts: In<u32>,
    owners: In<u32>,
    seeds: In<u64>,
    labels: Out<u32>,
    restart: u32,
    tile_rows: u32,
    k: u32,
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(tile) = table.tile() else { return };
    let random = Random::new(seeds.get(tile.group as u64), restart);
    let begin = ranges.get(2 * tile.group as u64);
    let mut row = tile.first + thread_index() as u64;
    while row < tile.end {
        let label = random.below(k as u64, Purpose::Label, 0, row - begin) as u32;
        labels.set(row, tile.group * k + label);
        row += block_size() as u64;
    }
}

device::entries! {
    outside(labels: Out<u32>, cluster: u32, n: u64);
    groups_outside: (),
}

device::entries! {
    random(ranges: In<u64>, starts: In<u32>, owners: In<u32>, seeds: In<u64>, labels: Out<u32>, restart: u32,
        tile_rows: u32, k: u32);
    groups_random_labels: (),
}
