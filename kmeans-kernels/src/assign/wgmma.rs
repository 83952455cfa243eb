//! Hopper's tensor cores, which read both operands from shared memory: four warps multiply 64 rows by 64 centroids at
//! once. The rows they cannot decide for sure are settled by D (`score` says why the labels are exact). Rungs: see
//! [`super`].

use super::score::{Matrix, Products, conclude, offer};
use super::two::Two;
use crate::device::{
    self, Half, In, Out, SharedMemory, Swizzled, WARP, block_index, block_size, commit_copies, fence_tiles,
    multiply_group, sync_block, thread_index, wait_copies,
};
use crate::distance::or_zero;

/// Rows of a block: two groups of four warps, 64 rows each, which share the centroids.
const ROWS: u32 = 128;
/// Centroids of a tile.
const TILE: u32 = 64;
/// Columns of a tile.
const DEPTH: u32 = 64;
/// Elements that are copied at once, 16 bytes.
const PIECE: u32 = 8;
/// Threads, and rows, of a group.
const GROUP: u32 = 4 * WARP;
/// Rows of a warp.
const OWN: u32 = 16;

/// Begins to load `count` rows of 64 columns from row `first` and column `column` on, with zeros beyond the matrix.
#[inline(always)]
fn load<T: Half>(matrix: Matrix<T>, first: u64, column: u32, tile: Swizzled<T>, count: u32) {
    let Matrix { elements, rows, d } = matrix;
    let mut piece = thread_index();
    while piece < count * (DEPTH / PIECE) {
        let (y, p) = (piece / (DEPTH / PIECE), piece % (DEPTH / PIECE));
        let (row, x) = (first + y as u64, column + p * PIECE);
        // A row of whole pieces begins at a multiple of 16 bytes, as the matrix does.
        if d.is_multiple_of(PIECE) && row < rows && x < d {
            tile.copy_async(y, p, elements, row * d as u64 + x as u64);
        } else {
            for j in 0..PIECE {
                tile.set(y, p * PIECE + j, or_zero(elements, row, rows, x + j, d));
            }
        }
        piece += block_size();
    }
}

/// The label of every row; 128 rows per block, 16 per warp. The arguments are those of [`mma`](super::mma::mma).
#[inline(always)]
pub fn wgmma<T: Half>(
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
    let xs = [Swizzled::<T>::new(&mut shared, ROWS), Swizzled::<T>::new(&mut shared, ROWS)];
    let cs = [Swizzled::<T>::new(&mut shared, TILE), Swizzled::<T>::new(&mut shared, TILE)];
    let rows = Matrix { elements: points, rows: n, d };
    let clusters = Matrix { elements: centroids, rows: k as u64, d };
    let first = block_index() as u64 * ROWS as u64;
    let group = thread_index() / GROUP * (GROUP / WARP * OWN);

    let mut least = [Two::NONE; 2];
    let mut sums = Products::default();
    let (mut tile, mut column) = (0, 0);
    let mut stage = false;
    load(rows, first, 0, xs[0], ROWS);
    load(clusters, 0, 0, cs[0], TILE);
    commit_copies();
    while tile < k {
        let last = column + DEPTH >= d;
        let (next_tile, next_column) = if last { (tile + TILE, 0) } else { (tile, column + DEPTH) };
        let (x, c) = if stage { (xs[1], cs[1]) } else { (xs[0], cs[0]) };
        let (next_x, next_c) = if stage { (xs[0], cs[0]) } else { (xs[1], cs[1]) };
        if next_tile < k {
            load(rows, first, next_column, next_x, ROWS);
            load(clusters, next_tile as u64, next_column, next_c, TILE);
        }
        commit_copies();
        wait_copies::<1>();
        fence_tiles();
        sync_block();
        multiply_group::<T>(x.descriptor(group), c.descriptor(0), &mut sums);
        sync_block();
        if last {
            offer(&mut least, &mut sums, tile, c_norms, k);
        }
        (tile, column) = (next_tile, next_column);
        stage = !stage;
    }
    let own = thread_index() / WARP * OWN;
    conclude(&least, first + own as u64, rows, clusters, x_norms, largest, labels);
}

device::entries! {
    in hopper: wgmma(points: In<T>, centroids: In<T>, x_norms: In<f32>, c_norms: In<f32>, largest: In<u32>,
        labels: Out<u32>, n: u64, k: u32, d: u32);
    assign_wgmma_f16: (half::f16),
    assign_wgmma_bf16: (half::bf16),
}
