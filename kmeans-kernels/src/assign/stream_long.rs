//! As [`stream`](super::stream), for more than 128 columns: 128 rows stay in shared memory, slice by slice of 64 columns, as
//! long as they fit, which is up to 768 columns; slices of centroids, of 32 columns, stream past them. Beyond that, slices of
//! rows stream as well, again for each tile of 128 centroids.
//!
//! Two groups of four warps have 64 rows each. A group looks through the scores of a tile while the first slices of the
//! next tile are being multiplied. Two more warps copy rows, one lane tiles.

use super::bound::{Lengths, TileBound};
use super::leading::{Results, Runs};
use super::leading_tiles::{Found, Leading};
use crate::device::{
    self, Barriers, Half, In, Out, Shared, SharedMemory, Slim, Swizzled, WARP, Wide, begin_first_slim_product,
    begin_slim_product, block_index, commit_copies, commit_products, fence_tiles, grid_size, lane, publish_barriers,
    sync_block, thread_index, wait_copies, wait_earlier_products, wait_products, warp_index,
};
use crate::distance::or_zero;
use kmeans_core::launch::{STREAM_LONG_ROWS as ROWS, TILE_ROWS as TILE};

/// Slices of rows that shared memory holds, or pairs of slices of centroids, which are half as wide.
const PLACES: u32 = 14;
/// Most slices of rows that stay.
const RESIDENT: u32 = 12;
/// Slices of rows on their way or in use where they do not stay.
const PASSING: u32 = 6;
/// Most slices of centroids on their way or in use.
const TILE_PLACES: u32 = 18;
/// Tiles whose starts and bounds are kept.
const STARTS: u32 = 4;
/// Rows of a group.
const GROUP: u32 = 64;
/// Elements that are copied at once, 16 bytes.
const PIECE: u32 = 8;
/// Warps that compute.
const WORKERS: u32 = 8;
/// Warps that copy rows.
const LOADERS: u32 = 2;
/// Slices of rows that are on their way before the first is waited for: two less than [`PASSING`], since those in use are
/// released only once the next one is in use too.
const AHEAD: usize = 4;

/// How a block uses shared memory.
#[derive(Clone, Copy)]
struct Block<'a, T> {
    rows: Swizzled<'a, T>,
    tiles: Slim<'a, T>,
    starts: Shared<'a, f32>,
    bounds: Shared<'a, f32>,
    barriers: Barriers<'a>,
    /// Slices of a tile, and of a row.
    halves: u32,
    slices: u32,
    /// Whether a row's all stay.
    stays: bool,
    /// Places for slices of rows, and of tiles.
    row_places: u32,
    tile_places: u32,
    /// Tiles of all centroids.
    count: u32,
    n: u64,
}

impl<T> Block<'_, T> {
    /// Whether a slice of a tile is the last that is multiplied with a slice of a row.
    #[inline(always)]
    fn ends_slice(&self, half: u32) -> bool {
        !half.is_multiple_of(2) || half + 1 == self.halves
    }
}

// Barriers: each place has one that says that it is full, and one that says that it may be filled again.

#[inline(always)]
const fn row_full(place: u32) -> u32 {
    place
}
#[inline(always)]
const fn row_free(place: u32) -> u32 {
    RESIDENT + place
}
#[inline(always)]
const fn tile_full(place: u32) -> u32 {
    2 * RESIDENT + place
}
#[inline(always)]
const fn tile_free(place: u32) -> u32 {
    2 * RESIDENT + TILE_PLACES + place
}
const BARRIERS: u32 = 2 * RESIDENT + 2 * TILE_PLACES;

/// A tile and the rows it is compared with.
#[derive(Clone, Copy)]
struct Step {
    first: u64,
    tile: u32,
    /// The parity of the round.
    parity: u32,
}

impl Step {
    #[inline(always)]
    fn first() -> Self {
        Self { first: block_index() as u64 * ROWS as u64, tile: 0, parity: 0 }
    }

    /// Whether this would be one too many, after `steps` steps: there is an even number of them, for the sake of the two
    /// sets of sums.
    #[inline(always)]
    fn is_beyond(self, n: u64, steps: u32) -> bool {
        self.first >= n && steps.is_multiple_of(2)
    }

