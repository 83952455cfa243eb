//! The kernels that work on many groups of rows at once, and the grids they take.
//!
//! A group is a range of rows with k clusters of its own; cluster c of group g has number g·k + c. A table says which rows of
//! which group a block takes: `ranges` are the first row of each group and the one after its last, [`GROUPS_STARTS`] and
//! [`GROUPS_OWNERS`] make `starts` and `owners` of them. There are at most [`group_tiles`] tiles, a block each.
//!
//! | when | kernel |
//! |---|---|
//! | a round | [`GROUPS_BEGIN`] |
//! | | [`GROUPS_TENSOR_SHORT`] or [`GROUPS_TENSOR_LONG`] where [`groups_tensor`] and [`group_tensor_kernel`] have an answer, or [`GROUPS_FUSED_NARROW`] or [`GROUPS_FUSED_WIDE`] where [`groups_fuse`]; else [`GROUPS_ASSIGN`] or [`GROUPS_EXACT`], and the kernels for the sums of g·k clusters |
//! | where the inertia is asked for | [`GROUPS_INERTIA`] |
//! | where empty clusters take over points | [`GROUPS_VACANT`], [`GROUPS_DISTANCES`], then [`GROUPS_FILL_NARROW`] or its like |
//! | | [`GROUPS_UPDATE_NARROW`] or its like |
//! | | [`GROUPS_DECIDE`] |
//! | a row of k-means++ | [`GROUPS_SEED_AMOUNTS`], [`GROUPS_SEED_DRAW`], [`GROUPS_SEED_POTENTIALS`], [`GROUPS_SEED_CHOOSE`], [`GROUPS_SEED_NEAREST`] |
//! | a level of a tree | [`GROUPS_CHILDREN`], [`GROUPS_HISTOGRAM`], [`GROUPS_BASES`], [`GROUPS_STAY`], [`GROUPS_PLACES`], [`GROUPS_CARRY`] |
//!
//! Arrays of points and centroids begin at multiples of 16 bytes.

use super::arguments::{CENTROIDS, D, K, LABELS_IN, LABELS_OUT, N, POINT_TYPES, POINTS, SINGLE_TYPES};
use super::means::{MEANS_BYTES, MEANS_CLUSTERS};
use super::{
    Argument, Geometry, Kernel, MAX_GRID, SEED_COLUMNS, SEED_TRIALS, Type, at_most, input, kernel, output, value,
};
use crate::fixed::ceil_log2;

/// The owner of a tile that there is not.
pub const NO_GROUP: u32 = u32::MAX;

/// A group's state: its rounds go on.
pub const RUNNING: u32 = 0;
/// A stop rule other than repeated labels ended its rounds: labels are those of the centroids before.
pub const STOPPED: u32 = 1;
/// Its labels repeated, so they belong to its centroids.
pub const REPEATED: u32 = 2;
/// A cluster of it lost its points, and the policy is an error.
pub const FAILED: u32 = 3;

/// A rule of [`GROUPS_DECIDE`]: none.
pub const BY_NOTHING: u32 = 0;
/// The movement is at most the limit.
pub const BY_TOLERANCE: u32 = 1;
/// The movement is below the limit.
pub const BY_MOVEMENT: u32 = 2;
/// The number of changes is below the limit.
pub const BY_CHANGES: u32 = 3;

/// Rows that a block of the labelling kernels takes at a time.
pub const GROUP_ROWS: u32 = 64;
/// Columns that it stages at a time.
pub const GROUP_COLUMNS: u32 = 128;
/// Most shared memory of the labelling kernels: what every GPU has when it is asked.
const GROUP_SHARED_BYTES: u32 = 64 * 1024;
/// Up to this many clusters a run of equal labels among [`GROUP_ROWS`] rows is long enough to add to global memory.
const FUSE_UP_TO: u32 = 16;

