//! As [`stream`](super::stream), on Ampere's tensor cores: 12 warps have 16 rows each, in shared memory, past which slices of 64 columns
//! of tiles of 128 centroids stream, laid out by [`tiles`](super::tiles), through two places. Up to 128 columns the rows stay for all tiles; beyond,
//! slices of rows stream as well, again for each tile.
//!
//! A warp multiplies its rows with the slice that is there while the next one is copied; when a tile's last slice is done it
//! looks through its scores, and other warps of the multiprocessor multiply meanwhile. There are as many blocks as
//! multiprocessors.

use super::bound::Bound;
use super::leading::{Leading, Results, Runs};
use super::plan::{All, Plan, Points, Rows, Tiles};
use crate::device::{
    self, Half, In, Out, Shared, SharedMemory, Swizzled, WARP, Wide, block_index, block_size, commit_copies, grid_size,
    lane, multiply_tiles, sync_block, thread_index, wait_copies,
};
use crate::distance::or_zero;
use crate::groups::Table;
use kmeans_core::launch::{STREAM_MMA_ROWS as ROWS, TILE_ROWS as TILE};

/// Rows of a warp.
const OWN: u32 = 16;
/// Steps of 16 columns in a slice.
const STEPS: u32 = 4;
/// Elements that are copied at once, 16 bytes.
const PIECE: u32 = 8;
/// Pieces of a row of a slice.
const PIECES: u32 = 8;
/// Elements of a slice of a tile.
const SLICE: u32 = TILE * PIECES * PIECE;

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

    /// Adds the products of the warp's rows, from row `own` of `rows` on, with the slice in `place`.
    #[inline(always)]
    fn multiply(self, rows: Swizzled<T>, own: u32, place: u32, scores: &mut Wide) {
        for step in 0..STEPS {
            let a = rows.square(own, step);
            for j in 0..8 {
                let b = self.places.square(place * TILE + 16 * j, step);
                let j = j as usize;
                scores[2 * j] = multiply_tiles::<T>(a, [b[0], b[2]], scores[2 * j]);
                scores[2 * j + 1] = multiply_tiles::<T>(a, [b[1], b[3]], scores[2 * j + 1]);
            }
        }
    }
}

/// Begins to copy slice `slice` of some rows to the rows of `to` from `at` on, with zeros beyond the matrix.
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
fn nothing<T: Half>(points: Points<T>, largest: In<u32>, rows: Rows) -> Leading {
    let error = if points.errors.is_some() { largest.get(1) } else { 0 };
    let bound = Bound::new::<T>(largest.get(0), error, points.d);
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

/// Where slice `slice` of rows lies, of two places: in its own if there are two of them, in that of the round if there is one, else
/// beside the slice of the tile in `place`.
///
/// Slices that stay for all tiles are copied with the first tile's: by then it is the other slice, or the other round's,
/// that is in use.
#[inline(always)]
fn place_of(slices: u32, slice: u32, round: u32, place: u32) -> u32 {
    match slices {
        1 => round % 2,
        2 => slice,
        _ => place,
    }
}

#[inline(always)]
fn run<T: Half>(
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
    let (count, slices) = (centroids.count, centroids.slices);
    let runs = Runs::new(count);
    let (mut place, mut tile_place, mut round) = (0, 0, 0);
    copy_rows(points, first, 0, staged, 0);
    centroids.copy(Slice { group: first.group, tile: 0, slice: 0 }, place, tile_place);
    commit_copies();
    // The plan is asked again and again: registers are short.
    while let Some(rows) = plan.rows(index) {
        let mut leading = nothing(points, largest, rows);
        let (is_used, group) = (has_rows(rows), rows.group);
        for tile in 0..count {
            let mut scores = [[0.0; 4]; 16];
            for slice in 0..slices {
                // The slices to be used now are there, and those used before may be copied over.
                wait_copies::<0>();
                sync_block();
                if slice == 0 {
                    scores = centroids.begin(tile_place);
                    tile_place ^= 1;
                }
                // What comes after these.
                let mut next = (Slice { group, tile, slice: slice + 1 }, index, round);
                if next.0.slice == slices {
                    next.0 = Slice { group, tile: tile + 1, slice: 0 };
                }
                if next.0.tile == count {
                    next = (Slice { group, tile: 0, slice: 0 }, index + grid_size(), round + 1);
                }
                let (mut after, index, round_after) = next;
                let mut is_there = true;
                if slices > 2 || after.tile == 0 {
                    if let Some(rows) = plan.rows(index) {
                        let to = place_of(slices, after.slice, round_after, place ^ 1);
                        copy_rows(points, rows, after.slice, staged, to * ROWS);
                        after.group = rows.group;
                    } else {
                        is_there = false;
                    }
                }
                if is_there {
                    centroids.copy(after, place ^ 1, tile_place);
                }
                commit_copies();
                if is_used {
                    let own = place_of(slices, slice, round, place) * ROWS + thread_index() / WARP * OWN;
                    centroids.multiply(staged, own, place, &mut scores);
                }
                place ^= 1;
            }
            if is_used {
                leading.offer(&scores, tile, runs, false);
            }
        }
        if let Some(rows) = plan.rows(index) {
            leading.conclude(own_row(rows), rows.end, |row| row, results);
        }
        (index, round) = (index + grid_size(), round + 1);
    }
}

/// Labels of 16-bit points, as they are; `lengths` has prepared the points.
#[inline(always)]
pub fn stream<T: Half>(
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
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds: None };
    run(points, All { n, rows: ROWS }, (tiles, starts), largest, results, k);
}

