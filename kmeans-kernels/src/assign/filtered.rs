//! `f32` arithmetic on tiles of 64 rows by 64 centroids; the rows it cannot decide for sure are settled by D. Rungs:
//! see [`super`].
//!
//! # Why the labels are still exact
//! Let S be the squared distance in real arithmetic, u = 2⁻²⁴, and s its value here: each difference rounded once, each
//! square added by a fused multiply-add. Then |s − S| ≤ γ·S + A with γ = (d+2)u / (1 − (d+2)u), since a term passes
//! through two roundings of its difference and at most d of the sum, and A = d·2⁻¹⁴⁹ for sums too small to be rounded
//! relatively. D, in `f64`, has |D − S| ≤ η·S with η about (d+2)·2⁻⁵³. With ε = (d+4)·2⁻²³ ≤ 1/4, which exceeds
//! γ + η + γη by half, (s₂ − A)(1 − ε) > (s₁ + A)(1 + ε) implies D₂ > D₁. So where that holds between the best and the
//! second best s, the best label is the one by D; elsewhere the row's D are computed. A sum that overflowed to infinity
//! stands for at least the largest `f32`.

use super::two::Two;
use crate::argmin::Nearest;
use crate::device::{
    self, In, Number, Out, Shared, SharedMemory, ballot, block_index, block_size, multiply_add, sync_block,
    thread_index,
};
use crate::distance::{between, or_zero};

/// Rows, and centroids, of a tile.
const TILE: u32 = 64;
/// Columns of a tile.
const DEPTH: u32 = 16;
/// Elements from one column to the next in shared memory; odd, so that a column's store hits different banks.
const PITCH: u32 = TILE + 1;
/// Threads per row, and per centroid, of a tile.
const TEAM: u32 = 16;
/// Rows, and centroids, per thread: a thread has the 4 by 4 sums of every 16th row and every 16th centroid.
const OWN: usize = 4;

/// Adds a tile's columns to the sums of a thread's rows with the first `N` of its centroids.
#[inline(always)]
fn add_columns<const N: usize>(xs: Shared<f32>, cs: Shared<f32>, (y, x): (u32, u32), sums: &mut [[f32; OWN]; OWN]) {
    for j in 0..DEPTH {
        let mut own = [0.0_f32; N];
        for (b, c) in own.iter_mut().enumerate() {
            *c = cs.get(j * PITCH + x + TEAM * b as u32);
        }
        for (a, row) in sums.iter_mut().enumerate() {
            let value = xs.get(j * PITCH + y + TEAM * a as u32);
            for (sum, c) in row.iter_mut().zip(&own) {
                let difference = value - c;
                *sum = multiply_add(difference, difference, *sum);
            }
        }
    }
}

/// Whether the best sum belongs to the label by D: see the module's documentation.
#[inline(always)]
pub(crate) fn is_certain(two: Two, d: u32) -> bool {
    let epsilon = (d as f64 + 4.0) / (1 << 23) as f64;
    // 2⁻¹⁴⁹, the smallest f32.
    let absolute = d as f64 * f32::from_bits(1) as f64;
    let second = if two.second < f32::MAX { two.second } else { f32::MAX };
    epsilon <= 0.25 && (second as f64 - absolute) * (1.0 - epsilon) > (two.best as f64 + absolute) * (1.0 + epsilon)
}

/// The label of every row; 64 rows per block.
#[inline(always)]
pub fn filtered<T: Number>(points: In<T>, centroids: In<T>, labels: Out<u32>, n: u64, k: u32, d: u32) {
    let mut shared = SharedMemory::new();
    let (xs, cs) = (shared.array::<f32>(DEPTH * PITCH), shared.array::<f32>(DEPTH * PITCH));
    let (y, x) = (thread_index() / TEAM, thread_index() % TEAM);
    let first = block_index() as u64 * TILE as u64;
    let mut least = [Two::NONE; OWN];
    let mut tile = 0;
    while tile < k {
        let mut sums = [[0.0_f32; OWN]; OWN];
        let mut column = 0;
        while column < d {
            let mut element = thread_index();
            while element < TILE * DEPTH {
                let (row, j) = (element / DEPTH, element % DEPTH);
                xs.set(j * PITCH + row, or_zero(points, first + row as u64, n, column + j, d).single());
                cs.set(j * PITCH + row, or_zero(centroids, (tile + row) as u64, k as u64, column + j, d).single());
                element += block_size();
            }
            sync_block();
            // Every 16th centroid is a thread's own: the last tile may have none for some of them.
            match (k - tile).div_ceil(TEAM) {
                1 => add_columns::<1>(xs, cs, (y, x), &mut sums),
                2 => add_columns::<2>(xs, cs, (y, x), &mut sums),
                3 => add_columns::<3>(xs, cs, (y, x), &mut sums),
                _ => add_columns::<OWN>(xs, cs, (y, x), &mut sums),
            }
            sync_block();
            column += DEPTH;
        }
        for (two, row) in least.iter_mut().zip(&sums) {
            for (b, &sum) in row.iter().enumerate() {
                let label = tile + x + TEAM * b as u32;
                // A tile's rows beyond k are no centroids: they must not win.
                if label < k {
                    *two = two.offer(label, sum);
                }
            }
        }
        tile += TILE;
    }
    for (a, two) in least.iter().enumerate() {
        let two = two.merge_lanes(TEAM);
        let row = first + y as u64 + TEAM as u64 * a as u64;
        let mut label = two.label;
        let open = row < n && !is_certain(two, d);
        // The whole warp, two rows, settles if either row is open, since all its lanes must meet at the shuffles.
        if ballot(open) != 0 {
            let mut nearest = Nearest::NONE;
            let mut candidate = x;
            while open && candidate < k {
                let distance = between(points, row * d as u64, centroids, candidate as u64 * d as u64, d);
                nearest = nearest.offer(candidate, distance);
                candidate += TEAM;
            }
            nearest = nearest.merge_lanes(TEAM);
            if open {
                label = nearest.label();
            }
        }
        if row < n && x == 0 {
            labels.set(row, label);
        }
    }
}

device::entries! {
    filtered(points: In<T>, centroids: In<T>, labels: Out<u32>, n: u64, k: u32, d: u32);
    assign_filtered_f32: (f32),
    assign_filtered_f16: (half::f16),
    assign_filtered_bf16: (half::bf16),
}