const RANGES: Argument = input("ranges", Type::U64, "[groups, 2]");
const STARTS: Argument = input("starts", Type::U32, "[groups+1]");
const OWNERS: Argument = input("owners", Type::U32, "[blocks]");
const STATES: Argument = input("states", Type::U32, "[groups]");
const STATES_OUT: Argument = output("states", Type::U32, "[groups]");
const BEFORE_OUT: Argument = output("before", Type::U32, "[n]");
const CHANGED: Argument = input("changed", Type::U64, "[groups]");
const CHANGED_OUT: Argument = output("changed", Type::U64, "[groups]");
/// What the policy for empty clusters adds to the changes, wrapping.
const MOVED_AGAIN: Argument = output("moved_again", Type::U64, "[groups]");
const SUMS: Argument = input("sums", Type::U64, "[groups, k, d, words]");
const SUMS_OUT: Argument = output("sums", Type::U64, "[groups, k, d, words]");
const COUNTS: Argument = input("counts", Type::U64, "[groups, k]");
const COUNTS_OUT: Argument = output("counts", Type::U64, "[groups, k]");
const CENTROIDS_OUT: Argument = output("centroids", Type::T, "[groups, k, d]");
const VACANT: Argument = input("vacant", Type::U32, "[groups]");
const VACANT_OUT: Argument = output("vacant", Type::U32, "[groups]");
const LIMBS: Argument = input("limbs", Type::U64, "[groups, words]");
const LIMBS_OUT: Argument = output("limbs", Type::U64, "[groups, words]");
const SEEDS: Argument = input("seeds", Type::U64, "[groups]");
const CHILDREN: Argument = input("children", Type::U64, "[groups, k, 2]");
const BINS_OUT: Argument = output("bins", Type::U32, "[blocks, k]");
const EXPONENT: Argument = value("exponent", Type::I32);
const WORDS: Argument = value("words", Type::U32);
/// Rows of a tile at most.
const TILE_ROWS: Argument = value("tile_rows", Type::U32);
/// The highest state of groups that the kernel works on.
const MOST: Argument = value("most", Type::U32);
/// Blocks per group.
const PARTS: Argument = value("parts", Type::U32);
/// Whether it is the first round, which has no labels before.
const FIRST: Argument = value("first", Type::U32);
const GROUPS: Argument = value("groups", Type::U32);
const RESTART: Argument = value("restart", Type::U32);

// The table.

/// Where each group's tiles begin. Launch: [`groups_starts`].
pub const GROUPS_STARTS: Kernel =
    kernel("groups_starts", &[], 1024, &[RANGES, output("starts", Type::U32, "[groups+1]"), TILE_ROWS, GROUPS]);
/// Whose each tile is. Launch: `thread_each(tiles)`.
pub const GROUPS_OWNERS: Kernel = kernel(
    "groups_owners",
    &[],
    256,
    &[STARTS, output("owners", Type::U32, "[tiles]"), value("tiles", Type::U32), GROUPS],
);

/// Tiles of g groups that have n rows together, at most.
pub const fn group_tiles(n: u64, groups: u32, tile_rows: u32) -> u64 {
    n.div_ceil(tile_rows as u64) + groups as u64
}

/// Rows of a tile: few tiles, since each brings sums to global memory, but enough to keep a GPU busy to the end.
pub const fn group_tile_rows(n: u64) -> u32 {
    // Some two thousand blocks.
    at_most(n.div_ceil(2048).div_ceil(GROUP_ROWS as u64), 1024 / GROUP_ROWS) * GROUP_ROWS
}

/// One block; 8 bytes per warp.
pub const fn groups_starts() -> Geometry {
    GROUPS_STARTS.blocks(1, 8 * GROUPS_STARTS.block / 32)
}

// Labels, and sums beside them.

