//! As [`stream`](super::stream), on Ampere's tensor cores: 16 warps have 16 rows each in registers while slices of 64 columns of tiles
//! of 128 centroids, laid out by [`tiles`](super::tiles), stream past them through two places in shared memory. Beyond 128 columns
//! slices of rows stream as well, again for each tile.
//!
//! A warp multiplies its rows with the slice that is there while the next one is copied; when a tile's last slice is done it
//! looks through its scores, and other warps of the multiprocessor multiply meanwhile. The next rows are copied to
//! shared memory during the rounds of those before. There are as many blocks as multiprocessors.

use super::bound::Bound;
use super::leading::{Leading, Results, Runs};
use super::plan::{All, Columns, Plan, Points, Rows, Slices, Tiles};
use crate::device::{
    self, Half, In, Out, Shared, SharedMemory, Swizzled, WARP, Wide, block_index, block_size, commit_copies, grid_size,
    lane, multiply_tiles, sync_block, thread_index, wait_copies,
};
use crate::distance::or_zero;
use crate::groups::Table;
use kmeans_core::launch::{STREAM_ROWS as ROWS, TILE_ROWS as TILE};

/// Rows of a warp.
const OWN: u32 = 16;
/// Steps of 16 columns in a slice.
const STEPS: usize = 4;
/// Most slices of rows in registers.
const HELD: usize = 2;
/// Elements that are copied at once, 16 bytes.
const PIECE: u32 = 8;
/// Pieces of a row of a slice.
const PIECES: u32 = 8;
/// Elements of a slice of a tile.
const SLICE: u32 = TILE * PIECES * PIECE;

/// A warp's 16 rows of a slice, as products want them.
type Fragments = [[u32; 4]; STEPS];

/// A slice of a tile of a group's centroids.
#[derive(Clone, Copy)]
struct Slice {
    group: u32,
    tile: u32,
    slice: u32,
}

/// The centroids, as laid out, and two places each for slices of them and for starts.
#[derive(Clone, Copy)]
struct Centroids<'a, T> {
    tiles: In<'a, T>,
    starts: In<'a, f32>,
    /// Tiles of a group, and slices of a tile.
    count: u32,
    slices: u32,
    places: Swizzled<'a, T>,
    start_places: Shared<'a, f32>,
}

impl<'a, T: Half> Centroids<'a, T> {
    #[inline(always)]
    fn new(shared: &mut SharedMemory, tiles: In<'a, T>, starts: In<'a, f32>, k: u32, d: u32) -> Self {
        let places = Swizzled::new(shared, 2 * TILE);
        let start_places = shared.array(2 * TILE);
        Self { tiles, starts, count: k.div_ceil(TILE), slices: d.div_ceil(Swizzled::<T>::ROW), places, start_places }
    }

    /// The slice after `at`; the first of the next rows', if there are any.
    #[inline(always)]
    fn after(self, at: Slice, next: Option<Rows>) -> Option<Slice> {
        if at.slice + 1 < self.slices {
            Some(Slice { slice: at.slice + 1, ..at })
        } else if at.tile + 1 < self.count {
            Some(Slice { tile: at.tile + 1, slice: 0, ..at })
        } else {
            next.map(|rows| Slice { group: rows.group, tile: 0, slice: 0 })
        }
    }

    /// Begins to copy a slice to place `place`, and with a tile's first one the starts of its scores to place `tile_place`.
    #[inline(always)]
    fn copy(self, at: Slice, place: u32, tile_place: u32) {
        let tile = at.group as u64 * self.count as u64 + at.tile as u64;
        let first = (tile * self.slices as u64 + at.slice as u64) * SLICE as u64;
        let mut piece = thread_index();
        while piece < TILE * PIECES {
            let (row, piece_of_row) = (piece / PIECES, piece % PIECES);
            let from = first + Swizzled::<T>::place(row, piece_of_row) as u64;
            self.places.copy_async(place * TILE + row, piece_of_row, self.tiles, from);
            piece += block_size();
        }
        // Four starts at once.
        if at.slice == 0 && thread_index() < TILE / 4 {
            let to = tile_place * TILE + thread_index() * 4;
            self.start_places.copy_async(to, self.starts, tile * TILE as u64 + (thread_index() * 4) as u64);
        }
    }

