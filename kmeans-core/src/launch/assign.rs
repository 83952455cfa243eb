//! Labels in one pass over the points, and the grids their kernels take.

use super::arguments::{
    CENTROIDS, D, HALF_TYPES, K, LABELS_OUT, N, NARROW_TYPES, POINT_TYPES, POINTS, ROWS, SINGLE_TYPES,
};
use super::distance::SIDE;
use super::{Geometry, Kernel, SHARED_BYTES, Type, input, kernel, output, window_bytes};

const ASSIGN: Kernel = kernel("", POINT_TYPES, 256, &[POINTS, CENTROIDS, LABELS_OUT, N, K, D]);
/// Labels. Launch: `thread_each(n)`.
pub const ASSIGN_DIRECT: Kernel = Kernel { name: "assign_direct", ..ASSIGN };
/// Labels. Launch: [`assign_tiled`].
pub const ASSIGN_TILED: Kernel = Kernel { name: "assign_tiled", ..ASSIGN };
/// Labels for up to [`NARROW_COLUMNS`] columns. Launch: [`assign_narrow`].
pub const ASSIGN_NARROW: Kernel = Kernel { name: "assign_narrow", types: NARROW_TYPES, ..ASSIGN };
/// Most columns of [`ASSIGN_NARROW`].
pub const NARROW_COLUMNS: u32 = 4;
/// Values of centroids that a block of it holds at a time.
pub const NARROW_VALUES: u32 = SHARED_BYTES / 4;
/// Labels. Launch: [`assign_filtered`].
pub const ASSIGN_FILTERED: Kernel = Kernel { name: "assign_filtered", types: SINGLE_TYPES, ..ASSIGN };

/// Squared norms of the rows of a matrix, and the bits of the largest, which the host has set to zero. Launch:
/// `thread_each(rows)`.
pub const NORMS: Kernel = kernel(
    "norms",
    SINGLE_TYPES,
    256,
    &[
        input("matrix", Type::T, "[rows, d]"),
        output("norms", Type::F32, "[rows]"),
        output("largest", Type::U32, "[1]"),
        ROWS,
        D,
    ],
);
/// Labels. Points and centroids begin at multiples of 16 bytes. Launch: [`assign_mma`].
pub const ASSIGN_MMA: Kernel = kernel(
    "assign_mma",
    HALF_TYPES,
    128,
    &[
        POINTS,
        CENTROIDS,
        input("x_norms", Type::F32, "[n]"),
        input("c_norms", Type::F32, "[k]"),
        input("largest", Type::U32, "[1]"),
        LABELS_OUT,
        N,
        K,
        D,
    ],
);

/// The same on Hopper. Launch: [`assign_wgmma`].
pub const ASSIGN_WGMMA: Kernel = Kernel { name: "assign_wgmma", block: 256, ..ASSIGN_MMA };

/// 128 rows per block; two stages of 128 rows and 64 centroids, 128 bytes each.
pub const fn assign_wgmma(n: u64) -> Geometry {
    ASSIGN_WGMMA.blocks(n.div_ceil(128), 2 * (128 + 64) * 128)
}

/// 64 rows per block; two stages of two tiles of 64 rows by 40 elements of 16 bits.
pub const fn assign_mma(n: u64) -> Geometry {
    ASSIGN_MMA.blocks(n.div_ceil(64), 2 * 2 * 64 * 40 * 2)
}

/// 16 rows per block, for elements of `size` bytes.
pub const fn assign_tiled(n: u64, size: u32) -> Geometry {
    ASSIGN.blocks(n.div_ceil(SIDE as u64), SIDE * (2 * SIDE + 1) * size)
}

/// A thread per row, for up to four columns.
pub const fn assign_narrow(n: u64, k: u32, d: u32) -> Geometry {
    ASSIGN.blocks(n.div_ceil(ASSIGN.block as u64), window_bytes(k as u64 * d as u64, 4))
}

/// 64 rows per block; two tiles of 16 columns by 64 rows and one of padding, in `f32`.
pub const fn assign_filtered(n: u64) -> Geometry {
    ASSIGN.blocks(n.div_ceil(64), 2 * 16 * 65 * 4)
}
