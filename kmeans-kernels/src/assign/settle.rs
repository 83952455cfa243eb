//! The rows that a filter left open, settled by D.

use super::NO_LABEL;
use super::leading::{LISTED, MANY, Runs, is_group, is_runs, label, label_in_tile, tile};
use crate::argmin::Nearest;
use crate::device::{
    self, In, Number, Out, Shared, SharedMemory, WARP, block_index, block_size, grid_size, lane, sync_block,
    thread_index,
};
use crate::distance::between_rows;
use kmeans_core::launch::{SETTLE_ROWS as ROWS, TILE_ROWS};

/// Where the centroids that a row is compared with begin.
trait Home: Copy {
    /// The number of the first of them.
    fn first(self, row: u64) -> u64;

    /// The label of the centroid at a place in the tiles.
    #[inline(always)]
    fn label(self, place: u32) -> u32 {
        place
    }
}

/// All rows are compared with the same.
#[derive(Clone, Copy)]
struct One;

impl Home for One {
    #[inline(always)]
    fn first(self, _: u64) -> u64 {
        0
    }
}

/// All rows are compared with the same, which tiles have in another order.
#[derive(Clone, Copy)]
struct Ordered<'a> {
    order: In<'a, u32>,
}

impl Home for Ordered<'_> {
    #[inline(always)]
    fn first(self, _: u64) -> u64 {
        0
    }

    #[inline(always)]
    fn label(self, place: u32) -> u32 {
        self.order.get(place as u64)
    }
}

/// Each group of rows, in ascending order, has k of its own.
#[derive(Clone, Copy)]
struct PerGroup<'a> {
    ranges: In<'a, u64>,
    groups: u32,
    k: u32,
}

impl Home for PerGroup<'_> {
    #[inline(always)]
    fn first(self, row: u64) -> u64 {
        // The last group that begins at or before the row: only rows of groups are open.
        let (mut low, mut high) = (0, self.groups);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.ranges.get(2 * middle as u64) <= row {
                low = middle;
            } else {
                high = middle;
            }
        }
        low as u64 * self.k as u64
    }
}

/// Decides all rows that are open: the first blocks take `ROWS` rows each, the others the list.
#[inline(always)]
pub fn settle<T: Number>(
    points: In<T>,
    centroids: In<T>,
    others: In<u32>,
    open_rows: In<u64>,
    open_codes: In<u32>,
    open: In<u32>,
    room: u32,
    labels: Out<u32>,
    n: u64,
    k: u32,
    d: u32,
) {
    settle_at(One, points, centroids, others, open_rows, open_codes, open, room, labels, n, k, d);
}

/// The same where `order` has the label of each place in the tiles.
#[inline(always)]
pub fn settle_ordered<T: Number>(
    points: In<T>,
    centroids: In<T>,
    order: In<u32>,
    others: In<u32>,
    open_rows: In<u64>,
    open_codes: In<u32>,
    open: In<u32>,
    room: u32,
    labels: Out<u32>,
    n: u64,
    k: u32,
    d: u32,
) {
    settle_at(Ordered { order }, points, centroids, others, open_rows, open_codes, open, room, labels, n, k, d);
}

/// The same where each group of rows, in ascending order, has centroids of its own; labels count from its first.
#[inline(always)]
pub fn settle_groups<T: Number>(
    points: In<T>,
    centroids: In<T>,
    ranges: In<u64>,
    others: In<u32>,
    open_rows: In<u64>,
    open_codes: In<u32>,
    open: In<u32>,
    room: u32,
    labels: Out<u32>,
    n: u64,
    k: u32,
    d: u32,
    groups: u32,
) {
    let home = PerGroup { ranges, groups, k };
    settle_at(home, points, centroids, others, open_rows, open_codes, open, room, labels, n, k, d);
}