    /// What the scores of the tile in `tile_place` begin with.
    #[inline(always)]
    fn begin(self, tile_place: u32) -> Wide {
        let mut scores: Wide = [[0.0; 4]; 16];
        for (j, eight) in (0..).zip(&mut scores) {
            let at = tile_place * TILE + j * 8 + lane() % 4 * 2;
            let (a, b) = (self.start_places.get(at), self.start_places.get(at + 1));
            *eight = [a, b, a, b];
        }
        scores
    }

    /// Adds the products of rows with the slice in `place`.
    #[inline(always)]
    fn multiply(self, rows: &Fragments, place: u32, scores: &mut Wide) {
        for (step, &a) in (0..).zip(rows) {
            for j in 0..8 {
                let b = self.places.square(place * TILE + 16 * j, step);
                let j = j as usize;
                scores[2 * j] = multiply_tiles::<T>(a, [b[0], b[2]], scores[2 * j]);
                scores[2 * j + 1] = multiply_tiles::<T>(a, [b[1], b[3]], scores[2 * j + 1]);
            }
        }
    }
}

/// Begins to copy slice `slice` of some rows to the 256 rows of `to` from `at` on, with zeros beyond the matrix.
#[inline(always)]
fn copy_rows<T: Half>(points: Points<T>, rows: Rows, slice: u32, to: Swizzled<T>, at: u32) {
    let (d, piece) = (points.d, thread_index() % PIECES);
    let column = (slice * PIECES + piece) * PIECE;
    let mut y = thread_index() / PIECES;
    while y < ROWS {
        let row = rows.first + y as u64;
        if row >= rows.end || column >= d {
            to.clear(at + y, piece);
        } else if d.is_multiple_of(PIECE) {
            // A row of whole pieces begins at a multiple of 16 bytes, as the matrix does.
            to.copy_async(at + y, piece, points.elements, row * d as u64 + column as u64);
        } else {
            for j in 0..PIECE {
                to.set(at + y, piece * PIECE + j, or_zero(points.elements, row, rows.end, column + j, d));
            }
        }
        y += block_size() / PIECES;
    }
}

/// This warp's rows of the slice that begins at row `at`.
#[inline(always)]
fn fragments<T: Half>(rows: Swizzled<T>, at: u32) -> Fragments {
    let first = at + thread_index() / WARP * OWN;
    [0, 1, 2, 3].map(|step| rows.square(first, step))
}

/// The first of a lane's two rows.
#[inline(always)]
fn own_row(rows: Rows) -> u64 {
    rows.first + (thread_index() / WARP * OWN + lane() / 4) as u64
}

/// Whether this warp has any of the rows.
#[inline(always)]
fn has_rows(rows: Rows) -> bool {
    rows.first + ((thread_index() / WARP * OWN) as u64) < rows.end
}

/// Nothing seen yet of a lane's two rows.
#[inline(always)]
fn nothing<T: Half>(points: Points<T>, bound: Bound, rows: Rows) -> Leading {
    let margin = |row: u64| {
        if row >= rows.end {
            return 0.0;
        }
        let error = if let Some(errors) = points.errors { errors.get(row) } else { 0.0 };
        bound.margin(points.norms.get(row), error)
    };
    let row = own_row(rows);
    Leading::new([margin(row), margin(row + 8)])
}

/// Waits for the copies of all threads; what was read before may be copied over after.
#[inline(always)]
fn meet() {
    wait_copies::<0>();
    sync_block();
}

/// The bound for rows of points.
#[inline(always)]
fn bound_of<T: Half>(points: Points<T>, largest: In<u32>) -> Bound {
    let error = if points.errors.is_some() { largest.get(1) } else { 0 };
    Bound::new::<T>(largest.get(0), error, points.d)
}