const ASSIGN: Kernel = kernel(
    "",
    SINGLE_TYPES,
    128,
    &[POINTS, CENTROIDS, RANGES, STARTS, OWNERS, STATES, LABELS_OUT, BEFORE_OUT, CHANGED_OUT, TILE_ROWS, MOST, K, D],
);
/// Labels, those before, and how many of each group's changed, which were zero. Launch: [`groups_assign`].
pub const GROUPS_ASSIGN: Kernel = Kernel { name: "groups_assign", ..ASSIGN };
/// The same by D alone. Launch: [`groups_exact`].
pub const GROUPS_EXACT: Kernel = Kernel { name: "groups_exact", types: &["f64"], block: 256, ..ASSIGN };
/// Labels found by [`GROUPS_STREAM_128`](super::GROUPS_STREAM_128) and its like as those of all groups, with what [`GROUPS_ASSIGN`]
/// leaves beside them. Launch: [`groups_tiles`].
pub const GROUPS_ADOPT: Kernel = kernel(
    "groups_adopt",
    &[],
    256,
    &[
        input("found", Type::U32, "[n]"),
        RANGES,
        STARTS,
        OWNERS,
        STATES,
        LABELS_OUT,
        BEFORE_OUT,
        CHANGED_OUT,
        TILE_ROWS,
        MOST,
        K,
    ],
);
const FUSED: Kernel = kernel(
    "",
    SINGLE_TYPES,
    128,
    &[
        POINTS,
        CENTROIDS,
        RANGES,
        STARTS,
        OWNERS,
        STATES,
        LABELS_OUT,
        BEFORE_OUT,
        CHANGED_OUT,
        SUMS_OUT,
        COUNTS_OUT,
        EXPONENT,
        TILE_ROWS,
        MOST,
        K,
        D,
    ],
);
/// The same, and narrow sums and counts, which were zero. Launch: [`groups_fused`] with one word.
pub const GROUPS_FUSED_NARROW: Kernel = Kernel { name: "groups_fused_narrow", ..FUSED };
/// The same for wide sums. Launch: [`groups_fused`] with two words.
pub const GROUPS_FUSED_WIDE: Kernel = Kernel { name: "groups_fused_wide", ..FUSED };

const TENSOR: Kernel = Kernel {
    resident: 2,
    ..kernel(
        "",
        SINGLE_TYPES,
        256,
        &[
            POINTS,
            CENTROIDS,
            RANGES,
            STARTS,
            OWNERS,
            STATES,
            LABELS_OUT,
            BEFORE_OUT,
            CHANGED_OUT,
            SUMS_OUT,
            COUNTS_OUT,
            EXPONENT,
            WORDS,
            TILE_ROWS,
            MOST,
            K,
            D,
        ],
    )
};
/// The same on tensor cores, for sums of one or two words; the sum of any 32 values is an `f64`. Launch: [`groups_tensor`].
pub const GROUPS_TENSOR_SHORT: Kernel = Kernel { name: "groups_tensor_short", ..TENSOR };
/// The same where it is an integer of 64 bits, as is that of a tile. Launch: [`groups_tensor`].
pub const GROUPS_TENSOR_LONG: Kernel = Kernel { name: "groups_tensor_long", ..TENSOR };

/// Most columns of groups on tensor cores.
pub const GROUP_TENSOR_COLUMNS: u32 = 128;
/// Most clusters of those.
pub const GROUP_TENSOR_CLUSTERS: u32 = 128;

/// Lanes that share a row where sums are added up, four columns each: a power of two.
#[inline(always)]
pub const fn group_tensor_lanes(d: u32) -> u32 {
    d.div_ceil(4).next_power_of_two()
}

/// Rows of a tile on tensor cores: some thousand blocks, each with 32 rows for every warp, and more where there are many.
pub const fn group_tensor_rows(n: u64) -> u32 {
    let each = TENSOR.block;
    at_most(n.div_ceil(1024).div_ceil(each as u64), 4096 / each) * each
}

/// The kernel for values of which all are multiples of one number and below 2^`span` of it, if there is one; tiles have
/// `tile_rows` rows.
pub const fn group_tensor_kernel(span: i32, tile_rows: u32) -> Option<&'static Kernel> {
    if span + 5 <= 53 {
        Some(&GROUPS_TENSOR_SHORT)
    } else if span + ceil_log2(tile_rows as u64) <= 63 {
        Some(&GROUPS_TENSOR_LONG)
    } else {
        None
    }
}

/// A block per tile: centroids, in two parts if they are `split`, and sums. `None` if that is more than `room` bytes of shared memory.
pub const fn groups_tensor(tiles: u64, k: u32, d: u32, split: bool, room: u32) -> Option<Geometry> {
    if k > GROUP_TENSOR_CLUSTERS || d > GROUP_TENSOR_COLUMNS {
        return None;
    }
    let (padded, steps) = (k.next_multiple_of(8), d.div_ceil(16));
    let centroids = padded * steps * (if split { 64 } else { 32 }) + padded * 4 + steps * 64 + 16;
    let sums = k * group_tensor_lanes(d) * 32 + (k * 4).next_multiple_of(16) + 4;
    let shared = centroids + sums;
    if shared <= room { Some(TENSOR.blocks(tiles, shared)) } else { None }
}

