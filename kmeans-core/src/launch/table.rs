//! The kernels, one by one, and the grids they take.

use super::groups::{
    GROUPS_ADOPT, GROUPS_ASSIGN, GROUPS_BASES, GROUPS_BEGIN, GROUPS_CARRY, GROUPS_CHILDREN, GROUPS_DECIDE,
    GROUPS_DISTANCES, GROUPS_EXACT, GROUPS_FILL_LIMBS, GROUPS_FILL_NARROW, GROUPS_FILL_WIDE, GROUPS_FUSED_NARROW,
    GROUPS_FUSED_WIDE, GROUPS_HISTOGRAM, GROUPS_INERTIA, GROUPS_INERTIA_MANY, GROUPS_OUTSIDE, GROUPS_OWNERS,
    GROUPS_PLACES, GROUPS_RANDOM_LABELS, GROUPS_ROUND, GROUPS_SEED_AMOUNTS, GROUPS_SEED_CHOOSE, GROUPS_SEED_DRAW,
    GROUPS_SEED_NEAREST, GROUPS_SEED_POTENTIALS, GROUPS_SQUARES, GROUPS_SQUARES_MANY, GROUPS_STARTS, GROUPS_STAY,
    GROUPS_TENSOR_LONG, GROUPS_TENSOR_SHORT, GROUPS_UPDATE_LIMBS, GROUPS_UPDATE_NARROW, GROUPS_UPDATE_WIDE,
    GROUPS_VACANT,
};
use super::prune::{
    PRUNE_MOVED, PRUNE_ROWS, PRUNE_STREAM_64, PRUNE_STREAM_64_ROUNDED, PRUNE_STREAM_128, PRUNE_STREAM_128_ROUNDED,
};
use super::stream::{
    ASSIGN_HALVES, ASSIGN_LENGTHS, ASSIGN_ORDER, ASSIGN_SETTLE, ASSIGN_SETTLE_ORDERED, ASSIGN_STREAM_64,
    ASSIGN_STREAM_64_ROUNDED, ASSIGN_STREAM_128, ASSIGN_STREAM_128_ROUNDED, ASSIGN_STREAM_LONG,
    ASSIGN_STREAM_LONG_ROUNDED, ASSIGN_STREAM_MMA, ASSIGN_STREAM_MMA_ROUNDED, ASSIGN_TILES, ASSIGN_TILES_LONG,
    GROUPS_SETTLE, GROUPS_STREAM_64, GROUPS_STREAM_64_ROUNDED, GROUPS_STREAM_128, GROUPS_STREAM_128_ROUNDED,
    GROUPS_STREAM_MMA, GROUPS_STREAM_MMA_ROUNDED,
};
use super::{
    Argument, CONSTANT_BYTES, EMPTY_FARTHEST, EMPTY_LIST, EMPTY_MASK, EMPTY_MOVE, FIT_NARROW_SUMS_NARROW,
    FIT_NARROW_SUMS_WIDE, FIT_TENSOR_SUMS_NARROW, FIT_TENSOR_SUMS_WIDE, Geometry, Kernel, MAX_GRID, ORDER_LIST,
    ORDER_TALLY, PARALLEL_COUNT, PARALLEL_MERGE, PARALLEL_OFFSETS, PARALLEL_WRITE, SEED_AMOUNTS, SEED_CHOOSE,
    SEED_DRAW, SEED_NEAREST, SEED_POTENTIALS, SHARED_BYTES, SILHOUETTE, SUM_SORTED_NARROW, SUM_SORTED_WIDE, Type,
    at_most, input, kernel, output, sharing_blocks, value, window_bytes,
};

/// The element types that points may have.
pub const POINT_TYPES: &[&str] = &["f32", "f64", "f16", "bf16"];
/// The types that points may be stored in: those, and bytes, which widen to `f32`.
pub const STORED_TYPES: &[&str] = &["f32", "f64", "f16", "bf16", "u8"];
/// Those that `f32` arithmetic can filter.
pub const SINGLE_TYPES: &[&str] = &["f32", "f16", "bf16"];
/// The same, and bytes.
pub const NARROW_TYPES: &[&str] = &["f32", "f16", "bf16", "u8"];
/// Those that tensor cores multiply as they are.
pub const HALF_TYPES: &[&str] = &["f16", "bf16"];

