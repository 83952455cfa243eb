//! Hopper's tensor cores kept busy: 256 rows stay in shared memory while tiles of 128 centroids stream past them, and the
//! scores of 64 rows are looked through while the products of the next 64 are under way. Up to 128 columns.
//!
//! A block has twelve warps. Eight compute: two groups of four, 128 rows each, in two halves. Two copy the next rows, one
//! the next tiles, whole, as [`tiles`](super::tiles) has laid them out. The last one draws conclusions: it puts together what
//! the lanes have seen of each row. They meet at barriers in shared memory: each buffer has one to say that it is full, and one
//! to say that it may be filled again. There are as many blocks as multiprocessors, and each goes on with rows until there
//! are none left.
//!
//! The result is a label for every row, and a second one where the scores could not rule it out, or the remark that
//! there are more: [`settle`](super::settle) decides those by D. `bound` says why that is exact.

use super::bound::{Bound, one};
use super::leading::{Leading, Results, Runs, Seen};
use crate::device::{
    self, Barriers, Half, In, Narrow, Out, Shared, SharedMemory, Swizzled, WARP, Wide, begin_narrow_product,
    begin_product, block_index, commit_copies, commit_products, fence_tiles, grid_size, lane, publish_barriers,
    sync_block, sync_warp, thread_index, wait_copies, wait_products, warp_index,
};
use crate::distance::or_zero;
use crate::groups::Table;
use kmeans_core::launch::{STREAM_ROWS as ROWS, TILE_ROWS as TILE};

/// Rows whose products are begun at once.
const HALF: u32 = 64;
/// Tiles on their way or in use.
const STAGES: u32 = 2;
/// Elements that are copied at once, 16 bytes.
const PIECE: u32 = 8;
/// Warps that compute.
const WORKERS: u32 = 8;
/// Warps that copy rows.
const LOADERS: u32 = 2;

/// How many slices of 64 columns a row has.
pub trait Columns {
    /// That many.
    const SLICES: u32;
}

/// Rows of up to 64·N columns.
pub struct Slices<const N: u32>;

impl<const N: u32> Columns for Slices<N> {
    const SLICES: u32 = N;
}

/// What a block holds in shared memory.
#[derive(Clone, Copy)]
struct Block<'a, T> {
    /// Two buffers of 256 rows, slice by slice.
    rows: [Swizzled<'a, T>; 2],
    tiles: Swizzled<'a, T>,
    /// For each tile, what scores begin with, as products with `ones`.
    starts: Narrow<'a, T>,
    ones: Narrow<'a, T>,
    /// The margins of both buffers' rows.
    margins: Shared<'a, f32>,
    /// What lanes have seen of each half.
    seen: [Seen<'a>; 2],
    barriers: Barriers<'a>,
}

/// Barriers: of tiles, of rows, of what lanes have seen of each half.
const TILE_FULL: u32 = 0;
const TILE_FREE: u32 = STAGES;
const ROWS_FULL: u32 = 2 * STAGES;
const ROWS_FREE: u32 = 2 * STAGES + 2;
const SEEN_FULL: u32 = 2 * STAGES + 4;
const SEEN_FREE: u32 = 2 * STAGES + 6;
const BARRIERS: u32 = 2 * STAGES + 8;

/// A place in a ring of buffers, and the parity of the round.
#[derive(Clone, Copy)]
struct Ring {
    index: u32,
    parity: u32,
}

impl Ring {
    const START: Self = Self { index: 0, parity: 0 };

    #[inline(always)]
    fn next(&mut self, length: u32) {
        self.index += 1;
        if self.index == length {
            self.index = 0;
            self.parity ^= 1;
        }
    }
}

/// Some rows that are compared with the same centroids.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub first: u64,
    pub end: u64,
    /// The group of centroids.
    pub group: u32,
}

/// Which rows blocks take: block b of g takes number b, b + g, b + 2g and so on.
pub(crate) trait Plan: Copy {
    /// Whether rows come from a list, and bounds are made for them.
    const IS_LISTED: bool = false;

