//! Labels of 32 rows of a group, a warp's work: tensor cores multiply them with all centroids, and D decides where the scores do not.
//!
//! A warp loads 16 rows at a time from memory right into the layout of [`Half`](crate::device::Half), in which each four lanes
//! have a row. What columns are called does not matter as long as rows and centroids agree, so a lane has four neighbouring
//! columns of every 16. The centroids of the block's group lie in shared memory in the same layout, lane by lane.
//!
//! # Why the labels are exact
//! Points and centroids are taken about μ, the mean of the centroids for `f32`, else zero. With x' = x − μ and c' = c − μ, the
//! centroid with the least score s = |c'|²/2 − x'·c' is the nearest. Let X ≥ |x'|, C ≥ |c'| for all centroids, N = C²/2, u = 2⁻²³,
//! S = ⌈d/16⌉.
//!
//! An `f32` y, x' or c' rounded once, is multiplied as h + l, h = bf16(y), l = bf16(y − h): |l| ≤ 2⁻⁹·|y|(1 + 2⁻⁹) and |y − h − l| ≤
//! 2⁻¹⁸·|y|, so that h + l is within 1.02·2⁻¹⁸ of x' or c'. Of the four products that of the two l, at most 1.02·2⁻¹⁸·XC, is left out. All
//! that costs at most 3.1·2⁻¹⁸·XC. Numbers of 16 bits are multiplied as they are, and cost nothing.
//!
//! A product of tiles adds 16 exact products and the sum so far, cutting each off below 24 bits of the largest and the result to
//! `f32`: S of them err by at most 20u·S·XC (`assign/score.rs`); those with an l, twice as many on numbers 2⁻⁹ times as large, add a
//! 128th. |c'|²/2 is rounded once, and so are the two sums that the score is made of: u(1.1·XC + N). Numbers too small to be
//! normal, in bf16 or in a sum, add at most d·2⁻¹¹⁸ + d·2⁻¹²⁴(X + C). So a score errs by at most
//!
//! E = αXC + 2uN + d·2⁻¹¹⁸ + d·2⁻¹²⁴(X + C), α = (21·S + 2)u, and 3.1·2⁻¹⁸ more where numbers are split.
//!
//! D errs by at most (d + 3)·2⁻⁵³·(X + C)², and (X + C)² ≤ 2X² + 2C². Where the second best score is above the best by more than 2E
//! and that, the best label is the one by D; elsewhere the row is open. X and C below 2⁶⁰ ensure that nothing overflowed.
//!
//! X² is on the diagonal of the product of a row tile's larger parts with themselves: |h|² ≥ (1 − 2⁻⁹)²·|y|², which
//! that product undercuts by at most 20u·S of it; 1.01 times as much is above X².

use kmeans_core::launch::GROUP_TENSOR_COLUMNS;

use super::split::{PIECE, Pieces, Split};
use crate::argmin::Nearest;
use crate::assign::two::Two;
use crate::device::{
    In, Shared, SharedMemory, WARP, ballot, block_size, lane, multiply_add, multiply_tiles, shuffle_from, shuffle_xor,
    square_root, sync_block, thread_index,
};
use crate::distance::between_rows;

/// Columns of a step, and rows that are labelled at a time.
const SIDE: u32 = 16;
/// Centroids of a product of tiles.
const WIDTH: u32 = 8;
/// Steps for all columns.
const STEPS: usize = (GROUP_TENSOR_COLUMNS / SIDE) as usize;
/// Instead of a label: D must decide.
const OPEN: u32 = u32::MAX;

/// Of an `f32`: twice the rounding of one operation.
const UNIT: f32 = f32::EPSILON;
/// A little more than one, for the rounding of what it is multiplied with.
const MORE: f32 = 1.0 + 1.0 / 1024.0;

/// How far apart two scores must be.
struct Margin {
    /// The square of what X is multiplied with, which needs no root of X².
    per_length: f32,
    /// What X² is multiplied with.
    per_square: f32,
    rest: f32,
}