pub(super) const POINTS: Argument = input("points", Type::P, "[n, d]");
const COLUMNS: Argument = input("columns", Type::T, "[d, n]");
pub(super) const CENTROIDS: Argument = input("centroids", Type::T, "[k, d]");
pub(super) const LABELS_IN: Argument = input("labels", Type::U32, "[n]");
pub(super) const LABELS_OUT: Argument = output("labels", Type::U32, "[n]");
const DISTANCES_IN: Argument = input("distances", Type::F64, "[rows, k]");
const DISTANCES_OUT: Argument = output("distances", Type::F64, "[rows, k]");
pub(super) const SUMS_OUT: Argument = output("sums", Type::U64, "[k, d, words]");
pub(super) const COUNTS_OUT: Argument = output("counts", Type::U64, "[k]");
const PIXELS: Argument = input("pixels", Type::U8, "[n, 3]");
const COLOURS: Argument = input("centroids", Type::F32, "[k, 3]");
pub(super) const WEIGHTS: Argument = input("weights", Type::F64, "[n]");
pub(super) const N: Argument = value("n", Type::U64);
pub(super) const K: Argument = value("k", Type::U32);
pub(super) const D: Argument = value("d", Type::U32);
/// The first row of a chunk.
const FIRST: Argument = value("first", Type::U64);
/// Rows of a chunk.
pub(super) const ROWS: Argument = value("rows", Type::U64);
/// The unit of a sum: see [`crate::fixed::FixedPoint`].
pub(super) const EXPONENT: Argument = value("exponent", Type::I32);
/// Words of a sum: 1 narrow, 2 wide, else limbs.
pub(super) const WORDS: Argument = value("words", Type::U32);

/// Whether rows have weights. 0: each weighs 1.0, and `weights` is not read, so it may be an array of any length.
pub(super) const WEIGHTED: Argument = value("weighted", Type::U32);

// The points before a fit.

/// What exponents are counted from in the results of [`RANGE_EXPONENTS`].
pub const EXPONENT_BIAS: i32 = 4096;

/// The range of exponents of `len` values, and the first that is not finite; the host has set the results to zero. Launch:
/// [`range_exponents`].
pub const RANGE_EXPONENTS: Kernel = kernel(
    "range_exponents",
    POINT_TYPES,
    256,
    &[
        input("values", Type::T, "[len]"),
        output("range", Type::U32, "[2]"),
        output("faulty", Type::U64, "[1]"),
        value("len", Type::U64),
    ],
);

/// Blocks share the values.
pub const fn range_exponents(len: u64) -> Geometry {
    RANGE_EXPONENTS.blocks(at_most(len.div_ceil(1024), 2048) as u64, 0)
}

// Rows picked out.

/// Rows, one after the other. Launch: [`rows_gather`].
pub const ROWS_GATHER: Kernel = kernel(
    "rows_gather",
    STORED_TYPES,
    256,
    &[
        POINTS,
        input("rows", Type::U64, "[count]"),
        output("gathered", Type::T, "[count, d]"),
        N,
        value("count", Type::U64),
        D,
    ],
);

/// A warp per row; warps go round beyond what a grid can have.
pub const fn rows_gather(count: u64) -> Geometry {
    ROWS_GATHER.blocks(at_most(count.div_ceil(8), MAX_GRID[0]) as u64, 0)
}

// Random labels.

/// Random labels. Launch: `thread_each(n)`.
pub const LABELS_RANDOM: Kernel =
    kernel("labels_random", &[], 256, &[LABELS_OUT, value("seed", Type::U64), value("restart", Type::U32), N, K]);

// Distances of a chunk of rows, and labels from them.

/// Rows, and centroids, of a tile of 256 threads.
const SIDE: u32 = 16;
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

// Labels in one pass.

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

// Sums.

/// Words of partial sums that a block holds in shared memory at a time.
pub const SUM_WORDS: u32 = SHARED_BYTES / 8;
/// Rows that a block of the per-block sum takes at a time.
pub const SUM_ROWS: u32 = 256;

