//! The kernels that run many rounds in one launch, and what they are told.

use super::arguments::{D, EXPONENT, K, LABELS_OUT, N, NARROW_TYPES, POINTS, WORDS};
use super::{Argument, Geometry, Kernel, SHARED_BYTES, Type, at_most, input, kernel, output, value};

/// Which rule ends the rounds, beside repeating labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FitRule {
    /// None.
    LabelsRepeat = 0,
    /// The movement is at most the limit.
    MovementAtMost = 1,
    /// The movement is below the limit.
    MovementBelow = 2,
    /// The number of labels that changed is below the limit.
    ChangedBelow = 3,
}

/// How the rounds of a launch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FitEnd {
    /// Not yet.
    None = 0,
    /// The last round found the labels of the one before: its means count for nothing.
    Repeated = 1,
    /// The last round left a cluster empty, and the host must see to it: its labels and means count for nothing.
    Empty = 2,
    /// The rule held.
    Converged = 3,
    /// There were as many as the launch may run.
    Rounds = 4,
}

impl FitEnd {
    /// The end with this number, if there is one.
    pub const fn from_number(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::Repeated),
            2 => Some(Self::Empty),
            3 => Some(Self::Converged),
            4 => Some(Self::Rounds),
            _ => None,
        }
    }
}

/// No row has a label yet.
pub const FIT_FIRST: u32 = 1;
/// Empty clusters keep their centroids.
pub const FIT_KEEP_EMPTY: u32 = 2;
/// When there were as many rounds as may be, the labels of the last means are found; else only where the rule held.
pub const FIT_CLOSE: u32 = 4;

/// Points, labels and the log. The host has set the log to zero, but for slot 0 of `centroids`, `sums` and `counts`, which
/// hold what the rounds begin with.
const FIT: &[Argument] = &[
    POINTS,
    LABELS_OUT,
    output("centroids", Type::T, "[slots, k, d]"),
    output("sums", Type::U64, "[slots, k, d, words]"),
    output("counts", Type::U64, "[slots, k]"),
    output("gained", Type::U64, "[slots, k·(d·words + 1)]"),
    output("moved", Type::U64, "[slots, k]"),
    output("found", Type::U64, "[slots, 2]"),
    output("state", Type::U64, "[2]"),
    output("arrivals", Type::U32, "[1]"),
    EXPONENT,
    WORDS,
    value("rule", Type::U32),
    value("limit", Type::U64),
    value("flags", Type::U32),
    value("slots", Type::U32),
    N,
    K,
    D,
];

const FIT_NARROW: Kernel = Kernel { together: true, ..kernel("", NARROW_TYPES, 512, FIT) };
/// Rounds on up to [`super::NARROW_COLUMNS`] columns, sums of one word. Launch: [`fit_narrow`].
pub const FIT_NARROW_SUMS_NARROW: Kernel = Kernel { name: "fit_narrow_sums_narrow", ..FIT_NARROW };
/// The same with sums of two words. Launch: [`fit_narrow`].
pub const FIT_NARROW_SUMS_WIDE: Kernel = Kernel { name: "fit_narrow_sums_wide", ..FIT_NARROW };

/// Most columns of the rounds on tensor cores.
pub const FIT_TENSOR_COLUMNS: u32 = 128;
/// Most clusters of those.
pub const FIT_TENSOR_CLUSTERS: u32 = 128;

/// Those of [`FIT`], rounded rows, and what centroids are rounded to.
const TENSOR: &[Argument] = &[
    input("points", Type::F32, "[n, d]"),
    LABELS_OUT,
    output("centroids", Type::F32, "[slots, k, d]"),
    FIT[3],
    FIT[4],
    FIT[5],
    FIT[6],
    FIT[7],
    FIT[8],
    FIT[9],
    input("pairs", Type::U32, "[n, ⌈width/2⌉]"),
    input("x_norms", Type::F32, "[n]"),
    input("x_errors", Type::F32, "[n]"),
    input("centre", Type::F32, "[d]"),
    output("halves", Type::F16, "[k, width]"),
    output("c_norms", Type::F32, "[k]"),
    output("largest", Type::U32, "[slots, 2]"),
    value("scale", Type::F32),
    value("width", Type::U32),
    EXPONENT,
    WORDS,
    FIT[12],
    FIT[13],
    FIT[14],
    FIT[15],
    N,
    K,
    D,
];
const FIT_TENSOR: Kernel = Kernel { together: true, ..kernel("", &[], 256, TENSOR) };
/// Rounds on `f32` points of up to [`FIT_TENSOR_COLUMNS`] columns and up to [`FIT_TENSOR_CLUSTERS`] clusters, sums of one word;
/// `largest` is zero before. Launch: [`fit_tensor`].
pub const FIT_TENSOR_SUMS_NARROW: Kernel = Kernel { name: "fit_tensor_sums_narrow", ..FIT_TENSOR };
/// The same with sums of two words. Launch: [`fit_tensor`].
pub const FIT_TENSOR_SUMS_WIDE: Kernel = Kernel { name: "fit_tensor_sums_wide", ..FIT_TENSOR };

