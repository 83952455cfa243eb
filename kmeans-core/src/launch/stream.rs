//! Assignment with tensor cores kept busy: several kernels, one after the other.
//!
//! Labels of f16 and bf16 points take, in this order:
//!
//! | when | kernel | what for |
//! |---|---|---|
//! | once per fit | [`ASSIGN_LENGTHS`] of the points | `x_norms`; its `largest` is not used |
//! | each round | the host sets `largest` and `open` to zero | |
//! | | [`ASSIGN_LENGTHS`] of the centroids | `c_norms`, `largest` |
//! | | [`ASSIGN_TILES`] | `tiles`, `starts`, `plain_starts` |
//! | | [`ASSIGN_STREAM_64`], [`ASSIGN_STREAM_128`] or [`ASSIGN_STREAM_LONG`] by d | `labels`, and what is open |
//! | | [`ASSIGN_SETTLE`] | `labels` of what is open |
//!
//! For f32 points, [`ASSIGN_HALVES`] takes the place of the lengths, with the same `centre` and `scale` for points and centroids.
//! What it has rounded is a matrix of `width` columns, which goes to [`ASSIGN_TILES`] for f16 and to
//! [`ASSIGN_STREAM_64_ROUNDED`], [`ASSIGN_STREAM_128_ROUNDED`] or [`ASSIGN_STREAM_LONG_ROUNDED`], all with d = `width`; only
//! [`ASSIGN_SETTLE`] reads the f32 numbers. Any `centre` gives right labels, and so does any `scale`: a centre near the
//! middle of the data, and a scale that fills f16, leave less to settle.
//!
//! For more than 128 columns on tier hopper, [`ASSIGN_ORDER`] and [`ASSIGN_TILES_LONG`] take the place of the tiles, and
//! [`ASSIGN_SETTLE_ORDERED`] that of [`ASSIGN_SETTLE`]: each tile has a margin of its own, and centroids that are alike share one.
//!
//! On tier ampere [`ASSIGN_STREAM_MMA`] and [`ASSIGN_STREAM_MMA_ROUNDED`] take the place of the streams, with `plain_starts` for any d.
//!
//! All arrays begin at multiples of 16 bytes. d is below 2¹⁶ and k at most 2²⁵.

use super::arguments::{CENTROIDS, D, HALF_TYPES, K, LABELS_OUT, N, POINTS, ROWS, SINGLE_TYPES};
use super::{Argument, Geometry, Kernel, Type, at_most, input, kernel, output, value};

/// Rows that a block of [`ASSIGN_STREAM_128`] takes at a time.
pub const STREAM_ROWS: u32 = 256;
/// Rows that a block of [`ASSIGN_STREAM_LONG`] takes at a time.
pub const STREAM_LONG_ROWS: u32 = 128;
/// Rows that a block of [`ASSIGN_STREAM_MMA`] takes at a time, 16 per warp: with more warps, threads would lack registers.
pub const STREAM_MMA_ROWS: u32 = 192;
/// Centroids of a tile of [`ASSIGN_TILES`].
pub const TILE_ROWS: u32 = 128;
/// Blocks that share a tile in [`ASSIGN_TILES`].
pub const TILE_PARTS: u32 = 16;
/// Rows of a block of [`ASSIGN_SETTLE`].
pub const SETTLE_ROWS: u32 = 2048;

/// |x|² of rows, and the bits of the largest, which the host has set to zero. Launch: [`assign_lengths`].
pub const ASSIGN_LENGTHS: Kernel = kernel(
    "assign_lengths",
    HALF_TYPES,
    256,
    &[
        input("matrix", Type::T, "[rows, d]"),
        output("norms", Type::F32, "[rows]"),
        output("largest", Type::U32, "[1]"),
        ROWS,
        D,
    ],
);
/// Rows less `centre`, times `scale`, a power of two, rounded to f16, with zeros up to `width` columns, a multiple of 8; |x|² and
/// bounds for what rounding changed, and the bits of the largest of both, which the host has set to zero. `scale` should
/// bring the largest element of points and centroids, less `centre`, near 2⁹. Launch: [`assign_lengths`].
pub const ASSIGN_HALVES: Kernel = kernel(
    "assign_halves",
    &[],
    256,
    &[
        input("matrix", Type::F32, "[rows, d]"),
        input("centre", Type::F32, "[d]"),
        output("halves", Type::F16, "[rows, width]"),
        output("norms", Type::F32, "[rows]"),
        output("errors", Type::F32, "[rows]"),
        output("largest", Type::U32, "[2]"),
        value("scale", Type::F32),
        ROWS,
        D,
        value("width", Type::U32),
    ],
);
/// Centroids as tiles. Launch: [`assign_tiles`].
pub const ASSIGN_TILES: Kernel = kernel(
    "assign_tiles",
    HALF_TYPES,
    256,
    &[
        CENTROIDS,
        C_NORMS,
        input("largest", Type::U32, "[1]"),
        output("tiles", Type::T, "[⌈k/128⌉, ⌈d/64⌉, 128, 64]"),
        output("starts", Type::T, "[⌈k/128⌉, 128, 16]"),
        output("plain_starts", Type::F32, "[⌈k/128⌉, 128]"),
        K,
        D,
    ],
);

