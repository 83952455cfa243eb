//! Scale: sums divided by counts give centroids, exactly rounded ([`divide`], for sums in limbs [`divide_limbs`]), or by
//! total weights ([`divide_weighted`]); with how far each moved ([`means`]), or that alone ([`moved`]).

pub mod divide;
pub mod divide_limbs;
pub mod divide_weighted;
pub mod means;
pub mod moved;