#[inline(always)]
fn settle_at<T: Number>(
    home: impl Home,
    points: In<T>,
    centroids: In<T>,
    others: In<u32>,
    open_rows: In<u64>,
    open_codes: In<u32>,
    open: In<u32>,
    room: u32,
    labels: Out<u32>,
    n: u64,
    k: u32,
    d: u32,
) {
    let blocks = n.div_ceil(ROWS as u64) as u32;
    if block_index() < blocks {
        settle_pairs(home, points, centroids, others, labels, n, k, d);
    } else {
        let (block, blocks) = (block_index() - blocks, grid_size() - blocks);
        settle_listed(home, points, centroids, open_rows, open_codes, open, room, labels, k, d, block, blocks);
    }
}

/// Decides the rows with two candidates, `labels` and `others`, and those for which there was no room in the list. `ROWS` rows
/// per block, put together so that all threads have work.
#[inline(always)]
fn settle_pairs<T: Number>(
    home: impl Home,
    points: In<T>,
    centroids: In<T>,
    others: In<u32>,
    labels: Out<u32>,
    n: u64,
    k: u32,
    d: u32,
) {
    let mut shared = SharedMemory::new();
    // Rows with two candidates from the front, rows with more from the back.
    let list = shared.array::<u32>(ROWS);
    let counts = shared.array::<u32>(2);
    let nearests = Nearests::new(&mut shared);
    if thread_index() < 2 {
        counts.set(thread_index(), 0);
    }
    sync_block();
    let first = block_index() as u64 * ROWS as u64;
    let mut i = thread_index();
    while i < ROWS && first + (i as u64) < n {
        match others.get(first + i as u64) {
            NO_LABEL | LISTED => {}
            MANY => list.set(ROWS - 1 - counts.fetch_add(1, 1), i),
            _ => list.set(counts.fetch_add(0, 1), i),
        }
        i += block_size();
    }
    sync_block();
    let (pairs, many) = (counts.get(0), counts.get(1));
    let d_long = d as u64;
    // Two neighbouring lanes have a row.
    let mut i = thread_index() / 2;
    while i - lane() / 2 < pairs {
        let mut nearest = Nearest::NONE;
        let row = if i < pairs { first + list.get(i) as u64 } else { n };
        if row < n {
            let label = if lane().is_multiple_of(2) { labels.get(row) } else { others.get(row) };
            let c = (home.first(row) + label as u64) * d_long;
            nearest = nearest.offer(label, between_rows(points, row * d_long, centroids, c, d));
        }
        nearest = nearest.merge_lanes(2);
        if row < n && lane().is_multiple_of(2) {
            labels.set(row, nearest.label());
        }
        i += block_size() / 2;
    }
    for i in 0..many {
        let row = first + list.get(ROWS - 1 - i) as u64;
        nearests.settle(points, centroids.skip(home.first(row) * d_long), row, labels, k, d);
    }
}

/// Where the warps of a block put together what they found for a row.
#[derive(Clone, Copy)]
struct Nearests<'a> {
    distances: Shared<'a, f64>,
    labels: Shared<'a, u32>,
}

impl Nearests<'_> {
    #[inline(always)]
    fn new(shared: &mut SharedMemory) -> Self {
        Self { distances: shared.array(block_size() / WARP), labels: shared.array(block_size() / WARP) }
    }

    /// Decides a row with any candidate; the whole block takes part.
    #[inline(always)]
    fn settle<T: Number>(self, points: In<T>, centroids: In<T>, row: u64, labels: Out<u32>, k: u32, d: u32) {
        let mut nearest = Nearest::NONE;
        let mut label = thread_index();
        while label < k {
            let (x, c) = (row * d as u64, label as u64 * d as u64);
            nearest = nearest.offer(label, between_rows(points, x, centroids, c, d));
            label += block_size();
        }
        nearest = nearest.merge_lanes(WARP);
        if lane() == 0 {
            self.distances.set(thread_index() / WARP, nearest.distance);
            self.labels.set(thread_index() / WARP, nearest.label);
        }
        sync_block();
        if thread_index() == 0 {
            for warp in 1..block_size() / WARP {
                nearest = nearest.merge(Nearest { label: self.labels.get(warp), distance: self.distances.get(warp) });
            }
            labels.set(row, nearest.label());
        }
        sync_block();
    }
}