const C_NORMS: Argument = input("c_norms", Type::F32, "[k]");
/// The label of each place in the tiles.
const ORDER: Argument = input("order", Type::U32, "[k]");
/// Labels in the order of their norms. Launch: one block.
pub const ASSIGN_ORDER: Kernel = kernel("assign_order", &[], 1024, &[C_NORMS, output("order", Type::U32, "[k]"), K]);
/// Centroids as tiles, in an order; `c_errors` is as [`ASSIGN_HALVES`] writes it, zeros for what was not rounded. Launch:
/// [`assign_tiles`].
pub const ASSIGN_TILES_LONG: Kernel = kernel(
    "assign_tiles_long",
    HALF_TYPES,
    256,
    &[
        CENTROIDS,
        C_NORMS,
        input("c_errors", Type::F32, "[k]"),
        ORDER,
        input("largest", Type::U32, "[1]"),
        output("tiles", Type::T, "[⌈k/128⌉, ⌈d/32⌉, 128, 32]"),
        output("plain_starts", Type::F32, "[⌈k/128⌉, 128]"),
        output("bounds", Type::F32, "[⌈k/128⌉, 4]"),
        K,
        D,
    ],
);

pub(super) const TILES: Argument = input("tiles", Type::T, "[⌈k/128⌉, ⌈d/64⌉, 128, 64]");
pub(super) const STARTS: Argument = input("starts", Type::T, "[⌈k/128⌉, 128, 16]");
pub(super) const PLAIN_STARTS: Argument = input("plain_starts", Type::F32, "[⌈k/128⌉, 128]");
const SLIM_TILES: Argument = input("tiles", Type::T, "[⌈k/128⌉, ⌈d/32⌉, 128, 32]");
const SLIM_HALF_TILES: Argument = input("tiles", Type::F16, "[⌈k/128⌉, ⌈d/32⌉, 128, 32]");
/// What the margins of a tile share.
const TILE_BOUNDS: Argument = input("bounds", Type::F32, "[⌈k/128⌉, 4]");
pub(super) const X_NORMS: Argument = input("x_norms", Type::F32, "[n]");
pub(super) const OTHERS_OUT: Argument = output("others", Type::U32, "[n]");
/// Room for rows with more candidates than two, a few per cent of n; `open` counts them, and the host has set it to zero.
pub(super) const ROOM: Argument = value("room", Type::U32);
pub(super) const OPEN: [Argument; 3] = [
    output("open_rows", Type::U64, "[room]"),
    output("open_codes", Type::U32, "[room, 8]"),
    output("open", Type::U32, "[1]"),
];
pub(super) const LARGEST: Argument = input("largest", Type::U32, "[1]");
const STREAM: Kernel = kernel(
    "",
    HALF_TYPES,
    384,
    &[POINTS, TILES, STARTS, X_NORMS, LARGEST, LABELS_OUT, OTHERS_OUT, OPEN[0], OPEN[1], OPEN[2], ROOM, N, K, D],
);
/// Labels, or candidates, of points of up to 64 columns. Launch: [`assign_stream`].
pub const ASSIGN_STREAM_64: Kernel = Kernel { name: "assign_stream_64", ..STREAM };
/// Labels, or candidates, of points of up to 128 columns. Launch: [`assign_stream`].
pub const ASSIGN_STREAM_128: Kernel = Kernel { name: "assign_stream_128", ..STREAM };
/// Labels, or candidates, of points of any number of columns. Launch: [`assign_stream_long`].
pub const ASSIGN_STREAM_LONG: Kernel = kernel(
    "assign_stream_long",
    HALF_TYPES,
    352,
    &[
        POINTS,
        SLIM_TILES,
        PLAIN_STARTS,
        TILE_BOUNDS,
        ORDER,
        X_NORMS,
        LARGEST,
        LABELS_OUT,
        OTHERS_OUT,
        OPEN[0],
        OPEN[1],
        OPEN[2],
        ROOM,
        N,
        K,
        D,
    ],
);
pub(super) const HALVES: Argument = input("halves", Type::F16, "[n, d]");
pub(super) const HALF_TILES: Argument = input("tiles", Type::F16, "[⌈k/128⌉, ⌈d/64⌉, 128, 64]");
pub(super) const HALF_STARTS: Argument = input("starts", Type::F16, "[⌈k/128⌉, 128, 16]");
pub(super) const X_ERRORS: Argument = input("x_errors", Type::F32, "[n]");
pub(super) const LARGEST_2: Argument = input("largest", Type::U32, "[2]");
const STREAM_ROUNDED: Kernel = kernel(
    "",
    &[],
    384,
    &[
        HALVES,
        HALF_TILES,
        HALF_STARTS,
        X_NORMS,
        X_ERRORS,
        LARGEST_2,
        LABELS_OUT,
        OTHERS_OUT,
        OPEN[0],
        OPEN[1],
        OPEN[2],
        ROOM,
        N,
        K,
        D,
    ],
);
/// The same for rounded points, d being their width. Launch: [`assign_stream`].
pub const ASSIGN_STREAM_64_ROUNDED: Kernel = Kernel { name: "assign_stream_64_rounded", ..STREAM_ROUNDED };
/// The same for rounded points, d being their width. Launch: [`assign_stream`].
pub const ASSIGN_STREAM_128_ROUNDED: Kernel = Kernel { name: "assign_stream_128_rounded", ..STREAM_ROUNDED };
/// The same for rounded points, d being their width. Launch: [`assign_stream_long`].
pub const ASSIGN_STREAM_LONG_ROUNDED: Kernel = kernel(
    "assign_stream_long_rounded",
    &[],
    352,
    &[
        HALVES,
        SLIM_HALF_TILES,
        PLAIN_STARTS,
        TILE_BOUNDS,
        ORDER,
        X_NORMS,
        X_ERRORS,
        LARGEST_2,
        LABELS_OUT,
        OTHERS_OUT,
        OPEN[0],
        OPEN[1],
        OPEN[2],
        ROOM,
        N,
        K,
        D,
    ],
);
/// By tier ampere: labels, or candidates, of points of any number of columns. Launch: [`assign_stream_mma`].
pub const ASSIGN_STREAM_MMA: Kernel = kernel(
    "assign_stream_mma",
    HALF_TYPES,
    384,
    &[POINTS, TILES, PLAIN_STARTS, X_NORMS, LARGEST, LABELS_OUT, OTHERS_OUT, OPEN[0], OPEN[1], OPEN[2], ROOM, N, K, D],
);
/// The same for rounded points, d being their width. Launch: [`assign_stream_mma`].
pub const ASSIGN_STREAM_MMA_ROUNDED: Kernel = kernel(
    "assign_stream_mma_rounded",
    &[],
    384,
    &[
        HALVES,
        HALF_TILES,
        PLAIN_STARTS,
        X_NORMS,
        X_ERRORS,
        LARGEST_2,
        LABELS_OUT,
        OTHERS_OUT,
        OPEN[0],
        OPEN[1],
        OPEN[2],
        ROOM,
        N,
        K,
        D,
    ],
);
/// Labels of the rows that are open. Launch: [`assign_settle`].
pub const ASSIGN_SETTLE: Kernel = kernel(
    "assign_settle",
    SINGLE_TYPES,
    256,
    &[
        POINTS,
        CENTROIDS,
        input("others", Type::U32, "[n]"),
        input("open_rows", Type::U64, "[room]"),
        input("open_codes", Type::U32, "[room, 8]"),
        input("open", Type::U32, "[1]"),
        ROOM,
        LABELS_OUT,
        N,
        K,
        D,
    ],
);
/// The same for places in tiles that have another order. Launch: [`assign_settle`].
pub const ASSIGN_SETTLE_ORDERED: Kernel = kernel(
    "assign_settle_ordered",
    SINGLE_TYPES,
    256,
    &[
        POINTS,
        CENTROIDS,
        ORDER,
        input("others", Type::U32, "[n]"),
        input("open_rows", Type::U64, "[room]"),
        input("open_codes", Type::U32, "[room, 8]"),
        input("open", Type::U32, "[1]"),
        ROOM,
        LABELS_OUT,
        N,
        K,
        D,
    ],
);

