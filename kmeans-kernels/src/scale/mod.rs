//! Scale: sums divided by counts give centroids, exactly rounded ([`divide`]); how far each moved ([`movement`]).

pub mod divide;
pub mod movement;