/// Centroids that a block of the labelling kernels has in shared memory at a time, a multiple of 8.
#[inline(always)]
pub const fn group_centroids(k: u32, d: u32) -> u32 {
    // Where columns come in windows, so do sums: only 8 of them are kept.
    if d > GROUP_COLUMNS || k <= 8 {
        8
    } else if k < 32 {
        k.next_multiple_of(8)
    } else {
        32
    }
}

/// Bytes of 64 rows and of centroids in shared memory.
#[inline(always)]
const fn group_staged_bytes(k: u32, d: u32) -> u32 {
    let pitch = if d < GROUP_COLUMNS { d.next_multiple_of(4) } else { GROUP_COLUMNS };
    (GROUP_ROWS + group_centroids(k, d)) * pitch * 4
}

/// Words of a block's sums and counts in shared memory; 0 if they do not fit.
#[inline(always)]
pub const fn group_sum_words(k: u32, d: u32, words: u32) -> u32 {
    let needed = k as u64 * (d as u64 * words as u64 + 1);
    let room = (GROUP_SHARED_BYTES - group_staged_bytes(k, d) - 3 * GROUP_ROWS * 4) / 8;
    if needed <= room as u64 { needed as u32 } else { 0 }
}

/// Whether labels and sums are best found together.
pub const fn groups_fuse(k: u32, d: u32, words: u32) -> bool {
    words <= 2 && (group_sum_words(k, d, words) > 0 || k <= FUSE_UP_TO)
}

/// A block per tile.
pub const fn groups_assign(tiles: u64, k: u32, d: u32) -> Geometry {
    GROUPS_ASSIGN.blocks(tiles, group_staged_bytes(k, d))
}

/// A block per tile, and shared memory as `assign_tiled` has it, for elements of 8 bytes.
pub const fn groups_exact(tiles: u64) -> Geometry {
    GROUPS_EXACT.blocks(tiles, 16 * (2 * 16 + 1) * 8)
}

/// A block per tile; the order of the rows, and the block's sums.
pub const fn groups_fused(tiles: u64, k: u32, d: u32, words: u32) -> Geometry {
    let shared = group_staged_bytes(k, d) + 3 * GROUP_ROWS * 4 + 8 * group_sum_words(k, d, words);
    GROUPS_FUSED_NARROW.blocks(tiles, shared)
}

/// Labels that all rows have, before those of groups are found. Launch: `thread_each(n)`.
pub const GROUPS_OUTSIDE: Kernel = kernel("groups_outside", &[], 256, &[LABELS_OUT, value("cluster", Type::U32), N]);
/// Random labels. Launch: [`groups_tiles`].
pub const GROUPS_RANDOM_LABELS: Kernel =
    kernel("groups_random_labels", &[], 256, &[RANGES, STARTS, OWNERS, SEEDS, LABELS_OUT, RESTART, TILE_ROWS, K]);

/// A block per tile; 8 bytes per warp.
pub const fn groups_tiles(kernel: &Kernel, tiles: u64) -> Geometry {
    kernel.blocks(tiles, 8 * kernel.block / 32)
}

// The other steps of a round.

/// Zeros where a round adds. Launch: [`groups_parts`].
pub const GROUPS_BEGIN: Kernel = kernel(
    "groups_begin",
    &[],
    256,
    &[
        STATES,
        CHANGED_OUT,
        MOVED_AGAIN,
        output("sums", Type::U64, "[groups, sum_words]"),
        COUNTS_OUT,
        value("sum_words", Type::U64),
        MOST,
        PARTS,
        K,
    ],
);

/// Blocks per group for kernels that have threads go over the k·d·`words` words of each group.
pub const fn group_parts(k: u32, d: u32, words: u32) -> u32 {
    at_most((k as u64 * d as u64 * words as u64).div_ceil(2048), 256)
}

/// `parts` blocks per group.
pub const fn groups_parts(kernel: &Kernel, groups: u32, parts: u32) -> Geometry {
    kernel.blocks(groups as u64 * parts as u64, 0)
}