// The same for groups of rows with centroids of their own: tables are as in `GROUPS_STARTS`, of tiles of `STREAM_ROWS` rows, on
// tier ampere of `STREAM_MMA_ROWS`.

const GROUPS_TILES: Argument = input("tiles", Type::T, "[groups, ⌈k/128⌉, ⌈d/64⌉, 128, 64]");
const GROUPS_SCORE_STARTS: Argument = input("starts", Type::T, "[groups, ⌈k/128⌉, 128, 16]");
const RANGES: Argument = input("ranges", Type::U64, "[groups, 2]");
const TILE_STARTS: Argument = input("tile_starts", Type::U32, "[groups+1]");
const OWNERS: Argument = input("owners", Type::U32, "[count]");
/// Tiles of rows at most.
const COUNT: Argument = value("count", Type::U32);
const GROUPS_STREAM: Kernel = kernel(
    "",
    HALF_TYPES,
    384,
    &[
        POINTS,
        GROUPS_TILES,
        GROUPS_SCORE_STARTS,
        X_NORMS,
        LARGEST,
        RANGES,
        TILE_STARTS,
        OWNERS,
        LABELS_OUT,
        OTHERS_OUT,
        OPEN[0],
        OPEN[1],
        OPEN[2],
        ROOM,
        COUNT,
        K,
        D,
    ],
);
/// Labels among the centroids of a row's group, or candidates, of points of up to 64 columns. Launch: [`groups_stream`].
pub const GROUPS_STREAM_64: Kernel = Kernel { name: "groups_stream_64", ..GROUPS_STREAM };
/// The same for points of up to 128 columns. Launch: [`groups_stream`].
pub const GROUPS_STREAM_128: Kernel = Kernel { name: "groups_stream_128", ..GROUPS_STREAM };
const GROUPS_STREAM_ROUNDED: Kernel = kernel(
    "",
    &[],
    384,
    &[
        HALVES,
        input("tiles", Type::F16, "[groups, ⌈k/128⌉, ⌈d/64⌉, 128, 64]"),
        input("starts", Type::F16, "[groups, ⌈k/128⌉, 128, 16]"),
        X_NORMS,
        X_ERRORS,
        LARGEST_2,
        RANGES,
        TILE_STARTS,
        OWNERS,
        LABELS_OUT,
        OTHERS_OUT,
        OPEN[0],
        OPEN[1],
        OPEN[2],
        ROOM,
        COUNT,
        K,
        D,
    ],
);
/// The same for rounded points, d being their width. Launch: [`groups_stream`].
pub const GROUPS_STREAM_64_ROUNDED: Kernel = Kernel { name: "groups_stream_64_rounded", ..GROUPS_STREAM_ROUNDED };
/// The same for rounded points, d being their width. Launch: [`groups_stream`].
pub const GROUPS_STREAM_128_ROUNDED: Kernel = Kernel { name: "groups_stream_128_rounded", ..GROUPS_STREAM_ROUNDED };
const GROUPS_PLAIN_STARTS: Argument = input("starts", Type::F32, "[groups, ⌈k/128⌉, 128]");
/// By tier ampere: labels among the centroids of a row's group, or candidates. Launch: [`groups_stream_mma`].
pub const GROUPS_STREAM_MMA: Kernel = kernel(
    "groups_stream_mma",
    HALF_TYPES,
    384,
    &[
        POINTS,
        GROUPS_TILES,
        GROUPS_PLAIN_STARTS,
        X_NORMS,
        LARGEST,
        RANGES,
        TILE_STARTS,
        OWNERS,
        LABELS_OUT,
        OTHERS_OUT,
        OPEN[0],
        OPEN[1],
        OPEN[2],
        ROOM,
        COUNT,
        K,
        D,
    ],
);
/// The same for rounded points, d being their width. Launch: [`groups_stream_mma`].
pub const GROUPS_STREAM_MMA_ROUNDED: Kernel = kernel(
    "groups_stream_mma_rounded",
    &[],
    384,
    &[
        HALVES,
        input("tiles", Type::F16, "[groups, ⌈k/128⌉, ⌈d/64⌉, 128, 64]"),
        GROUPS_PLAIN_STARTS,
        X_NORMS,
        X_ERRORS,
        LARGEST_2,
        RANGES,
        TILE_STARTS,
        OWNERS,
        LABELS_OUT,
        OTHERS_OUT,
        OPEN[0],
        OPEN[1],
        OPEN[2],
        ROOM,
        COUNT,
        K,
        D,
    ],
);
/// Labels of the rows that are open; `others` of rows of no group is `u32::MAX`. Launch: [`assign_settle`].
pub const GROUPS_SETTLE: Kernel = kernel(
    "groups_settle",
    SINGLE_TYPES,
    256,
    &[
        POINTS,
        input("centroids", Type::T, "[groups, k, d]"),
        RANGES,
        input("others", Type::U32, "[n]"),
        input("open_rows", Type::U64, "[room]"),
        input("open_codes", Type::U32, "[room, 8]"),
        input("open", Type::U32, "[1]"),
        ROOM,
        LABELS_OUT,
        N,
        K,
        D,
        value("groups", Type::U32),
    ],
);

