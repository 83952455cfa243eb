//! Inertia from the exact sums, without looking at the points again.
//!
//! Σ w·|x − c|² = Σ w·|x|² − Σₖ (2·cₖ·Sₖ − Wₖ·|cₖ|²), where Sₖ and Wₖ are the sums of weighted points and of weights of
//! cluster k. In rounded arithmetic this cancels; in exact arithmetic it costs k·d operations per round and is the
//! inertia of the real numbers, rounded once.

use kmeans_core::Scalar;
use kmeans_core::exact::ExactSum;
use kmeans_core::scalar::{decode, power_of_two};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::cluster_sums::ClusterSums;
use super::move_rows::sums_of;
use super::sums::{Divisor, Sign, integer_below_2_51};
use crate::points::Points;

/// Σ w·|x|² over all points; with `weighted` false, Σ |x|².
pub(crate) fn square_sum<T: Scalar>(arch: Arch, points: &Points<'_, T>, weighted: bool) -> ExactSum {
    let weights = points.weights().filter(|_| weighted);
    let narrow = narrow_low(points).filter(|_| weights.is_none());
    points
        .blocks()
        .fold(ExactSum::new, |mut sum, block| {
            let mut scratch = Vec::new();
            let rows = points.rows(block.clone(), &mut scratch);
            if let Some(low) = narrow.filter(|_| rows.len() < NARROW_VALUES) {
                sum.add_integer(arch.dispatch(Squares { values: rows, low }), 2 * low);
            } else {
                for (i, row) in block.zip(rows.chunks_exact(points.d())) {
                    let w = weights.map_or(1.0, |w| w[i]);
                    for x in row {
                        sum.add_triple(w, x.to_f64(), x.to_f64());
                    }
                }
            }
            sum
        })
        .reduce(ExactSum::new, |mut a, b| {
            a.merge(&b);
            a
        })
}

/// Σ x² in units of 2^(2·`low`), for values that are multiples of 2^`low` and below 2^(low + 51).
struct Squares<'a, T> {
    values: &'a [T],
    low: i32,
}

impl<T: Scalar> WithSimd for Squares<'_, T> {
    type Output = i128;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> i128 {
        let factor = power_of_two(-self.low);
        let mut total = 0_i128;
        let mut integers = [0_i64; 256];
        for values in self.values.chunks(integers.len()) {
            // First the conversions, which vectorise, then the multiplications, which do not.
            for (m, x) in integers.iter_mut().zip(values) {
                *m = integer_below_2_51(x.to_f64() * factor);
            }
            for &m in &integers[..values.len()] {
                total += (m.unsigned_abs() as u128 * m.unsigned_abs() as u128) as i128;
            }
        }
        total
    }
}

/// The inertia of `centroids`, `[k, d]`, for points whose sums are `sums` and whose [`square_sum`] is `squares`.
pub(crate) fn inertia<T: Scalar>(squares: &ExactSum, sums: &ClusterSums, centroids: &[T], d: usize) -> f64 {
    let mut total = centroids
        .par_chunks_exact(d)
        .enumerate()
        .with_min_len(1 + (1 << 12) / d)
        .filter(|&(k, _)| sums.counts[k] > 0)
        .fold(ExactSum::new, |mut total, (k, centroid)| {
            add_centroid(&mut total, sums, k, centroid);
            total
        })
        .reduce(ExactSum::new, |mut a, b| {
            a.merge(&b);
            a
        });
    total.merge(squares);
    total.to_f64()
}

/// Adds Wₖ·|cₖ|² − 2·cₖ·Sₖ.
fn add_centroid<T: Scalar>(total: &mut ExactSum, sums: &ClusterSums, k: usize, centroid: &[T]) {
    for (j, c) in centroid.iter().enumerate() {
        let (significand, exponent) = decode(c.to_f64());
        if significand != 0 {
            sums.coordinates.add_scaled_to(total, k, j, (-significand, exponent + 1));
            add_weighted_square(total, sums.divisor(k), significand, exponent);
        }
    }
}

