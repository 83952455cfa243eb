//! The kernels for pixels, and the grids they take.

use super::arguments::{COUNTS_OUT, K, LABELS_IN, LABELS_OUT, N};
use super::{
    Argument, Geometry, Kernel, SHARED_BYTES, Type, input, kernel, output, sharing_blocks, value, window_bytes,
};

const PIXELS: Argument = input("pixels", Type::U8, "[n, 3]");
const COLOURS: Argument = input("centroids", Type::F32, "[k, 3]");

/// Centroids that a block of the pixel assignment holds at a time.
pub const PIXEL_CENTROIDS: u32 = SHARED_BYTES / 12;
/// Clusters that a block of the pixel sums holds at a time.
pub const PIXEL_BINS: u32 = SHARED_BYTES / 16;

/// Labels of pixels. Launch: [`pixel_assign`].
pub const PIXEL_ASSIGN: Kernel = kernel("pixel_assign", &[], 256, &[PIXELS, COLOURS, LABELS_OUT, N, K]);
/// Adds to sums and counts, which the host has set to zero. Launch: [`pixel_sums`].
pub const PIXEL_SUMS: Kernel =
    kernel("pixel_sums", &[], 256, &[PIXELS, LABELS_IN, output("sums", Type::U64, "[k, 3]"), COUNTS_OUT, N, K]);
/// Colours of pixels. Launch: `thread_each(n)`.
pub const PIXEL_RECOLOUR: Kernel =
    kernel("pixel_recolour", &[], 256, &[LABELS_IN, COLOURS, output("recoloured", Type::U8, "[n, 3]"), N]);
/// Points of colour and position. Launch: `thread_each(n)`.
pub const PIXEL_FEATURES: Kernel = kernel(
    "pixel_features",
    &[],
    256,
    &[PIXELS, output("points", Type::F32, "[n, 5]"), N, value("width", Type::U32), value("weight", Type::F32)],
);

/// A thread per pixel.
pub const fn pixel_assign(n: u64, k: u32) -> Geometry {
    PIXEL_ASSIGN.blocks(n.div_ceil(PIXEL_ASSIGN.block as u64), window_bytes(k as u64, 12))
}

/// Blocks share the pixels in x, and windows of clusters in y.
pub const fn pixel_sums(n: u64, k: u32) -> Geometry {
    PIXEL_SUMS.rows(sharing_blocks(n, 1024, 24), k as u64, PIXEL_BINS, window_bytes(k as u64, 16))
}
