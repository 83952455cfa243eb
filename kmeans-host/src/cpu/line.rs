//! One column: points sorted once, so that a round costs k binary searches instead of n·k distances.
//!
//! In order of their value, the points of a cluster stand side by side. A round finds the k − 1 places where one cluster
//! ends and the next begins, and the sums of the clusters from running sums. The labels that come out are those of the
//! definition because the places are found by comparing D itself: see `boundary`. Used where differences of points and
//! centroids are exact in `f64`, as for almost all `f32`, `f16` and `bf16` data; the general path takes everything else.

use kmeans_core::Scalar;
use kmeans_core::exact::{ExactSum, quotient_by_count};
use kmeans_core::fixed::ExponentRange;
use kmeans_core::scalar::{decode, power_of_two};
use rayon::prelude::*;

use crate::points::Points;

/// Differences of numbers whose bits span at most this many are exact, and distinct ones have distinct squares.
const SPAN: i32 = 51;
/// Below this k, or this many rounds, sorting costs more than it saves.
const CLUSTERS: usize = 12;
const ROUNDS: usize = 4;

/// The points in order, with running sums.
pub(crate) struct Line {
    /// Values, ascending.
    values: Vec<f32>,
    /// The row of each value.
    rows: Vec<u32>,
    /// Entry i: the sum of the first i values, in units of 2^low.
    running: Vec<i128>,
    range: ExponentRange,
}

/// The clusters of a round: centroids in ascending order, equal ones left out but for the one with the lowest index.
#[derive(Clone, PartialEq)]
pub(crate) struct Segments {
    /// Cluster of each segment.
    clusters: Vec<u32>,
    /// Entry s: the number of points before segment s; one more at the end, n.
    starts: Vec<usize>,
}

impl Line {
    /// `None` where this path does not apply or does not pay.
    pub fn new<T: Scalar>(points: &Points<'_, T>, k: usize, max_iter: usize) -> Option<Self> {
        let (n, range) = (points.n(), points.range());
        let applies = points.d() == 1 && points.weights().is_none() && T::DIGITS <= 24 && u32::try_from(n).is_ok();
        let pays = k >= CLUSTERS && max_iter >= ROUNDS;
        if !(applies && pays && !range.is_zero() && in_reach(range)) {
            return None;
        }
        let mut keys: Vec<u64> = vec![0; n];
        let step = points.block_rows();
        points.blocks().zip(keys.par_chunks_mut(step)).for_each_init(Vec::new, |scratch, (block, keys)| {
            for (i, (key, x)) in block.clone().zip(keys.iter_mut().zip(points.rows(block, scratch))) {
                *key = (order(x.to_f32()) as u64) << 32 | i as u64;
            }
        });
        keys.par_sort_unstable();
        let values: Vec<f32> = keys.par_iter().map(|key| value((key >> 32) as u32)).collect();
        let rows = keys.into_par_iter().map(|key| key as u32).collect();
        let factor = power_of_two(-range.low);
        let mut running = Vec::with_capacity(n + 1);
        let mut sum = 0_i128;
        running.push(0);
        for v in &values {
            sum += (*v as f64 * factor) as i64 as i128;
            running.push(sum);
        }
        Some(Self { values, rows, running, range })
    }

    /// The clusters of `centroids`; `None` if a centroid is out of the reach of exact differences.
    pub fn segments<T: Scalar>(&self, centroids: &[T]) -> Option<Segments> {
        let range = centroids.iter().fold(self.range, |r, c| r.union(ExponentRange::of(c.to_f64())));
        if !in_reach(range) {
            return None;
        }
        let mut order: Vec<(f64, u32)> = centroids.iter().map(|c| c.to_f64()).zip(0..).collect();
        // −0 and +0 are equal here, so the order is by value, then by index.
        order.sort_by(|a, b| a.0.partial_cmp(&b.0).expect("centroids are finite").then(a.1.cmp(&b.1)));
        order.dedup_by(|later, first| later.0 == first.0);
        let mut starts = Vec::with_capacity(order.len() + 1);
        starts.push(0);
        starts.extend(order.windows(2).map(|pair| self.boundary(pair[0], pair[1])));
        starts.push(self.values.len());
        debug_assert!(starts.is_sorted());
        Some(Segments { clusters: order.into_iter().map(|(_, index)| index).collect(), starts })
    }