    /// Number `index`, if there is one: at most 256 rows.
    fn rows(self, index: u32) -> Option<Rows>;

    /// The number in the matrix of the row at `place`.
    #[inline(always)]
    fn number(self, place: u64) -> u64 {
        place
    }
}

/// n rows, compared with one group of centroids.
#[derive(Clone, Copy)]
struct All(u64);

impl Plan for All {
    #[inline(always)]
    fn rows(self, index: u32) -> Option<Rows> {
        let first = index as u64 * ROWS as u64;
        if first < self.0 { Some(Rows { first, end: self.0.min(first + ROWS as u64), group: 0 }) } else { None }
    }
}

/// Tiles of groups of rows, of 256 rows at most.
#[derive(Clone, Copy)]
struct Tiles<'a> {
    table: Table<'a>,
    tiles: u32,
}

impl Plan for Tiles<'_> {
    #[inline(always)]
    fn rows(self, index: u32) -> Option<Rows> {
        if index >= self.tiles {
            return None;
        }
        let tile = self.table.tile_number(index)?;
        Some(Rows { first: tile.first, end: tile.end, group: tile.group })
    }
}

/// The points and what is known about them.
#[derive(Clone, Copy)]
pub(crate) struct Points<'a, T> {
    pub elements: In<'a, T>,
    /// |x'|² of each.
    pub norms: In<'a, f32>,
    /// |x' − x̃| of each, if rounded.
    pub errors: Option<In<'a, f32>>,
    pub d: u32,
}

/// The kernel: labels, or candidates, of the rows of a plan.
#[inline(always)]
pub(crate) fn run<T: Half, C: Columns, P: Plan>(
    points: Points<T>,
    plan: P,
    tiles: In<T>,
    starts: In<T>,
    largest: In<u32>,
    results: Results,
    k: u32,
) {
    if plan.rows(block_index()).is_none() {
        return;
    }
    let mut shared = SharedMemory::new();
    let slices = C::SLICES;
    let rows = [Swizzled::new(&mut shared, ROWS * slices), Swizzled::new(&mut shared, ROWS * slices)];
    let block = Block {
        rows,
        tiles: Swizzled::new(&mut shared, STAGES * TILE * slices),
        starts: Narrow::new(&mut shared, STAGES * TILE),
        ones: Narrow::new(&mut shared, 8),
        margins: shared.array(2 * ROWS),
        seen: [Seen::new(&mut shared, ROWS / 2, P::IS_LISTED), Seen::new(&mut shared, ROWS / 2, P::IS_LISTED)],
        barriers: shared.barriers(BARRIERS),
    };
    if thread_index() == 0 {
        for i in 0..STAGES {
            block.barriers.init(TILE_FULL + i, 1);
            block.barriers.init(TILE_FREE + i, WORKERS);
        }
        for i in 0..2 {
            block.barriers.init(ROWS_FULL + i, LOADERS * WARP);
            block.barriers.init(ROWS_FREE + i, WORKERS);
            block.barriers.init(SEEN_FULL + i, WORKERS * WARP);
            block.barriers.init(SEEN_FREE + i, WARP);
        }
        publish_barriers();
    }
    if thread_index() < 8 * Narrow::<T>::ROW {
        // Three columns, one for each part of a start.
        let column = thread_index() % Narrow::<T>::ROW;
        let one = if column < 3 { one::<T>(largest.get(0)) } else { T::ZERO };
        block.ones.set(thread_index() / Narrow::<T>::ROW, column, one);
        fence_tiles();
    }
    sync_block();
    let warp = warp_index();
    let count = k.div_ceil(TILE);
    if warp < WORKERS {
        compute::<T, C, P>(block, plan, count);
    } else if warp < WORKERS + LOADERS {
        let error = if points.errors.is_some() { largest.get(1) } else { 0 };
        copy_rows::<T, C, P>(block, points, plan, Bound::new::<T>(largest.get(0), error, points.d));
    } else if warp == WORKERS + LOADERS {
        if lane() == 0 {
            copy_tiles::<T, C>(block, plan, tiles, starts, count);
        }
    } else {
        conclude(block, plan, results);
    }
}

