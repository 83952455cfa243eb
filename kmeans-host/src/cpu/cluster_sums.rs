//! Everything that is summed per cluster: coordinates, weights, counts.

use kmeans_core::Scalar;

use super::sums::{Divisor, Sign, Sums, drain};
use crate::points::Points;

/// Everything that is summed per cluster.
#[derive(Clone)]
pub(crate) struct ClusterSums {
    /// Weighted coordinates, `[k, d]`.
    pub coordinates: Sums,
    /// Weights, [k, 1]; none for an unweighted fit.
    pub weights: Option<Sums>,
    /// Points. In a partial sum the count may pass below zero and wraps.
    pub counts: Vec<u64>,
    /// Points of positive weight; none for an unweighted fit.
    members: Option<Vec<u64>>,
}

impl ClusterSums {
    pub fn new<T: Scalar>(points: &Points<'_, T>, k: usize) -> Self {
        Self::with_weights(points, k, points.weights().is_some())
    }

    /// As [`new`](Self::new), with the weights left out.
    pub fn unweighted<T: Scalar>(points: &Points<'_, T>, k: usize) -> Self {
        Self::with_weights(points, k, false)
    }

    fn with_weights<T: Scalar>(points: &Points<'_, T>, k: usize, weighted: bool) -> Self {
        let (d, range) = (points.d(), points.range());
        Self {
            coordinates: if weighted {
                Sums::weighted(range.product(points.weight_range()), points.n(), k, d)
            } else {
                Sums::unweighted(range, points.n(), k, d)
            },
            weights: weighted.then(|| Sums::unweighted(points.weight_range(), points.n(), k, 1)),
            counts: vec![0; k],
            members: weighted.then(|| vec![0; k]),
        }
    }

    /// Bytes of one set of sums.
    pub fn bytes<T: Scalar>(points: &Points<'_, T>, k: usize) -> usize {
        ClusterSums::new(points, 0).coordinates.bytes_per_sum() * k * points.d()
    }

    /// Adds a row to cluster `k`, or takes it away; `weight` is given in a weighted fit.
    #[inline(always)]
    pub fn add<T: Scalar>(&mut self, k: usize, row: &[T], weight: Option<f64>, sign: Sign) {
        self.coordinates.add(k, row, weight, sign);
        let one = if sign == Sign::Plus { 1 } else { u64::MAX };
        self.counts[k] = self.counts[k].wrapping_add(one);
        if let (Some(w), Some(weights), Some(members)) = (weight, &mut self.weights, &mut self.members) {
            weights.add(k, &[w], None, sign);
            if w > 0.0 {
                members[k] = members[k].wrapping_add(one);
            }
        }
    }

    /// [`Sums::move_lot`], and the counts.
    #[inline(always)]
    pub fn move_lot<T: Scalar>(&mut self, rows: &[T], to: &[u32], from: Option<&[u32]>) {
        self.coordinates.move_lot(rows, to, from);
        for &k in to {
            self.counts[k as usize] = self.counts[k as usize].wrapping_add(1);
        }
        for &k in from.into_iter().flatten() {
            self.counts[k as usize] = self.counts[k as usize].wrapping_sub(1);
        }
    }

    /// Whether rows can be moved by [`move_lot`](Self::move_lot).
    pub fn takes_lots(&self) -> bool {
        self.weights.is_none() && self.coordinates.takes_lots()
    }

    /// Adds `other` and leaves it zero.
    pub fn drain(&mut self, other: &mut Self) {
        self.coordinates.drain(&mut other.coordinates);
        drain(&mut self.counts, &mut other.counts, u64::wrapping_add);
        if let (Some(a), Some(b)) = (&mut self.weights, &mut other.weights) {
            a.drain(b);
        }
        if let (Some(a), Some(b)) = (&mut self.members, &mut other.members) {
            drain(a, b, u64::wrapping_add);
        }
    }

    /// Adds the only cluster of `other` to cluster `k`.
    pub fn add_cluster(&mut self, k: usize, other: &Self) {
        self.coordinates.add_cluster(k, &other.coordinates);
        self.counts[k] = self.counts[k].wrapping_add(other.counts[0]);
        if let (Some(a), Some(b)) = (&mut self.weights, &other.weights) {
            a.add_cluster(k, b);
        }
        if let (Some(a), Some(b)) = (&mut self.members, &other.members) {
            a[k] = a[k].wrapping_add(b[0]);
        }
    }

    /// Points of positive weight per cluster.
    pub fn members(&self) -> &[u64] {
        self.members.as_deref().unwrap_or(&self.counts)
    }

    /// Writes the mean of cluster `k`; leaves `out` as it is if the cluster has no point of positive weight.
    pub fn mean<T: Scalar>(&self, k: usize, out: &mut [T]) {
        if self.members()[k] > 0 {
            self.coordinates.divide(k, self.divisor(k), out);
        }
    }

    pub fn divisor(&self, k: usize) -> Divisor<'_> {
        match &self.weights {
            None => Divisor::Count(self.counts[k]),
            Some(weights) => Divisor::Weights(weights, k),
        }
    }
}
