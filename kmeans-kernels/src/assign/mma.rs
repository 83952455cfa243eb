//! Tensor cores, for 16-bit points, with copies that run ahead; the rows they cannot decide for sure are settled by D.
//! Rungs: see [`super`].
//!
//! # Why the labels are still exact
//! Instead of |x − c|² the score is t = |c|²/2 − x·c, which orders the centroids of a row alike: |x − c|² = |x|² + 2t.
//! Let X = |x|, C the largest |c|, N = C²/2, u = 2⁻²³. A product of tiles adds 16 exact products and the sum so far,
//! cutting each off below 24 bits of the largest and the result to `f32`: it errs by at most 18u·XC, so ⌈d/16⌉ of them
//! by 18u·⌈d/16⌉·XC; 20 is used. Half the norm, and the score, are rounded once each: u/2·N and u/2·(N + 1.01·XC). So a
//! score errs by at most E = u·(20·⌈d/16⌉ + 1)·XC + 2u·N + A, A = d·2⁻¹²⁰ for what is too small to be a normal `f32`.
//! D errs by at most H = (d+3)·2⁻⁵³·(X+C)². Where the second best score is above the best by more than 2E + H, the best
//! label is the one by D; elsewhere the row's D are computed. That nothing overflowed is known from (X+C)² < 2¹²⁰.

use super::two::Two;
use crate::argmin::Nearest;
use crate::device::{
    self, Half, In, Out, Shared, SharedMemory, WARP, ballot, block_index, block_size, commit_copies, lane,
    multiply_tiles, sync_block, thread_index, wait_copies,
};
use crate::distance::{between, or_zero};

/// Rows, and centroids, of a tile.
const TILE: u32 = 64;
/// Columns of a tile.
const DEPTH: u32 = 32;
/// Elements from one row of a tile to the next: 16 bytes more than it has, so that the words that a warp reads at once
/// lie in different banks.
const PITCH: u32 = DEPTH + 8;
/// Elements of a tile.
const LEN: u32 = TILE * PITCH;
/// Elements that are copied at once, 16 bytes.
const CHUNK: u32 = 8;
/// Centroids of a product of tiles, and how many products make a tile wide.
const WIDTH: u32 = 8;
const PRODUCTS: usize = (TILE / WIDTH) as usize;
/// Rows, and columns of a product of tiles.
const SIDE: u32 = 16;

/// A matrix in global memory.
#[derive(Clone, Copy)]
struct Matrix<'a, T> {
    elements: In<'a, T>,
    rows: u64,
    d: u32,
}

/// Begins to load 64 rows by 32 columns from row `first` and column `column` on, with zeros beyond the matrix.
#[inline(always)]
fn load<T: Half>(matrix: Matrix<T>, first: u64, column: u32, tile: Shared<T>) {
    let Matrix { elements, rows, d } = matrix;
    let mut chunk = thread_index();
    while chunk < TILE * DEPTH / CHUNK {
        let (y, x) = (chunk / (DEPTH / CHUNK), chunk % (DEPTH / CHUNK) * CHUNK);
        let row = first + y as u64;
        // A row of whole chunks begins at a multiple of 16 bytes, as the matrix does.
        if d.is_multiple_of(CHUNK) && row < rows && column + x < d {
            tile.copy_async(y * PITCH + x, elements, row * d as u64 + (column + x) as u64);
        } else {
            for j in 0..CHUNK {
                tile.set(y * PITCH + x + j, or_zero(elements, row, rows, column + x + j, d));
            }
        }
        chunk += block_size();
    }
}

/// Adds the products of a warp's 16 rows, from `row` of the tile of points, with the tile of centroids.
#[inline(always)]
fn multiply<T: Half>(points: Shared<T>, row: u32, centroids: Shared<T>, sums: &mut [[f32; 4]; PRODUCTS]) {
    let (xs, cs) = (points.cast::<u32>(), centroids.cast::<u32>());
    let (group, member) = (lane() / 4, lane() % 4);
    for step in 0..DEPTH / SIDE {
        let column = (step * SIDE) / 2 + member;
        let x = (row + group) * PITCH / 2 + column;
        let below = SIDE / 2 * PITCH / 2;
        let a = [xs.get(x), xs.get(x + below), xs.get(x + 4), xs.get(x + below + 4)];
        for (j, sum) in sums.iter_mut().enumerate() {
            let c = (j as u32 * WIDTH + group) * PITCH / 2 + column;
            *sum = multiply_tiles::<T>(a, [cs.get(c), cs.get(c + 4)], *sum);
        }
    }
}