/// Copies the rows of all rounds of the block, with zeros beyond the matrix; the work of [`LOADERS`] warps.
#[inline(always)]
fn copy_rows<T: Half, C: Columns, P: Plan>(block: Block<T>, points: Points<T>, plan: P, bound: Bound) {
    let Points { elements, d, .. } = points;
    // A lane has one piece of every so many rows.
    let pieces = C::SLICES * Swizzled::<T>::ROW / PIECE;
    let thread = thread_index() - WORKERS * WARP;
    let (start, piece) = (thread / pieces, thread % pieces);
    let each = LOADERS * WARP / pieces;
    let (column, slice, piece) = (piece * PIECE, piece / 8 * ROWS, piece % 8);
    let mut ring = Ring::START;
    let mut index = block_index();
    while let Some(Rows { first, end, .. }) = plan.rows(index) {
        const OWN: usize = (ROWS / (LOADERS * WARP)) as usize;
        let mut margins = [0.0; OWN];
        for (i, margin) in (0..).zip(&mut margins) {
            let row = first + (thread + i * LOADERS * WARP) as u64;
            if row < end {
                let row = plan.number(row);
                let error = if let Some(errors) = points.errors { errors.get(row) } else { 0.0 };
                *margin = bound.margin(points.norms.get(row), error);
            }
        }
        block.barriers.wait(ROWS_FREE + ring.index, ring.parity ^ 1);
        let rows = if ring.index == 0 { block.rows[0] } else { block.rows[1] };
        // A row of whole pieces begins at a multiple of 16 bytes, as the matrix does.
        if P::IS_LISTED && d.is_multiple_of(PIECE) && column < d && first + ROWS as u64 <= end {
            for i in 0..ROWS / each {
                let y = start + i * each;
                let row = plan.number(first + y as u64);
                rows.copy_async(slice + y, piece, elements, row * d as u64 + column as u64);
            }
        } else if d.is_multiple_of(PIECE) && column < d && first + ROWS as u64 <= end {
            let from = (first + start as u64) * d as u64 + column as u64;
            for i in 0..ROWS / each {
                let further = (i * each) as u64 * d as u64;
                rows.copy_async(slice + start + i * each, piece, elements, from + further);
            }
        } else {
            let mut y = start;
            while y < ROWS {
                let row = first + y as u64;
                if row >= end || column >= d {
                    rows.clear(slice + y, piece);
                } else if d.is_multiple_of(PIECE) {
                    rows.copy_async(slice + y, piece, elements, plan.number(row) * d as u64 + column as u64);
                } else {
                    let row = plan.number(row);
                    for j in 0..PIECE {
                        rows.set(slice + y, piece * PIECE + j, or_zero(elements, row, row + 1, column + j, d));
                    }
                }
                y += each;
            }
        }
        commit_copies();
        for (i, &margin) in (0..).zip(&margins) {
            block.margins.set(ring.index * ROWS + thread + i * LOADERS * WARP, margin);
        }
        wait_copies::<0>();
        fence_tiles();
        block.barriers.arrive(ROWS_FULL + ring.index);
        ring.next(2);
        index += grid_size();
    }
}

