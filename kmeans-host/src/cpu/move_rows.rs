//! Moves the rows of a block whose label changed from their old cluster's sums to the new one's.

use kmeans_core::Scalar;
use pulp::{Simd, WithSimd};

use super::cluster_sums::ClusterSums;
use super::sums::{LOT, Sign};

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
