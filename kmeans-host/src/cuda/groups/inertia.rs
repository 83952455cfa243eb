//! Inertias of many groups, exact: limbs per group, rounded on the device.

use kmeans_core::fixed::ceil_log2;
use kmeans_core::launch;

use super::super::Number;
use super::super::driver::{Arg, Array, read, write};
use super::super::inertia::{Limbs, means_range};
use super::super::job::Data;
use super::super::sums::Sums;
use super::table::Table;
use crate::Error;

/// Inertias of groups whose centroids are means of the points, or of the range of a start.
pub struct Inertias {
    limbs: Limbs,
    /// Of the points of each group, `[groups, words]`.
    pub squares: Array<u64>,
    /// What is added to in each round, the same.
    pub sums: Array<u64>,
}

impl Inertias {
    /// Bytes on the device for `groups` groups.
    pub fn bytes<T: Number>(data: &super::super::super::points::Facts, groups: u64) -> u64 {
        // Twice the words that numbers and their means span, and some.
        let span = (means_range::<T>(data).union(data.range).span() as u64 * 2 + 128) / 32 + 4;
        2 * 8 * span * groups
    }

    /// For the groups of `table`, with centroids of type `C`, which are means or `start` says their range.
    pub fn new<T: Number, C: Number>(
        data: &Data<'_, T>,
        table: &Table,
        sums: &Sums,
        start: kmeans_core::fixed::ExponentRange,
    ) -> Result<Self, Error> {
        let facts = data.facts;
        let centroids = means_range::<C>(facts).union(start).union(facts.range);
        let terms = (facts.n as u64).saturating_mul(4).saturating_mul(facts.d as u64);
        let mut limbs = Limbs::for_sums(centroids.product(centroids), terms);
        if !centroids.is_zero() {
            limbs = limbs.reach(sums.reach()[0] + centroids.high.max(0) + 2);
        }
        let words = limbs.words;
        let mut squares = data.stream.zeros(table.groups as usize * words)?;
        // The squares' own unit is a whole number of limbs above the first one's, so that they add up in 128 bits.
        let square = facts.range.product(facts.range);
        let (mut narrow, mut exponent) = (0, limbs.exponent);
        if !square.is_zero() {
            let base = (square.low - exponent).div_euclid(32);
            exponent = square.low - 32 * base;
            let bits = square.span() + ceil_log2(launch::groups_squares_terms(table.tile_rows, facts.d as u32));
            narrow = if bits <= 126 { base as u32 + 1 } else { 0 };
        }
        // Moved up by less than a limb, so one more is needed where the unit is lower.
        debug_assert!(exponent >= limbs.exponent);
        let mut arguments = vec![data.points.arg()];
        arguments.extend(table.arguments());
        arguments.extend([write(&mut squares), Arg::I32(limbs.exponent), Arg::U32(words as u32), Arg::U32(narrow)]);
        arguments.extend([table.rows(), Arg::U32(data.d())]);
        let kernel = if limbs.are_few() { &launch::GROUPS_SQUARES } else { &launch::GROUPS_SQUARES_MANY };
        data.launch(kernel, launch::groups_squares(table.tiles), &arguments)?;
        let sums = data.stream.array(squares.len())?;
        Ok(Self { limbs, squares, sums })
    }

    /// Words of a group's limbs.
    pub fn words(&self) -> u32 {
        self.limbs.words as u32
    }

    /// The exponent of the first limb's unit.
    pub fn exponent(&self) -> i32 {
        self.limbs.exponent
    }
}
const _: fn(&Array<u64>) -> Arg<'_> = read;