impl Margin {
    /// For `d` columns and centroids of which `half` is the largest |c'|²/2.
    #[inline(always)]
    fn new<T: Split>(half: f32, d: u32) -> Self {
        let power = |exponent: i32| f32::from_bits(((127 + exponent) as u32) << 23);
        let (columns, c) = (d as f32, square_root(2.0 * half) * (1.0 + 4.0 * UNIT));
        let split = if T::IS_SPLIT { 3.1 * power(-18) } else { 0.0 };
        let product = (21.0 * d.div_ceil(SIDE) as f32 + 2.0) * UNIT + split;
        let per_length = MORE * 2.0 * (product * c + columns * power(-124));
        // (d + 3)·2⁻⁵³, twice.
        let per_square = MORE * (columns + 3.0) * power(-52);
        let tiny = columns * (power(-118) + power(-124) * c);
        let rest = MORE * (2.0 * (2.0 * UNIT * half + tiny) + per_square * c * c);
        // What is too small to be a normal number is rounded up to one.
        let square = per_length * per_length;
        let square = MORE * if square < f32::MIN_POSITIVE { f32::MIN_POSITIVE } else { square };
        Self { per_length: if c < power(60) { square } else { f32::INFINITY }, per_square, rest }
    }

    /// Whether the best of a row's scores is sure if the second best is so far off. `squared` is |h|².
    #[inline(always)]
    fn decides(&self, gap: f32, squared: f32) -> bool {
        // 2⁻¹¹⁰: squares too small to be normal numbers. 2¹²⁰: where lengths are below 2⁶⁰.
        let squared = multiply_add(squared, 1.01, f32::from_bits((127 - 110) << 23));
        let spare = gap - multiply_add(squared, self.per_square, self.rest);
        let needed = multiply_add(squared, self.per_length, f32::MIN_POSITIVE);
        // In this form a number that is none decides nothing.
        spare > 0.0 && spare * spare > needed && squared < f32::from_bits((127 + 120) << 23)
    }
}

/// A group's centroids as tensor cores read them, and what scores begin with.
#[derive(Clone, Copy)]
pub(crate) struct Scores<'a, T> {
    points: Pieces<'a, T>,
    elements: In<'a, T>,
    centroids: In<'a, T>,
    k: u32,
    d: u32,
    /// Products of tiles for all centroids, and steps of each.
    tiles: u32,
    steps: u32,
    /// `[tiles, steps, lanes, parts, 2]`.
    fragments: Shared<'a, u32>,
    /// |c'|²/2, infinite where there is no centroid: `[tiles·8]`.
    halves: Shared<'a, f32>,
    /// μ, `[steps·16]`.
    centre: Shared<'a, f32>,
    /// The numbers of a [`Margin`].
    margin: Shared<'a, f32>,
}

/// Words that a lane has of a centroid in a step.
#[inline(always)]
fn words<T: Split>() -> u32 {
    if T::IS_SPLIT { 4 } else { 2 }
}

impl<'a, T: Split> Scores<'a, T> {
    /// `points` begin with the block's rows, of which there are no more than a tile has; `centroids` are the group's own.
    #[inline(always)]
    pub fn new(shared: &mut SharedMemory, points: In<'a, T>, centroids: In<'a, T>, k: u32, d: u32) -> Self {
        let (tiles, steps) = (k.div_ceil(WIDTH), d.div_ceil(SIDE));
        Self {
            points: Pieces::new(points, d),
            elements: points,
            centroids,
            k,
            d,
            tiles,
            steps,
            fragments: shared.array(tiles * steps * WARP * words::<T>()),
            halves: shared.array(tiles * WIDTH),
            centre: shared.array(steps * SIDE),
            margin: shared.array(4),
        }
    }

    /// Brings the centroids to shared memory. A barrier must follow.
    #[inline(always)]
    pub fn prepare(self) {
        if T::IS_SPLIT {
            let share = 1.0 / self.k as f64;
            let mut column = thread_index();
            while column < self.steps * SIDE {
                let mut sum = 0.0;
                for centroid in 0..self.k {
                    sum += if column < self.d { self.centroid(centroid, column).double() } else { 0.0 };
                }
                self.centre.set(column, (sum * share) as f32);
                column += block_size();
            }
            sync_block();
        }
        let (warp, warps) = (thread_index() / WARP, block_size() / WARP);
        let mut fragment = warp;
        while fragment < self.tiles * self.steps {
            let tile = fragment.checked_div(self.steps).unwrap_or(0);
            let centroid = tile * WIDTH + lane() / 4;
            let column = (fragment - tile * self.steps) * SIDE + lane() % 4 * PIECE;
            let is_there = |i: u32| centroid < self.k && column + i < self.d;
            let parts = T::parts(
                [0, 1, 2, 3].map(|i| if is_there(i) { self.centroid(centroid, column + i) } else { T::ZERO }),
                [0, 1, 2, 3].map(|i| if is_there(i) { self.centre_of(column + i) } else { 0.0 }),
            );
            let at = (fragment * WARP + lane()) * words::<T>();
            for word in 0..words::<T>() {
                self.fragments.set(at + word, parts[word as usize / 2][word as usize % 2]);
            }
            fragment += warps;
        }
        let mut centroid = warp;
        while centroid < self.tiles * WIDTH {
            let (mut norm, mut column) = (0.0, lane());
            while column < self.d && centroid < self.k {
                let value = self.centroid(centroid, column).double() - self.centre_of(column) as f64;
                norm += value * value;
                column += WARP;
            }
            let mut mask = WARP / 2;
            while mask > 0 {
                norm += shuffle_xor(norm, mask);
                mask /= 2;
            }
            if lane() == 0 {
                self.halves.set(centroid, if centroid < self.k { (0.5 * norm) as f32 } else { f32::INFINITY });
            }
            centroid += warps;
        }
        sync_block();
        if thread_index() == 0 {
            let mut most = 0.0;
            for centroid in 0..self.k {
                let half = self.halves.get(centroid);
                most = if half <= most { most } else { half };
            }
            let Margin { per_length, per_square, rest } = Margin::new::<T>(most, self.d);
            self.margin.set4(0, [per_length, per_square, rest, 0.0]);
        }
    }

