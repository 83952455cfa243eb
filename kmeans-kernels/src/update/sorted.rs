//! Points in the order of their clusters ([`rows`]), so that a thread adds up long runs of one sum in registers and brings few
//! of them to global memory ([`sorted`]). Rungs: see [`super`].

use kmeans_core::launch::{SORTED_COLUMNS, SORTED_ROWS};

use super::fixed::{Format, Narrow, Wide};
use crate::device::{
    self, In, Load, Number, Out, SharedMemory, block_index, block_row, block_size, grid_rows, sync_block, thread_index,
};

/// Values that a thread loads before it uses the first of them.
const AHEAD: usize = 4;

/// Lists the rows cluster by cluster: `places` has where each cluster's list begins, and is moved on to where it ends. Within
/// a cluster rows come in any order, which integers do not show.
#[inline(always)]
pub fn rows(labels: In<u32>, places: Out<u64>, rows: Out<u32>, n: u64) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row < n {
        rows.set(places.fetch_add(labels.get(row) as u64, 1), row as u32);
    }
}

/// A format whose sums a thread can keep in registers.
pub trait InRegisters: Format {
    /// The sum's integer.
    type Integer: Copy;
    /// Zero.
    const ZERO: Self::Integer;
    /// `sum` and `value`.
    fn plus(self, sum: Self::Integer, value: f64) -> Self::Integer;
    /// A word of the sum.
    fn word(sum: Self::Integer, word: u32) -> u64;
}

impl InRegisters for Narrow {
    type Integer = i64;
    const ZERO: i64 = 0;
    #[inline(always)]
    fn plus(self, sum: i64, value: f64) -> i64 {
        sum.wrapping_add(self.integer(value))
    }
    #[inline(always)]
    fn word(sum: i64, _: u32) -> u64 {
        sum as u64
    }
}

impl InRegisters for Wide {
    type Integer = i128;
    const ZERO: i128 = 0;
    #[inline(always)]
    fn plus(self, sum: i128, value: f64) -> i128 {
        sum.wrapping_add(self.integer(value))
    }
    #[inline(always)]
    fn word(sum: i128, word: u32) -> u64 {
        (sum >> (64 * word)) as u64
    }
}

/// Adds the points to `sums`, [k, d] sums of `words` words, `rows` being in the order of `labels`.
///
/// A block takes [`SORTED_ROWS`] rows of the list, in as many runs as leave each thread a column of its own.
#[inline(always)]
pub fn sorted<P: Load, F: InRegisters>(
    points: In<P>,
    labels: In<u32>,
    rows: In<u32>,
    sums: Out<u64>,
    exponent: i32,
    words: u32,
    n: u64,
    d: u32,
) {
    let format = F::new(exponent, words);
    let mut shared = SharedMemory::new();
    let (own_rows, own_labels) = (shared.array::<u32>(SORTED_ROWS), shared.array::<u32>(SORTED_ROWS));
    let base = block_index() as u64 * SORTED_ROWS as u64;
    let len = if n - base < SORTED_ROWS as u64 { (n - base) as u32 } else { SORTED_ROWS };
    let mut place = thread_index();
    while place < len {
        let row = rows.get(base + place as u64);
        own_rows.set(place, row);
        own_labels.set(place, labels.get(row as u64));
        place += block_size();
    }
    sync_block();
    // Threads beside each other take columns beside each other; a power of two, so that runs divide the block.
    let mut across = SORTED_COLUMNS;
    while across / 2 >= d && across > 1 {
        across /= 2;
    }
    let runs = block_size().checked_div(across).unwrap_or(1);
    let run = SORTED_ROWS.checked_div(runs).unwrap_or(SORTED_ROWS);
    let begin = thread_index().checked_div(across).unwrap_or(0) * run;
    let end = if begin + run < len { begin + run } else { len };
    let mut column = block_row() * SORTED_COLUMNS + thread_index() % across;
    while column < d {
        let (mut sum, mut label) = (F::ZERO, u32::MAX);
        let flush = |sum: F::Integer, label: u32| {
            if label != u32::MAX {
                let at = (label as u64 * d as u64 + column as u64) * format.words() as u64;
                format.merge(sums, at, |word| F::word(sum, word));
            }
        };
        let mut place = begin;
        while place < end {
            let mut values = [0.0_f64; AHEAD];
            for (i, value) in values.iter_mut().enumerate() {
                if place + (i as u32) < end {
                    let row = own_rows.get(place + i as u32) as u64;
                    *value = points.get(row * d as u64 + column as u64).load().double();
                }
            }
            for (i, value) in values.iter().enumerate() {
                if place + (i as u32) < end {
                    let next = own_labels.get(place + i as u32);
                    if next != label {
                        flush(sum, label);
                        (sum, label) = (F::ZERO, next);
                    }
                    sum = format.plus(sum, *value);
                }
            }
            place += AHEAD as u32;
        }
        flush(sum, label);
        column += grid_rows() * SORTED_COLUMNS;
    }
}

device::entries! {
    rows(labels: In<u32>, places: Out<u64>, rows: Out<u32>, n: u64);
    sorted_rows: (),
}

device::entries! {
    sorted(points: In<T>, labels: In<u32>, rows: In<u32>, sums: Out<u64>, exponent: i32, words: u32, n: u64, d: u32);
    sum_sorted_narrow_f32: (f32, Narrow),
    sum_sorted_narrow_f64: (f64, Narrow),
    sum_sorted_narrow_f16: (half::f16, Narrow),
    sum_sorted_narrow_bf16: (half::bf16, Narrow),
    sum_sorted_narrow_u8: (u8, Narrow),
    sum_sorted_wide_f32: (f32, Wide),
    sum_sorted_wide_f64: (f64, Wide),
    sum_sorted_wide_f16: (half::f16, Wide),
    sum_sorted_wide_bf16: (half::bf16, Wide),
}
