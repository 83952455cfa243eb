//! Counting: points per cluster, and points whose label changed.
//!
//! | rung | what it adds |
//! |---|---|
//! | [`global`] | one thread per point, an atomic addition each |
//! | [`histogram`] | a histogram per block in shared memory, one global addition per block and cluster |
//!
//! [`changed`] compares two rounds' labels. [`members`] counts points of positive weight.

pub mod changed;
pub mod global;
pub mod histogram;
pub mod members;
