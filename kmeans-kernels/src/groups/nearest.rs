//! Labels of 64 rows of a group: `f32` differences, and D for what they cannot decide (`assign::filtered` says why that is exact).
//!
//! Eight lanes share a row, each having every eighth piece of four columns; a thread has four rows and eight centroids at a time,
//! 32 sums. The eight lanes then exchange sums until each has the whole sum of one centroid, and agree on the best two by
//! shuffles. The order of a sum's additions is not that of the columns, which the bound does not ask for: none of its terms
//! goes through more than d additions that round.

use kmeans_core::launch::{GROUP_COLUMNS as COLUMNS, GROUP_ROWS as ROWS, group_centroids};

use super::Tile;
use crate::argmin::Nearest;
use crate::assign::filtered::is_certain;
use crate::assign::two::Two;
use crate::device::{
    In, Number, Shared, SharedMemory, WARP, ballot, block_size, lane, multiply_add, shuffle_xor, sync_block,
    thread_index,
};
use crate::distance::{between, element, or_zero};

/// Rows of a thread.
const OWN: usize = 4;
/// Lanes that share a row, and centroids that are compared with at a time.
const TEAM: u32 = 8;
/// Columns of a piece.
const PIECE: u32 = 4;
/// Loads of 16 bytes that a thread has under way.
const AHEAD: usize = 8;

/// A row-major matrix of which some rows are staged; rows asked for beyond the last one repeat it.
#[derive(Clone, Copy)]
struct Matrix<'a, T> {
    elements: In<'a, T>,
    first: u64,
    rows: u32,
    d: u32,
}

/// The centroids of a group and the shared memory to look for the nearest in.
#[derive(Clone, Copy)]
pub(crate) struct Nearby<'a, T> {
    points: In<'a, T>,
    centroids: In<'a, T>,
    k: u32,
    d: u32,
    xs: Shared<'a, f32>,
    cs: Shared<'a, f32>,
    /// Elements from one staged row to the next.
    pitch: u32,
}

/// Columns of a row that are staged at a time, with zeros up to whole pieces.
#[inline(always)]
fn staged_columns(d: u32) -> u32 {
    if d < COLUMNS { d.next_multiple_of(PIECE) } else { COLUMNS }
}

impl<'a, T: Number> Nearby<'a, T> {
    /// `centroids` are the group's own.
    #[inline(always)]
    pub fn new(shared: &mut SharedMemory, points: In<'a, T>, centroids: In<'a, T>, k: u32, d: u32) -> Self {
        let pitch = staged_columns(d);
        let (xs, cs) = (shared.array(ROWS * pitch), shared.array(group_centroids(k, d) * pitch));
        Self { points, centroids, k, d, xs, cs, pitch }
    }

    /// Whether whole rows are staged.
    #[inline(always)]
    pub fn has_whole_rows(self) -> bool {
        self.d <= COLUMNS
    }

    /// Element `column` of row `row` of the 64, which are staged whole.
    #[inline(always)]
    pub fn staged(self, row: u32, column: u32) -> f32 {
        self.xs.get(row * self.pitch + column)
    }

    /// Whether all centroids stay in shared memory.
    #[inline(always)]
    fn stays(self) -> bool {
        self.has_whole_rows() && self.k <= group_centroids(self.k, self.d)
    }

    /// Stages the centroids if all of them stay.
    #[inline(always)]
    pub fn prepare(self) {
        if self.stays() {
            self.stage_centroids(0, 0);
        }
    }

    #[inline(always)]
    fn stage_centroids(self, window: u32, column: u32) {
        let rows = group_centroids(self.k, self.d);
        let matrix = Matrix { elements: self.centroids, first: window as u64, rows: self.k - window, d: self.d };
        stage(matrix, column, rows, self.cs, self.pitch);
    }

    /// The labels of this thread's rows, `row(0)` to `row(3)`, of the 64 rows from `first` on, as far as `tile` goes. All
    /// threads of the block take part; [`prepare`](Self::prepare) was called.
    #[inline(always)]
    pub fn label(self, tile: Tile, first: u64) -> [u32; OWN] {
        let left = tile.end - first;
        let rows = if left < ROWS as u64 { left as u32 } else { ROWS };
        let points = Matrix { elements: self.points, first, rows, d: self.d };
        let mut least = [Two::NONE; OWN];
        let together = group_centroids(self.k, self.d);
        let mut from = 0;
        while from < self.k {
            let mut sums = [[0.0_f32; TEAM as usize]; OWN];
            let within = from.checked_rem(together).unwrap_or(0);
            let mut column = 0;
            while column < self.d {
                let (rows, centroids) = (!self.has_whole_rows() || from == 0, !self.stays() && within == 0);
                if rows || centroids {
                    // What is staged so far has been used.
                    sync_block();
                    if rows {
                        stage(points, column, ROWS, self.xs, self.pitch);
                    }
                    if centroids {
                        self.stage_centroids(from, column);
                    }
                    sync_block();
                }
                self.add(within, staged_columns(self.d - column), &mut sums);
                column += COLUMNS;
            }
            offer(&mut least, sums, from, self.k);
            from += TEAM;
        }
        self.conclude(&least, tile, first)
    }

