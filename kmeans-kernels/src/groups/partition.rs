//! Rows of each group in the order of their labels, rows of one label as they were: what splits a level of a tree.
//!
//! | kernel | what it does |
//! |---|---|
//! | [`children`] | the range of places that each cluster gets, from the counts |
//! | [`histogram`] | per tile, how many rows it has of each label |
//! | [`bases`] | per tile and label, how many rows of the label come before the tile's |
//! | [`stay`], [`places`] | the place that each row goes to: its own for rows of no group |
//! | [`carry`] | rows to their places |

use super::Table;
use crate::device::{
    self, In, Number, Out, SharedMemory, WARP, block_index, block_size, grid_size, lane, sync_block, thread_index,
};
use crate::together::sum_before;

/// `children`: the first place of each cluster and the one after its last, `[groups, k, 2]`. A warp, which is a block, per
/// group.
#[inline(always)]
pub fn children(ranges: In<u64>, counts: In<u64>, children: Out<u64>, k: u32) {
    let per_warp = SharedMemory::new().array::<u64>(block_size() / WARP);
    let group = block_index() as u64;
    let mut place = ranges.get(2 * group);
    let mut start = 0;
    while start < k {
        let cluster = start + thread_index();
        let at = group * k as u64 + cluster as u64;
        let own = if cluster < k { counts.get(at) } else { 0 };
        let (before, total) = sum_before(own, per_warp);
        if cluster < k {
            children.set(2 * at, place + before);
            children.set(2 * at + 1, place + before + own);
        }
        place += total;
        start += block_size();
    }
}

/// Adds to `bins`, `[tiles, k]`, the rows of each label that a tile has; they are zero before. A block per tile.
#[inline(always)]
pub fn histogram(
    labels: In<u32>,
    ranges: In<u64>,
    starts: In<u32>,
    owners: In<u32>,
    bins: Out<u32>,
    tile_rows: u32,
    k: u32,
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(tile) = table.tile() else { return };
    let bins = bins.skip(block_index() as u64 * k as u64);
    let mut row = tile.first + thread_index() as u64;
    while row < tile.end {
        bins.add((labels.get(row) - tile.group * k) as u64, 1);
        row += block_size() as u64;
    }
}

/// `bins`: in place of each tile's rows of a label, those of the tiles before it in the group. A block per cluster.
#[inline(always)]
pub fn bases(starts: In<u32>, bins: Out<u32>, k: u32) {
    let per_warp = SharedMemory::new().array::<u64>(block_size() / WARP);
    let group = block_index().checked_div(k).unwrap_or(0);
    let label = block_index() - group * k;
    let (first, end) = (starts.get(group as u64), starts.get(group as u64 + 1));
    let mut start = first;
    let mut base = 0;
    while start < end {
        let tile = start + thread_index();
        let at = tile as u64 * k as u64 + label as u64;
        let own = if tile < end { bins.get(at) } else { 0 };
        let (before, total) = sum_before(own as u64, per_warp);
        if tile < end {
            bins.set(at, base + before as u32);
        }
        base += total as u32;
        start += block_size();
    }
}

/// Every row stays at its place. A thread per row.
#[inline(always)]
pub fn stay(places: Out<u64>, n: u64) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row < n {
        places.set(row, row);
    }
}

/// The place that each row of a group goes to. `bins` are used up. A block per tile.
#[inline(always)]
pub fn places(
    labels: In<u32>,
    ranges: In<u64>,
    starts: In<u32>,
    owners: In<u32>,
    children: In<u64>,
    bins: Out<u32>,
    places: Out<u64>,
    tile_rows: u32,
    k: u32,
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(tile) = table.tile() else { return };
    let bins = bins.skip(block_index() as u64 * k as u64);
    let own_labels = SharedMemory::new().array::<u32>(block_size());
    let mut first = tile.first;
    while first < tile.end {
        let row = first + thread_index() as u64;
        let cluster = if row < tile.end { labels.get(row) } else { u32::MAX };
        own_labels.set(thread_index(), cluster);
        sync_block();
        // Rows of this label before the tile and in its earlier steps, and then those of this step that come before.
        let mut before = 0;
        for other in 0..block_size() {
            before += (own_labels.get(other) == cluster && other < thread_index()) as u64;
        }
        let bin = (cluster - tile.group * k) as u64;
        if row < tile.end {
            before += bins.get(bin) as u64;
        }
        sync_block();
        if row < tile.end {
            places.set(row, children.get(2 * cluster as u64) + before);
            bins.add(bin, 1);
        }
        sync_block();
        first += block_size() as u64;
    }
}

/// Row i of `points`, and entry i of `order`, to place `places[i]` of `moved` and `moved_order`. A warp per row; warps go round.
#[inline(always)]
pub fn carry<T: Number>(
    points: In<T>,
    order: In<u64>,
    places: In<u64>,
    moved: Out<T>,
    moved_order: Out<u64>,
    n: u64,
    d: u32,
) {
    let warps = (block_size() / WARP) as u64;
    let mut row = block_index() as u64 * warps + (thread_index() / WARP) as u64;
    let each = 16 / T::SIZE;
    while row < n {
        let place = places.get(row);
        let (from, to) = (row * d as u64, place * d as u64);
        if d.is_multiple_of(each) {
            let mut column = lane() * each;
            while column < d {
                moved.set16(to + column as u64, points.get16(from + column as u64));
                column += WARP * each;
            }
        } else {
            let mut column = lane();
            while column < d {
                moved.set(to + column as u64, points.get(from + column as u64));
                column += WARP;
            }
        }
        if lane() == 0 {
            moved_order.set(place, order.get(row));
        }
        row += grid_size() as u64 * warps;
    }
}

device::entries! {
    children(ranges: In<u64>, counts: In<u64>, children: Out<u64>, k: u32);
    groups_children: (),
}

device::entries! {
    histogram(labels: In<u32>, ranges: In<u64>, starts: In<u32>, owners: In<u32>, bins: Out<u32>, tile_rows: u32, k: u32);
    groups_histogram: (),
}

device::entries! {
    bases(starts: In<u32>, bins: Out<u32>, k: u32);
    groups_bases: (),
}

device::entries! {
    stay(places: Out<u64>, n: u64);
    groups_stay: (),
}

device::entries! {
    places(labels: In<u32>, ranges: In<u64>, starts: In<u32>, owners: In<u32>, children: In<u64>, bins: Out<u32>,
        places: Out<u64>, tile_rows: u32, k: u32);
    groups_places: (),
}

device::entries! {
    carry(points: In<T>, order: In<u64>, places: In<u64>, moved: Out<T>, moved_order: Out<u64>, n: u64, d: u32);
    groups_carry_f32: (f32),
    groups_carry_f64: (f64),
    groups_carry_f16: (half::f16),
    groups_carry_bf16: (half::bf16),
}