const SUM: Kernel = kernel("", POINT_TYPES, 256, &[POINTS, LABELS_IN, SUMS_OUT, EXPONENT, WORDS, N, D]);
/// Adds to sums, which the host has set to zero. Launch: `thread_each(n)`.
pub const SUM_PER_SAMPLE_NARROW: Kernel = Kernel { name: "sum_per_sample_narrow", ..SUM };
/// Adds to sums. Launch: [`sum_per_element`].
pub const SUM_PER_ELEMENT_NARROW: Kernel = Kernel { name: "sum_per_element_narrow", types: STORED_TYPES, ..SUM };
/// Adds to sums. Launch: [`sum_per_element`].
pub const SUM_PER_ELEMENT_WIDE: Kernel = Kernel { name: "sum_per_element_wide", ..SUM };
/// Adds to sums, at most 2³¹ points before the limbs are carried. Launch: [`sum_per_element`].
pub const SUM_PER_ELEMENT_LIMBS: Kernel = Kernel { name: "sum_per_element_limbs", ..SUM };
const SUM_PER_BLOCK: Kernel = kernel("", POINT_TYPES, 256, &[POINTS, LABELS_IN, SUMS_OUT, EXPONENT, WORDS, N, K, D]);
/// Adds to sums. Launch: [`sum_per_block`] with one word.
pub const SUM_PER_BLOCK_NARROW: Kernel = Kernel { name: "sum_per_block_narrow", types: STORED_TYPES, ..SUM_PER_BLOCK };
/// Adds to sums. Launch: [`sum_per_block`] with two words.
pub const SUM_PER_BLOCK_WIDE: Kernel = Kernel { name: "sum_per_block_wide", ..SUM_PER_BLOCK };

const SUM_WEIGHTED: Kernel =
    kernel("", STORED_TYPES, 256, &[POINTS, WEIGHTS, LABELS_IN, SUMS_OUT, EXPONENT, WORDS, N, D]);
/// Adds points times weights to sums. Launch: [`sum_per_element`].
pub const SUM_WEIGHTED_NARROW: Kernel = Kernel { name: "sum_weighted_narrow", ..SUM_WEIGHTED };
/// Adds points times weights to sums. Launch: [`sum_per_element`].
pub const SUM_WEIGHTED_WIDE: Kernel = Kernel { name: "sum_weighted_wide", ..SUM_WEIGHTED };
/// Adds points times weights to sums, at most 2³¹ points before the limbs are carried. Launch: [`sum_per_element`].
pub const SUM_WEIGHTED_LIMBS: Kernel = Kernel { name: "sum_weighted_limbs", ..SUM_WEIGHTED };

/// 16 rows and 16 columns per block.
pub const fn sum_per_element(n: u64, d: u32) -> Geometry {
    SUM.rows(n.div_ceil(16), d as u64, 16, 0)
}

/// Copies of the sums that a block of the per-block sum has, a power of two: neighbouring threads add to different ones,
/// so that they seldom wait for each other. One where shared memory has no room for two of all.
pub const fn sum_copies(k: u32, d: u32, words: u32) -> u32 {
    let total = (k as u64 * d as u64).saturating_mul(words as u64);
    let mut copies = 1;
    while copies < 32 && (total | 1) * (2 * copies) <= SUM_WORDS as u64 {
        copies *= 2;
    }
    copies as u32
}

/// Words from one copy of the sums to the next: odd, so that the same sum of different copies lies in different banks.
pub const fn sum_copy_words(words: u32) -> u32 {
    words | 1
}

/// Blocks share the rows in x, and windows of sums in y.
pub const fn sum_per_block(n: u64, k: u32, d: u32, words: u32) -> Geometry {
    let total = k as u64 * d as u64;
    let blocks = at_most(n.div_ceil(SUM_ROWS as u64), 1024) as u64;
    let copies = sum_copies(k, d, words);
    let shared = match copies {
        1 => window_bytes(total, 8 * words),
        _ => 8 * copies * sum_copy_words(total as u32 * words),
    };
    SUM_PER_BLOCK.rows(blocks, total, SUM_WORDS / words, shared)
}

/// Carries limbs, so that another 2³¹ points can be added. Launch: `thread_each(count)`.
pub const LIMBS_CARRY: Kernel =
    kernel("limbs_carry", &[], 256, &[output("sums", Type::U64, "[count, words]"), WORDS, value("count", Type::U64)]);

// Inertia, as Σ w·x² + Σ (W·c² − 2·c·S) over clusters and columns, in one exact sum.

/// Most limbs that a thread sums in: those of [`crate::exact::ExactSum`].
pub const INERTIA_LIMBS: u32 = 206;
/// Most limbs for which the kernels without `MANY` have memory.
pub const INERTIA_FEW: u32 = 32;

const LIMBS_OUT: Argument = output("limbs", Type::U64, "[words]");

