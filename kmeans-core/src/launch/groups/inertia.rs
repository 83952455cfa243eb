//! The inertia of each group, and the grids its kernels take.

use super::{COUNTS, GROUPS, LIMBS, MOST, OWNERS, PARTS, RANGES, STARTS, STATES, TILE_ROWS};
use crate::launch::arguments::{D, EXPONENT, K, POINT_TYPES, POINTS, WORDS};
use crate::launch::{Argument, Geometry, Kernel, Type, input, kernel, output, value};

const LIMBS_OUT: Argument = output("limbs", Type::U64, "[groups, words]");

/// Adds the squares of each group's values to its limbs. Launch: [`groups_squares`].
pub const GROUPS_SQUARES: Kernel = kernel(
    "groups_squares",
    POINT_TYPES,
    256,
    &[
        POINTS,
        RANGES,
        STARTS,
        OWNERS,
        LIMBS_OUT,
        EXPONENT,
        WORDS,
        value("narrow", Type::U32),
        value("bits", Type::U32),
        TILE_ROWS,
        D,
    ],
);
/// The same for up to `INERTIA_LIMBS` limbs. Launch: [`groups_squares`].
pub const GROUPS_SQUARES_MANY: Kernel = Kernel { name: "groups_squares_many", ..GROUPS_SQUARES };

/// A block per tile.
pub const fn groups_squares(tiles: u64) -> Geometry {
    GROUPS_SQUARES.blocks(tiles, 0)
}

/// Values that a thread of [`GROUPS_SQUARES`] adds up at most.
pub const fn groups_squares_terms(tile_rows: u32, d: u32) -> u64 {
    (tile_rows as u64 * d as u64).div_ceil(GROUPS_SQUARES.block as u64)
}

/// Adds what centroids and sums contribute to each group's limbs. Launch: [`groups_parts`](super::groups_parts).
pub const GROUPS_INERTIA: Kernel = kernel(
    "groups_inertia",
    POINT_TYPES,
    128,
    &[
        input("sums", Type::U64, "[groups, k, d, sum_words]"),
        COUNTS,
        input("centroids", Type::T, "[groups, k, d]"),
        STATES,
        LIMBS_OUT,
        value("sum_exponent", Type::I32),
        value("sum_words", Type::U32),
        EXPONENT,
        WORDS,
        MOST,
        PARTS,
        K,
        D,
    ],
);
/// The same for up to `INERTIA_LIMBS` limbs. Launch: [`groups_parts`](super::groups_parts).
pub const GROUPS_INERTIA_MANY: Kernel = Kernel { name: "groups_inertia_many", ..GROUPS_INERTIA };
/// Inertias rounded from limbs. Launch: `thread_each(groups)`.
pub const GROUPS_ROUND: Kernel = kernel(
    "groups_round",
    &[],
    128,
    &[LIMBS, STATES, output("inertias", Type::F64, "[groups]"), EXPONENT, WORDS, MOST, GROUPS],
);