/// As [`assign_stream`], for `tiles` tiles of rows.
pub const fn groups_stream(tiles: u64, d: u32, multiprocessors: u32) -> Geometry {
    assign_stream(tiles * STREAM_ROWS as u64, d, multiprocessors)
}

/// A warp per row, or for every so many.
pub const fn assign_lengths(rows: u64) -> Geometry {
    ASSIGN_LENGTHS.blocks(at_most(rows.div_ceil(8), 2048) as u64, 0)
}

/// One block. Shared memory: a count for each of 2,048 buckets, and a sum per warp.
pub const fn assign_order() -> Geometry {
    ASSIGN_ORDER.blocks(1, 2048 * 4 + 32 * 8)
}

/// Blocks share a tile; `groups` groups of k centroids each, which begin at tiles of their own.
pub const fn assign_tiles(groups: u32, k: u32) -> Geometry {
    ASSIGN_TILES.blocks(groups as u64 * k.div_ceil(TILE_ROWS) as u64 * TILE_PARTS as u64, 0)
}

/// A block per multiprocessor, or fewer if there are few rows. Shared memory: two buffers of rows, two stages of tiles and their
/// starts, eight rows of ones, margins of both buffers, what four lanes saw of each row, 12 barriers.
pub const fn assign_stream(n: u64, d: u32, multiprocessors: u32) -> Geometry {
    let row = if d <= 64 { 128 } else { 256 };
    let shared = 2 * STREAM_ROWS * row
        + 2 * TILE_ROWS * (row + 32)
        + 8 * 32
        + 2 * STREAM_ROWS * 4
        + STREAM_ROWS * (4 * 12 + 4)
        + 12 * 8;
    ASSIGN_STREAM_128.blocks(at_most(n.div_ceil(STREAM_ROWS as u64), multiprocessors) as u64, shared)
}