    #[inline(always)]
    fn next(&mut self, count: u32) {
        self.tile += 1;
        if self.tile == count {
            *self = Self { first: self.first + grid_size() as u64 * ROWS as u64, tile: 0, parity: self.parity ^ 1 };
        }
    }
}

/// A place in a ring, and the parity of the round.
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
            *self = Self { index: 0, parity: self.parity ^ 1 };
        }
    }
}

/// The points and what is known about them.
#[derive(Clone, Copy)]
struct Points<'a, T> {
    elements: In<'a, T>,
    norms: In<'a, f32>,
    errors: Option<In<'a, f32>>,
    n: u64,
    d: u32,
}

/// The centroids.
#[derive(Clone, Copy)]
struct Tiles<'a, T> {
    elements: In<'a, T>,
    /// What scores begin with.
    starts: In<'a, f32>,
    /// What the margins of each tile share.
    bounds: In<'a, f32>,
    /// Their labels.
    order: In<'a, u32>,
    /// The bits of the largest |c'|².
    largest: In<'a, u32>,
    k: u32,
}

#[inline(always)]
fn run<T: Half>(points: Points<T>, tiles: Tiles<T>, results: Results) {
    let mut shared = SharedMemory::new();
    let halves = points.d.div_ceil(Slim::<T>::ROW);
    let slices = halves.div_ceil(2);
    let stays = slices <= RESIDENT;
    let row_places = if stays { slices } else { PASSING };
    // No more than two tiles ahead, for the sake of the starts.
    let tile_places = (2 * (PLACES - row_places)).min(2 * halves);
    let block = Block {
        rows: Swizzled::new(&mut shared, row_places * ROWS),
        tiles: Slim::new(&mut shared, 2 * (PLACES - row_places) * TILE),
        starts: shared.array(STARTS * TILE),
        bounds: shared.array(STARTS * 4),
        barriers: shared.barriers(BARRIERS),
        halves,
        slices,
        stays,
        row_places,
        tile_places,
        count: tiles.k.div_ceil(TILE),
        n: points.n,
    };
    if thread_index() == 0 {
        for place in 0..row_places {
            block.barriers.init(row_full(place), LOADERS * WARP);
            block.barriers.init(row_free(place), WORKERS);
        }
        for place in 0..tile_places {
            block.barriers.init(tile_full(place), 1);
            block.barriers.init(tile_free(place), WORKERS);
        }
        publish_barriers();
    }
    sync_block();
    let warp = warp_index();
    if warp < WORKERS {
        compute(block, points, tiles, results);
    } else if warp < WORKERS + LOADERS {
        copy_rows(block, points);
    } else if lane() == 0 {
        copy_tiles(block, tiles, points);
    }
}

/// Copies slices of rows in the order in which they are used; the work of [`LOADERS`] warps.
#[inline(always)]
fn copy_rows<T: Half>(block: Block<T>, points: Points<T>) {
    let thread = thread_index() - WORKERS * WARP;
    let (start, piece) = (thread / 8, thread % 8);
    let each = LOADERS * WARP / 8;
    let mut ring = Ring::START;
    let mut arrivals = Arrivals { under_way: 0, oldest: Ring::START };
    let mut step = Step::first();
    let mut steps = 0;
    loop {
        if !block.stays || step.tile == 0 {
            for slice in 0..block.slices {
                if slice + 1 == block.slices {
                    // The last place is free only once the first slice, of the next rows, is in use.
                    wait_copies::<0>();
                    arrivals.arrive(block, 0);
                }
                block.barriers.wait(row_free(ring.index), ring.parity ^ 1);
                let column = slice * Swizzled::<T>::ROW + piece * PIECE;
                // A row of whole pieces begins at a multiple of 16 bytes, as the matrix does.
                let Points { elements, n, d, .. } = points;
                if d.is_multiple_of(PIECE) && column < d && step.first + ROWS as u64 <= n {
                    let from = (step.first + start as u64) * d as u64 + column as u64;
                    for i in 0..ROWS / each {
                        let (y, further) = (start + i * each, (i * each) as u64 * d as u64);
                        block.rows.copy_async(ring.index * ROWS + y, piece, elements, from + further);
                    }
                } else {
                    let mut y = start;
                    while y < ROWS {
                        let row = step.first + y as u64;
                        copy_piece(block.rows, ring.index * ROWS + y, piece, points, row, column);
                        y += each;
                    }
                }
                commit_copies();
                ring.next(block.row_places);
                arrivals.under_way += 1;
                wait_copies::<AHEAD>();
                arrivals.arrive(block, AHEAD);
            }
            wait_copies::<0>();
            arrivals.arrive(block, 0);
        }
        step.next(block.count);
        steps += 1;
        if step.is_beyond(block.n, steps) {
            return;
        }
    }
}

