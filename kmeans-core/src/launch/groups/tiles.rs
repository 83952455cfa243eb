//! Which rows of which group a block takes, and the grids of many groups.

use super::{GROUP_ROWS, GROUPS, RANGES, STARTS, TILE_ROWS};
use crate::launch::{Geometry, Kernel, Type, at_most, kernel, output, value};

/// The owner of a tile that there is not.
pub const NO_GROUP: u32 = u32::MAX;

/// Where each group's tiles begin. Launch: [`groups_starts`].
pub const GROUPS_STARTS: Kernel =
    kernel("groups_starts", &[], 1024, &[RANGES, output("starts", Type::U32, "[groups+1]"), TILE_ROWS, GROUPS]);
/// Whose each tile is. Launch: `thread_each(tiles)`.
pub const GROUPS_OWNERS: Kernel = kernel(
    "groups_owners",
    &[],
    256,
    &[STARTS, output("owners", Type::U32, "[tiles]"), value("tiles", Type::U32), GROUPS],
);

/// Tiles of g groups that have n rows together, at most.
pub const fn group_tiles(n: u64, groups: u32, tile_rows: u32) -> u64 {
    n.div_ceil(tile_rows as u64) + groups as u64
}

/// Rows of a tile: few tiles, since each brings sums to global memory, but enough to keep a GPU busy to the end.
pub const fn group_tile_rows(n: u64) -> u32 {
    // Some two thousand blocks.
    at_most(n.div_ceil(2048).div_ceil(GROUP_ROWS as u64), 1024 / GROUP_ROWS) * GROUP_ROWS
}

/// One block; 8 bytes per warp.
pub const fn groups_starts() -> Geometry {
    GROUPS_STARTS.blocks(1, 8 * GROUPS_STARTS.block / 32)
}

/// A block per tile; 8 bytes per warp.
pub const fn groups_tiles(kernel: &Kernel, tiles: u64) -> Geometry {
    kernel.blocks(tiles, 8 * kernel.block / 32)
}