    #[inline(always)]
    fn centroid(self, centroid: u32, column: u32) -> T {
        self.centroids.get(centroid as u64 * self.d as u64 + column as u64)
    }

    #[inline(always)]
    fn centre_of(self, column: u32) -> f32 {
        if T::IS_SPLIT { self.centre.get(column) } else { 0.0 }
    }

    /// Whether there is a step: all are whole but the last, which may go beyond the columns.
    #[inline(always)]
    fn has(self, step: usize) -> bool {
        if step + 1 < STEPS {
            (step as u32) < self.d / SIDE
        } else {
            self.d > self.d / SIDE * SIDE || self.d == GROUP_TENSOR_COLUMNS
        }
    }

    /// The first column of a step.
    #[inline(always)]
    fn column(self, step: usize) -> u32 {
        if step + 1 < STEPS { step as u32 * SIDE } else { (self.steps - 1) * SIDE }
    }

    /// The part of the centroids of a tile that a lane multiplies in a step.
    #[inline(always)]
    fn fragment(self, tile: u32, step: usize) -> [[u32; 2]; 2] {
        let at = ((tile * self.steps + self.column(step) / SIDE) * WARP + lane()) * words::<T>();
        if T::IS_SPLIT {
            let [a, b, c, d] = self.fragments.cast::<f32>().get4(at).map(f32::to_bits);
            [[a, b], [c, d]]
        } else {
            [self.fragments.get2(at), [0; 2]]
        }
    }

    /// Each lane's label: lane l has row `first` + l of the points, if that is before `end`.
    #[inline(always)]
    pub fn label(self, first: u32, end: u32) -> u32 {
        let limit = if first + WARP < end { first + WARP } else { end };
        let (mut label, mut start) = (0, first);
        while start < limit {
            let labels = self.sixteen(start, end);
            let [low, high] = labels.map(|label| shuffle_from(label, lane() % (SIDE / 2) * 4));
            // Lane l has row l.
            if (lane() < SIDE) == (start == first) {
                label = if lane() % SIDE < SIDE / 2 { low } else { high };
            }
            start += SIDE;
        }
        self.settle(first, end, label)
    }

