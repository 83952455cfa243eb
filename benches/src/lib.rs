//! Shared by the benchmark programs: what is measured, on which points, and how a result is written down.
//!
//! | module | subject |
//! |---|---|
//! | [`shapes`] | the cases: sizes, caps on iterations, where the points come from |
//! | [`data`] | points and initial centroids: generated, read from `.npy`, or cut from an image |
//! | [`memory`] | peak memory of this process |
//! | [`row`] | one result as a line of JSON |
//! | [`timing`] | medians of repeated runs |

pub mod data;
pub mod memory;
pub mod row;
pub mod shapes;
pub mod timing;
