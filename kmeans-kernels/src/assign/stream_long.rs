//! As [`stream`](super::stream), for more than 128 columns: 128 rows stay in shared memory, slice by slice of 64 columns, as
//! long as they fit, which is up to 768 columns; slices of centroids stream past them. Beyond that, slices of rows
//! stream as well, again for each tile of 128 centroids.
//!
//! Two groups of four warps have 64 rows each. A group looks through the scores of a tile while the first slice of the
//! next tile is being multiplied. Two more warps copy rows, one lane tiles.

use super::bound::{Lengths, TileBound};
use super::leading::{Results, Runs};
use super::leading_tiles::Leading;
use crate::device::{
    self, Barriers, Half, In, Out, Shared, SharedMemory, Swizzled, WARP, Wide, begin_first_product, begin_product,
    block_index, commit_copies, commit_products, fence_tiles, grid_size, lane, publish_barriers, sync_block,
    thread_index, wait_copies, wait_earlier_products, wait_products, warp_index,
};
use crate::distance::or_zero;
use kmeans_core::launch::{STREAM_LONG_ROWS as ROWS, TILE_ROWS as TILE};

/// Slices of rows or of centroids that shared memory holds.
const PLACES: u32 = 14;
/// Most slices of rows that stay.
const RESIDENT: u32 = 12;
/// Slices of rows on their way or in use where they do not stay.
const PASSING: u32 = 6;
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
/// Slices of rows that are on their way before the first is waited for.
const AHEAD: usize = 2;

/// How a block uses shared memory.
#[derive(Clone, Copy)]
struct Block<'a, T> {
    rows: Swizzled<'a, T>,
    tiles: Swizzled<'a, T>,
    starts: Shared<'a, f32>,
    bounds: Shared<'a, f32>,
    barriers: Barriers<'a>,
    /// Slices of a row.
    slices: u32,
    /// Whether they all stay.
    stays: bool,
    /// Places for slices of rows; the others are for slices of tiles.
    row_places: u32,
    tile_places: u32,
    /// Tiles of all centroids.
    count: u32,
    n: u64,
}

impl<T> Block<'_, T> {
    // Barriers: of slices of rows, then of slices of tiles.
    #[inline(always)]
    fn tile_full(&self, place: u32) -> u32 {
        self.row_places + place
    }
    #[inline(always)]
    fn tile_free(&self, place: u32) -> u32 {
        PLACES + self.row_places + place
    }
}

/// The barrier that says that a place for a slice of rows is full.
#[inline(always)]
const fn row_full(place: u32) -> u32 {
    place
}

