//! Assignment.
pub mod direct;