/// Adds the weighted squares of all values to limbs, which the host has set to zero: limb j counts 2^(`exponent` + 32·j).
/// `narrow`: no weights, and every thread's sum of squares fits an `i128` in units of 2^`exponent`; a thread
/// takes at most [`square_sum_terms`] values. Launch: [`square_sum`].
pub const SQUARE_SUM: Kernel = kernel(
    "square_sum",
    STORED_TYPES,
    256,
    &[POINTS, WEIGHTS, LIMBS_OUT, EXPONENT, WORDS, WEIGHTED, value("narrow", Type::U32), N, D],
);

/// The same for up to [`INERTIA_LIMBS`] limbs. Launch: [`square_sum`].
pub const SQUARE_SUM_MANY: Kernel = Kernel { name: "square_sum_many", ..SQUARE_SUM };

/// Threads share the values.
pub const fn square_sum(n: u64, d: u32) -> Geometry {
    SQUARE_SUM.blocks(at_most(n.saturating_mul(d as u64).div_ceil(2048), 1024) as u64, 0)
}

/// Values that a thread of [`square_sum`] adds up at most.
pub const fn square_sum_terms(n: u64, d: u32) -> u64 {
    let threads = square_sum(n, d).grid[0] as u64 * SQUARE_SUM.block as u64;
    n.saturating_mul(d as u64).div_ceil(threads)
}

/// Adds what centroids and sums contribute to the inertia, in the limbs of [`SQUARE_SUM`]; of several sets of both, one after
/// the other, a set of limbs each. Launch: [`inertia_sums`].
pub const INERTIA_SUMS: Kernel = kernel(
    "inertia_sums",
    POINT_TYPES,
    128,
    &[
        input("sums", Type::U64, "[k, d, sum_words]"),
        input("counts", Type::U64, "[k]"),
        input("totals", Type::U64, "[k, total_words]"),
        CENTROIDS,
        LIMBS_OUT,
        value("sum_exponent", Type::I32),
        value("sum_words", Type::U32),
        value("total_exponent", Type::I32),
        value("total_words", Type::U32),
        WEIGHTED,
        EXPONENT,
        WORDS,
        K,
        D,
    ],
);

/// The same for up to [`INERTIA_LIMBS`] limbs. Launch: [`inertia_sums`].
pub const INERTIA_SUMS_MANY: Kernel = Kernel { name: "inertia_sums_many", ..INERTIA_SUMS };

/// Threads share the centroids' elements: a few each before there are more blocks than a GPU runs at a time. A row of blocks
/// for each of `sets` sets, as many as a grid can have rows.
pub const fn inertia_sums(k: u32, d: u32, sets: u32) -> Geometry {
    let geometry = INERTIA_SUMS.blocks(at_most((k as u64 * d as u64).div_ceil(256), 512) as u64, 0);
    Geometry { grid: [geometry.grid[0], sets], ..geometry }
}

// Counts.

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

// Centroids from sums and counts.

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

// Points by columns.

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

// Pixels.

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

/// The kernels of tier `ampere`, compute capability 8.0 and up.
pub const AMPERE_KERNELS: &[Kernel] = &[
    ASSIGN_MMA,
    ASSIGN_LENGTHS,
    ASSIGN_TILES,
    ASSIGN_STREAM_MMA,
    ASSIGN_STREAM_MMA_ROUNDED,
    ASSIGN_SETTLE,
    GROUPS_STREAM_MMA,
    GROUPS_STREAM_MMA_ROUNDED,
    GROUPS_SETTLE,
    GROUPS_TENSOR_SHORT,
    GROUPS_TENSOR_LONG,
    FIT_TENSOR_SUMS_NARROW,
    FIT_TENSOR_SUMS_WIDE,
];

/// The kernels of tier `hopper`, compute capability 9.0.
pub const HOPPER_KERNELS: &[Kernel] = &[
    ASSIGN_WGMMA,
    ASSIGN_ORDER,
    ASSIGN_TILES_LONG,
    ASSIGN_SETTLE_ORDERED,
    ASSIGN_STREAM_64,
    ASSIGN_STREAM_128,
    ASSIGN_STREAM_LONG,
    ASSIGN_STREAM_64_ROUNDED,
    ASSIGN_STREAM_128_ROUNDED,
    ASSIGN_STREAM_LONG_ROUNDED,
    PRUNE_STREAM_64,
    PRUNE_STREAM_128,
    PRUNE_STREAM_64_ROUNDED,
    PRUNE_STREAM_128_ROUNDED,
    GROUPS_STREAM_64,
    GROUPS_STREAM_128,
    GROUPS_STREAM_64_ROUNDED,
    GROUPS_STREAM_128_ROUNDED,
];

