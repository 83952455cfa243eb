//! Tensor cores, for 16-bit points, with copies that run ahead; the rows they cannot decide for sure are settled by D
//! (`score` says why the labels are exact). Rungs: see [`super`].

use super::score::{Matrix, Products, conclude, offer};
use super::two::Two;
use crate::device::{
    self, Half, In, Out, Shared, SharedMemory, WARP, block_index, block_size, commit_copies, lane, multiply_tiles,
    sync_block, thread_index, wait_copies,
};
use crate::distance::or_zero;

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
/// Centroids of a product of tiles.
const WIDTH: u32 = 8;
/// Rows, and columns of a product of tiles.
const SIDE: u32 = 16;

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
fn multiply<T: Half>(points: Shared<T>, row: u32, centroids: Shared<T>, sums: &mut Products) {
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

/// The label of every row; 64 rows per block, 16 per warp. `x_norms` and `c_norms` are squared norms, `[n]` and `[k]`,
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
    let mut sums = Products::default();
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
            offer(&mut least, &mut sums, tile, c_norms, k);
        }
        (tile, column) = (next_tile, next_column);
        stage = !stage;
    }
    conclude(&least, first + own as u64, rows, clusters, x_norms, largest, labels);
}

device::entries! {
    in ampere: mma(points: In<T>, centroids: In<T>, x_norms: In<f32>, c_norms: In<f32>, largest: In<u32>,
        labels: Out<u32>, n: u64, k: u32, d: u32);
    assign_mma_f16: (half::f16),
    assign_mma_bf16: (half::bf16),
}
