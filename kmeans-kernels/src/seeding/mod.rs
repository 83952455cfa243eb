//! Seeding: the rows that k-means++ and k-means|| start from, the same as `kmeans_core::seeding` picks.
//!
//! A row's cost is its weight times D to the nearest row picked so far. Costs become integers, amounts
//! (`kmeans_core::amounts`), of a scale set by the largest cost. So sums and draws do not depend on the order of anything.
//!
//! | kernel | k-means++, once per row to pick |
//! |---|---|
//! | [`amounts`] | the amounts of each range of `SEED_ROWS` rows |
//! | [`draw`] | rows to try, in proportion to their amounts |
//! | [`potentials`] | what each of them would leave |
//! | [`choose`] | the one that leaves least |
//! | [`nearest`] | D to the nearest, with that one; the largest cost |
//!
//! Nothing of it comes back to the host in between. A largest cost of zero (every row coincides with a row picked) leaves
//! nothing to draw from: the row tried is `u64::MAX`, no kernel does anything from then on, and the host sees it in the
//! rows picked.
//!
//! [`parallel`] is k-means||. [`tile`] brings rows to shared memory.

pub mod amounts;
pub mod choose;
pub mod draw;
pub mod nearest;
pub mod parallel;
pub mod potentials;
pub mod tile;

use kmeans_core::amounts::Quantizer;

use crate::device::{In, Out, lane};
use crate::together::largest_lane;

/// Instead of a row: there was nothing to draw from.
pub const NO_ROW: u64 = u64::MAX;

/// The rows' weights.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    weights: In<'a, f64>,
    weighted: bool,
}

impl<'a> Weights<'a> {
    /// All weights are 1, and the array is not read, where `weighted` is 0.
    #[inline(always)]
    pub fn new(weights: In<'a, f64>, weighted: u32) -> Self {
        Self { weights, weighted: weighted != 0 }
    }

    /// The weight of a row. A cost is weight times D to the nearest: 1 changes no bit of it.
    #[inline(always)]
    pub fn of(self, row: u64) -> f64 {
        if self.weighted { self.weights.get(row) } else { 1.0 }
    }
}

/// The rows' amounts.
#[derive(Clone, Copy)]
pub(crate) struct Amounts<'a> {
    nearest: In<'a, f64>,
    weights: Weights<'a>,
    quantizer: Quantizer,
}

impl<'a> Amounts<'a> {
    /// Nothing if the largest cost is zero or not finite.
    #[inline(always)]
    pub fn new(
        nearest: In<'a, f64>,
        weights: In<'a, f64>,
        weighted: u32,
        largest: In<'a, u64>,
        n: u64,
    ) -> Option<Self> {
        let quantizer = Quantizer::new(f64::from_bits(largest.get(0)), n as usize)?;
        Some(Self { nearest, weights: Weights::new(weights, weighted), quantizer })
    }

    /// The amount of a row.
    #[inline(always)]
    pub fn of(self, row: u64) -> u64 {
        self.with(self.row(row), f64::INFINITY)
    }

    /// A row's weight, and its D to the nearest.
    #[inline(always)]
    pub fn row(self, row: u64) -> (f64, f64) {
        (self.weights.of(row), self.nearest.get(row))
    }

    /// The amount of a row that has a further row at D `distance`.
    #[inline(always)]
    pub fn with(self, (weight, near): (f64, f64), distance: f64) -> u64 {
        self.quantizer.amount(weight * near.min(distance))
    }
}

/// The bits of the larger of a cost and one whose bits are `largest`; costs order as their bits.
#[inline(always)]
pub(crate) fn larger(largest: u64, cost: f64) -> u64 {
    if cost > 0.0 && cost.to_bits() > largest { cost.to_bits() } else { largest }
}

/// Raises `largest[0]` to the largest of the warp. All lanes take part.
#[inline(always)]
pub(crate) fn raise(largest: Out<u64>, of_thread: u64) {
    let of_warp = largest_lane(of_thread);
    if lane() == 0 && of_warp > 0 {
        largest.raise(0, of_warp);
    }
}