/// The kernels of tier `portable`, which every GPU runs.
pub const KERNELS: &[Kernel] = &[
    RANGE_EXPONENTS,
    ROWS_GATHER,
    LABELS_RANDOM,
    DISTANCE_DIRECT,
    DISTANCE_CONSTANT,
    DISTANCE_TILED,
    DISTANCE_COALESCED,
    DISTANCE_OWN,
    ARGMIN_SERIAL,
    ARGMIN_TREE,
    ARGMIN_SHUFFLE,
    ASSIGN_DIRECT,
    ASSIGN_TILED,
    ASSIGN_NARROW,
    ASSIGN_FILTERED,
    ASSIGN_HALVES,
    NORMS,
    SUM_PER_SAMPLE_NARROW,
    SUM_PER_ELEMENT_NARROW,
    SUM_PER_ELEMENT_WIDE,
    SUM_PER_ELEMENT_LIMBS,
    SUM_WEIGHTED_NARROW,
    SUM_WEIGHTED_WIDE,
    SUM_WEIGHTED_LIMBS,
    SUM_PER_BLOCK_NARROW,
    SUM_PER_BLOCK_WIDE,
    ORDER_TALLY,
    ORDER_LIST,
    SUM_SORTED_NARROW,
    SUM_SORTED_WIDE,
    COUNT_GLOBAL,
    COUNT_HISTOGRAM,
    COUNT_CHANGED,
    COUNT_MEMBERS,
    LIMBS_CARRY,
    SQUARE_SUM,
    SQUARE_SUM_MANY,
    INERTIA_SUMS,
    INERTIA_SUMS_MANY,
    SCALE_DIVIDE_NARROW,
    SCALE_DIVIDE_WIDE,
    SCALE_DIVIDE_LIMBS,
    SCALE_DIVIDE_WEIGHTED,
    SCALE_MOVED,
    SCALE_MEANS_NARROW,
    SCALE_MEANS_WIDE,
    SCALE_MEANS_LIMBS,
    PRUNE_MOVED,
    PRUNE_ROWS,
    FIT_NARROW_SUMS_NARROW,
    FIT_NARROW_SUMS_WIDE,
    EMPTY_LIST,
    EMPTY_MASK,
    EMPTY_FARTHEST,
    EMPTY_MOVE,
    SEED_NEAREST,
    SEED_AMOUNTS,
    SEED_DRAW,
    SEED_POTENTIALS,
    SEED_CHOOSE,
    PARALLEL_COUNT,
    PARALLEL_OFFSETS,
    PARALLEL_WRITE,
    PARALLEL_MERGE,
    TRANSPOSED_TRANSPOSE,
    TRANSPOSED_ASSIGN,
    TRANSPOSED_SUMS_NARROW,
    TRANSPOSED_SUMS_WIDE,
    TRANSPOSED_REDUCE_CHANGES,
    TRANSPOSED_REDUCE_SUMS_NARROW,
    TRANSPOSED_REDUCE_SUMS_WIDE,
    PIXEL_ASSIGN,
    PIXEL_SUMS,
    PIXEL_RECOLOUR,
    PIXEL_FEATURES,
    SILHOUETTE,
    GROUPS_STARTS,
    GROUPS_OWNERS,
    GROUPS_ASSIGN,
    GROUPS_EXACT,
    GROUPS_ADOPT,
    GROUPS_FUSED_NARROW,
    GROUPS_FUSED_WIDE,
    GROUPS_OUTSIDE,
    GROUPS_RANDOM_LABELS,
    GROUPS_BEGIN,
    GROUPS_UPDATE_NARROW,
    GROUPS_UPDATE_WIDE,
    GROUPS_UPDATE_LIMBS,
    GROUPS_DECIDE,
    GROUPS_SQUARES,
    GROUPS_SQUARES_MANY,
    GROUPS_INERTIA,
    GROUPS_INERTIA_MANY,
    GROUPS_ROUND,
    GROUPS_VACANT,
    GROUPS_DISTANCES,
    GROUPS_FILL_NARROW,
    GROUPS_FILL_WIDE,
    GROUPS_FILL_LIMBS,
    GROUPS_CHILDREN,
    GROUPS_HISTOGRAM,
    GROUPS_BASES,
    GROUPS_STAY,
    GROUPS_PLACES,
    GROUPS_CARRY,
    GROUPS_SEED_NEAREST,
    GROUPS_SEED_AMOUNTS,
    GROUPS_SEED_DRAW,
    GROUPS_SEED_POTENTIALS,
    GROUPS_SEED_CHOOSE,
];
