//! Seeding of groups by k-means++ or random labels, and the grids the kernels take.

use super::{FIRST, GROUPS, OWNERS, RANGES, STARTS, TILE_ROWS};
use crate::launch::arguments::{D, K, LABELS_OUT, POINT_TYPES, POINTS};
use crate::launch::{Argument, Geometry, Kernel, SEED_COLUMNS, SEED_TRIALS, Type, input, kernel, output, value};

const SEEDS: Argument = input("seeds", Type::U64, "[groups]");
const RESTART: Argument = value("restart", Type::U32);
const NEAREST_IN: Argument = input("nearest", Type::F64, "[n]");
const LARGEST_IN: Argument = input("largest", Type::U64, "[groups]");
const LARGEST_OUT: Argument = output("largest", Type::U64, "[groups]");
const TRIAL_ROWS: Argument = input("trial_rows", Type::U64, "[groups, trials]");
const POTENTIALS_OUT: Argument = output("potentials", Type::U64, "[groups, trials]");
const TRIALS: Argument = value("trials", Type::U32);
const STEP: Argument = value("step", Type::U32);

/// Random labels. Launch: [`groups_tiles`](super::groups_tiles).
pub const GROUPS_RANDOM_LABELS: Kernel =
    kernel("groups_random_labels", &[], 256, &[RANGES, STARTS, OWNERS, SEEDS, LABELS_OUT, RESTART, TILE_ROWS, K]);

/// D to the nearest row picked so far, a further one included, and the bits of each group's largest. Launch:
/// [`groups_seed_nearest`].
pub const GROUPS_SEED_NEAREST: Kernel = kernel(
    "groups_seed_nearest",
    POINT_TYPES,
    128,
    &[
        POINTS,
        RANGES,
        STARTS,
        OWNERS,
        input("rows", Type::U64, "[groups]"),
        output("nearest", Type::F64, "[n]"),
        LARGEST_OUT,
        TILE_ROWS,
        FIRST,
        D,
    ],
);
/// Amounts per tile. Launch: [`groups_tiles`](super::groups_tiles).
pub const GROUPS_SEED_AMOUNTS: Kernel = kernel(
    "groups_seed_amounts",
    &[],
    128,
    &[NEAREST_IN, RANGES, STARTS, OWNERS, LARGEST_IN, output("amounts", Type::U64, "[blocks]"), TILE_ROWS],
);
/// The rows to try. Launch: [`groups_seed_draw`].
pub const GROUPS_SEED_DRAW: Kernel = kernel(
    "groups_seed_draw",
    &[],
    128,
    &[
        NEAREST_IN,
        RANGES,
        STARTS,
        SEEDS,
        LARGEST_IN,
        input("amounts", Type::U64, "[tiles]"),
        output("trial_rows", Type::U64, "[blocks]"),
        TILE_ROWS,
        RESTART,
        value("purpose", Type::U32),
        STEP,
        TRIALS,
    ],
);
/// Adds to what each trial would leave, which is zero before. Launch: [`groups_seed_potentials`].
pub const GROUPS_SEED_POTENTIALS: Kernel = kernel(
    "groups_seed_potentials",
    POINT_TYPES,
    128,
    &[POINTS, RANGES, STARTS, OWNERS, TRIAL_ROWS, NEAREST_IN, LARGEST_IN, POTENTIALS_OUT, TILE_ROWS, TRIALS, D],
);
/// The best trial of each group, and zeros for the next step. Launch: `thread_each(groups)`.
pub const GROUPS_SEED_CHOOSE: Kernel = kernel(
    "groups_seed_choose",
    &[],
    128,
    &[
        TRIAL_ROWS,
        POTENTIALS_OUT,
        LARGEST_OUT,
        output("picked", Type::U64, "[groups, k]"),
        output("rows", Type::U64, "[groups]"),
        TRIALS,
        STEP,
        K,
        GROUPS,
    ],
);

/// Shared memory for `rows` rows to compare with in `f64`, and a tile of elements of `size` bytes.
const fn seed_shared(rows: u32, size: u32) -> u32 {
    rows * SEED_COLUMNS * 8 + GROUPS_SEED_NEAREST.block * (SEED_COLUMNS + 1) * size
}

/// A block per tile, for elements of `size` bytes.
pub const fn groups_seed_nearest(tiles: u64, size: u32) -> Geometry {
    GROUPS_SEED_NEAREST.blocks(tiles, seed_shared(1, size))
}

/// A block per trial of each group; 8 bytes per warp, and where the draw falls.
pub const fn groups_seed_draw(groups: u32, trials: u32) -> Geometry {
    GROUPS_SEED_DRAW.blocks(groups as u64 * trials as u64, 8 * GROUPS_SEED_DRAW.block / 32 + 16)
}

/// A block per tile, for elements of `size` bytes.
pub const fn groups_seed_potentials(tiles: u64, size: u32) -> Geometry {
    GROUPS_SEED_POTENTIALS.blocks(tiles, seed_shared(SEED_TRIALS, size))
}