const UPDATE: Kernel = kernel(
    "",
    POINT_TYPES,
    32 * MEANS_CLUSTERS,
    &[
        SUMS,
        COUNTS,
        STATES,
        CHANGED,
        CENTROIDS_OUT,
        output("moved", Type::F64, "[groups, k]"),
        EXPONENT,
        WORDS,
        FIRST,
        GROUPS,
        K,
        D,
    ],
);
/// New centroids in place of the old, from narrow sums, and D between them. Launch: [`groups_update`].
pub const GROUPS_UPDATE_NARROW: Kernel = Kernel { name: "groups_update_narrow", ..UPDATE };
/// The same from wide sums. Launch: [`groups_update`].
pub const GROUPS_UPDATE_WIDE: Kernel = Kernel { name: "groups_update_wide", ..UPDATE };
/// The same from limbs. Launch: [`groups_update`].
pub const GROUPS_UPDATE_LIMBS: Kernel = Kernel { name: "groups_update_limbs", ..UPDATE };

/// A warp per cluster, as in [`scale_means`](super::scale_means).
pub const fn groups_update(clusters: u64) -> Geometry {
    GROUPS_UPDATE_NARROW.blocks(clusters.div_ceil(MEANS_CLUSTERS as u64), MEANS_BYTES)
}

/// Movements of a group that a block of [`GROUPS_DECIDE`] has in shared memory at a time.
pub const DECIDE_NUMBERS: u32 = 1024;

/// Each group's record, and whether it goes on. Launch: [`groups_decide`].
pub const GROUPS_DECIDE: Kernel = kernel(
    "groups_decide",
    &[],
    32,
    &[
        RANGES,
        CHANGED,
        input("moved_again", Type::U64, "[groups]"),
        COUNTS,
        input("moved", Type::F64, "[groups, k]"),
        LIMBS,
        input("limits", Type::F64, "[groups]"),
        STATES_OUT,
        output("iterations", Type::U32, "[groups]"),
        VACANT_OUT,
        output("inertias", Type::F64, "[groups]"),
        output("movements", Type::F64, "[groups]"),
        output("changes", Type::U64, "[groups]"),
        output("running", Type::U32, "[1]"),
        value("rule", Type::U32),
        value("fails", Type::U32),
        EXPONENT,
        WORDS,
        FIRST,
        K,
    ],
);

/// A warp per group; 8 bytes per lane.
pub const fn groups_decide(groups: u32) -> Geometry {
    GROUPS_DECIDE.blocks(groups as u64, 8 * DECIDE_NUMBERS)
}

// Inertia.

/// Adds the squares of each group's values to its limbs. Launch: [`groups_squares`].
pub const GROUPS_SQUARES: Kernel = kernel(
    "groups_squares",
    POINT_TYPES,
    256,
    &[
        POINTS,
        RANGES,
        STARTS,
        OWNERS,
        LIMBS_OUT,
        EXPONENT,
        WORDS,
        value("narrow", Type::U32),
        value("bits", Type::U32),
        TILE_ROWS,
        D,
    ],
);
/// The same for up to `INERTIA_LIMBS` limbs. Launch: [`groups_squares`].
pub const GROUPS_SQUARES_MANY: Kernel = Kernel { name: "groups_squares_many", ..GROUPS_SQUARES };

/// A block per tile.
pub const fn groups_squares(tiles: u64) -> Geometry {
    GROUPS_SQUARES.blocks(tiles, 0)
}

/// Values that a thread of [`GROUPS_SQUARES`] adds up at most.
pub const fn groups_squares_terms(tile_rows: u32, d: u32) -> u64 {
    (tile_rows as u64 * d as u64).div_ceil(GROUPS_SQUARES.block as u64)
}

/// Adds what centroids and sums contribute to each group's limbs. Launch: [`groups_parts`].
pub const GROUPS_INERTIA: Kernel = kernel(
    "groups_inertia",
    POINT_TYPES,
    128,
    &[
        input("sums", Type::U64, "[groups, k, d, sum_words]"),
        COUNTS,
        input("centroids", Type::T, "[groups, k, d]"),
        STATES,
        LIMBS_OUT,
        value("sum_exponent", Type::I32),
        value("sum_words", Type::U32),
        EXPONENT,
        WORDS,
        MOST,
        PARTS,
        K,
        D,
    ],
);
/// The same for up to `INERTIA_LIMBS` limbs. Launch: [`groups_parts`].
pub const GROUPS_INERTIA_MANY: Kernel = Kernel { name: "groups_inertia_many", ..GROUPS_INERTIA };
/// Inertias rounded from limbs. Launch: `thread_each(groups)`.
pub const GROUPS_ROUND: Kernel = kernel(
    "groups_round",
    &[],
    128,
    &[LIMBS, STATES, output("inertias", Type::F64, "[groups]"), EXPONENT, WORDS, MOST, GROUPS],
);

