//! The kernels that count the rows of each cluster, and labels that changed, and the grids they take.

use super::arguments::{COUNTS_OUT, K, LABELS_IN, N, WEIGHTS};
use super::{Geometry, Kernel, SHARED_BYTES, Type, input, kernel, output, sharing_blocks, window_bytes};

/// Bins of a block's histogram.
pub const COUNT_BINS: u32 = SHARED_BYTES / 4;

/// Adds to counts, which the host has set to zero. Launch: `thread_each(n)`.
pub const COUNT_GLOBAL: Kernel = kernel("count_global", &[], 256, &[LABELS_IN, COUNTS_OUT, N]);
/// Adds to counts. Launch: [`count_histogram`].
pub const COUNT_HISTOGRAM: Kernel = kernel("count_histogram", &[], 1024, &[LABELS_IN, COUNTS_OUT, N, K]);
/// Adds to the number of labels that changed. Launch: `thread_each(n)`.
pub const COUNT_CHANGED: Kernel = kernel(
    "count_changed",
    &[],
    256,
    &[input("before", Type::U32, "[n]"), LABELS_IN, output("changed", Type::U64, "[1]"), N],
);

/// Adds to the number of points of positive weight. Launch: `thread_each(n)`.
pub const COUNT_MEMBERS: Kernel =
    kernel("count_members", &[], 256, &[LABELS_IN, WEIGHTS, output("members", Type::U64, "[k]"), N]);

/// Blocks share the points in x, and windows of clusters in y.
pub const fn count_histogram(n: u64, k: u32) -> Geometry {
    COUNT_HISTOGRAM.rows(sharing_blocks(n, 1024, 32), k as u64, COUNT_BINS, window_bytes(k as u64, 4))
}
