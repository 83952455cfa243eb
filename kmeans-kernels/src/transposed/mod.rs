//! The pipeline on transposed points, [d, n]: a warp reads one column of 32 neighbouring points at once.
//!
//! | step | kernel |
//! |---|---|
//! | once | [`transpose`]: [n, d] to [d, n] |
//! | 1 | [`assign`]: labels, and per block how many changed |
//! | 1 | [`sums`]: per block, the sums of its points, in memory of its own |
//! | 2 | [`reduce`]: the blocks' change counts to one, and the blocks' sums to one set, a block per cluster |
//!
//! Two stages in place of global atomics. The blocks of a launch bound the memory of the first stage.

pub mod assign;
pub mod reduce;
pub mod sums;
pub mod transpose;
