//! GPU kernels of exact k-means, in Rust.
//!
//! Each operation is a folder, each rung of its ladder a file: from the plainest kernel to the fastest, every one right
//! for any n, k and d. A kernel's body is safe, generic code over [`device`], which exists twice: as GPU instructions,
//! and as an emulator on the host that runs the same source under `cargo test` and checks every access. All of them
//! give the bits of the reference in `kmeans_core`.
//!
//! | folder | operation |
//! |---|---|
//! | [`range`] | exponents of the points, and whether all are finite |
//! | [`rows`] | rows picked out of the points |
//! | [`labels`] | random labels to start from |
//! | [`seeding`] | the rows that k-means++ and k-means\|\| start from |
//! | [`distance`], [`argmin`] | assignment in two steps, through a matrix of distances |
//! | [`assign`] | assignment in one step |
//! | [`update`], [`count`] | sums and counts per cluster |
//! | [`scale`] | centroids from sums and counts, and how far they moved |
//! | [`empty`] | clusters that lost their points |
//! | [`inertia`] | the inertia, from the sums |
//! | [`prune`] | bounds that spare rows the assignment, from round to round |
//! | [`groups`] | all of it for many groups of rows at once |
//! | [`fit`] | all of it, many rounds in one launch |
//! | [`transposed`] | the pipeline on points stored by columns, with two-stage reductions |
//! | [`silhouette`] | the silhouette coefficient of a clustering |
//! | [`pixels`] | the pipeline on the bytes of an image |
//!
//! `kmeans_core::launch` says how each kernel is launched. The compiled kernels ([`mod@ptx`]) lie in `ptx/`, made and checked by
//! `cargo xtask ptx` and `cargo xtask check-ptx`; building this crate for the host needs stable Rust alone.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics))]
// The intrinsics of barriers, shuffles and votes are to be had by link name only.
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]
// A build for one tier does not instantiate the bodies of the others.
#![cfg_attr(any(feature = "ampere", feature = "hopper"), allow(unused_imports))]
#![deny(clippy::undocumented_unsafe_blocks)]
// A kernel takes its arrays and sizes one by one: pointers inside a struct would lose their address space.
#![allow(clippy::too_many_arguments)]

pub mod argmin;
pub mod assign;
pub mod count;
#[cfg(not(target_arch = "nvptx64"))]
pub mod cubin;
pub mod device;
pub mod distance;
pub mod empty;
pub mod fit;
pub mod groups;
pub mod inertia;
pub mod labels;
pub mod pixels;
pub mod prune;
#[cfg(not(target_arch = "nvptx64"))]
pub mod ptx;
pub mod range;
pub mod rows;
pub mod scale;
pub mod seeding;
pub mod silhouette;
mod together;
pub mod transposed;
pub mod update;
