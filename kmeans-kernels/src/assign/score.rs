//! What the tensor-core rungs share: scores from products, and labels from scores.
//!
//! # Why the labels are exact
//! Instead of |x − c|² the score is t = |c|²/2 − x·c, which orders the centroids of a row alike: |x − c|² = |x|² + 2t.
//! Let X = |x|, C the largest |c|, N = C²/2, u = 2⁻²³. A product of tiles adds 16 exact products and the sum so far,
//! cutting each off below 24 bits of the largest and the result to `f32`: it errs by at most 18u·XC, so ⌈d/16⌉ of them
//! by 18u·⌈d/16⌉·XC; 20 is used. Half the norm, and the score, are rounded once each: u/2·N and u/2·(N + 1.01·XC). So a
//! score errs by at most E = u·(20·⌈d/16⌉ + 1)·XC + 2u·N + A, A = d·2⁻¹²⁰ for what is too small to be a normal `f32`.
//! D errs by at most H = (d+3)·2⁻⁵³·(X+C)². Where the second best score is above the best by more than 2E + H, the best
//! label is the one by D; elsewhere the row's D are computed. That nothing overflowed is known from (X+C)² < 2¹²⁰.

use super::two::Two;
use crate::argmin::Nearest;
use crate::device::{Half, In, Out, WARP, ballot, lane};
use crate::distance::between;

/// Columns that tensor cores add up at once.
const STEP: u32 = 16;

/// A matrix in global memory.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a, T> {
    pub elements: In<'a, T>,
    pub rows: u64,
    pub d: u32,
}

/// Products of a warp's 16 rows with 64 centroids, as tensor cores leave them: a lane's share.
pub(super) type Products = [[f32; 4]; 8];

/// A lane's scores of its two rows so far: row g and row g + 8 of the warp's 16.
pub(super) type Least = [Two; 2];

/// Takes the products with the 64 centroids from `tile` on into account, and clears them.
#[inline(always)]
pub(super) fn offer(least: &mut Least, products: &mut Products, tile: u32, c_norms: In<f32>, k: u32) {
    for (j, eight) in products.iter_mut().enumerate() {
        for (i, &product) in eight.iter().enumerate() {
            let label = tile + j as u32 * 8 + lane() % 4 * 2 + i as u32 % 2;
            // A tile's rows beyond k are no centroids: they must not win.
            if label < k {
                let two = &mut least[i / 2];
                *two = two.offer(label, c_norms.get(label as u64) * 0.5 - product);
            }
        }
        *eight = [0.0; 4];
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
    let steps = d.div_ceil(STEP) as f64;
    let tiny = d as f64 * f64::from_bits((1023 - 120) << 52);
    let score = unit * (20.0 * steps + 1.0) * product + unit * c + tiny;
    let by_definition = (d as f64 + 3.0) * f64::EPSILON / 2.0 * most;
    if most < f64::from_bits((1023 + 120) << 52) { Some(2.0 * score + by_definition) } else { None }
}

/// Writes the labels of a warp's 16 rows from `first` on; all lanes take part.
#[inline(always)]
pub(super) fn conclude<T: Half>(
    least: &Least,
    first: u64,
    points: Matrix<T>,
    centroids: Matrix<T>,
    x_norms: In<f32>,
    largest: In<u32>,
    labels: Out<u32>,
) {
    let d = points.d;
    let c_squared = f32::from_bits(largest.get(0));
    for (half, two) in least.iter().enumerate() {
        let two = two.merge_lanes(4);
        let start = first + half as u64 * 8;
        let row = start + (lane() / 4) as u64;
        let mut is_open = false;
        if row < points.rows && lane().is_multiple_of(4) {
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
            while (candidate as u64) < centroids.rows {
                let c = candidate as u64 * d as u64;
                nearest = nearest.offer(candidate, between(points.elements, row * d as u64, centroids.elements, c, d));
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