    /// Adds the staged columns, up to `columns`, of the squares of this thread's rows less the eight centroids from `from` on.
    #[inline(always)]
    fn add(self, from: u32, columns: u32, sums: &mut [[f32; TEAM as usize]; OWN]) {
        let mut column = lane() % TEAM * PIECE;
        while column < columns {
            let mut own = [[0.0_f32; PIECE as usize]; OWN];
            for (a, values) in (0..).zip(&mut own) {
                *values = self.xs.get4(row(a) * self.pitch + column);
            }
            for c in 0..TEAM as usize {
                let centroid = self.cs.get4((from + c as u32) * self.pitch + column);
                for (values, sums) in own.iter().zip(sums.iter_mut()) {
                    for (x, c_value) in values.iter().zip(&centroid) {
                        let difference = x - c_value;
                        sums[c] = multiply_add(difference, difference, sums[c]);
                    }
                }
            }
            column += TEAM * PIECE;
        }
    }

    /// The labels, by D where the sums do not decide.
    #[inline(always)]
    fn conclude(self, least: &[Two; OWN], tile: Tile, first: u64) -> [u32; OWN] {
        let mut labels = [0; OWN];
        // A bit for each row that is open, the same in all lanes that share the row.
        let mut open = 0_u32;
        for (a, (label, two)) in (0..).zip(labels.iter_mut().zip(least)) {
            let two = two.merge_lanes(TEAM);
            *label = two.label;
            if first + (row(a) as u64) < tile.end && !is_certain(two, self.d) {
                open |= 1 << a;
            }
        }
        // Each eight lanes settle a row of theirs, as long as any in the warp have one.
        while ballot(open != 0) != 0 {
            let own = open.trailing_zeros();
            let x = (first + row(own % OWN as u32) as u64) * self.d as u64;
            let mut nearest = Nearest::NONE;
            let mut candidate = lane() % TEAM;
            while open != 0 && candidate < self.k {
                let c = candidate as u64 * self.d as u64;
                nearest = nearest.offer(candidate, between(self.points, x, self.centroids, c, self.d));
                candidate += TEAM;
            }
            nearest = nearest.merge_lanes(TEAM);
            for (a, label) in (0..).zip(&mut labels) {
                *label = if a == own { nearest.label() } else { *label };
            }
            open &= open.wrapping_sub(1);
        }
        labels
    }
}

/// Row `a` of this thread among the 64.
#[inline(always)]
pub(crate) fn row(a: u32) -> u32 {
    thread_index() / WARP * (WARP / TEAM * OWN as u32) + lane() / TEAM + a * (WARP / TEAM)
}

/// Whether this lane speaks for its rows.
#[inline(always)]
pub(crate) fn speaks() -> bool {
    lane().is_multiple_of(TEAM)
}

/// Brings the sums of eight lanes together, so that each has those of one centroid, and takes them into account.
#[inline(always)]
fn offer(least: &mut [Two; OWN], sums: [[f32; TEAM as usize]; OWN], from: u32, k: u32) {
    let member = lane() % TEAM;
    // The half that this lane keeps, plus the same half of the lane that keeps the other.
    let exchange = |mask: u32, low: f32, high: f32| {
        let (keep, give) = if member & mask == 0 { (low, high) } else { (high, low) };
        keep + shuffle_xor(give, mask)
    };
    for (two, s) in least.iter_mut().zip(&sums) {
        let four = [exchange(4, s[0], s[4]), exchange(4, s[1], s[5]), exchange(4, s[2], s[6]), exchange(4, s[3], s[7])];
        let pair = [exchange(2, four[0], four[2]), exchange(2, four[1], four[3])];
        let sum = exchange(1, pair[0], pair[1]);
        if from + member < k {
            *two = two.offer(from + member, sum);
        }
    }
}

/// Stages `rows` rows of up to [`COLUMNS`] columns from `column` on.
#[inline(always)]
fn stage<T: Number>(matrix: Matrix<T>, column: u32, rows: u32, into: Shared<f32>, pitch: u32) {
    let Matrix { elements, first, rows: last, d } = matrix;
    let width = staged_columns(d - column);
    let each = 16 / T::SIZE;
    let whole = d.is_multiple_of(each);
    let step = if whole { each } else { 1 };
    // Row and column go along, since a division per piece would cost more than the rest.
    let per_row = width / step;
    let divide = |x: u32| (x.checked_div(per_row).unwrap_or(0), x.checked_rem(per_row).unwrap_or(0));
    let ((down, right), (mut y, mut x)) = (divide(block_size()), divide(thread_index()));
    let source = |y: u32| first + if y < last { y } else { last - 1 } as u64;
    while y < rows {
        if whole {
            // All loads of a batch before the first store, so that they wait together.
            let (mut words, mut places) = ([[0_u32; 4]; AHEAD], [u32::MAX; AHEAD]);
            for (words, place) in words.iter_mut().zip(&mut places) {
                if y < rows {
                    *place = y * pitch + x * each;
                    *words = elements.get16(source(y) * d as u64 + (column + x * each) as u64);
                }
                (y, x) = (y + down, x + right);
                if x >= per_row {
                    (y, x) = (y + 1, x - per_row);
                }
            }
            for (words, &place) in words.iter().zip(&places) {
                if place != u32::MAX {
                    for piece in 0..each / PIECE {
                        let values = [0, 1, 2, 3].map(|i| element::<T>(*words, piece * PIECE + i).single());
                        into.set4(place + piece * PIECE, values);
                    }
                }
            }
        } else {
            let value = or_zero(elements, source(y), u64::MAX, column + x, d);
            into.set(y * pitch + x, value.single());
            (y, x) = (y + down, x + right);
            if x >= per_row {
                (y, x) = (y + 1, x - per_row);
            }
        }
    }
}