/// Copies all tiles for each round of the block; a lane's work.
#[inline(always)]
fn copy_tiles<T: Half, C: Columns>(block: Block<T>, plan: impl Plan, tiles: In<T>, starts: In<T>, count: u32) {
    let mut ring = Ring::START;
    let mut index = block_index();
    let rows = TILE * C::SLICES;
    while let Some(Rows { group, .. }) = plan.rows(index) {
        let before = group as u64 * count as u64;
        for tile in before..before + count as u64 {
            block.barriers.wait(TILE_FREE + ring.index, ring.parity ^ 1);
            let full = TILE_FULL + ring.index;
            block.barriers.arrive_expecting(full, (rows * Swizzled::<T>::ROW + TILE * Narrow::<T>::ROW) * T::SIZE);
            let from = (tile * rows as u64) * Swizzled::<T>::ROW as u64;
            block.tiles.copy_bulk(ring.index * rows, rows, tiles, from, block.barriers, full);
            let from = tile * TILE as u64 * Narrow::<T>::ROW as u64;
            block.starts.copy_bulk(ring.index * TILE, TILE, starts, from, block.barriers, full);
            ring.next(STAGES);
        }
        index += grid_size();
    }
}

/// Begins the scores of `half` of a group's rows with the tile in buffer `stage`.
#[inline(always)]
fn begin<T: Half, C: Columns>(block: Block<T>, group: u32, buffer: u32, half: u32, stage: u32, scores: &mut Wide) {
    let rows = if buffer == 0 { block.rows[0] } else { block.rows[1] };
    begin_narrow_product::<T>(block.ones.repeated(0), block.starts.descriptor(stage * TILE), scores);
    for slice in 0..C::SLICES {
        let a = rows.descriptor(slice * ROWS + group * 2 * HALF + half * HALF);
        let b = block.tiles.descriptor((stage * C::SLICES + slice) * TILE);
        begin_product::<T>(a, b, scores);
    }
    commit_products();
}

/// Computes scores and looks through them; the work of two groups of four warps.
#[inline(always)]
fn compute<T: Half, C: Columns, P: Plan>(block: Block<T>, plan: P, count: u32) {
    // The lane's first row of each half.
    let warp = warp_index();
    let group = warp / 4;
    let own = [0, HALF].map(|half| warp / 4 * 2 * HALF + half + warp % 4 * 16 + lane() / 4);
    // That row's place in a half.
    let place = warp * 16 + lane() / 4;
    let release = |barrier: u32| {
        if lane() == 0 {
            block.barriers.arrive(barrier);
        }
    };
    let (mut low, mut high): (Wide, Wide) = ([[0.0; 4]; 16], [[0.0; 4]; 16]);
    let mut leading = [Leading::new([0.0; 2]); 2];
    let runs = Runs::new(count);
    let (mut stages, mut buffers) = (Ring::START, Ring::START);
    let (mut index, mut tile) = (block_index(), 0);
    // Those of the scores of the higher half that are under way; `count` for no scores yet.
    let (mut tile_before, mut stage_before, mut buffer_before) = (count, 0, 0);
    // The parity of the round that a half's conclusions belong to.
    let mut parities = [0, 0];
    loop {
        if tile == 0 {
            block.barriers.wait(ROWS_FULL + buffers.index, buffers.parity);
        }
        block.barriers.wait(TILE_FULL + stages.index, stages.parity);
        // The assembler follows a wait for all but the last products only within a round of the loop.
        wait_products::<0>(&mut high);
        begin::<T, C>(block, group, buffers.index, 0, stages.index, &mut low);
        if tile_before != count {
            release(TILE_FREE + stage_before);
        }
        if tile_before + 1 == count {
            release(ROWS_FREE + buffer_before);
        }
        leading[1].offer(&high, tile_before, runs, P::IS_LISTED);
        if tile_before + 1 == count {
            block.barriers.wait(SEEN_FREE + 1, parities[1] ^ 1);
            leading[1].tell(block.seen[1], place, P::IS_LISTED);
            sync_warp();
            block.barriers.arrive(SEEN_FULL + 1);
            parities[1] ^= 1;
        }
        begin::<T, C>(block, group, buffers.index, 1, stages.index, &mut high);
        if tile == 0 {
            let margin = |y: u32| block.margins.get(buffers.index * ROWS + y);
            leading = own.map(|y| Leading::new([margin(y), margin(y + 8)]));
        }
        wait_products::<1>(&mut low);
        leading[0].offer(&low, tile, runs, P::IS_LISTED);
        (tile_before, stage_before, buffer_before) = (tile, stages.index, buffers.index);
        stages.next(STAGES);
        tile += 1;
        if tile == count {
            block.barriers.wait(SEEN_FREE, parities[0] ^ 1);
            leading[0].tell(block.seen[0], place, P::IS_LISTED);
            sync_warp();
            block.barriers.arrive(SEEN_FULL);
            parities[0] ^= 1;
            tile = 0;
            buffers.next(2);
            index += grid_size();
            if plan.rows(index).is_none() {
                break;
            }
        }
    }
    wait_products::<0>(&mut high);
    leading[1].offer(&high, tile_before, runs, P::IS_LISTED);
    block.barriers.wait(SEEN_FREE + 1, parities[1] ^ 1);
    leading[1].tell(block.seen[1], place, P::IS_LISTED);
    sync_warp();
    block.barriers.arrive(SEEN_FULL + 1);
}

