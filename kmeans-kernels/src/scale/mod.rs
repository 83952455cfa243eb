//! Scale: sums divided by counts give centroids, exactly rounded ([`divide`], for sums in limbs [`divide_limbs`]), or by
//! total weights ([`divide_weighted`]); how far each moved ([`movement`]).

pub mod divide;
pub mod divide_limbs;
pub mod divide_weighted;
pub mod movement;
