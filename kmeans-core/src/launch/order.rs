//! Sums of many clusters, from rows in the order of their clusters, and the grids their kernels take.
//!
//! In this order: [`ORDER_TALLY`], [`ORDER_LIST`], [`SUM_SORTED_NARROW`] or [`SUM_SORTED_WIDE`]. The device decides whether all rows are
//! listed or those that changed cluster, and tells by `order`: whether lists are of changes, how many rows they have, and a
//! word that is zero between launches.

use super::arguments::{COUNTS_OUT, D, EXPONENT, K, LABELS_IN, N, POINT_TYPES, POINTS, STORED_TYPES, SUMS_OUT, WORDS};
use super::{Argument, Geometry, Kernel, SHARED_BYTES, Type, at_most, input, kernel, output, value};
use crate::fixed::ExponentRange;

/// The bit of a listed row that leaves the cluster: rows are fewer than 2³¹.
pub const LEAVES: u32 = 1 << 31;
/// Changes are listed while they are fewer than this part of the rows, else all rows: a row that changes is read twice.
pub const ORDER_MOST: (u64, u64) = (3, 8);
/// Rows of a thread of [`ORDER_TALLY`] and [`ORDER_LIST`].
pub const ORDER_EACH: u32 = 4;
/// Clusters that a block counts in shared memory.
pub const ORDER_BINS: u32 = (SHARED_BYTES - 512) / 8;

const BEFORE: Argument = input("before", Type::U32, "[n]");

/// Counts of `labels` from those of `before`, or where `whole` is not 0 from zeros; how many labels changed; where the lists of clusters
/// begin. `touched`, the last word of `order` and `arrivals` are zero, and stay so. Launch: [`order_tally`].
pub const ORDER_TALLY: Kernel = kernel(
    "order_tally",
    &[],
    1024,
    &[
        BEFORE,
        LABELS_IN,
        output("changed", Type::U64, "[1]"),
        COUNTS_OUT,
        output("touched", Type::U32, "[k]"),
        output("places", Type::U32, "[k]"),
        output("order", Type::U64, "[3]"),
        output("arrivals", Type::U32, "[1]"),
        value("whole", Type::U32),
        N,
        K,
    ],
);

/// Four rows per thread; two counts per cluster, and 8 bytes per warp and two words.
pub const fn order_tally(n: u64) -> Geometry {
    ORDER_TALLY.blocks(n.div_ceil((ORDER_EACH * ORDER_TALLY.block) as u64), 8 * ORDER_BINS + 8 * 32 + 2 * 16)
}

/// Lists of rows; `places` are moved on to where they end. Where all rows are listed, zeros in `sums`. Launch: [`order_list`].
pub const ORDER_LIST: Kernel = kernel(
    "order_list",
    &[],
    ORDER_TALLY.block,
    &[
        BEFORE,
        LABELS_IN,
        input("order", Type::U64, "[2]"),
        output("places", Type::U32, "[k]"),
        output("rows", Type::U32, "[n]"),
        output("sums", Type::U64, "[sum_words]"),
        value("sum_words", Type::U64),
        N,
    ],
);

/// The same with one count per cluster.
pub const fn order_list(n: u64) -> Geometry {
    Geometry { shared: 4 * ORDER_BINS + 8 * 32, ..order_tally(n) }
}

/// Rows of a run of one thread of [`SUM_SORTED_NARROW`], or a multiple.
pub const SORTED_RUN: u32 = 32;

const SUM_SORTED: Kernel = kernel(
    "",
    POINT_TYPES,
    128,
    &[
        POINTS,
        BEFORE,
        LABELS_IN,
        input("rows", Type::U32, "[n]"),
        input("places", Type::U32, "[k]"),
        input("order", Type::U64, "[2]"),
        SUMS_OUT,
        EXPONENT,
        WORDS,
        value("split", Type::I32),
        value("longest", Type::U32),
        value("vectors", Type::U32),
        D,
    ],
);
/// Adds listed rows to narrow sums, and takes away those that leave. Launch: [`sum_sorted`].
pub const SUM_SORTED_NARROW: Kernel = Kernel { name: "sum_sorted_narrow", types: STORED_TYPES, ..SUM_SORTED };
/// The same for wide sums. Launch: [`sum_sorted`].
pub const SUM_SORTED_WIDE: Kernel = Kernel { name: "sum_sorted_wide", ..SUM_SORTED };

/// How [`SUM_SORTED_NARROW`] and [`SUM_SORTED_WIDE`] add up values in `f64`, exactly: `kmeans_kernels::update::sorted` says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortedRuns {
    /// The exponent at which values of wide sums are split.
    pub split: i32,
    /// Most values of a sum.
    pub longest: u32,
}

impl SortedRuns {
    /// Fewer values of a sum would not be worth it.
    const LEAST: u32 = 16;

    /// For values of `range` in sums of one or two words, if it can be done: always for one word and 2¹⁴ rows or more.
    pub fn new(range: ExponentRange, words: u32) -> Option<Self> {
        if range.is_zero() {
            return Some(Self { split: 0, longest: 1 << 20 });
        }
        let half = (range.span() + 1) / 2;
        let spare = if words == 1 { 53 - range.span() } else { 52 - half };
        let split = range.low + half;
        // The number that rounds a value to a multiple of the split is one of `f64`.
        let reaches = words == 1 || (-900..=900).contains(&split);
        let longest = if spare < 0 { 0 } else { 1 << spare.min(20) };
        if reaches && longest >= Self::LEAST { Some(Self { split, longest }) } else { None }
    }
}

/// As many blocks as a GPU runs at a time, which share the lists, for n rows of `pieces` pieces: 16 bytes, or single values.
/// A warp takes 32 pieces at a time.
pub const fn sum_sorted(n: u64, pieces: u32) -> Geometry {
    SUM_SORTED.rows(at_most(n.div_ceil(SORTED_RUN as u64), SORTED_BLOCKS) as u64, pieces as u64, 32, 0)
}

/// Eight for each of the 132 multiprocessors of a Hopper GPU.
const SORTED_BLOCKS: u32 = 8 * 132;
