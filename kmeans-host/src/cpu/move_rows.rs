//! Moves rows whose label changed from their old cluster's sums to the new one's, block by block.

use kmeans_core::Scalar;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::cluster_sums::ClusterSums;
use super::sums::{LOT, Sign};
use super::sums_by_cluster;
use crate::points::Points;

/// Above this many bytes of sums, threads do not keep partial sums of their own.
pub(super) const PARTIAL_BYTES: usize = 4 << 20;

/// The sums of all points by label.
pub(crate) fn sums_of<T: Scalar>(arch: Arch, points: &Points<'_, T>, k: usize, labels: &[u32]) -> ClusterSums {
    let empty = || ClusterSums::new(points, k);
    if ClusterSums::bytes(points, k) > PARTIAL_BYTES {
        let mut sums = empty();
        sums_by_cluster::move_rows(&mut sums, points, labels, None);
        return sums;
    }
    points
        .blocks()
        .fold(empty, |mut sums, block| {
            let mut scratch = Vec::new();
            let rows = points.rows(block.clone(), &mut scratch);
            let weights = points.weights().map(|w| &w[block.clone()]);
            arch.dispatch(MoveRows { sums: &mut sums, rows, weights, labels: &labels[block], before: None });
            sums
        })
        .reduce(empty, |mut a, mut b| {
            a.drain(&mut b);
            a
        })
}

/// The rows of a block, row-major, with old and new labels; without old labels, all rows are added. The result is how
/// many moved.
pub(crate) struct MoveRows<'a, T> {
    pub sums: &'a mut ClusterSums,
    pub rows: &'a [T],
    pub weights: Option<&'a [f64]>,
    pub labels: &'a [u32],
    pub before: Option<&'a [u32]>,
}

impl<T: Scalar> WithSimd for MoveRows<'_, T> {
    type Output = u64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> u64 {
        let d = self.rows.len() / self.labels.len();
        match (self.before, self.sums.takes_lots()) {
            (None, true) => {
                for (rows, labels) in self.rows.chunks(LOT / d * d).zip(self.labels.chunks(LOT / d)) {
                    self.sums.move_lot(rows, labels, None);
                }
                self.labels.len() as u64
            }
            (None, false) => {
                for (i, (row, &label)) in self.rows.chunks_exact(d).zip(self.labels).enumerate() {
                    self.sums.add(label as usize, row, self.weights.map(|w| w[i]), Sign::Plus);
                }
                self.labels.len() as u64
            }
            (Some(before), true) => self.move_changed_lots(before, d),
            (Some(before), false) => self.move_changed(before, d),
        }
    }
}

impl<T: Scalar> MoveRows<'_, T> {
    #[inline(always)]
    fn move_changed_lots(self, before: &[u32], d: usize) -> u64 {
        let (mut rows, mut to, mut from) = (Vec::with_capacity(LOT), Vec::new(), Vec::new());
        let mut changed = 0;
        for_each_changed(self.labels, before, |i| {
            rows.extend_from_slice(&self.rows[i * d..][..d]);
            to.push(self.labels[i]);
            from.push(before[i]);
            if rows.len() + d > LOT {
                self.sums.move_lot(&rows, &to, Some(&from));
                changed += to.len() as u64;
                rows.clear();
                to.clear();
                from.clear();
            }
        });
        self.sums.move_lot(&rows, &to, Some(&from));
        changed + to.len() as u64
    }

    #[inline(always)]
    fn move_changed(self, before: &[u32], d: usize) -> u64 {
        let mut changed = 0;
        for_each_changed(self.labels, before, |i| {
            let (row, weight) = (&self.rows[i * d..][..d], self.weights.map(|w| w[i]));
            self.sums.add(before[i] as usize, row, weight, Sign::Minus);
            self.sums.add(self.labels[i] as usize, row, weight, Sign::Plus);
            changed += 1;
        });
        changed
    }
}

/// Calls `each` with the index of every label that changed.
#[inline(always)]
fn for_each_changed(labels: &[u32], before: &[u32], mut each: impl FnMut(usize)) {
    // Sixty-four at a time: in most rounds most rows stay.
    for (at, (labels, before)) in labels.chunks(64).zip(before.chunks(64)).enumerate() {
        let different: u64 =
            labels.iter().zip(before).enumerate().map(|(i, (a, b))| u64::from(a != b) << i).fold(0, |a, b| a | b);
        let mut rest = different;
        while rest != 0 {
            each(at * 64 + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}
