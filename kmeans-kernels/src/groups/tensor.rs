//! Labels and sums in one pass, by tensor cores: as [`fused`](super::fused), for up to 128 columns and as many clusters as shared
//! memory holds sums of.
//!
//! Warps of a block go their own ways, 32 rows at a time: `Scores` finds their labels, and
//! `Cells` adds them up, reading them once more while they are in the cache. The block meets before the first row and after
//! the last only.

use super::Table;
use super::assign::Labels;
use super::runs::{Cells, Run};
use super::scores::Scores;
use super::split::{Pieces, Split};
use crate::device::{self, In, Out, SharedMemory, WARP, ballot, block_size, lane, sync_block, thread_index};

/// Labels, those before, how many of each group's changed, and sums and counts, which were zero, for groups of a state up to
/// `most`. A block takes a tile.
#[inline(always)]
pub fn tensor<T: Split, R: Run>(
    points: In<T>,
    centroids: In<T>,
    ranges: In<u64>,
    starts: In<u32>,
    owners: In<u32>,
    states: In<u32>,
    labels: Out<u32>,
    before: Out<u32>,
    changed: Out<u64>,
    sums: Out<u64>,
    counts: Out<u64>,
    exponent: i32,
    words: u32,
    tile_rows: u32,
    most: u32,
    k: u32,
    d: u32,
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(tile) = table.tile_of_running(states, most) else { return };
    let cluster = tile.group * k;
    let own = centroids.skip(cluster as u64 * d as u64);
    let (points, rows) = (points.skip(tile.first * d as u64), (tile.end - tile.first) as u32);
    let mut shared = SharedMemory::new();
    let scores = Scores::new(&mut shared, points, own, k, d);
    let cells = Cells::new(&mut shared, exponent, k, d);
    let changes = shared.array::<u32>(1);
    scores.prepare();
    cells.clear();
    if thread_index() == 0 {
        changes.set(0, 0);
    }
    sync_block();
    let labels = Labels { labels, before };
    let mut first = thread_index() / WARP * WARP;
    while first < rows {
        let label = scores.label(first, rows);
        let row = first + lane();
        let is_new = row < rows && labels.set(tile.first + row as u64, cluster + label) != 0;
        let new = ballot(is_new).count_ones();
        if lane() == 0 {
            changes.add(0, new);
        }
        cells.add::<T, R>(Pieces::new(points, d), first, rows, label);
        first += block_size();
    }
    sync_block();
    if thread_index() == 0 && changes.get(0) != 0 {
        changed.add(tile.group as u64, changes.get(0) as u64);
    }
    let first_sum = cluster as u64 * d as u64 * words as u64;
    cells.flush(sums.skip(first_sum), counts.skip(cluster as u64), exponent, words);
}

device::entries! {
    in ampere: tensor(points: In<T>, centroids: In<T>, ranges: In<u64>, starts: In<u32>, owners: In<u32>, states: In<u32>,
        labels: Out<u32>, before: Out<u32>, changed: Out<u64>, sums: Out<u64>, counts: Out<u64>, exponent: i32, words: u32,
        tile_rows: u32, most: u32, k: u32, d: u32);
    groups_tensor_short_f32: (f32, crate::groups::runs::Short),
    groups_tensor_short_f16: (half::f16, crate::groups::runs::Short),
    groups_tensor_short_bf16: (half::bf16, crate::groups::runs::Short),
    groups_tensor_long_f32: (f32, crate::groups::runs::Long),
    groups_tensor_long_f16: (half::f16, crate::groups::runs::Long),
    groups_tensor_long_bf16: (half::bf16, crate::groups::runs::Long),
}
