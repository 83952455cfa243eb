//! Rounds that prune: labels of the rows whose label may have changed.
//!
//! | when | kernel | what for |
//! |---|---|---|
//! | each round | the host sets `farthest` and `count` to zero | |
//! | | [`PRUNE_MOVED`] | `moved`, `farthest` |
//! | | [`PRUNE_ROWS`] | `labels` of the rows that bounds decide, `list` and `count` of the others |
//! | | [`PRUNE_STREAM_64`] and its like | `labels` of those, what is open, new bounds |
//! | | [`ASSIGN_SETTLE`](super::ASSIGN_SETTLE) | `labels` of what is open |
//!
//! The centroids are laid out in between as for [`ASSIGN_STREAM_128`](super::ASSIGN_STREAM_128). `scale` is that of
//! [`ASSIGN_HALVES`](super::ASSIGN_HALVES), and 1 for points that are multiplied as they are. `upper` and `lower` are zero before the first
//! such round: no row is decided then. n is below 2³².

use super::arguments::{CENTROIDS, D, HALF_TYPES, K, LABELS_OUT, N, POINTS, SINGLE_TYPES};
use super::stream::{
    HALF_STARTS, HALF_TILES, HALVES, LARGEST, LARGEST_2, OPEN, OTHERS_OUT, ROOM, STARTS, STREAM_ROWS, TILES, X_ERRORS,
    X_NORMS, assign_stream,
};
use super::{Argument, Geometry, Kernel, MAX_GRID, Type, at_most, input, kernel, output, value};

/// How far centroids moved, in the frame of bounds, and the bits of the farthest. Launch: [`prune_moved`].
pub const PRUNE_MOVED: Kernel = kernel(
    "prune_moved",
    SINGLE_TYPES,
    256,
    &[
        CENTROIDS,
        input("old", Type::T, "[k, d]"),
        output("moved", Type::F32, "[k]"),
        output("farthest", Type::U32, "[1]"),
        value("scale", Type::F32),
        K,
        D,
    ],
);

/// Bounds moved along, and the rows they do not decide. `known` are the labels that the bounds belong to. Launch: [`prune_rows`].
pub const PRUNE_ROWS: Kernel = kernel(
    "prune_rows",
    SINGLE_TYPES,
    256,
    &[
        POINTS,
        input("centroids", Type::T, "[1, d]"),
        input("known", Type::U32, "[n]"),
        input("moved", Type::F32, "[1]"),
        input("farthest", Type::U32, "[1]"),
        output("upper", Type::F32, "[n]"),
        output("lower", Type::F32, "[n]"),
        LABELS_OUT,
        OTHERS_OUT,
        output("list", Type::U32, "[n]"),
        output("count", Type::U32, "[1]"),
        value("scale", Type::F32),
        N,
        D,
    ],
);

const LIST: Argument = input("list", Type::U32, "[n]");
const COUNT: Argument = input("count", Type::U32, "[1]");
const UPPER: Argument = output("upper", Type::F32, "[n]");
const LOWER: Argument = output("lower", Type::F32, "[n]");

/// The kernels of streams, for the rows of a list: their arguments, with the list after what is known of points and centroids, and
/// the bounds after the labels.
const PRUNE_STREAM: Kernel = kernel(
    "",
    HALF_TYPES,
    384,
    &[
        POINTS, TILES, STARTS, X_NORMS, LARGEST, LIST, COUNT, LABELS_OUT, OTHERS_OUT, UPPER, LOWER, OPEN[0], OPEN[1],
        OPEN[2], ROOM, N, K, D,
    ],
);
/// Labels, or candidates, and bounds of listed points of up to 64 columns. Launch: [`prune_stream`].
pub const PRUNE_STREAM_64: Kernel = Kernel { name: "prune_stream_64", ..PRUNE_STREAM };
/// The same for points of up to 128 columns. Launch: [`prune_stream`].
pub const PRUNE_STREAM_128: Kernel = Kernel { name: "prune_stream_128", ..PRUNE_STREAM };
const PRUNE_STREAM_ROUNDED: Kernel = kernel(
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
        LIST,
        COUNT,
        LABELS_OUT,
        OTHERS_OUT,
        UPPER,
        LOWER,
        OPEN[0],
        OPEN[1],
        OPEN[2],
        ROOM,
        N,
        K,
        D,
    ],
);
/// The same for rounded points, d being their width. Launch: [`prune_stream`].
pub const PRUNE_STREAM_64_ROUNDED: Kernel = Kernel { name: "prune_stream_64_rounded", ..PRUNE_STREAM_ROUNDED };
/// The same for rounded points, d being their width. Launch: [`prune_stream`].
pub const PRUNE_STREAM_128_ROUNDED: Kernel = Kernel { name: "prune_stream_128_rounded", ..PRUNE_STREAM_ROUNDED };

/// A warp per centroid, or for every so many.
pub const fn prune_moved(k: u32) -> Geometry {
    PRUNE_MOVED.blocks(at_most((k as u64).div_ceil(8), 2048) as u64, 0)
}

/// A row per thread. Shared memory: a sum per warp, three words per row, two counters.
///
/// # Panics
/// If n is more than a list can have.
pub const fn prune_rows(n: u64) -> Geometry {
    assert!(n >> 32 == 0 && n.div_ceil(256) <= MAX_GRID[0] as u64, "rows have numbers of 32 bits");
    PRUNE_ROWS.blocks(n.div_ceil(PRUNE_ROWS.block as u64), 8 * 8 + 3 * 4 * PRUNE_ROWS.block + 8)
}

/// As [`assign_stream`], for up to n rows, with one number more of what four lanes saw of each row.
pub const fn prune_stream(n: u64, d: u32, multiprocessors: u32) -> Geometry {
    let geometry = assign_stream(n, d, multiprocessors);
    Geometry { shared: geometry.shared + STREAM_ROWS * 4 * 4, ..geometry }
}
