//! Inertias of many groups, exact: limbs per group, rounded on the device.

use kmeans_core::fixed::{ExponentRange, ceil_log2};
use kmeans_core::launch;

use super::super::Number;
use super::super::driver::{Arg, Array, read, write};
use super::super::inertia::{Limbs, means_range};
use super::super::job::Data;
use super::super::sums::Sums;
use super::table::Table;
use crate::Error;
use crate::points::Facts;

/// Sums of squares of groups, and what centroids add to them.
pub struct Inertias {
    pub limbs: Limbs,
    /// Of the points of each group, `[groups, words]`.
    squares: Array<u64>,
    /// With the centroids' part, the same.
    pub sums: Array<u64>,
}

/// The range of centroids of type `C` that are means of the points, or in the range of a start.
fn range<C: Number>(facts: &Facts, start: ExponentRange) -> ExponentRange {
    means_range::<C>(facts).union(start).union(facts.range)
}

/// Limbs for the inertias of groups of these points.
fn limbs<C: Number>(facts: &Facts, start: ExponentRange, reach: i32) -> Limbs {
    let centroids = range::<C>(facts, start);
    let terms = (facts.n as u64).saturating_mul(4).saturating_mul(facts.d as u64);
    let limbs = Limbs::for_sums(centroids.product(centroids), terms);
    if centroids.is_zero() {
        return limbs;
    }
    let limbs = limbs.reach(reach + centroids.high.max(0) + 2);
    if facts.range.is_zero() { limbs } else { limbs.below(2 * facts.range.low) }
}

impl Inertias {
    /// Bytes on the device for `groups` groups with centroids of type `C`, if sums are integers.
    pub fn bytes<C: Number>(facts: &Facts, groups: u64) -> u64 {
        2 * 8 * groups * limbs::<C>(facts, ExponentRange::ZERO, i32::MIN / 2).words as u64
    }

    /// For the groups of `table`, and centroids of type `C` that are means of points or in the range of `start`; `sums` is what
    /// the centroids' part will be made of.
    pub fn new<T: Number, C: Number>(
        data: &Data<'_, T>,
        table: &Table,
        sums: &Sums,
        start: ExponentRange,
    ) -> Result<Self, Error> {
        let facts = data.facts;
        let limbs = limbs::<C>(facts, start, sums.reach()[0]);
        let mut squares = data.stream.zeros(table.groups as usize * limbs.words)?;
        let square = facts.range.product(facts.range);
        let bits = square.span() + ceil_log2(launch::groups_squares_terms(table.tile_rows, data.d()));
        let narrow = match (square.low - limbs.exponent) / 32 {
            base if !square.is_zero() && bits <= 126 => base as u32 + 1,
            _ => 0,
        };
        let mut arguments = vec![data.points.arg()];
        arguments.extend(table.arguments());
        arguments.extend([write(&mut squares), Arg::I32(limbs.exponent), Arg::U32(limbs.words as u32)]);
        arguments.extend([Arg::U32(narrow), Arg::U32(bits.max(0) as u32), table.rows(), Arg::U32(data.d())]);
        let kernel = if limbs.are_few() { &launch::GROUPS_SQUARES } else { &launch::GROUPS_SQUARES_MANY };
        data.launch(kernel, launch::groups_squares(table.tiles), &arguments)?;
        let sums = data.stream.array(squares.len())?;
        Ok(Self { limbs, squares, sums })
    }

    /// The sums for `centroids`, `[groups, k, d]`, of groups of a state up to `most`; what they are for others is of no use.
    pub fn add<T: Number, C: Number>(
        &mut self,
        data: &Data<'_, T>,
        (sums, centroids, k): (&Sums, &Array<C>, u32),
        states: &Array<u32>,
        most: u32,
    ) -> Result<(), Error> {
        data.stream.copy(&self.squares, 0..self.squares.len(), &mut self.sums, 0)?;
        let groups = (self.squares.len() / self.limbs.words) as u32;
        let ([read_sums, counts], (exponent, words)) = (sums.read(), sums.format());
        let parts = launch::group_parts(k, data.d(), 1);
        let arguments = [
            read_sums,
            counts,
            read(centroids),
            read(states),
            write(&mut self.sums),
            Arg::I32(exponent),
            Arg::U32(words),
            Arg::I32(self.limbs.exponent),
            Arg::U32(self.limbs.words as u32),
            Arg::U32(most),
            Arg::U32(parts),
            Arg::U32(k),
            Arg::U32(data.d()),
        ];
        let kernel = if self.limbs.are_few() { &launch::GROUPS_INERTIA } else { &launch::GROUPS_INERTIA_MANY };
        data.stream.launch(kernel, C::STORED, launch::groups_parts(kernel, groups, parts), &arguments)
    }

    /// The sums of groups of a state up to `most`, rounded into `inertias`, `[groups]`.
    pub fn round<T: Number>(
        &self,
        data: &Data<'_, T>,
        states: &Array<u32>,
        most: u32,
        inertias: &mut Array<f64>,
    ) -> Result<(), Error> {
        let groups = (self.squares.len() / self.limbs.words) as u32;
        let arguments = [
            read(&self.sums),
            read(states),
            write(inertias),
            Arg::I32(self.limbs.exponent),
            Arg::U32(self.limbs.words as u32),
            Arg::U32(most),
            Arg::U32(groups),
        ];
        data.launch(&launch::GROUPS_ROUND, launch::GROUPS_ROUND.thread_each(groups as u64), &arguments)
    }
}