// Empty clusters.

/// How many clusters of each group are empty. Launch: [`groups_tiles`] with a block per group.
pub const GROUPS_VACANT: Kernel = kernel("groups_vacant", &[], 128, &[COUNTS, STATES, CHANGED, VACANT_OUT, FIRST, K]);
/// D of rows to the centroids of their labels, in groups that have empty clusters. Launch: [`groups_tiles`].
pub const GROUPS_DISTANCES: Kernel = kernel(
    "groups_distances",
    POINT_TYPES,
    256,
    &[
        POINTS,
        input("centroids", Type::T, "[groups, k, d]"),
        LABELS_IN,
        RANGES,
        STARTS,
        OWNERS,
        VACANT,
        output("distances", Type::F64, "[n]"),
        TILE_ROWS,
        D,
    ],
);
const FILL: Kernel = kernel(
    "",
    POINT_TYPES,
    256,
    &[
        POINTS,
        input("distances", Type::F64, "[n]"),
        RANGES,
        VACANT,
        input("before", Type::U32, "[n]"),
        LABELS_OUT,
        SUMS_OUT,
        COUNTS_OUT,
        MOVED_AGAIN,
        EXPONENT,
        WORDS,
        K,
        D,
    ],
);
/// Gives empty clusters the farthest points of their groups. Launch: [`groups_fill`].
pub const GROUPS_FILL_NARROW: Kernel = Kernel { name: "groups_fill_narrow", ..FILL };
/// The same for wide sums. Launch: [`groups_fill`].
pub const GROUPS_FILL_WIDE: Kernel = Kernel { name: "groups_fill_wide", ..FILL };
/// The same for limbs. Launch: [`groups_fill`].
pub const GROUPS_FILL_LIMBS: Kernel = Kernel { name: "groups_fill_limbs", ..FILL };

/// A block per group; 16 bytes per warp, and the row that was found.
pub const fn groups_fill(groups: u32) -> Geometry {
    GROUPS_FILL_NARROW.blocks(groups as u64, 16 * GROUPS_FILL_NARROW.block / 32 + 16)
}

// The rows of a level in their new order.

/// The places of each cluster. Launch: [`groups_tiles`] with a block per group.
pub const GROUPS_CHILDREN: Kernel =
    kernel("groups_children", &[], 32, &[RANGES, COUNTS, output("children", Type::U64, "[groups, k, 2]"), K]);
/// Adds to the rows of each label per tile, which are zero before. Launch: [`groups_tiles`].
pub const GROUPS_HISTOGRAM: Kernel =
    kernel("groups_histogram", &[], 256, &[LABELS_IN, RANGES, STARTS, OWNERS, BINS_OUT, TILE_ROWS, K]);
/// The rows of each label before a tile's. Launch: [`groups_tiles`] with a block per cluster.
pub const GROUPS_BASES: Kernel =
    kernel("groups_bases", &[], 256, &[STARTS, output("bins", Type::U32, "[tiles, k]"), K]);
/// Each row's own place. Launch: `thread_each(n)`.
pub const GROUPS_STAY: Kernel = kernel("groups_stay", &[], 256, &[output("places", Type::U64, "[n]"), N]);
/// The place of each row of a group; `bins` are used up. Launch: [`groups_places`].
pub const GROUPS_PLACES: Kernel = kernel(
    "groups_places",
    &[],
    256,
    &[LABELS_IN, RANGES, STARTS, OWNERS, CHILDREN, BINS_OUT, output("places", Type::U64, "[n]"), TILE_ROWS, K],
);
/// Rows to their places. Launch: [`groups_carry`].
pub const GROUPS_CARRY: Kernel = kernel(
    "groups_carry",
    POINT_TYPES,
    256,
    &[
        POINTS,
        input("order", Type::U64, "[n]"),
        input("places", Type::U64, "[n]"),
        output("moved", Type::T, "[n, d]"),
        output("moved_order", Type::U64, "[n]"),
        N,
        D,
    ],
);

/// A block per tile; a label per thread.
pub const fn groups_places(tiles: u64) -> Geometry {
    GROUPS_PLACES.blocks(tiles, 4 * GROUPS_PLACES.block)
}