/// Labels of points that [`halves`](super::halves) has rounded.
#[inline(always)]
pub fn stream_rounded(
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
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds: None };
    run(points, All { n, rows: ROWS }, (tiles, starts), largest, results, k);
}

/// Labels of 16-bit points among the centroids of their own group: as the kernel of the same name in [`stream`](super::stream).
#[inline(always)]
pub fn stream_groups<T: Half>(
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
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds: None };
    run(points, Tiles { table, tiles: count }, (tiles, starts), largest, results, k);
}

/// The same for points that [`halves`](super::halves) has rounded.
#[inline(always)]
pub fn stream_groups_rounded(
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
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds: None };
    run(points, Tiles { table, tiles: count }, (tiles, starts), largest, results, k);
}

device::entries! {
    in ampere: stream(points: In<T>, tiles: In<T>, starts: In<f32>, x_norms: In<f32>, largest: In<u32>, labels: Out<u32>,
        others: Out<u32>, open_rows: Out<u64>, open_codes: Out<u32>, open: Out<u32>, room: u32, n: u64, k: u32, d: u32);
    assign_stream_mma_f16: (half::f16),
    assign_stream_mma_bf16: (half::bf16),
}

device::entries! {
    in ampere: stream_rounded(halves: In<half::f16>, tiles: In<half::f16>, starts: In<f32>, x_norms: In<f32>,
        x_errors: In<f32>, largest: In<u32>, labels: Out<u32>, others: Out<u32>, open_rows: Out<u64>, open_codes: Out<u32>,
        open: Out<u32>, room: u32, n: u64, k: u32, d: u32);
    assign_stream_mma_rounded: (),
}

device::entries! {
    in ampere: stream_groups(points: In<T>, tiles: In<T>, starts: In<f32>, x_norms: In<f32>, largest: In<u32>,
        ranges: In<u64>, tile_starts: In<u32>, owners: In<u32>, labels: Out<u32>, others: Out<u32>, open_rows: Out<u64>,
        open_codes: Out<u32>, open: Out<u32>, room: u32, count: u32, k: u32, d: u32);
    groups_stream_mma_f16: (half::f16),
    groups_stream_mma_bf16: (half::bf16),
}

device::entries! {
    in ampere: stream_groups_rounded(halves: In<half::f16>, tiles: In<half::f16>, starts: In<f32>, x_norms: In<f32>,
        x_errors: In<f32>, largest: In<u32>, ranges: In<u64>, tile_starts: In<u32>, owners: In<u32>, labels: Out<u32>,
        others: Out<u32>, open_rows: Out<u64>, open_codes: Out<u32>, open: Out<u32>, room: u32, count: u32, k: u32, d: u32);
    groups_stream_mma_rounded: (),
}
