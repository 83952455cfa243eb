//! The kernels of the inertia, and the grids they take.
//!
//! It is Σ w·x² + Σ (W·c² − 2·c·S) over clusters and columns, in one exact sum.

use super::arguments::{CENTROIDS, D, EXPONENT, K, N, POINT_TYPES, POINTS, STORED_TYPES, WEIGHTED, WEIGHTS, WORDS};
use super::{Argument, Geometry, Kernel, Type, at_most, input, kernel, output, value};

/// Most limbs that a thread sums in: those of [`crate::exact::ExactSum`].
pub const INERTIA_LIMBS: u32 = 206;
/// Most limbs for which the kernels without `MANY` have memory.
pub const INERTIA_FEW: u32 = 32;

const LIMBS_OUT: Argument = output("limbs", Type::U64, "[words]");

/// Adds the weighted squares of all values to limbs, which the host has set to zero: limb j counts 2^(`exponent` + 32·j).
/// `narrow`: no weights, and every thread's sum of squares fits an `i128` in units of 2^`exponent`; a thread
/// takes at most [`square_sum_terms`] values. Launch: [`square_sum`].
pub const SQUARE_SUM: Kernel = kernel(
    "square_sum",
    STORED_TYPES,
    256,
    &[POINTS, WEIGHTS, LIMBS_OUT, EXPONENT, WORDS, WEIGHTED, value("narrow", Type::U32), N, D],
);

/// The same for up to [`INERTIA_LIMBS`] limbs. Launch: [`square_sum`].
pub const SQUARE_SUM_MANY: Kernel = Kernel { name: "square_sum_many", ..SQUARE_SUM };

/// Threads share the values.
pub const fn square_sum(n: u64, d: u32) -> Geometry {
    SQUARE_SUM.blocks(at_most(n.saturating_mul(d as u64).div_ceil(2048), 1024) as u64, 0)
}

/// Values that a thread of [`square_sum`] adds up at most.
pub const fn square_sum_terms(n: u64, d: u32) -> u64 {
    let threads = square_sum(n, d).grid[0] as u64 * SQUARE_SUM.block as u64;
    n.saturating_mul(d as u64).div_ceil(threads)
}

/// Adds what centroids and sums contribute to the inertia, in the limbs of [`SQUARE_SUM`]; of several sets of both, one after
/// the other, a set of limbs each. Launch: [`inertia_sums`].
pub const INERTIA_SUMS: Kernel = kernel(
    "inertia_sums",
    POINT_TYPES,
    128,
    &[
        input("sums", Type::U64, "[k, d, sum_words]"),
        input("counts", Type::U64, "[k]"),
        input("totals", Type::U64, "[k, total_words]"),
        CENTROIDS,
        LIMBS_OUT,
        value("sum_exponent", Type::I32),
        value("sum_words", Type::U32),
        value("total_exponent", Type::I32),
        value("total_words", Type::U32),
        WEIGHTED,
        EXPONENT,
        WORDS,
        K,
        D,
    ],
);

/// The same for up to [`INERTIA_LIMBS`] limbs. Launch: [`inertia_sums`].
pub const INERTIA_SUMS_MANY: Kernel = Kernel { name: "inertia_sums_many", ..INERTIA_SUMS };

/// Threads share the centroids' elements: a few each before there are more blocks than a GPU runs at a time. A row of blocks
/// for each of `sets` sets, as many as a grid can have rows.
pub const fn inertia_sums(k: u32, d: u32, sets: u32) -> Geometry {
    let geometry = INERTIA_SUMS.blocks(at_most((k as u64 * d as u64).div_ceil(256), 512) as u64, 0);
    Geometry { grid: [geometry.grid[0], sets], ..geometry }
}