/// As many blocks as the rows fill, and at most `blocks`, which run at the same time.
pub const fn fit_tensor(n: u64, k: u32, d: u32, words: u32, blocks: u32) -> Geometry {
    let padded = k.next_multiple_of(8);
    let centroids = (padded * (d.next_multiple_of(16) + 8) * 2).next_multiple_of(16) + padded * 4;
    let sums = (8 * k * (d * words + 1)).next_multiple_of(16);
    // Two numbers of each warp last.
    let shared = centroids.next_multiple_of(16) + sums + FIT_TENSOR.block / 32 * 16;
    FIT_TENSOR.blocks(at_most(n.div_ceil(FIT_TENSOR.block as u64 / 2), blocks) as u64, shared)
}

/// Words of a copy of a block's sums and counts; odd, so that the same word of different copies lies in different banks.
pub const fn fit_copy_words(k: u32, d: u32, words: u32) -> u32 {
    (k * (d * words + 1)) | 1
}

/// Values from one centroid to the next in the table that rows are scored by: its columns and what scores begin with, from a multiple
/// of 16 bytes on.
pub const fn fit_table_pitch(d: u32) -> u32 {
    (d + 1).next_multiple_of(4)
}

/// Rows of a warp that may wait to be moved: fewer than its lanes from before, and four of every lane.
pub const FIT_QUEUE: u32 = 160;

/// Bytes of the centroids, of what else is there for all rows, and of the gaps in between.
const fn fit_centroid_bytes(k: u32, d: u32) -> u32 {
    FIT_NARROW.block / 32 * FIT_QUEUE * 8 + k * (d + fit_table_pitch(d)) * 4 + 64
}

/// Copies of a block's sums, a power of two up to the lanes of a warp.
pub const fn fit_copies(k: u32, d: u32, words: u32) -> u32 {
    let one = 8 * fit_copy_words(k, d, words);
    let mut copies = 1;
    while copies < 32 && 2 * copies * one + fit_centroid_bytes(k, d) <= SHARED_BYTES {
        copies *= 2;
    }
    copies
}

/// Whether a launch can take n rows and k clusters: rows have 32-bit numbers, and shared memory holds a block's centroids and sums.
pub const fn fit_narrow_fits(n: u64, k: u64, d: u32, words: u32) -> bool {
    let bytes = k * (d as u64 * (8 * words as u64 + 4) + 4 * fit_table_pitch(d) as u64 + 8);
    n < (1 << 32) - (1 << 24) && bytes + fit_centroid_bytes(0, d) as u64 + 8 <= SHARED_BYTES as u64
}

/// As many blocks as the rows fill, and at most `blocks`, which run at the same time.
///
/// # Panics
/// Unless [`fit_narrow_fits`].
pub const fn fit_narrow(n: u64, k: u32, d: u32, words: u32, blocks: u32) -> Geometry {
    assert!(fit_narrow_fits(n, k as u64, d, words), "the sums fit shared memory");
    let shared = fit_centroid_bytes(k, d) + 8 * fit_copies(k, d, words) * fit_copy_words(k, d, words);
    // A warp takes 128 rows at a time.
    FIT_NARROW.blocks(at_most(n.div_ceil(128), blocks) as u64, shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_holds_what_fits() {
        for d in 1..=4 {
            for words in 1..=2 {
                let most = (1..100_000).take_while(|&k| fit_narrow_fits(1 << 31, k, d, words)).last().unwrap() as u32;
                for k in [1, 2, 7, 8, most / 3, most] {
                    let geometry = fit_narrow(1 << 31, k, d, words, 264);
                    assert!(geometry.shared <= SHARED_BYTES && geometry.grid == [264, 1], "{k} {d} {words}");
                }
            }
        }
        assert_eq!(fit_narrow(129, 8, 3, 1, 264).grid, [2, 1]);
        assert!(!fit_narrow_fits(1 << 32, 8, 3, 1));
    }

    #[test]
    fn ends_are_found_by_their_numbers() {
        for end in [FitEnd::Repeated, FitEnd::Empty, FitEnd::Converged, FitEnd::Rounds] {
            assert_eq!(FitEnd::from_number(end as u64), Some(end));
        }
        assert_eq!(FitEnd::from_number(0), None);
    }
}
