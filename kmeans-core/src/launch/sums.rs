//! Sums of the rows of each cluster, in the order in which rows lie, and the grids their kernels take.

use super::arguments::{D, EXPONENT, K, LABELS_IN, N, POINT_TYPES, POINTS, STORED_TYPES, SUMS_OUT, WEIGHTS, WORDS};
use super::{Geometry, Kernel, SHARED_BYTES, Type, at_most, kernel, output, value, window_bytes};

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
