//! The rows of a level in their new order, and the grids their kernels take.

use super::{COUNTS, OWNERS, RANGES, STARTS, TILE_ROWS};
use crate::launch::arguments::{D, K, LABELS_IN, N, POINT_TYPES, POINTS};
use crate::launch::{Argument, Geometry, Kernel, MAX_GRID, Type, at_most, input, kernel, output};

const CHILDREN: Argument = input("children", Type::U64, "[groups, k, 2]");
const BINS_OUT: Argument = output("bins", Type::U32, "[blocks, k]");

/// The places of each cluster. Launch: [`groups_tiles`](super::groups_tiles) with a block per group.
pub const GROUPS_CHILDREN: Kernel =
    kernel("groups_children", &[], 32, &[RANGES, COUNTS, output("children", Type::U64, "[groups, k, 2]"), K]);
/// Adds to the rows of each label per tile, which are zero before. Launch: [`groups_tiles`](super::groups_tiles).
pub const GROUPS_HISTOGRAM: Kernel =
    kernel("groups_histogram", &[], 256, &[LABELS_IN, RANGES, STARTS, OWNERS, BINS_OUT, TILE_ROWS, K]);
/// The rows of each label before a tile's. Launch: [`groups_tiles`](super::groups_tiles) with a block per cluster.
pub const GROUPS_BASES: Kernel =
    kernel("groups_bases", &[], 256, &[STARTS, output("bins", Type::U32, "[tiles, k]"), K]);
/// Each row's own place. Launch: `thread_each(n)`.
pub const GROUPS_STAY: Kernel = kernel("groups_stay", &[], 256, &[output("places", Type::U64, "[n]"), N]);
/// The place of each row of a group; `bins` are used up. Launch: [`groups_places`].
pub const GROUPS_PLACES: Kernel = kernel(
    "groups_places",
    &[],
    256,
    &[LABELS_IN, RANGES, STARTS, OWNERS, CHILDREN, BINS_OUT, output("places", Type::U64, "[n]"), TILE_ROWS, K],
);
/// Rows to their places. Launch: [`groups_carry`].
pub const GROUPS_CARRY: Kernel = kernel(
    "groups_carry",
    POINT_TYPES,
    256,
    &[
        POINTS,
        input("order", Type::U64, "[n]"),
        input("places", Type::U64, "[n]"),
        output("moved", Type::T, "[n, d]"),
        output("moved_order", Type::U64, "[n]"),
        N,
        D,
    ],
);

/// A block per tile; a label per thread.
pub const fn groups_places(tiles: u64) -> Geometry {
    GROUPS_PLACES.blocks(tiles, 4 * GROUPS_PLACES.block)
}

/// A warp per row; warps go round beyond what a grid can have.
pub const fn groups_carry(n: u64) -> Geometry {
    GROUPS_CARRY.blocks(at_most(n.div_ceil(8), MAX_GRID[0]) as u64, 0)
}