/// How far apart two scores of a row must be: see the module's documentation. `None` if no distance would do.
#[inline(always)]
fn margin(x_squared: f32, c_squared: f32, d: u32) -> Option<f64> {
    let unit = 1.0 / (1 << 23) as f64;
    // The norms were rounded: a little more is above the true ones. XC ≤ (X² + C²)/2 needs no square roots, and costs
    // little where points and centroids are about as long.
    let (x, c) = (x_squared as f64 * (1.0 + unit), c_squared as f64 * (1.0 + unit));
    let (product, most) = (0.5 * (x + c), 2.0 * (x + c));
    let steps = d.div_ceil(SIDE) as f64;
    let tiny = d as f64 * f64::from_bits((1023 - 120) << 52);
    let score = unit * (20.0 * steps + 1.0) * product + unit * c + tiny;
    let by_definition = (d as f64 + 3.0) * f64::EPSILON / 2.0 * most;
    if most < f64::from_bits((1023 + 120) << 52) { Some(2.0 * score + by_definition) } else { None }
}

/// The label of every row; 64 rows per block, 16 per warp. `x_norms` and `c_norms` are squared norms, [n] and [k],
/// `largest` the bits of the largest of `c_norms` ([`norms`](super::norms)).
#[inline(always)]
pub fn mma<T: Half>(
    points: In<T>,
    centroids: In<T>,
    x_norms: In<f32>,
    c_norms: In<f32>,
    largest: In<u32>,
    labels: Out<u32>,
    n: u64,
    k: u32,
    d: u32,
) {
    let mut shared = SharedMemory::new();
    // Two stages: one is multiplied while the next one's copies are under way.
    let xs = [shared.array::<T>(LEN), shared.array::<T>(LEN)];
    let cs = [shared.array::<T>(LEN), shared.array::<T>(LEN)];
    let rows = Matrix { elements: points, rows: n, d };
    let clusters = Matrix { elements: centroids, rows: k as u64, d };
    let first = block_index() as u64 * TILE as u64;
    let own = thread_index() / WARP * SIDE;

    let mut least = [Two::NONE; 2];
    let mut sums = [[0.0_f32; 4]; PRODUCTS];
    let (mut tile, mut column) = (0, 0);
    let mut stage = false;
    load(rows, first, 0, xs[0]);
    load(clusters, 0, 0, cs[0]);
    commit_copies();
    while tile < k {
        let last = column + DEPTH >= d;
        let (next_tile, next_column) = if last { (tile + TILE, 0) } else { (tile, column + DEPTH) };
        let (x, c) = if stage { (xs[1], cs[1]) } else { (xs[0], cs[0]) };
        let (next_x, next_c) = if stage { (xs[0], cs[0]) } else { (xs[1], cs[1]) };
        if next_tile < k {
            load(rows, first, next_column, next_x);
            load(clusters, next_tile as u64, next_column, next_c);
        }
        commit_copies();
        wait_copies::<1>();
        sync_block();
        multiply(x, own, c, &mut sums);
        sync_block();
        if last {
            for (j, sum) in sums.iter_mut().enumerate() {
                for (i, &product) in sum.iter().enumerate() {
                    let label = tile + j as u32 * WIDTH + lane() % 4 * 2 + i as u32 % 2;
                    // A tile's rows beyond k are no centroids: they must not win.
                    if label < k {
                        let two = &mut least[i / 2];
                        *two = two.offer(label, c_norms.get(label as u64) * 0.5 - product);
                    }
                }
                *sum = [0.0; 4];
            }
        }
        (tile, column) = (next_tile, next_column);
        stage = !stage;
    }
    let c_squared = f32::from_bits(largest.get(0));
    for (half, two) in least.iter().enumerate() {
        let two = two.merge_lanes(4);
        let start = first + own as u64 + half as u64 * 8;
        let row = start + (lane() / 4) as u64;
        let writes = row < n && lane().is_multiple_of(4);
        let mut is_open = false;
        if writes {
            let gap = two.second as f64 - two.best as f64;
            is_open = margin(x_norms.get(row), c_squared, d).is_none_or(|margin| gap <= margin);
            if !is_open {
                labels.set(row, two.label);
            }
        }
        // The whole warp settles one open row after the other.
        let mut open = ballot(is_open);
        while open != 0 {
            let row = start + (open.trailing_zeros() / 4) as u64;
            let mut nearest = Nearest::NONE;
            let mut candidate = lane();
            while candidate < k {
                let distance = between(points, row * d as u64, centroids, candidate as u64 * d as u64, d);
                nearest = nearest.offer(candidate, distance);
                candidate += WARP;
            }
            nearest = nearest.merge_lanes(WARP);
            if lane() == 0 {
                labels.set(row, nearest.label());
            }
            open &= open - 1;
        }
    }
}

device::entries! {
    in ampere: mma(points: In<T>, centroids: In<T>, x_norms: In<f32>, c_norms: In<f32>, largest: In<u32>,
        labels: Out<u32>, n: u64, k: u32, d: u32);
    assign_mma_f16: (half::f16),
    assign_mma_bf16: (half::bf16),
}
