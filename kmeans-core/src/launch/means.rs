//! Centroids from sums and counts, and the grids their kernels take.

use super::arguments::{CENTROIDS, D, EXPONENT, K, POINT_TYPES, WORDS};
use super::{Geometry, Kernel, Type, input, kernel, output, value};

const SCALE_DIVIDE: Kernel = kernel(
    "",
    POINT_TYPES,
    128,
    &[
        input("sums", Type::U64, "[k, d, words]"),
        input("counts", Type::U64, "[k]"),
        input("old", Type::T, "[k, d]"),
        output("centroids", Type::T, "[k, d]"),
        EXPONENT,
        D,
    ],
);
/// Centroids from narrow sums. Launch: `blocks(k, 0)`.
pub const SCALE_DIVIDE_NARROW: Kernel = Kernel { name: "scale_divide_narrow", ..SCALE_DIVIDE };
/// Centroids from wide sums. Launch: `blocks(k, 0)`.
pub const SCALE_DIVIDE_WIDE: Kernel = Kernel { name: "scale_divide_wide", ..SCALE_DIVIDE };
/// Centroids from sums in limbs. Launch: `blocks(k, 0)`.
pub const SCALE_DIVIDE_LIMBS: Kernel = kernel(
    "scale_divide_limbs",
    POINT_TYPES,
    128,
    &[
        input("sums", Type::U64, "[k, d, words]"),
        input("counts", Type::U64, "[k]"),
        input("old", Type::T, "[k, d]"),
        output("centroids", Type::T, "[k, d]"),
        EXPONENT,
        WORDS,
        D,
    ],
);
/// Centroids from weighted sums and total weights. A warp per cluster: threads of larger blocks would be given fewer registers
/// than they need. Launch: `blocks(k, 0)`.
pub const SCALE_DIVIDE_WEIGHTED: Kernel = kernel(
    "scale_divide_weighted",
    POINT_TYPES,
    32,
    &[
        input("sums", Type::U64, "[k, d, words]"),
        input("totals", Type::U64, "[k, total_words]"),
        input("old", Type::T, "[k, d]"),
        output("centroids", Type::T, "[k, d]"),
        EXPONENT,
        WORDS,
        value("total_exponent", Type::I32),
        value("total_words", Type::U32),
        D,
    ],
);
/// How far each centroid moved. Launch: `thread_each(k)`.
pub const SCALE_MOVED: Kernel = kernel(
    "scale_moved",
    POINT_TYPES,
    32,
    &[CENTROIDS, input("old", Type::T, "[k, d]"), output("moved", Type::F64, "[k]"), K, D],
);
/// Clusters, a warp each, of a block that makes means.
pub const MEANS_CLUSTERS: u32 = 8;
/// Columns of each that it has in shared memory at a time.
pub const MEANS_COLUMNS: u32 = 128;

const SCALE_MEANS: Kernel = kernel(
    "",
    POINT_TYPES,
    32 * MEANS_CLUSTERS,
    &[
        input("sums", Type::U64, "[k, d, words]"),
        input("counts", Type::U64, "[k]"),
        input("old", Type::T, "[k, d]"),
        output("centroids", Type::T, "[k, d]"),
        output("moved", Type::F64, "[k]"),
        output("empty", Type::U32, "[1]"),
        EXPONENT,
        WORDS,
        K,
        D,
    ],
);
/// Centroids from narrow sums, how far each moved, and added to `empty` how many have no points. Launch: [`scale_means`].
pub const SCALE_MEANS_NARROW: Kernel = Kernel { name: "scale_means_narrow", ..SCALE_MEANS };
/// The same from wide sums. Launch: [`scale_means`].
pub const SCALE_MEANS_WIDE: Kernel = Kernel { name: "scale_means_wide", ..SCALE_MEANS };
/// The same from sums in limbs. Launch: [`scale_means`].
pub const SCALE_MEANS_LIMBS: Kernel = Kernel { name: "scale_means_limbs", ..SCALE_MEANS };

/// A warp per cluster; 8 bytes per cluster and column, and one more column.
pub const fn scale_means(clusters: u64) -> Geometry {
    SCALE_MEANS.blocks(clusters.div_ceil(MEANS_CLUSTERS as u64), MEANS_BYTES)
}

/// Shared memory of a block that makes means.
pub(super) const MEANS_BYTES: u32 = 8 * MEANS_CLUSTERS * (MEANS_COLUMNS + 1);
