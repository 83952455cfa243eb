//! What an engine does. The CPU and each GPU tier are engines; everything above this trait knows none of them.

use kmeans_core::Scalar;
use kmeans_core::rng::Random;
use kmeans_core::settings::{Iteration, Settings};
use ndarray::{Array2, ArrayView2};

use crate::Error;
use crate::points::Points;
use crate::progress::Control;

/// Told after each round of the iterations: the round, from 1, and its record.
pub type OnIteration<'a> = &'a mut (dyn FnMut(usize, Iteration) -> Control + Send);
/// Told while seeding: steps done, and of how many.
pub type OnSeeding<'a> = &'a mut (dyn FnMut(usize, usize) -> Control + Send);

/// The end of Lloyd's iterations.
pub struct Outcome<T> {
    /// Per point.
    pub labels: Vec<u32>,
    /// `[k, d]`.
    pub centroids: Array2<T>,
    /// Points per cluster.
    pub counts: Vec<u64>,
    /// Weighted sum of D.
    pub inertia: f64,
    /// A stop rule ended the rounds.
    pub converged: bool,
    /// The observer ended them.
    pub finished: bool,
    /// One entry per round.
    pub history: Vec<Iteration>,
}

/// An engine reproduces [`kmeans_core::reference`] and [`kmeans_core::seeding`] bit for bit.
pub trait Engine<T: Scalar>: Send + Sync {
    /// For people, such as "cpu (AVX-512, 2 threads)".
    fn name(&self) -> String;

    /// [`kmeans_core::reference::lloyd`].
    fn lloyd(
        &self,
        points: &Points<'_, T>,
        start: Array2<T>,
        settings: &Settings,
        observe: OnIteration<'_>,
    ) -> Result<Outcome<T>, Error>;

    /// [`kmeans_core::reference::random_label_start`].
    fn random_label_start(&self, points: &Points<'_, T>, k: usize, random: &Random) -> Array2<T>;

    /// [`kmeans_core::seeding::plus_plus`] with the usual trials.
    fn plus_plus(
        &self,
        points: &Points<'_, T>,
        k: usize,
        random: &Random,
        observe: OnSeeding<'_>,
    ) -> Result<Vec<usize>, Error>;

    /// [`kmeans_core::seeding::parallel`].
    fn parallel(
        &self,
        points: &Points<'_, T>,
        k: usize,
        random: &Random,
        observe: OnSeeding<'_>,
    ) -> Result<Vec<usize>, Error>;

    /// [`kmeans_core::reference::assign`].
    fn assign(&self, points: &Points<'_, T>, centroids: ArrayView2<'_, T>) -> Vec<u32>;

    /// Weighted sum of D of each point to the centroid of its label.
    fn inertia(&self, points: &Points<'_, T>, centroids: ArrayView2<'_, T>, labels: &[u32]) -> f64;

    /// √D of every point to every centroid, `[n, k]`.
    fn transform(&self, points: &Points<'_, T>, centroids: ArrayView2<'_, T>) -> Array2<f64>;
}