/// A block per multiprocessor, or fewer if there are few rows. Shared memory: 14 slices of 128 rows of 128 bytes, starts and bounds of
/// four tiles, 60 barriers.
pub const fn assign_stream_long(n: u64, multiprocessors: u32) -> Geometry {
    let shared = 14 * 128 * 128 + 4 * (TILE_ROWS + 4) * 4 + 60 * 8;
    ASSIGN_STREAM_LONG.blocks(at_most(n.div_ceil(STREAM_LONG_ROWS as u64), multiprocessors) as u64, shared)
}

/// A block per multiprocessor, or fewer if there are few rows. Shared memory: two slices of rows, two of tiles and their starts.
pub const fn assign_stream_mma(n: u64, multiprocessors: u32) -> Geometry {
    let shared = 2 * STREAM_MMA_ROWS * 128 + 2 * TILE_ROWS * (128 + 4);
    ASSIGN_STREAM_MMA.blocks(at_most(n.div_ceil(STREAM_MMA_ROWS as u64), multiprocessors) as u64, shared)
}

/// As [`assign_stream_mma`], for `tiles` tiles of rows.
pub const fn groups_stream_mma(tiles: u64, multiprocessors: u32) -> Geometry {
    assign_stream_mma(tiles * STREAM_MMA_ROWS as u64, multiprocessors)
}

/// Many rows per block, and some blocks for the list. Shared memory: a list of rows, two counters, and a label and a distance
/// per warp.
pub const fn assign_settle(n: u64, multiprocessors: u32) -> Geometry {
    let blocks = n.div_ceil(SETTLE_ROWS as u64) + 4 * multiprocessors as u64;
    ASSIGN_SETTLE.blocks(blocks, SETTLE_ROWS * 4 + 16 + 8 * 12)
}
