//! What an engine does. The CPU and each GPU tier are engines; everything above these traits knows none of them.

mod batch;
mod groups;

use kmeans_core::Scalar;
use kmeans_core::rng::Random;
use kmeans_core::settings::{Iteration, Settings};
use ndarray::{Array2, ArrayView2};

use crate::Error;
use crate::points::Points;
use crate::progress::Control;

#[cfg(feature = "cuda")]
pub use self::batch::BatchFit;
pub use self::batch::{Batch, BatchStart, Labelled};
pub use self::groups::{Group, Groups, OnGroups, Recipe, Splits};

/// Told after each round of the iterations: the round, from 1, and its record.
pub type OnIteration<'a> = &'a mut (dyn FnMut(usize, Iteration) -> Control + Send);
/// Told while seeding: steps done, and of how many.
pub type OnSeeding<'a> = &'a mut (dyn FnMut(usize, usize) -> Control + Send);

/// The end of Lloyd's iterations, but for the labels, which stay with the [`Job`].
pub struct Outcome<T> {
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

/// What a job is for, which decides how much memory it must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Lloyd's iterations with k clusters, and the seeding before.
    Fit { k: usize },
    /// Labels, inertia or distances for k centroids.
    Predict { k: usize },
}

/// Points of a clustering, cluster after cluster.
pub struct Grouped {
    /// `[d, n]`: column after column.
    pub columns: Vec<f64>,
    /// Points.
    pub n: usize,
    /// Points of each cluster, of which none is empty.
    pub sizes: Vec<usize>,
}

/// An engine reproduces [`kmeans_core::reference`] and [`kmeans_core::seeding`] bit for bit.
pub trait Engine<T: Scalar>: Send + Sync {
    /// For people, such as "cpu (AVX-512, 2 threads)".
    fn name(&self) -> String;

    /// Whether it runs on a GPU, where looking at every point costs less than finding those that are alike on the host.
    fn is_gpu(&self) -> bool;

    /// The silhouette coefficient of each of some points, in their order.
    fn silhouettes(&self, grouped: &Grouped) -> Result<Vec<f64>, Error>;

    /// Brings points to where the engine works on them.
    fn load<'a>(&self, points: &'a Points<'_, T>, task: Task) -> Result<Box<dyn Job<T> + 'a>, Error>;

    /// Brings the points of `problems` problems of equal size to where they are fitted together, with `k` clusters each. Nothing
    /// if the engine had rather fit them one by one.
    fn load_batch<'a>(
        &self,
        _points: &'a Points<'_, T>,
        _problems: usize,
        _k: usize,
    ) -> Result<Option<Box<dyn Batch<T> + 'a>>, Error> {
        Ok(None)
    }

    /// Brings points to where groups of them are fitted, with up to `k` clusters each. Weights do not count.
    fn load_groups<'a>(&self, points: &'a Points<'_, T>, k: usize) -> Result<Box<dyn Groups<T> + 'a>, Error>;
}

/// Work on one set of points, which has labels as soon as something gave it some.
pub trait Job<T: Scalar> {
    /// Some rows of the points, in the order given.
    fn rows(&mut self, rows: &[usize]) -> Result<Array2<T>, Error>;

    /// [`kmeans_core::reference::random_label_start`].
    fn random_label_start(&mut self, k: usize, random: &Random) -> Result<Array2<T>, Error>;

    /// [`kmeans_core::seeding::plus_plus`] with the usual trials.
    fn plus_plus(&mut self, k: usize, random: &Random, observe: OnSeeding<'_>) -> Result<Vec<usize>, Error>;

    /// [`kmeans_core::seeding::parallel`].
    fn parallel(&mut self, k: usize, random: &Random, observe: OnSeeding<'_>) -> Result<Vec<usize>, Error>;

    /// [`kmeans_core::reference::lloyd`].
    fn lloyd(&mut self, start: Array2<T>, settings: &Settings, observe: OnIteration<'_>) -> Result<Outcome<T>, Error>;

    /// Sets the labels to those of [`kmeans_core::reference::assign`].
    fn assign(&mut self, centroids: ArrayView2<'_, T>) -> Result<(), Error>;

    /// The inertia of the labels: the weighted sum of D of each point to the centroid of its label.
    fn inertia(&mut self, centroids: ArrayView2<'_, T>) -> Result<f64, Error>;

    /// √D of every point to every centroid, `[n, k]`.
    fn transform(&mut self, centroids: ArrayView2<'_, T>) -> Result<Array2<f64>, Error>;

    /// Puts the labels aside as the best so far, in place of those put aside before.
    fn keep(&mut self);

    /// The labels put aside; else the last ones.
    fn labels(&mut self) -> Result<Vec<u32>, Error>;
}