/// The inertia of each cluster of unweighted points: Σ |x − cₖ|² over the points that have label k. `centroids` is `[k, d]`.
pub(crate) fn inertias<T: Scalar>(arch: Arch, points: &Points<'_, T>, labels: &[u32], centroids: &[T]) -> Vec<f64> {
    let d = points.d();
    let k = centroids.len() / d;
    let sums = sums_of(arch, points, k, labels);
    let mut totals = square_sums(arch, points, labels, k);
    totals
        .par_iter_mut()
        .zip(centroids.par_chunks_exact(d))
        .enumerate()
        .with_min_len(1 + (1 << 12) / d)
        .map(|(k, (total, centroid))| {
            add_centroid(total, &sums, k, centroid);
            total.to_f64()
        })
        .collect()
}

/// Σ |x|² over the points of each label, without weights.
fn square_sums<T: Scalar>(arch: Arch, points: &Points<'_, T>, labels: &[u32], k: usize) -> Vec<ExactSum> {
    let low = narrow_low(points);
    let zeros = || vec![ExactSum::new(); k];
    points
        .blocks()
        .fold(zeros, |mut sums, block| {
            let mut scratch = Vec::new();
            let rows = points.rows(block.clone(), &mut scratch);
            for (row, &label) in rows.chunks_exact(points.d()).zip(&labels[block]) {
                let sum = &mut sums[label as usize];
                match low {
                    Some(low) if row.len() < NARROW_VALUES => {
                        sum.add_integer(arch.dispatch(Squares { values: row, low }), 2 * low);
                    }
                    _ => row.iter().for_each(|x| sum.add_product(x.to_f64(), x.to_f64())),
                }
            }
            sums
        })
        .reduce(zeros, |mut a, b| {
            a.iter_mut().zip(&b).for_each(|(a, b)| a.merge(b));
            a
        })
}

/// The lowest exponent of values whose squares [`Squares`] can add up.
fn narrow_low<T: Scalar>(points: &Points<'_, T>) -> Option<i32> {
    let range = points.range();
    ((-900..900).contains(&range.low) && range.span() <= 51).then_some(range.low)
}

/// Fewer squares than this have a sum below 2^126: each is below 2^102.
const NARROW_VALUES: usize = 1 << 24;

/// Adds W·c² for c = `significand · 2^exponent`.
fn add_weighted_square(total: &mut ExactSum, weight: Divisor<'_>, significand: i64, exponent: i32) {
    let zeros = significand.trailing_zeros() as i32;
    let (m, e) = ((significand >> zeros).unsigned_abs(), 2 * (exponent + zeros));
    let square = m as i128 * m as i128;
    match weight {
        Divisor::Count(count) if m < 1 << 31 => total.add_integer(square * count as i128, e),
        _ => {
            // 106 bits times a sum of weights: in two parts of 53 bits.
            let (limbs, base) = weight.limbs();
            total.add_scaled(&limbs, base, (square & ((1 << 53) - 1)) as i64, e);
            total.add_scaled(&limbs, base, (square >> 53) as i64, e + 53);
        }
    }
}

/// [`kmeans_core::reference::mean_variance`], in parallel.
pub(crate) fn mean_variance<T: Scalar>(arch: Arch, points: &Points<'_, T>) -> f64 {
    let (n, d) = (points.n(), points.d());
    let empty = || ClusterSums::unweighted(points, 1);
    let sums = points
        .blocks()
        .fold(empty, |mut sums, block| {
            let mut scratch = Vec::new();
            arch.dispatch(AddAll { rows: points.rows(block, &mut scratch), d, sums: &mut sums });
            sums
        })
        .reduce(empty, |mut a, mut b| {
            a.drain(&mut b);
            a
        });
    let mut means = vec![0.0_f64; d];
    sums.mean(0, &mut means);
    inertia(&square_sum(arch, points, false), &sums, &means, d) / (n as f64 * d as f64)
}

/// Adds rows to the first cluster.
struct AddAll<'a, T> {
    rows: &'a [T],
    d: usize,
    sums: &'a mut ClusterSums,
}

impl<T: Scalar> WithSimd for AddAll<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for row in self.rows.chunks_exact(self.d) {
            self.sums.add(0, row, None, Sign::Plus);
        }
    }
}
