//! Distances of a chunk of rows, labels from them, and the grids their kernels take.

use super::arguments::{CENTROIDS, D, K, LABELS_IN, LABELS_OUT, N, POINT_TYPES, POINTS, ROWS, STORED_TYPES};
use super::{Argument, CONSTANT_BYTES, Geometry, Kernel, Type, input, kernel, output, value};

const DISTANCES_IN: Argument = input("distances", Type::F64, "[rows, k]");
const DISTANCES_OUT: Argument = output("distances", Type::F64, "[rows, k]");
/// The first row of a chunk.
const FIRST: Argument = value("first", Type::U64);

/// Rows, and centroids, of a tile of 256 threads.
pub(super) const SIDE: u32 = 16;
const DISTANCE: Kernel = kernel("", POINT_TYPES, 256, &[POINTS, CENTROIDS, DISTANCES_OUT, FIRST, ROWS, K, D]);
/// Distances of a chunk of rows. Launch: [`distance`].
pub const DISTANCE_DIRECT: Kernel = Kernel { name: "distance_direct", ..DISTANCE };
/// Distances of a chunk of rows. Launch: [`distance`].
pub const DISTANCE_TILED: Kernel = Kernel { name: "distance_tiled", ..DISTANCE };
/// Distances of a chunk of rows. Launch: [`distance`].
pub const DISTANCE_COALESCED: Kernel = Kernel { name: "distance_coalesced", types: STORED_TYPES, ..DISTANCE };
/// Distances of a chunk of rows to the centroids in constant memory. Launch: `thread_each(rows)`, once per part of
/// [`ConstantParts`], with that part in constant memory.
pub const DISTANCE_CONSTANT: Kernel = kernel(
    "distance_constant",
    POINT_TYPES,
    256,
    &[
        POINTS,
        DISTANCES_OUT,
        FIRST,
        ROWS,
        K,
        D,
        value("cluster", Type::U32),
        value("clusters", Type::U32),
        value("column", Type::U32),
        value("columns", Type::U32),
    ],
);

/// The launch of the kernels that compute a matrix of distances, for elements of `size` bytes.
pub const fn distance(rows: u64, k: u32, size: u32) -> Geometry {
    DISTANCE.rows(rows.div_ceil(SIDE as u64), k as u64, SIDE, SIDE * (2 * SIDE + 1) * size)
}

/// Part of the centroids, as much as constant memory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantPart {
    /// The first cluster.
    pub cluster: u32,
    /// How many clusters; 1 if not all columns are in this part.
    pub clusters: u32,
    /// The first column.
    pub column: u32,
    /// How many columns.
    pub columns: u32,
}

/// The parts in which [k, d] centroids go through constant memory, in the order of launches.
#[derive(Clone, Debug)]
pub struct ConstantParts {
    next: ConstantPart,
    k: u32,
    d: u32,
}

impl ConstantParts {
    /// For elements of `size` bytes.
    pub fn new(k: u32, d: u32, size: u32) -> Self {
        let capacity = CONSTANT_BYTES / size;
        let part = ConstantPart { cluster: 0, clusters: (capacity / d).max(1), column: 0, columns: d.min(capacity) };
        Self { next: part, k, d }
    }
}

impl Iterator for ConstantParts {
    type Item = ConstantPart;

    fn next(&mut self) -> Option<ConstantPart> {
        let next = self.next;
        if next.cluster >= self.k {
            return None;
        }
        let part = ConstantPart {
            clusters: next.clusters.min(self.k - next.cluster),
            columns: next.columns.min(self.d - next.column),
            ..next
        };
        self.next.column += part.columns;
        if self.next.column == self.d {
            self.next.column = 0;
            self.next.cluster += part.clusters;
        }
        Some(part)
    }
}

/// D of every row to its own centroid. Launch: `thread_each(n)`.
pub const DISTANCE_OWN: Kernel = kernel(
    "distance_own",
    STORED_TYPES,
    256,
    &[POINTS, CENTROIDS, LABELS_IN, output("distances", Type::F64, "[n]"), N, D],
);

const ARGMIN: Kernel = kernel("", &[], 256, &[DISTANCES_IN, LABELS_OUT, FIRST, ROWS, K]);
/// Labels from distances. Launch: `thread_each(rows)`.
pub const ARGMIN_SERIAL: Kernel = Kernel { name: "argmin_serial", ..ARGMIN };
/// Labels from distances. Launch: [`argmin_tree`].
pub const ARGMIN_TREE: Kernel = Kernel { name: "argmin_tree", ..ARGMIN };
/// Labels from distances. Launch: [`argmin_shuffle`].
pub const ARGMIN_SHUFFLE: Kernel = Kernel { name: "argmin_shuffle", ..ARGMIN };

/// 16 threads per row, 12 bytes per thread.
pub const fn argmin_tree(rows: u64) -> Geometry {
    ARGMIN.blocks(rows.div_ceil(16), 12 * ARGMIN.block)
}

/// A warp per row.
pub const fn argmin_shuffle(rows: u64) -> Geometry {
    ARGMIN.blocks(rows.div_ceil(8), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(k: u32, d: u32, size: u32) -> usize {
        let (mut cluster, mut column, mut parts) = (0, 0, 0);
        for part in ConstantParts::new(k, d, size) {
            assert_eq!((part.cluster, part.column), (cluster, column));
            assert!(part.clusters * part.columns * size <= CONSTANT_BYTES);
            column += part.columns;
            if column == d {
                (cluster, column) = (cluster + part.clusters, 0);
            }
            parts += 1;
        }
        assert_eq!((cluster, column), (k, 0));
        parts
    }

    #[test]
    fn constant_parts_cover_all_centroids_in_order() {
        assert_eq!(covers(80, 75, 4), 1);
        assert_eq!(covers(1000, 100, 4), 7);
        assert_eq!(covers(3, 20_000, 4), 6);
        assert_eq!(covers(100_000, 1, 8), 13);
    }
}