/// A warp per row; warps go round beyond what a grid can have.
pub const fn groups_carry(n: u64) -> Geometry {
    GROUPS_CARRY.blocks(at_most(n.div_ceil(8), MAX_GRID[0]) as u64, 0)
}

// k-means++.

const NEAREST_IN: Argument = input("nearest", Type::F64, "[n]");
const LARGEST_IN: Argument = input("largest", Type::U64, "[groups]");
const LARGEST_OUT: Argument = output("largest", Type::U64, "[groups]");
const TRIAL_ROWS: Argument = input("trial_rows", Type::U64, "[groups, trials]");
const POTENTIALS_OUT: Argument = output("potentials", Type::U64, "[groups, trials]");
const TRIALS: Argument = value("trials", Type::U32);
const STEP: Argument = value("step", Type::U32);

/// D to the nearest row picked so far, a further one included, and the bits of each group's largest. Launch:
/// [`groups_seed_nearest`].
pub const GROUPS_SEED_NEAREST: Kernel = kernel(
    "groups_seed_nearest",
    POINT_TYPES,
    128,
    &[
        POINTS,
        RANGES,
        STARTS,
        OWNERS,
        input("rows", Type::U64, "[groups]"),
        output("nearest", Type::F64, "[n]"),
        LARGEST_OUT,
        TILE_ROWS,
        FIRST,
        D,
    ],
);
/// Amounts per tile. Launch: [`groups_tiles`].
pub const GROUPS_SEED_AMOUNTS: Kernel = kernel(
    "groups_seed_amounts",
    &[],
    128,
    &[NEAREST_IN, RANGES, STARTS, OWNERS, LARGEST_IN, output("amounts", Type::U64, "[blocks]"), TILE_ROWS],
);
/// The rows to try. Launch: [`groups_seed_draw`].
pub const GROUPS_SEED_DRAW: Kernel = kernel(
    "groups_seed_draw",
    &[],
    128,
    &[
        NEAREST_IN,
        RANGES,
        STARTS,
        SEEDS,
        LARGEST_IN,
        input("amounts", Type::U64, "[tiles]"),
        output("trial_rows", Type::U64, "[blocks]"),
        TILE_ROWS,
        RESTART,
        value("purpose", Type::U32),
        STEP,
        TRIALS,
    ],
);
/// Adds to what each trial would leave, which is zero before. Launch: [`groups_seed_potentials`].
pub const GROUPS_SEED_POTENTIALS: Kernel = kernel(
    "groups_seed_potentials",
    POINT_TYPES,
    128,
    &[POINTS, RANGES, STARTS, OWNERS, TRIAL_ROWS, NEAREST_IN, LARGEST_IN, POTENTIALS_OUT, TILE_ROWS, TRIALS, D],
);
/// The best trial of each group, and zeros for the next step. Launch: `thread_each(groups)`.
pub const GROUPS_SEED_CHOOSE: Kernel = kernel(
    "groups_seed_choose",
    &[],
    128,
    &[
        TRIAL_ROWS,
        POTENTIALS_OUT,
        LARGEST_OUT,
        output("picked", Type::U64, "[groups, k]"),
        output("rows", Type::U64, "[groups]"),
        TRIALS,
        STEP,
        K,
        GROUPS,
    ],
);

/// Shared memory for `rows` rows to compare with in `f64`, and a tile of elements of `size` bytes.
const fn seed_shared(rows: u32, size: u32) -> u32 {
    rows * SEED_COLUMNS * 8 + GROUPS_SEED_NEAREST.block * (SEED_COLUMNS + 1) * size
}

/// A block per tile, for elements of `size` bytes.
pub const fn groups_seed_nearest(tiles: u64, size: u32) -> Geometry {
    GROUPS_SEED_NEAREST.blocks(tiles, seed_shared(1, size))
}

/// A block per trial of each group; 8 bytes per warp, and where the draw falls.
pub const fn groups_seed_draw(groups: u32, trials: u32) -> Geometry {
    GROUPS_SEED_DRAW.blocks(groups as u64 * trials as u64, 8 * GROUPS_SEED_DRAW.block / 32 + 16)
}

/// A block per tile, for elements of `size` bytes.
pub const fn groups_seed_potentials(tiles: u64, size: u32) -> Geometry {
    GROUPS_SEED_POTENTIALS.blocks(tiles, seed_shared(SEED_TRIALS, size))
}
