//! Exact k-means over ndarray views: fast, and the same bits on every machine.
//!
//! ```
//! use kmeans_host::{Init, KMeans};
//! use ndarray::array;
//!
//! let points = array![[1.0_f32, 2.0], [1.5, 1.8], [8.0, 8.0], [9.0, 11.0]]; // [n, d]
//! let fitted = KMeans::new(2).init(Init::KMeansPlusPlus).seed(7).fit(&points)?;
//! assert_eq!(fitted.labels()[0], fitted.labels()[1]);
//! assert_eq!(fitted.predict(&array![[8.5_f32, 9.0]])?[0], fitted.labels()[2]);
//! # Ok::<(), kmeans_host::Error>(())
//! ```
//!
//! - [`KMeans`] says what to fit; [`FittedKMeans`] is the result and predicts for new points.
//! - [`KMeansTree`] clusters within clusters, all nodes of a level at once; [`FittedTree`] is the result.
//! - Points are any two-dimensional ndarray of `f32`, `f64`, `f16` or `bf16`, in any memory layout, read in place.
//! - Labels, counts, centroids and the number of iterations are those of [`kmeans_core::reference`], bit for bit,
//!   whatever the number of threads. Inertia is exact, rounded once.
//! - The work runs on the threads of the current rayon pool: wrap a call in `ThreadPool::install` to choose them.
//! - Memory beyond the points: O(n + k·d), never n·k (except what [`FittedKMeans::transform`] returns).
//!
//! # Features
//! - `cuda` (default): fits run on NVIDIA GPUs. Needs no CUDA toolkit to build and no driver to run without a GPU.
//! - `image`: images as the crate `image` has them, in and out of module [`image`], and PNG and JPEG files.
//! - `serde`: [`FittedKMeans`] can be saved and loaded.
//! - `kernels`: single kernels can be launched, as benchmarks and tests of kernels do (module `kernels`).

mod batch;
mod choose;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod device;
mod element;
mod engine;
mod error;
mod fitted;
pub mod image;
mod init;
mod kmeans;
mod minimum_size;
mod notice;
mod points;
mod progress;
#[cfg(feature = "serde")]
mod saved;
pub mod select_k;
pub mod tree;

#[cfg(feature = "cuda")]
pub use cuda::{DevicePoints, FittedOnDevice};
pub use device::{Device, DeviceInfo};
pub use element::Element;
pub use error::Error;
pub use fitted::FittedKMeans;
pub use half::{bf16, f16};
pub use init::Init;
pub use kmeans::KMeans;
pub use minimum_size::MinimumSize;

pub use kmeans_core::settings::{EmptyCluster, Iteration, Stop};
pub use notice::Notice;
pub use progress::{Control, Progress};
pub use tree::{FittedTree, KMeansTree};

/// Launching single kernels of kmeans-kernels, checked against the launch contract (`kmeans_core::launch`): number and types
/// of the arguments, and the lengths of arrays as far as their sizes are arguments.
///
/// Not checked, and up to whoever launches: that numbers which select a place are in range (labels below k, rows below n), that
/// arrays are used on the stream they were made on, and that sizes which are no arguments are met. A breach is an error
/// of the device or a wrong result; it touches device memory alone.
#[cfg(feature = "kernels")]
pub mod kernels {
    pub use crate::choose::{WORTH_A_GPU, Work};
    pub use crate::cuda::assigner::{Method, with_method};
    pub use crate::cuda::driver::{Arg, Array, Gpu, Span, Stored, Stream, TIER_VARIABLE, read, tiers, write};
    pub use crate::cuda::profile::{Profile, Step, Tally};
    pub use crate::cuda::pruned::{PRUNE_VARIABLE, Pruning, with_pruning};
}

/// The README's examples are tests too, where the features they show are there.
#[cfg(all(doctest, feature = "cuda", feature = "image"))]
#[doc = include_str!("../../README.md")]
struct Readme;

/// So is that of the page about trees.
#[cfg(doctest)]
#[doc = include_str!("../../docs/tree.md")]
struct TreePage;
