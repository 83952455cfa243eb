//! Bounds that carry over from round to round, so that rows whose label cannot have changed are not compared again.
//!
//! Hamerly, "Making k-means even faster", SDM 2010: for every row an upper bound of the distance to its centroid and a lower bound
//! of the distance to every other one, 8 bytes. A round that prunes takes three kernels in place of one:
//!
//! | kernel | what it does |
//! |---|---|
//! | [`moved`] | how far each centroid has moved since the bounds were made, and the farthest of them |
//! | [`rows`] | moves the bounds along; measures the distance to a row's own centroid where that may decide; lists the rows that are left |
//! | [`stream`] | the assignment of the rows in that list, by Hopper's tensor cores, with new bounds |
//!
//! How many rows are listed is known to the device alone, and so the host need not wait. In the first such round no row has
//! bounds, and all are listed.
//!
//! # Why the labels are exact
//! Distances are those of the frame in which rows are multiplied, scaled by a power of two, so |x' − c'| = 2ˢ|x − c|. Every bound
//! is rounded to its own side: `above`, `below`, `Bounds::moved`. By the triangle inequality the upper bound grows by what the own centroid
//! moved, and the lower shrinks by what the farthest did. A row keeps its label a if upper·(1 + 8·10⁻⁷) < lower and lower is a normal number
//! (`Bounds::decide`). Then |x − c_a|(1 + 8·10⁻⁷) < |x − c_k| for every other k, and as D errs by (d + 2)·2⁻⁵³ of the square at most, which is
//! less for any d below 2³¹, D(x, c_a) < D(x, c_k). So a is what the definition gives, whatever the lower index would be in a tie.
//!
//! New bounds come from scores (`FromScores`). With the names of [`bound`](crate::assign), |x' − c'_k|² = |x'|² + 2O − 2t_k and a score errs by
//! at most E, half the margin M or less: so upper² = |x'|² + 2O − 2s_a + M, and lower² = |x'|² + 2O − 2s − M where s is no less than the score of
//! any other centroid. They are made where scores decided the row alone; a row that D had to settle has near-ties, which no bound
//! would decide in the round after.

pub mod moved;
pub mod rows;
pub mod stream;

use crate::device::{In, Out, square_root_double};

/// Undoes one rounding to `f32`, or two, to either side.
const UP: f32 = 1.0 + 2.0 * f32::EPSILON;
const DOWN: f32 = 1.0 - 2.0 * f32::EPSILON;
/// How much the comparison must be strict by: far above D's relative error.
const STRICT: f32 = 1.0 + 1e-6;

/// A number that is not below the root of `squared`, nor below the smallest normal one.
#[inline(always)]
pub(crate) fn above(squared: f64) -> f32 {
    square_root_double(squared) as f32 * UP + f32::MIN_POSITIVE
}

/// A number that is not above the root of `squared`; 0 if that is no root.
#[inline(always)]
pub(crate) fn below(squared: f64) -> f32 {
    let root = square_root_double(squared) as f32;
    // Not so for what is no number. What rounded to infinity is above the largest number.
    if root > 0.0 { (if root < f32::MAX { root } else { f32::MAX }) * DOWN } else { 0.0 }
}

/// The bounds of a row.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Of the distance to the row's own centroid.
    pub upper: f32,
    /// Of the distance to every other one.
    pub lower: f32,
}

impl Bounds {
    /// After the own centroid has moved by `own` at most, and any by `farthest`.
    #[inline(always)]
    pub fn moved(self, own: f32, farthest: f32) -> Self {
        let lower = (self.lower - farthest) * DOWN;
        Self { upper: (self.upper + own) * UP, lower: if lower > 0.0 { lower } else { 0.0 } }
    }

    /// Whether the row certainly keeps its label.
    #[inline(always)]
    pub fn decide(self) -> bool {
        self.can_decide() && self.upper * STRICT < self.lower
    }

    /// Whether it would, were its own centroid near enough.
    #[inline(always)]
    pub fn can_decide(self) -> bool {
        self.lower >= f32::MIN_POSITIVE
    }
}

/// Bounds from the scores of rows that scores have decided.
#[derive(Clone, Copy)]
pub(crate) struct FromScores<'a> {
    pub upper: Out<'a, f32>,
    pub lower: Out<'a, f32>,
    /// |x'|² of each row.
    pub norms: In<'a, f32>,
    /// O.
    pub offset: f32,
}

impl FromScores<'_> {
    /// Sets those of a row whose own centroid scores `best`, and every other one at most `second`.
    #[inline(always)]
    pub fn set(self, row: u64, best: f32, second: f32, margin: f32) {
        let (norm, offset) = (self.norms.get(row) as f64, self.offset as f64);
        // The norm was rounded to f32; the rest makes room for what is rounded here, and for norms too small to be rounded relatively.
        let slack = norm * (f32::EPSILON as f64) + offset * 2e-12 + f32::MIN_POSITIVE as f64;
        let middle = norm + 2.0 * offset;
        self.upper.set(row, above(middle - 2.0 * best as f64 + margin as f64 + slack));
        self.lower.set(row, below(middle - 2.0 * second as f64 - margin as f64 - slack));
    }

    /// Leaves a row without bounds, so that the next round compares it again.
    #[inline(always)]
    pub fn forget(self, row: u64) {
        self.upper.set(row, f32::INFINITY);
        self.lower.set(row, 0.0);
    }
}