/// Slices of rows on their way.
struct Arrivals {
    under_way: usize,
    /// The place of the oldest.
    oldest: Ring,
}

impl Arrivals {
    /// Says of all but the `pending` last that they are there.
    #[inline(always)]
    fn arrive<T: Half>(&mut self, block: Block<T>, pending: usize) {
        fence_tiles();
        while self.under_way > pending {
            block.barriers.arrive(row_full(self.oldest.index));
            self.oldest.next(block.row_places);
            self.under_way -= 1;
        }
    }
}

/// Begins to copy a piece of a row, zeros beyond the matrix.
#[inline(always)]
fn copy_piece<T: Half>(rows: Swizzled<T>, place: u32, piece: u32, points: Points<T>, row: u64, column: u32) {
    let Points { elements, n, d, .. } = points;
    if row >= n || column >= d {
        rows.clear(place, piece);
    } else if d.is_multiple_of(PIECE) {
        rows.copy_async(place, piece, elements, row * d as u64 + column as u64);
    } else {
        for j in 0..PIECE {
            rows.set(place, piece * PIECE + j, or_zero(elements, row, n, column + j, d));
        }
    }
}

/// Copies slices of tiles in the order in which they are used; a lane's work.
#[inline(always)]
fn copy_tiles<T: Half>(block: Block<T>, tiles: Tiles<T>, points: Points<T>) {
    let elements = TILE * Slim::<T>::ROW;
    let mut ring = Ring::START;
    let mut step = Step::first();
    let mut starts_place = 0;
    let mut steps = 0;
    loop {
        for half in 0..block.halves {
            block.barriers.wait(tile_free(ring.index), ring.parity ^ 1);
            let full = tile_full(ring.index);
            let more = if half == 0 { (TILE + 4) * 4 } else { 0 };
            block.barriers.arrive_expecting(full, elements * T::SIZE + more);
            let from = (step.tile as u64 * block.halves as u64 + half as u64) * elements as u64;
            block.tiles.copy_bulk(ring.index * TILE, TILE, tiles.elements, from, block.barriers, full);
            if half == 0 {
                let tile = step.tile as u64;
                let (from, place) = (tile * TILE as u64, starts_place * TILE);
                block.starts.copy_bulk(place, tiles.starts, from, TILE, block.barriers, full);
                block.bounds.copy_bulk(starts_place * 4, tiles.bounds, tile * 4, 4, block.barriers, full);
            }
            ring.next(block.tile_places);
        }
        if block.stays {
            fetch_next_rows(block, step, points);
        }
        starts_place = (starts_place + 1) % STARTS;
        step.next(block.count);
        steps += 1;
        if step.is_beyond(block.n, steps) {
            return;
        }
    }
}

/// Brings a tile's share of the next rows to the cache: all blocks change rows at about the same time, and would wait
/// for memory then, which has nothing to do in between.
#[inline(always)]
fn fetch_next_rows<T: Half>(block: Block<T>, step: Step, points: Points<T>) {
    let next = step.first + grid_size() as u64 * ROWS as u64;
    let share = |tile: u32| (ROWS * tile).checked_div(block.count).unwrap_or(0) as u64;
    let (from, end) = (next + share(step.tile), (next + share(step.tile + 1)).min(block.n));
    if from < end && points.d.is_multiple_of(PIECE) {
        points.elements.prefetch(from * points.d as u64, (end - from) as u32 * points.d);
    }
}

/// Where a group is in the slices.
#[derive(Clone, Copy)]
struct Position {
    row: Ring,
    tile: Ring,
}