/// The one that says that it may be filled again.
#[inline(always)]
const fn row_free(place: u32) -> u32 {
    PLACES + place
}

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
    let slices = points.d.div_ceil(Swizzled::<T>::ROW);
    let stays = slices <= RESIDENT;
    let row_places = if stays { slices } else { PASSING };
    // No more than two tiles ahead, for the sake of the starts.
    let tile_places = (PLACES - row_places).min(2 * slices);
    let block = Block {
        rows: Swizzled::new(&mut shared, row_places * ROWS),
        tiles: Swizzled::new(&mut shared, (PLACES - row_places) * TILE),
        starts: shared.array(STARTS * TILE),
        bounds: shared.array(STARTS * 4),
        barriers: shared.barriers(2 * PLACES),
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
            block.barriers.init(block.tile_full(place), 1);
            block.barriers.init(block.tile_free(place), WORKERS);
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
        copy_tiles(block, tiles);
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
                let mut y = start;
                while y < ROWS {
                    let row = step.first + y as u64;
                    copy_piece(block.rows, ring.index * ROWS + y, piece, points, row, column);
                    y += each;
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
fn copy_tiles<T: Half>(block: Block<T>, tiles: Tiles<T>) {
    let slice_elements = TILE * Swizzled::<T>::ROW;
    let mut ring = Ring::START;
    let mut step = Step::first();
    let mut starts_place = 0;
    let mut steps = 0;
    loop {
        for slice in 0..block.slices {
            block.barriers.wait(block.tile_free(ring.index), ring.parity ^ 1);
            let full = block.tile_full(ring.index);
            let more = if slice == 0 { (TILE + 4) * 4 } else { 0 };
            block.barriers.arrive_expecting(full, slice_elements * T::SIZE + more);
            let from = (step.tile as u64 * block.slices as u64 + slice as u64) * slice_elements as u64;
            block.tiles.copy_bulk(ring.index * TILE, TILE, tiles.elements, from, block.barriers, full);
            if slice == 0 {
                let tile = step.tile as u64;
                let (from, place) = (tile * TILE as u64, starts_place * TILE);
                block.starts.copy_bulk(place, tiles.starts, from, TILE, block.barriers, full);
                block.bounds.copy_bulk(starts_place * 4, tiles.bounds, tile * 4, 4, block.barriers, full);
            }
            ring.next(block.tile_places);
        }
        starts_place = (starts_place + 1) % STARTS;
        step.next(block.count);
        steps += 1;
        if step.is_beyond(block.n, steps) {
            return;
        }
    }
}

/// Where a group is in the slices.
#[derive(Clone, Copy)]
struct Position {
    row: Ring,
    tile: Ring,
}

impl Position {
    /// Waits for the slices at this position and begins their product.
    #[inline(always)]
    fn begin<T: Half>(&self, block: Block<T>, step: Step, is_first: bool, group: u32, sums: &mut Wide) {
        if !block.stays || step.tile == 0 {
            block.barriers.wait(row_full(self.row.index), self.row.parity);
        }
        block.barriers.wait(block.tile_full(self.tile.index), self.tile.parity);
        let a = block.rows.descriptor(self.row.index * ROWS + group * GROUP);
        let b = block.tiles.descriptor(self.tile.index * TILE);
        if is_first {
            begin_first_product::<T>(a, b, sums);
        } else {
            begin_product::<T>(a, b, sums);
        }
        commit_products();
    }

    /// Lets the slices at this position be replaced, those of rows if they are not needed any more, and goes on.
    #[inline(always)]
    fn release<T: Half>(&mut self, block: Block<T>, step: Step) {
        if lane() == 0 {
            block.barriers.arrive(block.tile_free(self.tile.index));
            if !block.stays || step.tile + 1 == block.count {
                block.barriers.arrive(row_free(self.row.index));
            }
        }
        self.next(block, step);
    }

    #[inline(always)]
    fn next<T: Half>(&mut self, block: Block<T>, step: Step) {
        let parity = self.row.parity;
        self.row.next(block.row_places);
        if block.stays && step.tile + 1 != block.count {
            self.row.parity = parity;
        }
        self.tile.next(block.tile_places);
    }
}

/// Computes scores and looks through them; the work of two groups of four warps.
#[inline(always)]
fn compute<T: Half>(block: Block<T>, points: Points<T>, tiles: Tiles<T>, results: Results) {
    let group = warp_index() / 4;
    let own = (warp_index() * 16 + lane() / 4) as u64;
    let largest = tiles.largest.get(0);
    let lengths = |step: Step| {
        let lengths = |row: u64| {
            if row < points.n {
                let error = if let Some(errors) = points.errors { errors.get(row) } else { 0.0 };
                Lengths::new(points.norms.get(row), error, largest)
            } else {
                Lengths::NONE
            }
        };
        [lengths(step.first + own), lengths(step.first + own + 8)]
    };
    let bound = |place: u32| TileBound(block.bounds.get4(place * 4));
    let (mut low, mut high): (Wide, Wide) = ([[0.0; 4]; 16], [[0.0; 4]; 16]);
    let mut leading = Leading::new([Lengths::NONE; 2]);
    let runs = Runs::new(block.count);
    // What is begun next, and what is released next.
    let mut front = Position { row: Ring::START, tile: Ring::START };
    let mut back = front;
    let mut step = Step::first();
    // The step that `high` belongs to; none at first.
    let mut before = Step { tile: block.count, ..step };
    let mut starts = 0;
    loop {
        wait_products::<0>(&mut high);
        front.begin(block, step, true, group, &mut low);
        front.next(block, step);
        if before.tile != block.count {
            back.release(block, before);
            let place = (starts + STARTS - 1) % STARTS;
            leading.offer(&mut high, block.starts, place * TILE, bound(place), before.tile, runs);
        }
        if before.tile + 1 == block.count {
            leading.conclude(before.first + own, points.n, tiles.order, results);
        }
        if step.tile == 0 {
            leading = Leading::new(lengths(step));
        }
        for _ in 1..block.slices {
            front.begin(block, step, false, group, &mut low);
            front.next(block, step);
            wait_earlier_products::<1>();
            back.release(block, step);
        }
        before = step;
        step.next(block.count);

        front.begin(block, step, true, group, &mut high);
        front.next(block, step);
        wait_products::<1>(&mut low);
        back.release(block, before);
        leading.offer(&mut low, block.starts, starts * TILE, bound(starts), before.tile, runs);
        if before.tile + 1 == block.count {
            leading.conclude(before.first + own, points.n, tiles.order, results);
        }
        if step.tile == 0 {
            leading = Leading::new(lengths(step));
        }
        for _ in 1..block.slices {
            front.begin(block, step, false, group, &mut high);
            front.next(block, step);
            wait_earlier_products::<1>();
            back.release(block, step);
        }
        before = step;
        step.next(block.count);
        starts = (starts + 2) % STARTS;
        if step.is_beyond(block.n, 0) {
            break;
        }
    }
    wait_products::<0>(&mut high);
    let place = (starts + STARTS - 1) % STARTS;
    leading.offer(&mut high, block.starts, place * TILE, bound(place), before.tile, runs);
    if before.tile + 1 == block.count {
        leading.conclude(before.first + own, points.n, tiles.order, results);
    }
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
