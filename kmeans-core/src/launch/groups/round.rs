//! The steps of a round beside its labels, and the grids they take.

use super::{
    CHANGED, CHANGED_OUT, COUNTS, COUNTS_OUT, FIRST, GROUPS, LIMBS, MOST, MOVED_AGAIN, PARTS, RANGES, STATES,
    VACANT_OUT,
};
use crate::launch::arguments::{D, EXPONENT, K, POINT_TYPES, WORDS};
use crate::launch::means::{MEANS_BYTES, MEANS_CLUSTERS};
use crate::launch::{Argument, Geometry, Kernel, Type, at_most, input, kernel, output, value};

/// A rule of [`GROUPS_DECIDE`]: none.
pub const BY_NOTHING: u32 = 0;
/// The movement is at most the limit.
pub const BY_TOLERANCE: u32 = 1;
/// The movement is below the limit.
pub const BY_MOVEMENT: u32 = 2;
/// The number of changes is below the limit.
pub const BY_CHANGES: u32 = 3;

const STATES_OUT: Argument = output("states", Type::U32, "[groups]");
const SUMS: Argument = input("sums", Type::U64, "[groups, k, d, words]");
const CENTROIDS_OUT: Argument = output("centroids", Type::T, "[groups, k, d]");

/// Zeros where a round adds. Launch: [`groups_parts`].
pub const GROUPS_BEGIN: Kernel = kernel(
    "groups_begin",
    &[],
    256,
    &[
        STATES,
        CHANGED_OUT,
        MOVED_AGAIN,
        output("sums", Type::U64, "[groups, sum_words]"),
        COUNTS_OUT,
        value("sum_words", Type::U64),
        MOST,
        PARTS,
        K,
    ],
);

/// Blocks per group for kernels that have threads go over the k·d·`words` words of each group.
pub const fn group_parts(k: u32, d: u32, words: u32) -> u32 {
    at_most((k as u64 * d as u64 * words as u64).div_ceil(2048), 256)
}

/// `parts` blocks per group.
pub const fn groups_parts(kernel: &Kernel, groups: u32, parts: u32) -> Geometry {
    kernel.blocks(groups as u64 * parts as u64, 0)
}

const UPDATE: Kernel = kernel(
    "",
    POINT_TYPES,
    32 * MEANS_CLUSTERS,
    &[
        SUMS,
        COUNTS,
        STATES,
        CHANGED,
        CENTROIDS_OUT,
        output("moved", Type::F64, "[groups, k]"),
        EXPONENT,
        WORDS,
        FIRST,
        GROUPS,
        K,
        D,
    ],
);
/// New centroids in place of the old, from narrow sums, and D between them. Launch: [`groups_update`].
pub const GROUPS_UPDATE_NARROW: Kernel = Kernel { name: "groups_update_narrow", ..UPDATE };
/// The same from wide sums. Launch: [`groups_update`].
pub const GROUPS_UPDATE_WIDE: Kernel = Kernel { name: "groups_update_wide", ..UPDATE };
/// The same from limbs. Launch: [`groups_update`].
pub const GROUPS_UPDATE_LIMBS: Kernel = Kernel { name: "groups_update_limbs", ..UPDATE };

/// A warp per cluster, as in [`scale_means`](crate::launch::scale_means).
pub const fn groups_update(clusters: u64) -> Geometry {
    GROUPS_UPDATE_NARROW.blocks(clusters.div_ceil(MEANS_CLUSTERS as u64), MEANS_BYTES)
}

/// Movements of a group that a block of [`GROUPS_DECIDE`] has in shared memory at a time.
pub const DECIDE_NUMBERS: u32 = 1024;

/// Each group's record, and whether it goes on. Launch: [`groups_decide`].
pub const GROUPS_DECIDE: Kernel = kernel(
    "groups_decide",
    &[],
    32,
    &[
        RANGES,
        CHANGED,
        input("moved_again", Type::U64, "[groups]"),
        COUNTS,
        input("moved", Type::F64, "[groups, k]"),
        LIMBS,
        input("limits", Type::F64, "[groups]"),
        STATES_OUT,
        output("iterations", Type::U32, "[groups]"),
        VACANT_OUT,
        output("inertias", Type::F64, "[groups]"),
        output("movements", Type::F64, "[groups]"),
        output("changes", Type::U64, "[groups]"),
        output("running", Type::U32, "[1]"),
        value("rule", Type::U32),
        value("fails", Type::U32),
        EXPONENT,
        WORDS,
        FIRST,
        K,
    ],
);

/// A warp per group; 8 bytes per lane.
pub const fn groups_decide(groups: u32) -> Geometry {
    GROUPS_DECIDE.blocks(groups as u64, 8 * DECIDE_NUMBERS)
}