    /// The number of points that are nearer to `left` than to `right`, neighbours in order, ties going to the lower index.
    ///
    /// As x grows from `left` to `right`, D(x, left) does not fall and D(x, right) does not rise, rounding being
    /// monotone, so the comparison changes at most once. Beyond either of them it cannot change, since differences are
    /// exact and the squares of different ones differ.
    fn boundary(&self, left: (f64, u32), right: (f64, u32)) -> usize {
        self.values.partition_point(|&x| {
            let (to_left, to_right) = (square(x as f64 - left.0), square(x as f64 - right.0));
            to_left < to_right || to_left == to_right && left.1 < right.1
        })
    }

    /// The mean of each cluster that has points; the others keep their centroid.
    pub fn means<T: Scalar>(&self, segments: &Segments, old: &[T]) -> Vec<T> {
        let mut new = old.to_vec();
        segments.each(|cluster, points| {
            let sum = self.running[points.end] - self.running[points.start];
            new[cluster as usize] = quotient_by_count(sum, self.range.low, points.len() as u64);
        });
        new
    }

    /// The inertia of `centroids` under `segments`; `squares` is the sum of squared values.
    pub fn inertia<T: Scalar>(&self, segments: &Segments, centroids: &[T], squares: &ExactSum) -> f64 {
        let mut total = squares.clone();
        segments.each(|cluster, points| {
            let sum = self.running[points.end] - self.running[points.start];
            let (significand, exponent) = decode(centroids[cluster as usize].to_f64());
            // At most 24 bits once the low zeros are gone, so that products fit.
            let zeros = if significand == 0 { 0 } else { significand.trailing_zeros() as i32 };
            let (c, exponent) = ((significand >> zeros) as i128, exponent + zeros);
            total.add_integer(-sum * c, exponent + 1 + self.range.low);
            total.add_integer(c * c * points.len() as i128, 2 * exponent);
        });
        total.to_f64()
    }

    /// Labels by row.
    pub fn labels(&self, segments: &Segments, labels: &mut [u32]) {
        segments.each(|cluster, points| {
            for &row in &self.rows[points] {
                labels[row as usize] = cluster;
            }
        });
    }
}

impl Segments {
    fn each(&self, mut f: impl FnMut(u32, std::ops::Range<usize>)) {
        for (&cluster, ends) in self.clusters.iter().zip(self.starts.windows(2)) {
            if ends[0] < ends[1] {
                f(cluster, ends[0]..ends[1]);
            }
        }
    }

    /// Points per cluster.
    pub fn counts(&self, k: usize) -> Vec<u64> {
        let mut counts = vec![0; k];
        self.each(|cluster, points| counts[cluster as usize] = points.len() as u64);
        counts
    }

    /// Points whose cluster is another one in `other`.
    pub fn changed(&self, other: &Self) -> u64 {
        let list = |segments: &Self| {
            let mut list = Vec::new();
            segments.each(|cluster, points| list.push((cluster, points)));
            list
        };
        let (a, b) = (list(self), list(other));
        let (mut i, mut j, mut same) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            let (start, end) = (a[i].1.start.max(b[j].1.start), a[i].1.end.min(b[j].1.end));
            if a[i].0 == b[j].0 && start < end {
                same += (end - start) as u64;
            }
            if a[i].1.end <= b[j].1.end { i += 1 } else { j += 1 }
        }
        *self.starts.last().expect("n at the end") as u64 - same
    }
}

fn square(x: f64) -> f64 {
    x * x
}

fn in_reach(range: ExponentRange) -> bool {
    range.span() <= SPAN && (-900..900).contains(&range.low)
}

/// A key that orders as the values do; −0 counts as +0.
fn order(value: f32) -> u32 {
    let bits = (value + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The value of a key.
fn value(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_values_do() {
        let values = [f32::MIN, -1.5, -1e-45, 0.0, 1e-45, 0.1, f32::MAX];
        assert!(values.windows(2).all(|pair| order(pair[0]) < order(pair[1])));
        assert!(values.iter().all(|&v| value(order(v)) == v));
        assert_eq!(order(-0.0), order(0.0));
    }

    #[test]
    fn changed_counts_points_by_cluster_not_by_segment() {
        let a = Segments { clusters: vec![2, 0, 1], starts: vec![0, 4, 4, 10] };
        let b = Segments { clusters: vec![2, 1], starts: vec![0, 6, 10] };
        assert_eq!(a.changed(&b), 2);
        assert_eq!(b.changed(&a), 2);
        assert_eq!(a.changed(&a), 0);
    }
}