/// Writes the outcome of all rounds; a warp's work.
#[inline(always)]
fn conclude<T: Half>(block: Block<T>, plan: impl Plan, results: Results) {
    let mut parity = 0;
    let mut index = block_index();
    while let Some(Rows { first, end, .. }) = plan.rows(index) {
        for half in 0..2 {
            let seen = if half == 0 { block.seen[0] } else { block.seen[1] };
            block.barriers.wait(SEEN_FULL + half, parity);
            let mut place = lane();
            while place < ROWS / 2 {
                let y = place / HALF * 2 * HALF + half * HALF + place % HALF;
                let row = first + y as u64;
                if row < end {
                    seen.conclude(place, plan.number(row), results);
                }
                place += WARP;
            }
            block.barriers.arrive(SEEN_FREE + half);
        }
        parity ^= 1;
        index += grid_size();
    }
}

/// Labels of 16-bit points, as they are; `norms` has prepared the points.
#[inline(always)]
pub fn stream<T: Half, C: Columns>(
    points: In<T>,
    tiles: In<T>,
    starts: In<T>,
    x_norms: In<f32>,
    largest: In<u32>,
    labels: Out<u32>,
    others: Out<u32>,
    open_rows: Out<u64>,
    open_codes: Out<u32>,
    open: Out<u32>,
    room: u32,
    n: u64,
    k: u32,
    d: u32,
) {
    let points = Points { elements: points, norms: x_norms, errors: None, d };
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds: None };
    run::<T, C, All>(points, All(n), tiles, starts, largest, results, k);
}

/// Labels of points that [`halves`](super::halves) has rounded.
#[inline(always)]
pub fn stream_rounded<C: Columns>(
    halves: In<half::f16>,
    tiles: In<half::f16>,
    starts: In<half::f16>,
    x_norms: In<f32>,
    x_errors: In<f32>,
    largest: In<u32>,
    labels: Out<u32>,
    others: Out<u32>,
    open_rows: Out<u64>,
    open_codes: Out<u32>,
    open: Out<u32>,
    room: u32,
    n: u64,
    k: u32,
    d: u32,
) {
    let points = Points { elements: halves, norms: x_norms, errors: Some(x_errors), d };
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds: None };
    run::<half::f16, C, All>(points, All(n), tiles, starts, largest, results, k);
}

/// Labels of 16-bit points among the centroids of their own group, counted from its first. A table of tiles of 256 rows, `count` of them, says
/// which rows are of which group; `tiles` and `starts` have each group's centroids in whole tiles.
#[inline(always)]
pub fn stream_groups<T: Half, C: Columns>(
    points: In<T>,
    tiles: In<T>,
    starts: In<T>,
    x_norms: In<f32>,
    largest: In<u32>,
    ranges: In<u64>,
    tile_starts: In<u32>,
    owners: In<u32>,
    labels: Out<u32>,
    others: Out<u32>,
    open_rows: Out<u64>,
    open_codes: Out<u32>,
    open: Out<u32>,
    room: u32,
    count: u32,
    k: u32,
    d: u32,
) {
    let points = Points { elements: points, norms: x_norms, errors: None, d };
    let table = Table { ranges, starts: tile_starts, owners, tile_rows: ROWS };
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds: None };
    run::<T, C, Tiles>(points, Tiles { table, tiles: count }, tiles, starts, largest, results, k);
}