impl Position {
    /// Goes on after slice `half` of a tile.
    #[inline(always)]
    fn next<T: Half>(&mut self, block: Block<T>, step: Step, half: u32) {
        if block.ends_slice(half) {
            let parity = self.row.parity;
            self.row.next(block.row_places);
            if block.stays && step.tile + 1 != block.count {
                self.row.parity = parity;
            }
        }
        self.tile.next(block.tile_places);
    }
}

/// The places of a product's slices: of the tile, and of the row if nobody needs it after that.
#[derive(Clone, Copy)]
struct Used {
    tile: u32,
    row: Option<u32>,
}

/// The work of a group of four warps: computes scores and looks through them.
struct Work<'a, T> {
    block: Block<'a, T>,
    points: Points<'a, T>,
    tiles: Tiles<'a, T>,
    results: Results<'a>,
    /// The group's first row in the block, and the lane's first.
    group: u32,
    own: u32,
    runs: Runs,
    largest: u32,
    /// What is begun next.
    position: Position,
    step: Step,
    /// The step whose scores are looked through next; tile `count` for none at first.
    before: Step,
    /// What its last product uses.
    last: Used,
    /// The place of its starts and bound.
    starts: u32,
    leading: Leading,
}

impl<T: Half> Work<'_, T> {
    /// Waits for the next slices and begins their product.
    #[inline(always)]
    fn begin(&mut self, half: u32, sums: &mut Wide) -> Used {
        let (block, step, Position { row, tile }) = (self.block, self.step, self.position);
        if half.is_multiple_of(2) && (!block.stays || step.tile == 0) {
            block.barriers.wait(row_full(row.index), row.parity);
        }
        block.barriers.wait(tile_full(tile.index), tile.parity);
        let a = block.rows.half_descriptor(row.index * ROWS + self.group, half % 2);
        let b = block.tiles.descriptor(tile.index * TILE);
        if half == 0 {
            begin_first_slim_product::<T>(a, b, sums);
        } else {
            begin_slim_product::<T>(a, b, sums);
        }
        commit_products();
        self.position.next(block, step, half);
        let is_last = block.ends_slice(half) && (!block.stays || step.tile + 1 == block.count);
        Used { tile: tile.index, row: is_last.then_some(row.index) }
    }

    /// Lets slices be replaced.
    #[inline(always)]
    fn release(&self, used: Used) {
        if lane() == 0 {
            self.block.barriers.arrive(tile_free(used.tile));
            if let Some(row) = used.row {
                self.block.barriers.arrive(row_free(row));
            }
        }
    }

    #[inline(always)]
    fn lengths(&self, row: u64) -> Lengths {
        if row < self.points.n {
            let error = if let Some(errors) = self.points.errors { errors.get(row) } else { 0.0 };
            Lengths::new(self.points.norms.get(row), error, self.largest)
        } else {
            Lengths::NONE
        }
    }

    /// Completes the scores of the step before.
    #[inline(always)]
    fn look(&mut self, sums: &mut Wide) -> Found {
        let bound = TileBound(self.block.bounds.get4(self.starts * 4));
        self.leading.look(sums, self.block.starts, self.starts * TILE, bound)
    }

    /// Notes its candidates, and writes the outcome after the last tile.
    #[inline(always)]
    fn note(&mut self, sums: &Wide, found: Found) {
        self.leading.note(sums, found, self.before.tile, self.runs);
        if self.before.tile + 1 == self.block.count {
            self.leading.conclude(self.before.first + self.own as u64, self.points.n, self.tiles.order, self.results);
        }
    }

    /// Computes the sums of a step, and looks through those of the step before meanwhile.
    #[inline(always)]
    fn turn<const IS_FIRST: bool>(&mut self, sums: &mut Wide, sums_before: &mut Wide) {
        let (block, step, before) = (self.block, self.step, self.before);
        // The assembler follows a wait for all but the last products only within a round of the loop.
        if IS_FIRST {
            wait_products::<0>(sums_before);
        }
        let first = self.begin(0, sums);
        if !IS_FIRST {
            wait_products::<1>(sums_before);
        }
        let is_any = !IS_FIRST || before.tile != block.count;
        if is_any {
            self.release(self.last);
        }
        let second = self.begin(1, sums);
        let found = if is_any { self.look(sums_before) } else { Found::NOTHING };
        let mut last = self.begin(2, sums);
        wait_earlier_products::<2>();
        self.release(first);
        if is_any {
            self.note(sums_before, found);
        }
        if step.tile == 0 {
            let own = step.first + self.own as u64;
            self.leading = Leading::new([self.lengths(own), self.lengths(own + 8)]);
        }
        wait_earlier_products::<1>();
        self.release(second);
        for half in 3..block.halves {
            let next = self.begin(half, sums);
            wait_earlier_products::<1>();
            self.release(last);
            last = next;
        }
        self.last = last;
        self.before = step;
        self.step.next(block.count);
        self.starts = (self.starts + 1) % STARTS;
    }
}

