//! The label of every row among its group's centroids, as `groups::nearest` finds it.

use kmeans_core::launch::GROUP_ROWS;

use super::nearest::{Nearby, row, speaks};
use super::{Table, Tile};
use crate::device::{self, In, Number, Out, SharedMemory, block_size, lane, thread_index};
use crate::together::sum_lanes;

/// Writes the labels of a group's rows, and remembers what they were.
#[derive(Clone, Copy)]
pub(crate) struct Labels<'a> {
    pub labels: Out<'a, u32>,
    pub before: Out<'a, u32>,
}

impl Labels<'_> {
    /// Labels row `row` with cluster number `cluster`. Returns 1 if it had another label.
    #[inline(always)]
    pub fn set(self, row: u64, cluster: u32) -> u64 {
        let before = self.labels.get(row);
        self.before.set(row, before);
        self.labels.set(row, cluster);
        (before != cluster) as u64
    }
}

/// Adds the changes that all lanes have seen. All lanes take part.
#[inline(always)]
pub(crate) fn add_changes(changed: Out<u64>, tile: Tile, changes: u64) {
    let changes = sum_lanes(changes);
    if lane() == 0 && changes != 0 {
        changed.add(tile.group as u64, changes);
    }
}

/// Labels, those before, and how many of each group's changed, for groups of a state up to `most`. A block takes a tile, 64
/// rows at a time.
#[inline(always)]
pub fn assign<T: Number>(
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
    let Some(tile) = table.tile_of_running(states, most) else { return };
    let own = centroids.skip(tile.group as u64 * k as u64 * d as u64);
    let nearby = Nearby::new(&mut SharedMemory::new(), points, own, k, d);
    let labels = Labels { labels, before };
    nearby.prepare();
    let mut changes = 0;
    let mut first = tile.first;
    while first < tile.end {
        let found = nearby.label(tile, first);
        for (a, &label) in (0..).zip(&found) {
            let row = first + row(a) as u64;
            if row < tile.end && speaks() {
                changes += labels.set(row, tile.group * k + label);
            }
        }
        first += GROUP_ROWS as u64;
    }
    add_changes(changed, tile, changes);
}

/// Labels that were found among a group's own centroids, counted from its first, in `found`: writes them as numbers of
/// clusters, remembers those before, and counts the changes of groups of a state up to `most`; in other groups labels stay, and
/// those before become the same. A block per tile.
#[inline(always)]
pub fn adopt(
    found: In<u32>,
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
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(tile) = table.tile() else { return };
    let runs = states.get(tile.group as u64) <= most;
    let both = Labels { labels, before };
    let mut changes = 0;
    let mut row = tile.first + thread_index() as u64;
    while row < tile.end {
        if runs {
            changes += both.set(row, tile.group * k + found.get(row));
        } else {
            before.set(row, labels.get(row));
        }
        row += block_size() as u64;
    }
    add_changes(changed, tile, changes);
}

device::entries! {
    adopt(found: In<u32>, ranges: In<u64>, starts: In<u32>, owners: In<u32>, states: In<u32>, labels: Out<u32>,
        before: Out<u32>, changed: Out<u64>, tile_rows: u32, most: u32, k: u32);
    groups_adopt: (),
}

device::entries! {
    assign(points: In<T>, centroids: In<T>, ranges: In<u64>, starts: In<u32>, owners: In<u32>, states: In<u32>,
        labels: Out<u32>, before: Out<u32>, changed: Out<u64>, tile_rows: u32, most: u32, k: u32, d: u32);
    groups_assign_f32: (f32),
    groups_assign_f16: (half::f16),
    groups_assign_bf16: (half::bf16),
}