/// Up to 128 columns.
#[inline(always)]
fn run_short<T: Half, C: Columns>(
    points: Points<T>,
    plan: impl Plan,
    (tiles, starts): (In<T>, In<f32>),
    largest: In<u32>,
    results: Results,
    k: u32,
) {
    let mut index = block_index();
    let Some(first) = plan.rows(index) else { return };
    let mut shared = SharedMemory::new();
    let staged = Swizzled::new(&mut shared, C::SLICES * ROWS);
    let centroids = Centroids::new(&mut shared, tiles, starts, k, C::SLICES * Swizzled::<T>::ROW);
    let stage = |rows: Rows| {
        for slice in 0..C::SLICES {
            copy_rows(points, rows, slice, staged, slice * ROWS);
        }
    };
    let (bound, runs) = (bound_of(points, largest), Runs::new(centroids.count));
    let (mut place, mut tile_place) = (0, 0);
    stage(first);
    centroids.copy(Slice { group: first.group, tile: 0, slice: 0 }, place, tile_place);
    commit_copies();
    while let Some(rows) = plan.rows(index) {
        index += grid_size();
        let next = plan.rows(index);
        meet();
        let mut held = [[[0; 4]; STEPS]; HELD];
        for (slice, held) in (0..C::SLICES).zip(&mut held) {
            *held = fragments(staged, slice * ROWS);
        }
        sync_block();
        if let Some(next) = next {
            stage(next);
        }
        let mut leading = nothing(points, bound, rows);
        for tile in 0..centroids.count {
            let mut scores = [[0.0; 4]; 16];
            for (slice, held) in (0..C::SLICES).zip(&held) {
                if tile != 0 || slice != 0 {
                    meet();
                }
                if slice == 0 {
                    scores = centroids.begin(tile_place);
                    tile_place ^= 1;
                }
                let at = Slice { group: rows.group, tile, slice };
                if let Some(after) = centroids.after(at, next) {
                    centroids.copy(after, place ^ 1, tile_place);
                }
                commit_copies();
                if has_rows(rows) {
                    centroids.multiply(held, place, &mut scores);
                }
                place ^= 1;
            }
            if has_rows(rows) {
                leading.offer(&scores, tile, runs);
            }
        }
        leading.conclude(own_row(rows), rows.end, results);
    }
}

/// Any number of columns.
#[inline(always)]
fn run_long<T: Half>(
    points: Points<T>,
    plan: impl Plan,
    (tiles, starts): (In<T>, In<f32>),
    largest: In<u32>,
    results: Results,
    k: u32,
) {
    let mut index = block_index();
    let Some(first) = plan.rows(index) else { return };
    let mut shared = SharedMemory::new();
    let staged = Swizzled::new(&mut shared, 2 * ROWS);
    let centroids = Centroids::new(&mut shared, tiles, starts, k, points.d);
    let (bound, runs) = (bound_of(points, largest), Runs::new(centroids.count));
    let (mut place, mut tile_place) = (0, 0);
    copy_rows(points, first, 0, staged, 0);
    centroids.copy(Slice { group: first.group, tile: 0, slice: 0 }, place, tile_place);
    commit_copies();
    while let Some(rows) = plan.rows(index) {
        index += grid_size();
        let next = plan.rows(index);
        let mut leading = nothing(points, bound, rows);
        for tile in 0..centroids.count {
            let mut scores = [[0.0; 4]; 16];
            for slice in 0..centroids.slices {
                meet();
                if slice == 0 {
                    scores = centroids.begin(tile_place);
                    tile_place ^= 1;
                }
                let at = Slice { group: rows.group, tile, slice };
                if let Some(after) = centroids.after(at, next) {
                    let is_last = slice + 1 == centroids.slices && tile + 1 == centroids.count;
                    let rows = if is_last { next.unwrap_or(rows) } else { rows };
                    copy_rows(points, rows, after.slice, staged, (place ^ 1) * ROWS);
                    centroids.copy(after, place ^ 1, tile_place);
                }
                commit_copies();
                if has_rows(rows) {
                    centroids.multiply(&fragments(staged, place * ROWS), place, &mut scores);
                }
                place ^= 1;
            }
            if has_rows(rows) {
                leading.offer(&scores, tile, runs);
            }
        }
        leading.conclude(own_row(rows), rows.end, results);
    }
}

/// Rows of any number of columns.
pub struct Any;

impl Columns for Any {
    const SLICES: u32 = 0;
}

#[inline(always)]
fn run<T: Half, C: Columns>(
    points: Points<T>,
    plan: impl Plan,
    centroids: (In<T>, In<f32>),
    largest: In<u32>,
    results: Results,
    k: u32,
) {
    if C::SLICES == 0 {
        run_long(points, plan, centroids, largest, results, k);
    } else {
        run_short::<T, C>(points, plan, centroids, largest, results, k);
    }
}

