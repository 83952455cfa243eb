//! The kernels of the policy for empty clusters, and the grids they take.

use super::arguments::{K, LABELS_IN, LABELS_OUT, N, WEIGHTS};
use super::{Geometry, Kernel, Type, at_most, input, kernel, output, value};

/// The clusters without members, in ascending order, and how many. Launch: [`empty_list`].
pub const EMPTY_LIST: Kernel = kernel(
    "empty_list",
    &[],
    1024,
    &[input("members", Type::U64, "[k]"), output("list", Type::U32, "[k]"), output("count", Type::U32, "[1]"), K],
);
/// Sets the distances of rows without weight to zero. Launch: `thread_each(n)`.
pub const EMPTY_MASK: Kernel = kernel("empty_mask", &[], 256, &[output("distances", Type::F64, "[n]"), WEIGHTS, N]);
/// Per block, the farthest row that its cluster can spare. Launch: [`empty_farthest`].
pub const EMPTY_FARTHEST: Kernel = kernel(
    "empty_farthest",
    &[],
    256,
    &[
        input("distances", Type::F64, "[n]"),
        LABELS_IN,
        input("members", Type::U64, "[k]"),
        output("best", Type::U64, "[blocks]"),
        output("rows", Type::U64, "[blocks]"),
        N,
    ],
);
/// Moves the farthest of all to an empty cluster. Launch: [`empty_move`].
pub const EMPTY_MOVE: Kernel = kernel(
    "empty_move",
    &[],
    256,
    &[
        input("best", Type::U64, "[blocks]"),
        input("rows", Type::U64, "[blocks]"),
        input("list", Type::U32, "[k]"),
        LABELS_OUT,
        output("members", Type::U64, "[k]"),
        value("blocks", Type::U32),
        value("index", Type::U32),
    ],
);

/// One block; 4 bytes per warp.
pub const fn empty_list() -> Geometry {
    EMPTY_LIST.blocks(1, 4 * 32)
}

/// Blocks share the rows; 16 bytes per warp.
pub const fn empty_farthest(n: u64) -> Geometry {
    EMPTY_FARTHEST.blocks(at_most(n.div_ceil(1024), 1024) as u64, 16 * EMPTY_FARTHEST.block / 32)
}

/// One block; 16 bytes per warp.
pub const fn empty_move() -> Geometry {
    EMPTY_MOVE.blocks(1, 16 * EMPTY_MOVE.block / 32)
}
