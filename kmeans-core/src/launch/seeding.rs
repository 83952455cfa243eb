//! The kernels of seeding, and the grids they take.
//!
//! k-means++ picks rows by the weighted cost of the nearest centroid so far, k-means|| candidates. Random labels need no points.

use super::arguments::{D, K, LABELS_IN, LABELS_OUT, N, POINTS, STORED_TYPES, WEIGHTED, WEIGHTS};
use super::{Argument, Geometry, Kernel, Type, at_most, input, kernel, output, value};

/// Rows of a range: the amounts of a range are summed by one block, and searched by one.
pub const SEED_ROWS: u32 = 2048;
/// Trials that are tried in one pass over the points.
pub const SEED_TRIALS: u32 = 12;
/// Columns of a tile of rows, and the elements from one row of it to the next at most.
pub const SEED_COLUMNS: u32 = 32;
/// Rows of a tile, one per thread.
const SEED_TILE: u32 = 128;

const NEAREST_IN: Argument = input("nearest", Type::F64, "[n]");
const NEAREST_OUT: Argument = output("nearest", Type::F64, "[n]");
const LARGEST_IN: Argument = input("largest", Type::U64, "[1]");
const LARGEST_OUT: Argument = output("largest", Type::U64, "[1]");
const AMOUNTS_IN: Argument = input("sums", Type::U64, "[blocks]");
const TRIALS_IN: Argument = input("rows", Type::U64, "[trials]");
const SEED: Argument = value("seed", Type::U64);
const RESTART: Argument = value("restart", Type::U32);
const BLOCKS: Argument = value("blocks", Type::U64);

/// Random labels. Launch: `thread_each(n)`.
pub const LABELS_RANDOM: Kernel = kernel("labels_random", &[], 256, &[LABELS_OUT, SEED, RESTART, N, K]);

/// D to the nearest centroid so far, a further one included, and the bits of the largest cost. Launch: [`seed_nearest`].
pub const SEED_NEAREST: Kernel = kernel(
    "seed_nearest",
    STORED_TYPES,
    SEED_TILE,
    &[
        POINTS,
        input("row", Type::U64, "[1]"),
        NEAREST_OUT,
        WEIGHTS,
        LARGEST_OUT,
        WEIGHTED,
        value("first", Type::U32),
        N,
        D,
    ],
);
/// Amounts per range of rows, [`seed_blocks`] of them. Launch: [`seed_amounts`].
pub const SEED_AMOUNTS: Kernel = kernel(
    "seed_amounts",
    &[],
    256,
    &[NEAREST_IN, WEIGHTS, LARGEST_IN, output("sums", Type::U64, "[blocks]"), WEIGHTED, N],
);
/// The rows to try. Launch: [`seed_draw`].
pub const SEED_DRAW: Kernel = kernel(
    "seed_draw",
    &[],
    1024,
    &[
        NEAREST_IN,
        WEIGHTS,
        LARGEST_IN,
        AMOUNTS_IN,
        output("rows", Type::U64, "[trials]"),
        WEIGHTED,
        BLOCKS,
        SEED,
        RESTART,
        value("purpose", Type::U32),
        value("step", Type::U32),
        N,
    ],
);
/// Adds to what each trial would leave, which is zero before. Launch: [`seed_potentials`].
pub const SEED_POTENTIALS: Kernel = kernel(
    "seed_potentials",
    STORED_TYPES,
    SEED_TILE,
    &[
        POINTS,
        TRIALS_IN,
        NEAREST_IN,
        WEIGHTS,
        LARGEST_IN,
        output("potentials", Type::U64, "[trials]"),
        WEIGHTED,
        value("trials", Type::U32),
        N,
        D,
    ],
);
/// The best trial, and zeros for the next step. Launch: `blocks(1, 0)`.
pub const SEED_CHOOSE: Kernel = kernel(
    "seed_choose",
    &[],
    32,
    &[
        TRIALS_IN,
        output("potentials", Type::U64, "[trials]"),
        LARGEST_OUT,
        output("picked", Type::U64, "[k]"),
        output("row", Type::U64, "[1]"),
        value("trials", Type::U32),
        value("step", Type::U32),
    ],
);

/// Ranges of [`SEED_ROWS`] rows.
pub const fn seed_blocks(n: u64) -> u64 {
    n.div_ceil(SEED_ROWS as u64)
}

