//! Sums of a block's rows by label in shared memory. A warp has 32 rows at a time; it takes those of one label after the other, adds
//! them up in registers, and brings the sum to shared memory.
//!
//! A lane has four neighbouring columns, so that few columns leave room for several rows at a time. The sums of a block are
//! integers of 64 bits in the unit of all sums, also where those need 128 bits: a block has few rows.

use kmeans_core::launch::group_tensor_lanes;

use super::split::{PIECE, Pieces};
use crate::device::{Number, Out, Shared, SharedMemory, WARP, ballot, block_size, lane, shuffle_from, thread_index};
use crate::update::fixed::{Format, Narrow, Wide};

/// How a lane adds up the values of some of 32 rows.
pub trait Run {
    /// Their sum.
    type Sum: Copy;
    /// Zero.
    const ZERO: Self::Sum;
    /// `sum` and `value`.
    fn plus(format: Narrow, sum: Self::Sum, value: f64) -> Self::Sum;
    /// The sum in units of the format.
    fn integer(format: Narrow, sum: Self::Sum) -> i64;
}

/// Values of so few digits that their sum is an `f64`.
pub struct Short;

impl Run for Short {
    type Sum = f64;
    const ZERO: f64 = 0.0;
    #[inline(always)]
    fn plus(_: Narrow, sum: f64, value: f64) -> f64 {
        sum + value
    }
    #[inline(always)]
    fn integer(format: Narrow, sum: f64) -> i64 {
        format.integer(sum)
    }
}

/// Values whose sum needs an integer.
pub struct Long;

impl Run for Long {
    type Sum = i64;
    const ZERO: i64 = 0;
    #[inline(always)]
    fn plus(format: Narrow, sum: i64, value: f64) -> i64 {
        sum.wrapping_add(format.integer(value))
    }
    #[inline(always)]
    fn integer(_: Narrow, sum: i64) -> i64 {
        sum
    }
}

/// Sums and counts of a group's clusters.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    format: Narrow,
    /// `[k, 4, lanes]`: neighbouring lanes have neighbouring words.
    sums: Shared<'a, u64>,
    counts: Shared<'a, u32>,
    /// Lanes that share a row.
    lanes: u32,
    k: u32,
    d: u32,
}

impl Cells<'_> {
    /// For k clusters, in units of 2^`exponent`.
    #[inline(always)]
    pub fn new(shared: &mut SharedMemory, exponent: i32, k: u32, d: u32) -> Self {
        let lanes = group_tensor_lanes(d);
        let (sums, counts) = (shared.array(k * PIECE * lanes), shared.array(k));
        Self { format: Narrow::new(exponent, 1), sums, counts, lanes, k, d }
    }

    /// Zeros. A barrier must follow.
    #[inline(always)]
    pub fn clear(self) {
        let mut cell = thread_index();
        while cell < self.k * PIECE * self.lanes {
            self.sums.set(cell, 0);
            cell += block_size();
        }
        let mut label = thread_index();
        while label < self.k {
            self.counts.set(label, 0);
            label += block_size();
        }
    }

    /// Adds up to 32 rows of `points` from `first` on, as far as `end`; lane l knows the label of row `first` + l. A warp's work.
    #[inline(always)]
    pub fn add<T: Number, R: Run>(self, points: Pieces<T>, first: u32, end: u32, label: u32) {
        let member = lane() & (self.lanes - 1);
        let column = member * PIECE;
        // Every so many rows are this lane's.
        let teams = WARP.checked_div(self.lanes).unwrap_or(1);
        let own = (if teams == WARP { 1 } else { u32::MAX.checked_div((1 << teams) - 1).unwrap_or(1) })
            << lane().checked_div(self.lanes).unwrap_or(0);
        let mut left = ballot(first + lane() < end);
        while left != 0 {
            let cluster = shuffle_from(label, left.trailing_zeros());
            let run = ballot(label == cluster) & left;
            left &= !run;
            let mut rows = run & own;
            if column < self.d && rows != 0 {
                let read = |rows: u32| {
                    let at = ((first + rows.trailing_zeros()) * self.d + column) as u64;
                    points.read_within(at, column, points.are_whole())
                };
                let mut sums = [R::ZERO; PIECE as usize];
                let mut next = read(rows);
                while rows != 0 {
                    let words = next;
                    rows &= rows - 1;
                    // The next row is on its way while this one is added.
                    if rows != 0 {
                        next = read(rows);
                    }
                    for (sum, value) in sums.iter_mut().zip(&Pieces::<T>::values(words)) {
                        *sum = R::plus(self.format, *sum, value.double());
                    }
                }
                for (i, &sum) in (0..).zip(&sums) {
                    if column + i < self.d {
                        let cell = (cluster * PIECE + i) * self.lanes + member;
                        self.sums.add(cell, R::integer(self.format, sum) as u64);
                    }
                }
            }
            if lane() == 0 {
                self.counts.add(cluster, run.count_ones());
            }
        }
    }

    /// Adds all to `sums`, `[k, d]` sums of `words` words in units of 2^`exponent`, and to `counts`, both of the group. Rows were
    /// added before a barrier.
    #[inline(always)]
    pub fn flush(self, sums: Out<u64>, counts: Out<u64>, exponent: i32, words: u32) {
        // A warp per cluster.
        let mut label = thread_index() / WARP;
        while label < self.k {
            let mut column = lane();
            while column < self.d {
                let cell = (label * PIECE + column % PIECE) * self.lanes + column / PIECE;
                let value = self.sums.get(cell);
                let at = (label as u64 * self.d as u64 + column as u64) * words as u64;
                if words == 1 {
                    Narrow::new(exponent, 1).merge(sums, at, |_| value);
                } else {
                    // The sign goes on in the upper word.
                    let upper = (value as i64 >> 63) as u64;
                    Wide::new(exponent, 2).merge(sums, at, |word| if word == 0 { value } else { upper });
                }
                column += WARP;
            }
            let count = self.counts.get(label);
            if lane() == 0 && count != 0 {
                counts.add(label as u64, count as u64);
            }
            label += block_size() / WARP;
        }
    }
}
