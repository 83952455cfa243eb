//! The kernels for points that lie column by column, and the grids they take.

use super::arguments::{CENTROIDS, D, EXPONENT, K, LABELS_IN, LABELS_OUT, N, POINT_TYPES, POINTS, SUMS_OUT, WORDS};
use super::{Argument, Geometry, Kernel, Type, at_most, input, kernel, output, value, window_bytes};

const COLUMNS: Argument = input("columns", Type::T, "[d, n]");

/// Points to columns. Launch: [`transposed_transpose`].
pub const TRANSPOSED_TRANSPOSE: Kernel =
    kernel("transposed_transpose", POINT_TYPES, 256, &[POINTS, output("columns", Type::T, "[d, n]"), N, D]);
/// Labels, in place of those of the round before, and changes per block. Launch: [`transposed_assign`].
pub const TRANSPOSED_ASSIGN: Kernel = kernel(
    "transposed_assign",
    POINT_TYPES,
    128,
    &[COLUMNS, CENTROIDS, LABELS_OUT, output("changed", Type::U64, "[blocks]"), N, K, D],
);
const TRANSPOSED_SUMS: Kernel = kernel(
    "",
    POINT_TYPES,
    256,
    &[COLUMNS, LABELS_IN, output("partial", Type::U64, "[blocks, k, d, words]"), EXPONENT, WORDS, N, K, D],
);
/// Sums per block. Launch: [`transposed_sums`] with one word.
pub const TRANSPOSED_SUMS_NARROW: Kernel = Kernel { name: "transposed_sums_narrow", ..TRANSPOSED_SUMS };
/// Sums per block. Launch: [`transposed_sums`] with two words.
pub const TRANSPOSED_SUMS_WIDE: Kernel = Kernel { name: "transposed_sums_wide", ..TRANSPOSED_SUMS };
/// Changes of all blocks. Launch: `blocks(1, 256)`: 8 bytes per lane of a warp.
pub const TRANSPOSED_REDUCE_CHANGES: Kernel = kernel(
    "transposed_reduce_changes",
    &[],
    1024,
    &[input("changed", Type::U64, "[blocks]"), output("total", Type::U64, "[1]"), value("blocks", Type::U64)],
);
const TRANSPOSED_REDUCE_SUMS: Kernel = kernel(
    "",
    &[],
    128,
    &[input("partial", Type::U64, "[blocks, k, d, words]"), SUMS_OUT, value("blocks", Type::U32), K, D],
);
/// Sums of all blocks. Launch: `blocks(k, 0)`.
pub const TRANSPOSED_REDUCE_SUMS_NARROW: Kernel =
    Kernel { name: "transposed_reduce_sums_narrow", ..TRANSPOSED_REDUCE_SUMS };
/// Sums of all blocks. Launch: `blocks(k, 0)`.
pub const TRANSPOSED_REDUCE_SUMS_WIDE: Kernel =
    Kernel { name: "transposed_reduce_sums_wide", ..TRANSPOSED_REDUCE_SUMS };

/// Most bytes of all blocks' partial sums.
const PARTIAL_BYTES: u64 = 64 << 20;

/// Tiles of 32 by 32, for elements of `size` bytes.
pub const fn transposed_transpose(n: u64, d: u32, size: u32) -> Geometry {
    TRANSPOSED_TRANSPOSE.rows(n.div_ceil(32), d as u64, 32, 32 * 33 * size)
}

/// A thread per point; 4 bytes per lane of a warp.
pub const fn transposed_assign(n: u64) -> Geometry {
    TRANSPOSED_ASSIGN.blocks(n.div_ceil(TRANSPOSED_ASSIGN.block as u64), 4 * 32)
}

/// As many blocks as memory for partial sums allows.
pub const fn transposed_sums(n: u64, k: u32, d: u32, words: u32) -> Geometry {
    let total = k as u64 * d as u64;
    let affordable = at_most(PARTIAL_BYTES / (total * words as u64 * 8), 256);
    let blocks = at_most(n.div_ceil(1024), affordable) as u64;
    TRANSPOSED_SUMS.blocks(blocks, window_bytes(total, 8 * words))
}
