//! Many independent fits at once, each of a range of rows of one permuted set of points: a level of a k-means tree.

use std::ops::Range;

use kmeans_core::Scalar;
use kmeans_core::settings::Settings;
use kmeans_core::tree::Start;

use crate::Error;
use crate::progress::Control;

/// Told while groups are fitted: how much is done, and of how much, in units that the engine chooses. That all is done need
/// not be told.
pub type OnGroups<'a> = &'a mut (dyn FnMut(usize, usize) -> Control + Send);

/// A range of places of the current order, and the seed of its draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// At least k places.
    pub places: Range<usize>,
    /// Draws are those of `Random::new(seed, 0)`; row numbers in them count from the group's first place.
    pub seed: u64,
}

/// What is chosen about the fits, the same for all groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// Clusters per group, at most the k that the points were loaded for.
    pub k: usize,
    /// Starting centroids.
    pub start: Start,
    /// Rounds, stop rule, policy for empty clusters.
    pub settings: Settings,
}

/// The fits of all groups, in the order of the groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Splits<T> {
    /// `[groups, k, d]`.
    pub centroids: Vec<T>,
    /// Points per cluster, `[groups, k]`.
    pub counts: Vec<u64>,
    /// Σ |x − centroid|² over the points of each cluster, `[groups, k]`: exact, each rounded once; 0 without points.
    pub inertias: Vec<f64>,
    /// Rounds, `[groups]`.
    pub iterations: Vec<u32>,
    /// A stop rule ended the rounds, `[groups]`.
    pub converged: Vec<bool>,
}

/// Points in an order that changes: at first place i holds row i.
///
/// Each group is fitted as [`kmeans_core::reference::lloyd`] fits a copy of its rows, as they stand, without weights; the
/// whole is [`kmeans_core::tree::fit`], level by level.
pub trait Groups<T: Scalar> {
    /// The mean of all points, `[d]`, rounded once, and Σ |x − mean|², the mean taken as rounded: the root of a tree.
    fn mean(&mut self) -> Result<(Vec<T>, f64), Error>;

    /// Fits every group, then reorders the places of each group by label, rows of equal label staying in order. Groups are
    /// in ascending order and do not overlap; places outside of them stay as they are.
    ///
    /// # Errors
    /// [`Error::EmptyCluster`] if the policy asks for it: that of the earliest round, in the first such group of that round.
    /// [`Error::Cancelled`] if the observer says anything but to continue. After an error the order is as it was.
    fn split(&mut self, groups: &[Group], recipe: &Recipe, observe: OnGroups<'_>) -> Result<Splits<T>, Error>;

    /// The row at each place, `[n]`.
    fn order(&mut self) -> Result<Vec<usize>, Error>;
}