/// Blocks go round over tiles of rows; `rows` rows to compare with in `f64`, and a tile of elements of `size` bytes.
const fn seed_tiles(kernel: &Kernel, n: u64, rows: u32, size: u32) -> Geometry {
    let shared = rows * SEED_COLUMNS * 8 + SEED_TILE * (SEED_COLUMNS + 1) * size;
    kernel.blocks(at_most(n.div_ceil(SEED_TILE as u64), 2048) as u64, shared)
}

/// Blocks share the rows, for elements of `size` bytes.
pub const fn seed_nearest(n: u64, size: u32) -> Geometry {
    seed_tiles(&SEED_NEAREST, n, 1, size)
}

/// A block per range.
pub const fn seed_amounts(n: u64) -> Geometry {
    SEED_AMOUNTS.blocks(seed_blocks(n), 8 * SEED_AMOUNTS.block / 32)
}

/// A block per trial; 8 bytes per warp, and where the draw falls.
pub const fn seed_draw(trials: u32) -> Geometry {
    SEED_DRAW.blocks(trials as u64, 8 * SEED_DRAW.block / 32 + 16)
}

/// Blocks share the rows, for elements of `size` bytes.
pub const fn seed_potentials(n: u64, size: u32) -> Geometry {
    seed_tiles(&SEED_POTENTIALS, n, SEED_TRIALS, size)
}

// Seeding by k-means||. There must be something to draw from: the largest cost is above zero, and finite.

const ROUND: Argument = value("round", Type::U32);

/// Candidates per range of rows. Launch: [`parallel_count`].
pub const PARALLEL_COUNT: Kernel = kernel(
    "parallel_count",
    &[],
    256,
    &[
        NEAREST_IN,
        WEIGHTS,
        LARGEST_IN,
        AMOUNTS_IN,
        output("counts", Type::U64, "[blocks]"),
        WEIGHTED,
        K,
        ROUND,
        SEED,
        RESTART,
        N,
    ],
);
/// Where each range's candidates go, and how many there are. Launch: [`parallel_offsets`].
pub const PARALLEL_OFFSETS: Kernel = kernel(
    "parallel_offsets",
    &[],
    1024,
    &[
        input("counts", Type::U64, "[blocks]"),
        output("offsets", Type::U64, "[blocks]"),
        output("total", Type::U64, "[1]"),
        BLOCKS,
    ],
);
/// The candidates, in ascending order. Launch: [`parallel_write`].
pub const PARALLEL_WRITE: Kernel = kernel(
    "parallel_write",
    &[],
    256,
    &[
        NEAREST_IN,
        WEIGHTS,
        LARGEST_IN,
        AMOUNTS_IN,
        input("offsets", Type::U64, "[blocks]"),
        output("rows", Type::U64, "[total]"),
        WEIGHTED,
        K,
        ROUND,
        SEED,
        RESTART,
        N,
    ],
);
/// Takes further candidates into account, number `base` on; raises the bits of the largest cost. Launch:
/// [`parallel_merge`].
pub const PARALLEL_MERGE: Kernel = kernel(
    "parallel_merge",
    &[],
    256,
    &[
        input("distances", Type::F64, "[n]"),
        LABELS_IN,
        NEAREST_OUT,
        output("owner", Type::U32, "[n]"),
        WEIGHTS,
        LARGEST_OUT,
        WEIGHTED,
        value("base", Type::U32),
        value("first", Type::U32),
        N,
    ],
);

/// Blocks go round over the ranges; 8 bytes per warp.
pub const fn parallel_count(n: u64) -> Geometry {
    PARALLEL_COUNT.blocks(at_most(seed_blocks(n), 1024) as u64, 8 * PARALLEL_COUNT.block / 32)
}

/// One block; 8 bytes per warp.
pub const fn parallel_offsets() -> Geometry {
    PARALLEL_OFFSETS.blocks(1, 8 * PARALLEL_OFFSETS.block / 32)
}

/// Blocks go round over the ranges; 8 bytes per warp.
pub const fn parallel_write(n: u64) -> Geometry {
    PARALLEL_WRITE.blocks(at_most(seed_blocks(n), 1024) as u64, 8 * PARALLEL_WRITE.block / 32)
}

/// Blocks share the rows.
pub const fn parallel_merge(n: u64) -> Geometry {
    PARALLEL_MERGE.blocks(at_most(n.div_ceil(1024), 1024) as u64, 0)
}