/// Labels of 16-bit points, as they are; `lengths` has prepared the points.
#[inline(always)]
pub fn stream<T: Half, C: Columns>(
    points: In<T>,
    tiles: In<T>,
    starts: In<f32>,
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
    let results = Results { labels, others, open_rows, open_codes, open, room };
    run::<T, C>(points, All(n), (tiles, starts), largest, results, k);
}

/// Labels of points that [`halves`](super::halves) has rounded.
#[inline(always)]
pub fn stream_rounded<C: Columns>(
    halves: In<half::f16>,
    tiles: In<half::f16>,
    starts: In<f32>,
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
    let results = Results { labels, others, open_rows, open_codes, open, room };
    run::<half::f16, C>(points, All(n), (tiles, starts), largest, results, k);
}

/// Labels of 16-bit points among the centroids of their own group: as the kernel of the same name in [`stream`](super::stream).
#[inline(always)]
pub fn stream_groups<T: Half, C: Columns>(
    points: In<T>,
    tiles: In<T>,
    starts: In<f32>,
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
    let results = Results { labels, others, open_rows, open_codes, open, room };
    run::<T, C>(points, Tiles { table, tiles: count }, (tiles, starts), largest, results, k);
}

/// The same for points that [`halves`](super::halves) has rounded.
#[inline(always)]
pub fn stream_groups_rounded<C: Columns>(
    halves: In<half::f16>,
    tiles: In<half::f16>,
    starts: In<f32>,
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
    let results = Results { labels, others, open_rows, open_codes, open, room };
    run::<half::f16, C>(points, Tiles { table, tiles: count }, (tiles, starts), largest, results, k);
}

device::entries! {
    in ampere: stream(points: In<T>, tiles: In<T>, starts: In<f32>, x_norms: In<f32>, largest: In<u32>, labels: Out<u32>,
        others: Out<u32>, open_rows: Out<u64>, open_codes: Out<u32>, open: Out<u32>, room: u32, n: u64, k: u32, d: u32);
    assign_stream_mma_64_f16: (half::f16, Slices<1>),
    assign_stream_mma_64_bf16: (half::bf16, Slices<1>),
    assign_stream_mma_128_f16: (half::f16, Slices<2>),
    assign_stream_mma_128_bf16: (half::bf16, Slices<2>),
    assign_stream_mma_long_f16: (half::f16, Any),
    assign_stream_mma_long_bf16: (half::bf16, Any),
}

device::entries! {
    in ampere: stream_rounded(halves: In<half::f16>, tiles: In<half::f16>, starts: In<f32>, x_norms: In<f32>,
        x_errors: In<f32>, largest: In<u32>, labels: Out<u32>, others: Out<u32>, open_rows: Out<u64>, open_codes: Out<u32>,
        open: Out<u32>, room: u32, n: u64, k: u32, d: u32);
    assign_stream_mma_64_rounded: (Slices<1>),
    assign_stream_mma_128_rounded: (Slices<2>),
    assign_stream_mma_long_rounded: (Any),
}

device::entries! {
    in ampere: stream_groups(points: In<T>, tiles: In<T>, starts: In<f32>, x_norms: In<f32>, largest: In<u32>,
        ranges: In<u64>, tile_starts: In<u32>, owners: In<u32>, labels: Out<u32>, others: Out<u32>, open_rows: Out<u64>,
        open_codes: Out<u32>, open: Out<u32>, room: u32, count: u32, k: u32, d: u32);
    groups_stream_mma_64_f16: (half::f16, Slices<1>),
    groups_stream_mma_64_bf16: (half::bf16, Slices<1>),
    groups_stream_mma_128_f16: (half::f16, Slices<2>),
    groups_stream_mma_128_bf16: (half::bf16, Slices<2>),
}

device::entries! {
    in ampere: stream_groups_rounded(halves: In<half::f16>, tiles: In<half::f16>, starts: In<f32>, x_norms: In<f32>,
        x_errors: In<f32>, largest: In<u32>, ranges: In<u64>, tile_starts: In<u32>, owners: In<u32>, labels: Out<u32>,
        others: Out<u32>, open_rows: Out<u64>, open_codes: Out<u32>, open: Out<u32>, room: u32, count: u32, k: u32, d: u32);
    groups_stream_mma_64_rounded: (Slices<1>),
    groups_stream_mma_128_rounded: (Slices<2>),
}
