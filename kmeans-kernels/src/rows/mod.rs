//! Rows picked out of the points, such as starting centroids ([`gather`]).

pub mod gather;