/// Computes scores and looks through them; the work of two groups of four warps.
#[inline(always)]
fn compute<T: Half>(block: Block<T>, points: Points<T>, tiles: Tiles<T>, results: Results) {
    let step = Step::first();
    let mut work = Work {
        block,
        points,
        tiles,
        results,
        group: warp_index() / 4 * GROUP,
        own: warp_index() * 16 + lane() / 4,
        runs: Runs::new(block.count),
        largest: tiles.largest.get(0),
        position: Position { row: Ring::START, tile: Ring::START },
        step,
        before: Step { tile: block.count, ..step },
        last: Used { tile: 0, row: None },
        starts: STARTS - 1,
        leading: Leading::new([Lengths::NONE; 2]),
    };
    let (mut low, mut high): (Wide, Wide) = ([[0.0; 4]; 16], [[0.0; 4]; 16]);
    loop {
        work.turn::<true>(&mut low, &mut high);
        work.turn::<false>(&mut high, &mut low);
        if work.step.is_beyond(block.n, 0) {
            break;
        }
    }
    wait_products::<0>(&mut high);
    let found = work.look(&mut high);
    work.note(&high, found);
}

/// Labels of 16-bit points, as they are, of more than 128 columns; the arguments are those of
/// [`stream`](super::stream::stream), with what [`tiles_long`](super::tiles::tiles_long) has written.
#[inline(always)]
pub fn stream_long<T: Half>(
    points: In<T>,
    tiles: In<T>,
    plain_starts: In<f32>,
    bounds: In<f32>,
    order: In<u32>,
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
    let points = Points { elements: points, norms: x_norms, errors: None, n, d };
    let tiles = Tiles { elements: tiles, starts: plain_starts, bounds, order, largest, k };
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds: None };
    run(points, tiles, results);
}

/// Labels of points that [`halves`](super::halves) has rounded.
#[inline(always)]
pub fn stream_long_rounded(
    halves: In<half::f16>,
    tiles: In<half::f16>,
    plain_starts: In<f32>,
    bounds: In<f32>,
    order: In<u32>,
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
    let points = Points { elements: halves, norms: x_norms, errors: Some(x_errors), n, d };
    let tiles = Tiles { elements: tiles, starts: plain_starts, bounds, order, largest, k };
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds: None };
    run(points, tiles, results);
}

device::entries! {
    in hopper: stream_long(points: In<T>, tiles: In<T>, plain_starts: In<f32>, bounds: In<f32>, order: In<u32>,
        x_norms: In<f32>, largest: In<u32>,
        labels: Out<u32>, others: Out<u32>, open_rows: Out<u64>, open_codes: Out<u32>, open: Out<u32>, room: u32,
        n: u64, k: u32, d: u32);
    assign_stream_long_f16: (half::f16),
    assign_stream_long_bf16: (half::bf16),
}

device::entries! {
    in hopper: stream_long_rounded(halves: In<half::f16>, tiles: In<half::f16>, plain_starts: In<f32>,
        bounds: In<f32>, order: In<u32>, x_norms: In<f32>, x_errors: In<f32>, largest: In<u32>, labels: Out<u32>, others: Out<u32>,
        open_rows: Out<u64>, open_codes: Out<u32>, open: Out<u32>, room: u32, n: u64, k: u32, d: u32);
    assign_stream_long_rounded: (),
}
