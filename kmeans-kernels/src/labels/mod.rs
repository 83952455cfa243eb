//! Label initialisation: a random label for every point, for fits that start from labels ([`random`]).

pub mod random;