/// Decides the rows of the list: a warp has a row, or the whole block if any centroid is a candidate.
#[inline(always)]
fn settle_listed<T: Number>(
    home: impl Home,
    points: In<T>,
    centroids: In<T>,
    open_rows: In<u64>,
    open_codes: In<u32>,
    open: In<u32>,
    room: u32,
    labels: Out<u32>,
    k: u32,
    d: u32,
    block: u32,
    blocks: u32,
) {
    let mut shared = SharedMemory::new();
    let nearests = Nearests::new(&mut shared);
    let count = open.get(0);
    let count = if count < room { count } else { room };
    let warps = block_size() / WARP;
    let mut first = block * warps;
    while first < count {
        let i = first + thread_index() / WARP;
        if i < count && open_codes.get(i as u64 * 8) != MANY {
            let row = open_rows.get(i as u64);
            let own = centroids.skip(home.first(row) * d as u64);
            settle_named(home, points, own, row, open_codes, i as u64 * 8, labels, k, d);
        }
        for i in first..first + warps {
            if i < count && open_codes.get(i as u64 * 8) == MANY {
                let row = open_rows.get(i as u64);
                nearests.settle(points, centroids.skip(home.first(row) * d as u64), row, labels, k, d);
            }
        }
        first += blocks * warps;
    }
}

/// Decides a row among the candidates of its eight codes, which begin at `start`; a warp's work.
#[inline(always)]
fn settle_named<T: Number>(
    home: impl Home,
    points: In<T>,
    centroids: In<T>,
    row: u64,
    codes: In<u32>,
    start: u64,
    labels: Out<u32>,
    k: u32,
    d: u32,
) {
    let distance = |label: u32| between_rows(points, row * d as u64, centroids, label as u64 * d as u64, d);
    let tiles = k.div_ceil(TILE_ROWS);
    let runs = Runs::new(tiles);
    let mut nearest = Nearest::NONE;
    let mut single = NO_LABEL;
    for j in 0..8 {
        // Two codes from each lane of four.
        let code = codes.get(start + j as u64);
        if code == 0 {
            continue;
        }
        if !is_runs(code) && !is_group(code) {
            if lane() == j {
                single = home.label(label(code, j / 2));
            }
            continue;
        }
        // Each lane has one of the 32 scores of a tile.
        let mut tile = if is_runs(code) { 0 } else { tile(code) };
        while tile < tiles {
            let place = label_in_tile(tile, lane(), j / 2);
            if place < k && (!is_runs(code) || runs.has(code, tile)) {
                let label = home.label(place);
                nearest = nearest.merge(Nearest { label, distance: distance(label) });
            }
            tile = if is_runs(code) { tile + 1 } else { tiles };
        }
    }
    if single != NO_LABEL {
        nearest = nearest.merge(Nearest { label: single, distance: distance(single) });
    }
    nearest = nearest.merge_lanes(WARP);
    if lane() == 0 {
        labels.set(row, nearest.label());
    }
}

device::entries! {
    in ampere: settle(points: In<T>, centroids: In<T>, others: In<u32>, open_rows: In<u64>, open_codes: In<u32>,
        open: In<u32>, room: u32, labels: Out<u32>, n: u64, k: u32, d: u32);
    assign_settle_f32: (f32),
    assign_settle_f16: (half::f16),
    assign_settle_bf16: (half::bf16),
}

device::entries! {
    in ampere: settle_groups(points: In<T>, centroids: In<T>, ranges: In<u64>, others: In<u32>, open_rows: In<u64>,
        open_codes: In<u32>, open: In<u32>, room: u32, labels: Out<u32>, n: u64, k: u32, d: u32, groups: u32);
    groups_settle_f32: (f32),
    groups_settle_f16: (half::f16),
    groups_settle_bf16: (half::bf16),
}

device::entries! {
    in hopper: settle_ordered(points: In<T>, centroids: In<T>, order: In<u32>, others: In<u32>, open_rows: In<u64>,
        open_codes: In<u32>, open: In<u32>, room: u32, labels: Out<u32>, n: u64, k: u32, d: u32);
    assign_settle_ordered_f32: (f32),
    assign_settle_ordered_f16: (half::f16),
    assign_settle_ordered_bf16: (half::bf16),
}
