//! The kernel of the silhouette coefficient, and the grid it takes.

use super::arguments::{D, K, N, ROWS};
use super::{Geometry, Kernel, SHARED_BYTES, Type, input, kernel, output, value};

/// Points whose distances a block computes at a time and keeps in registers.
pub const SILHOUETTE_GROUP: u32 = 16;
/// Columns that a block holds at a time at most.
pub const SILHOUETTE_COLUMNS: u32 = 256;
/// Values that a block holds at a time.
pub const SILHOUETTE_VALUES: u32 = SILHOUETTE_GROUP * SILHOUETTE_COLUMNS;
/// Partial sums of a distance sum: distance number i of a cluster goes to sum number i mod 8, and so do those of each
/// [`SILHOUETTE_BLOCK`] distances.
pub const SILHOUETTE_LANES: usize = 8;
/// After this many distances the partial sums are added up, in their order, to the whole.
pub const SILHOUETTE_BLOCK: usize = 512;

/// The silhouette coefficients of rows `first` to `first + rows` of points that lie column by column and cluster after cluster;
/// `ends` has the row at which each cluster ends, and no cluster is empty. Launch: [`silhouette`].
pub const SILHOUETTE: Kernel = kernel(
    "silhouette",
    &[],
    128,
    &[
        input("columns", Type::F64, "[d, n]"),
        input("ends", Type::U64, "[k]"),
        output("silhouettes", Type::F64, "[rows]"),
        value("first", Type::U64),
        ROWS,
        N,
        K,
        D,
    ],
);

/// A thread per row; a tile of 32 KiB.
pub const fn silhouette(rows: u64) -> Geometry {
    const { assert!(SILHOUETTE_VALUES * 8 <= SHARED_BYTES) };
    SILHOUETTE.blocks(rows.div_ceil(SILHOUETTE.block as u64), SILHOUETTE_VALUES * 8)
}
