//! Labels, and sums beside them, and the grids their kernels take.

use super::{CHANGED_OUT, COUNTS_OUT, MOST, OWNERS, RANGES, STARTS, STATES, SUMS_OUT, TILE_ROWS};
use crate::fixed::ceil_log2;
use crate::launch::arguments::{CENTROIDS, D, EXPONENT, K, LABELS_OUT, N, POINTS, SINGLE_TYPES, WORDS};
use crate::launch::{Argument, Geometry, Kernel, Type, at_most, input, kernel, output, value};

/// Rows that a block of the labelling kernels takes at a time.
pub const GROUP_ROWS: u32 = 64;
/// Columns that it stages at a time.
pub const GROUP_COLUMNS: u32 = 128;
/// Most shared memory of the labelling kernels: what every GPU has when it is asked.
const GROUP_SHARED_BYTES: u32 = 64 * 1024;
/// Up to this many clusters a run of equal labels among [`GROUP_ROWS`] rows is long enough to add to global memory.
const FUSE_UP_TO: u32 = 16;

const BEFORE_OUT: Argument = output("before", Type::U32, "[n]");

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
/// Labels found by [`GROUPS_STREAM_128`](crate::launch::GROUPS_STREAM_128) and its like as those of all groups, with what
/// [`GROUPS_ASSIGN`] leaves beside them. Launch: [`groups_tiles`](super::groups_tiles).
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