/// The same for points that [`halves`](super::halves) has rounded.
#[inline(always)]
pub fn stream_groups_rounded<C: Columns>(
    halves: In<half::f16>,
    tiles: In<half::f16>,
    starts: In<half::f16>,
    x_norms: In<f32>,
    x_errors: In<f32>,
    largest: In<u32>,
    ranges: In<u64>,
    tile_starts: In<u32>,
    owners: In<u32>,
    labels: Out<u32>,
    others: Out<u32>,
    open_rows: Out<u64>,
    open_codes: Out<u32>,
    open: Out<u32>,
    room: u32,
    count: u32,
    k: u32,
    d: u32,
) {
    let points = Points { elements: halves, norms: x_norms, errors: Some(x_errors), d };
    let table = Table { ranges, starts: tile_starts, owners, tile_rows: ROWS };
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds: None };
    run::<half::f16, C, Tiles>(points, Tiles { table, tiles: count }, tiles, starts, largest, results, k);
}

device::entries! {
    in hopper: stream(points: In<T>, tiles: In<T>, starts: In<T>, x_norms: In<f32>, largest: In<u32>,
        labels: Out<u32>, others: Out<u32>, open_rows: Out<u64>, open_codes: Out<u32>, open: Out<u32>, room: u32, n: u64, k: u32, d: u32);
    assign_stream_64_f16: (half::f16, Slices<1>),
    assign_stream_64_bf16: (half::bf16, Slices<1>),
    assign_stream_128_f16: (half::f16, Slices<2>),
    assign_stream_128_bf16: (half::bf16, Slices<2>),
}

device::entries! {
    in hopper: stream_rounded(halves: In<half::f16>, tiles: In<half::f16>, starts: In<half::f16>, x_norms: In<f32>,
        x_errors: In<f32>, largest: In<u32>, labels: Out<u32>, others: Out<u32>, open_rows: Out<u64>, open_codes: Out<u32>, open: Out<u32>, room: u32, n: u64, k: u32, d: u32);
    assign_stream_64_rounded: (Slices<1>),
    assign_stream_128_rounded: (Slices<2>),
}

device::entries! {
    in hopper: stream_groups(points: In<T>, tiles: In<T>, starts: In<T>, x_norms: In<f32>, largest: In<u32>,
        ranges: In<u64>, tile_starts: In<u32>, owners: In<u32>, labels: Out<u32>, others: Out<u32>, open_rows: Out<u64>,
        open_codes: Out<u32>, open: Out<u32>, room: u32, count: u32, k: u32, d: u32);
    groups_stream_64_f16: (half::f16, Slices<1>),
    groups_stream_64_bf16: (half::bf16, Slices<1>),
    groups_stream_128_f16: (half::f16, Slices<2>),
    groups_stream_128_bf16: (half::bf16, Slices<2>),
}

device::entries! {
    in hopper: stream_groups_rounded(halves: In<half::f16>, tiles: In<half::f16>, starts: In<half::f16>, x_norms: In<f32>,
        x_errors: In<f32>, largest: In<u32>, ranges: In<u64>, tile_starts: In<u32>, owners: In<u32>, labels: Out<u32>,
        others: Out<u32>, open_rows: Out<u64>, open_codes: Out<u32>, open: Out<u32>, room: u32, count: u32, k: u32, d: u32);
    groups_stream_64_rounded: (Slices<1>),
    groups_stream_128_rounded: (Slices<2>),
}
