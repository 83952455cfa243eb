//! The definition of exact k-means, shared by every engine.
//!
//! This crate says what the right answer is; `kmeans-host` and `kmeans-kernels` say how to get it fast. It has no
//! standard library and no `unsafe` code, so the same source compiles for the host, for the GPU and for WebAssembly.
//!
//! | module | what it defines |
//! |---|---|
//! | [`scalar`] | the four element types: `f32`, `f64`, `f16`, `bf16` |
//! | [`mod@distance`] | the distance D that labels are decided by |
//! | [`exact`] | sums without rounding, and their quotient rounded once: what a centroid is |
//! | [`fixed`] | how narrow an integer can carry those sums for given data |
//! | [`launch`] | what host and GPU agree on to run a kernel |
//! | [`settings`] | stop rules and the policy for empty clusters |
//! | [`rng`] | counter-based random numbers: the same draw whoever makes it, in any order |
//! | [`amounts`] | costs as integers, for draws in proportion to them |
//! | [`seeding`] | starting centroids, step by step |
//! | [`mod@reference`] | plain Lloyd iterations, written to be read |
//! | [`tree`] | k-means within the clusters of k-means, level by level |
//!
//! ```
//! use kmeans_core::{reference, settings::Settings};
//!
//! let points = [0.0_f32, 1.0, 10.0, 11.0]; // [n = 4, d = 1], row-major
//! let start = [0.0_f32, 10.0]; // [k = 2, d = 1]
//! let fit = reference::lloyd(&points, 1, None, &start, &Settings::default()).unwrap();
//! assert_eq!(fit.labels, [0, 0, 1, 1]);
//! assert_eq!(fit.centroids, [0.5, 10.5]);
//! ```
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod amounts;
pub mod distance;
pub mod exact;
pub mod fixed;
pub mod launch;
#[cfg(feature = "alloc")]
pub mod reference;
pub mod rng;
pub mod scalar;
#[cfg(feature = "alloc")]
pub mod seeding;
pub mod settings;
#[cfg(feature = "alloc")]
pub mod tree;

pub use distance::distance;
pub use scalar::Scalar;
