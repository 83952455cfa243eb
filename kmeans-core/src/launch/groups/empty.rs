//! Empty clusters of groups, and the grids their kernels take.

use super::{
    CHANGED, COUNTS, COUNTS_OUT, FIRST, MOVED_AGAIN, OWNERS, RANGES, STARTS, STATES, SUMS_OUT, TILE_ROWS, VACANT_OUT,
};
use crate::launch::arguments::{D, EXPONENT, K, LABELS_IN, LABELS_OUT, POINT_TYPES, POINTS, WORDS};
use crate::launch::{Argument, Geometry, Kernel, Type, input, kernel, output};

const VACANT: Argument = input("vacant", Type::U32, "[groups]");

/// How many clusters of each group are empty. Launch: [`groups_tiles`](super::groups_tiles) with a block per group.
pub const GROUPS_VACANT: Kernel = kernel("groups_vacant", &[], 128, &[COUNTS, STATES, CHANGED, VACANT_OUT, FIRST, K]);
/// D of rows to the centroids of their labels, in groups that have empty clusters. Launch:
/// [`groups_tiles`](super::groups_tiles).
pub const GROUPS_DISTANCES: Kernel = kernel(
    "groups_distances",
    POINT_TYPES,
    256,
    &[
        POINTS,
        input("centroids", Type::T, "[groups, k, d]"),
        LABELS_IN,
        RANGES,
        STARTS,
        OWNERS,
        VACANT,
        output("distances", Type::F64, "[n]"),
        TILE_ROWS,
        D,
    ],
);
const FILL: Kernel = kernel(
    "",
    POINT_TYPES,
    256,
    &[
        POINTS,
        input("distances", Type::F64, "[n]"),
        RANGES,
        VACANT,
        input("before", Type::U32, "[n]"),
        LABELS_OUT,
        SUMS_OUT,
        COUNTS_OUT,
        MOVED_AGAIN,
        EXPONENT,
        WORDS,
        K,
        D,
    ],
);
/// Gives empty clusters the farthest points of their groups. Launch: [`groups_fill`].
pub const GROUPS_FILL_NARROW: Kernel = Kernel { name: "groups_fill_narrow", ..FILL };
/// The same for wide sums. Launch: [`groups_fill`].
pub const GROUPS_FILL_WIDE: Kernel = Kernel { name: "groups_fill_wide", ..FILL };
/// The same for limbs. Launch: [`groups_fill`].
pub const GROUPS_FILL_LIMBS: Kernel = Kernel { name: "groups_fill_limbs", ..FILL };

/// A block per group; 16 bytes per warp, and the row that was found.
pub const fn groups_fill(groups: u32) -> Geometry {
    GROUPS_FILL_NARROW.blocks(groups as u64, 16 * GROUPS_FILL_NARROW.block / 32 + 16)
}
