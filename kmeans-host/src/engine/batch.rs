//! Many independent problems of equal size, fitted together.

use kmeans_core::Scalar;
use kmeans_core::reference::EmptyClusterFound;
use kmeans_core::settings::Settings;
use kmeans_core::tree::Start;
use ndarray::Array2;

use super::Outcome;
use crate::Error;

/// Where the fits begin.
#[derive(Clone, Debug)]
pub enum BatchStart<T> {
    /// Chosen in each problem by the draws of `Random::new(seed, restart)`, the same for all.
    Drawn { start: Start, seed: u64, restart: u32 },
    /// The same centroids for all, `[k, d]`.
    Given(Array2<T>),
}

/// The fit of one problem, and its labels.
pub type Labelled<T> = (Outcome<T>, Vec<u32>);

/// The fit of one problem, or the cluster that lost its points where the policy is an error.
pub type BatchFit<T> = Result<Labelled<T>, EmptyClusterFound>;

/// Problems of equal size on one engine. Rows are those of the first problem, then those of the second, and so on.
pub trait Batch<T: Scalar> {
    /// [`kmeans_core::reference::lloyd`] for every problem, without weights.
    fn lloyd(&mut self, start: &BatchStart<T>, settings: &Settings) -> Result<Vec<BatchFit<T>>, Error>;
}