    /// Labels of 16 rows, [`OPEN`] where D must decide: those of rows g and g + 8 in lanes 4g to 4g + 3. The last row before
    /// `end` stands for those from there on.
    #[inline(always)]
    fn sixteen(self, first: u32, end: u32) -> [u32; 2] {
        let (group, member) = (lane() / 4, lane() % 4);
        let rows = [0, 8].map(|further| {
            let row = first + group + further;
            (if row < end { row } else { end - 1 }) * self.d + member * PIECE
        });
        let read = |step: usize, whole: bool| {
            if step + 1 < STEPS {
                rows.map(|row| self.points.read(row as u64 + step as u64 * SIDE as u64, whole))
            } else {
                let column = self.column(step);
                rows.map(|row| self.points.read_within((row + column) as u64, column + member * PIECE, whole))
            }
        };
        let mut parts = [[[0; 4]; STEPS]; 2];
        let mut divide = |step: usize, words: [[u32; 4]; 2]| {
            let at = self.column(step) + member * PIECE;
            let centre = if T::IS_SPLIT { self.centre.get4(at) } else { [0.0; 4] };
            let [x, y] = words.map(|words| T::parts(Pieces::<T>::values(words), centre));
            for part in 0..2 {
                parts[part][step] = [x[part][0], y[part][0], x[part][1], y[part][1]];
            }
        };
        if self.points.are_whole() {
            // All loads are on their way before the first is used.
            let mut words = [[[0; 4]; 2]; STEPS];
            for (step, words) in words.iter_mut().enumerate() {
                if self.has(step) {
                    *words = read(step, true);
                }
            }
            for (step, &words) in words.iter().enumerate() {
                if self.has(step) {
                    divide(step, words);
                }
            }
        } else {
            for step in 0..STEPS {
                if self.has(step) {
                    divide(step, read(step, false));
                }
            }
        }
        let mut squares = [[0.0; 4]; 2];
        for (step, &a) in parts[0].iter().enumerate() {
            if self.has(step) {
                squares[0] = multiply_tiles::<T::Half>(a, [a[0], a[2]], squares[0]);
                squares[1] = multiply_tiles::<T::Half>(a, [a[1], a[3]], squares[1]);
            }
        }
        // The diagonals: column g of the squares is with lane g/2 of the four.
        let is_odd = !group.is_multiple_of(2);
        let own = if is_odd { [squares[0][1], squares[1][3]] } else { [squares[0][0], squares[1][2]] };
        let squared = own.map(|own| shuffle_from(own, group * 4 + group / 2));
        let mut least = [Two::NONE; 2];
        for tile in 0..self.tiles {
            let (mut main, mut cross) = ([0.0; 4], [0.0; 4]);
            for (step, (&larger, &smaller)) in parts[0].iter().zip(&parts[1]).enumerate() {
                if self.has(step) {
                    let [high, low] = self.fragment(tile, step);
                    main = multiply_tiles::<T::Half>(larger, high, main);
                    if T::IS_SPLIT {
                        cross = multiply_tiles::<T::Half>(smaller, high, cross);
                        cross = multiply_tiles::<T::Half>(larger, low, cross);
                    }
                }
            }
            for i in 0..4 {
                let label = tile * WIDTH + member * 2 + i % 2;
                let product = if T::IS_SPLIT { main[i as usize] + cross[i as usize] } else { main[i as usize] };
                let two = &mut least[i as usize / 2];
                *two = two.offer(label, self.halves.get(label) - product);
            }
        }
        let [per_length, per_square, rest, _] = self.margin.get4(0);
        let margin = Margin { per_length, per_square, rest };
        let mut labels = [OPEN; 2];
        for i in 0..2 {
            let two = least[i].merge_lanes(4);
            if margin.decides(two.second - two.best, squared[i]) {
                labels[i] = two.label;
            }
        }
        labels
    }

    /// The labels of rows, by D where they are open: the warp settles one after the other.
    #[inline(always)]
    fn settle(self, first: u32, end: u32, mut label: u32) -> u32 {
        let Scores { elements, centroids, k, d, .. } = self;
        let mut open = ballot(first + lane() < end && label == OPEN);
        while open != 0 {
            let row = open.trailing_zeros();
            let x = ((first + row) * d) as u64;
            let mut nearest = Nearest::NONE;
            let mut candidate = lane();
            while candidate < k {
                let c = candidate as u64 * d as u64;
                nearest = nearest.offer(candidate, between_rows(elements, x, centroids, c, d));
                candidate += WARP;
            }
            let settled = nearest.merge_lanes(WARP).label();
            label = if lane() == row { settled } else { label };
            open &= open - 1;
        }
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_small_beside_what_they_err_by_and_never_below() {
        // A row of length 11 and centroids of length 1.4: the score errs by less than 3.1·2⁻¹⁸·XC = 1.8e-4, plus 170 units.
        let margin = Margin::new::<f32>(1.0, 128);
        assert!(margin.decides(2e-3, 121.0) && !margin.decides(3.7e-4, 121.0));
        // Numbers as they are: 172 units of XC, both scores.
        let margin = Margin::new::<half::bf16>(1.0, 128);
        assert!(margin.decides(1e-3, 121.0) && !margin.decides(6.3e-4, 121.0));
        assert!(!margin.decides(0.0, 0.0) && !margin.decides(f32::NAN, 121.0) && !margin.decides(1.0, f32::NAN));
        assert!(margin.decides(f32::INFINITY, 121.0) && !margin.decides(f32::INFINITY, f32::INFINITY));
        // Lengths whose squares are out of range decide nothing.
        let far = Margin::new::<f32>(f32::INFINITY, 4);
        assert!(!far.decides(1e30, 1.0) && !margin.decides(1e38, 2e36));
    }
}
