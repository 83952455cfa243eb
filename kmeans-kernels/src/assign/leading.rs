//! The leading scores of rows, from products as four warps' tensor cores leave them: who is best, and who is too close to
//! it to be ruled out.
//!
//! Scores are compared as integers, which has an instruction for the greatest of three, and is right for floats of which
//! one at least is positive. Then all scores are compared with a threshold, the best less a margin; a sum of weights
//! says how many reached it, and which one if it was one. That takes five instructions for two scores, where keeping
//! best, label and second best took eight or more.

use super::NO_LABEL;
use crate::device::{Out, Shared, SharedMemory, Wide, at_least, ballot, lane, multiply_add, shuffle_xor, sync_warp};

/// Sums from here on count integers exactly, in the low bits.
const COUNTER: f32 = (1 << 23) as f32;
/// Weight of the first of a lane's 32 scores; below the sum of any two.
const WEIGHT: u32 = 64;
/// Bits for a tile's sum of weights.
const SUM_BITS: u32 = 12;
/// Marks a code for more tiles than two: a bit for each of so many runs of tiles.
const RUNS: u32 = 1 << 31;
const RUN_COUNT: u32 = 26;
/// Any candidate.
pub(super) const MANY: u32 = NO_LABEL - 1;
/// More candidates than two, in a list.
pub(super) const LISTED: u32 = NO_LABEL - 2;

/// The leading scores of a lane's two rows: row g and row g + 8 of the warp's 16.
#[derive(Clone, Copy)]
pub(super) struct Leading {
    rows: [Row; 2],
}

/// Those of one row, among the columns that the lane sees.
#[derive(Clone, Copy)]
struct Row {
    /// The bits of the best score, 0 for none above zero.
    best: i32,
    /// Codes of tiles with candidates: their sums of weights, or runs of tiles.
    first: u32,
    second: u32,
    /// How far below the best score a score may be and not be ruled out.
    margin: f32,
}

impl Leading {
    /// No score yet.
    #[inline(always)]
    pub fn new(margins: [f32; 2]) -> Self {
        Self { rows: margins.map(|margin| Row { best: 0, first: 0, second: 0, margin }) }
    }

    /// Takes the scores of the centroids of a tile into account.
    #[inline(always)]
    pub fn offer(&mut self, scores: &Wide, tile: u32, runs: Runs) {
        let best = [greatest(scores, 0), greatest(scores, 1)];
        let mut thresholds = [0.0; 2];
        let mut is_near = false;
        for r in 0..2 {
            let row = &self.rows[r];
            is_near |= f32::from_bits(best[r] as u32) >= f32::from_bits(row.best as u32) - row.margin;
            thresholds[r] = f32::from_bits(row.best.max(best[r]) as u32) - row.margin;
        }
        if ballot(is_near) == 0 {
            return;
        }
        for r in 0..2 {
            let row = &mut self.rows[r];
            let hits = weights(scores, r, thresholds[r]);
            if hits != 0 {
                let code = tile << SUM_BITS | hits;
                if thresholds[r] > f32::from_bits(row.best as u32) || row.first == 0 {
                    row.first = code;
                    row.second = 0;
                } else {
                    row.second = if row.second == 0 { code } else { runs.join(row.first, row.second, tile) };
                }
            }
            row.best = row.best.max(best[r]);
        }
    }

    /// Tells what the lane has seen of its rows, `place` and `place + 8` of `seen`.
    #[inline(always)]
    pub fn tell(&self, seen: Seen, place: u32) {
        for r in 0..2 {
            let (row, index) = (&self.rows[r], (place + 8 * r as u32) * 4 + lane() % 4);
            seen.best.set(index, f32::from_bits(row.best as u32));
            seen.first.set(index, row.first);
            seen.second.set(index, row.second);
            if lane().is_multiple_of(4) {
                seen.margin.set(place + 8 * r as u32, row.margin);
            }
        }
    }

    /// Writes the outcome for rows `first` and `first + 8` of n; all lanes take part.
    #[inline(always)]
    pub fn conclude(&self, first: u64, n: u64, results: Results) {
        for r in 0..2 {
            let (row, index) = (&self.rows[r], first + 8 * r as u64);
            let best = f32::from_bits(row.best as u32);
            // The first of four lanes sees them in order.
            let bests = [best, shuffle_xor(best, 1), shuffle_xor(best, 2), shuffle_xor(best, 3)];
            let four = |code: u32| [code, shuffle_xor(code, 1), shuffle_xor(code, 2), shuffle_xor(code, 3)];
            let (firsts, seconds) = (four(row.first), four(row.second));
            if lane().is_multiple_of(4) && index < n {
                results.conclude(bests, firsts, seconds, row.margin, index);
            }
        }
    }

    /// Adds what scores begin with to the products with a tile, and takes them into account.
    #[inline(always)]
    pub fn offer_with(&mut self, products: &mut Wide, starts: Shared<f32>, first: u32, tile: u32, runs: Runs) {
        for (j, eight) in products.iter_mut().enumerate() {
            let at = first + j as u32 * 8 + lane() % 4 * 2;
            let (a, b) = (starts.get(at), starts.get(at + 1));
            *eight = [eight[0] + a, eight[1] + b, eight[2] + a, eight[3] + b];
        }
        // One lane will say that the starts may be replaced.
        sync_warp();
        self.offer(products, tile, runs);
    }
}

/// Where the outcome goes.
#[derive(Clone, Copy)]
pub(super) struct Results<'a> {
    /// The label, or the lower of two.
    pub labels: Out<'a, u32>,
    /// `NO_LABEL` if that is the only candidate, the other one of two, [`LISTED`], or [`MANY`] if the list was full.
    pub others: Out<'a, u32>,
    /// Rows with more candidates than two, `[room]`, and their codes, `[room, 8]`, all [`MANY`] if any centroid is one.
    pub open_rows: Out<'a, u64>,
    pub open_codes: Out<'a, u32>,
    /// How many rows would have been listed, `[1]`.
    pub open: Out<'a, u32>,
    pub room: u32,
}

/// Runs of tiles, 2 to the power of this long: few enough for a bit each.
#[derive(Clone, Copy)]
pub(super) struct Runs(u32);

impl Runs {
    /// Those of `count` tiles.
    #[inline(always)]
    pub fn new(count: u32) -> Self {
        let mut shift = 0;
        while count > RUN_COUNT << shift {
            shift += 1;
        }
        Self(shift)
    }

    /// The code for the tiles of two codes and one more.
    #[inline(always)]
    fn join(self, first: u32, second: u32, tile: u32) -> u32 {
        let bit = |tile: u32| 1 << (tile >> self.0);
        let before = if is_runs(second) { second } else { bit(first >> SUM_BITS) | bit(second >> SUM_BITS) };
        before | bit(tile) | RUNS
    }

    /// Whether a code with runs has those of this tile.
    #[inline(always)]
    pub fn has(self, code: u32, tile: u32) -> bool {
        code >> (tile >> self.0) & 1 != 0
    }
}

/// What each of four lanes has seen of some rows, in shared memory.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    best: Shared<'a, f32>,
    first: Shared<'a, u32>,
    second: Shared<'a, u32>,
    margin: Shared<'a, f32>,
}

impl Seen<'_> {
    /// Of `rows` rows.
    #[inline(always)]
    pub fn new(shared: &mut SharedMemory, rows: u32) -> Self {
        Self {
            best: shared.array(rows * 4),
            first: shared.array(rows * 4),
            second: shared.array(rows * 4),
            margin: shared.array(rows),
        }
    }

    /// Writes the outcome for row `row` of the matrix, which is `place` here.
    #[inline(always)]
    pub fn conclude(self, place: u32, row: u64, results: Results) {
        let four = |of: Shared<u32>| [0, 1, 2, 3].map(|lane| of.get(place * 4 + lane));
        let bests = self.best.get4(place * 4);
        results.conclude(bests, four(self.first), four(self.second), self.margin.get(place), row);
    }
}

/// The candidates of a row, while they are counted.
#[derive(Clone, Copy)]
struct Tally {
    low: u32,
    high: u32,
    /// One candidate counts 1, a group of them 4.
    count: u32,
}

impl Tally {
    #[inline(always)]
    fn add(self, code: u32, lane: u32) -> Self {
        if code == 0 {
            self
        } else if is_runs(code) || is_group(code) {
            Self { count: self.count + 4, ..self }
        } else {
            let label = label(code, lane);
            Self { low: self.low.min(label), high: self.high.max(label), count: self.count + 1 }
        }
    }
}

impl Results<'_> {
    /// Writes the outcome for a row from what four lanes have seen of it.
    #[inline(always)]
    fn conclude(self, bests: [f32; 4], firsts: [u32; 4], seconds: [u32; 4], margin: f32, row: u64) {
        let best = bests[0].max(bests[1]).max(bests[2].max(bests[3]));
        // Not so for no score above zero, or where the best, the margin or both are infinite or no numbers.
        let is_sure = best - margin >= 0.0;
        let near = bests.map(|b| b >= best - margin);
        let code = |codes: [u32; 4], lane: usize| if near[lane] { codes[lane] } else { 0 };
        let mut tally = Tally { low: NO_LABEL, high: 0, count: 0 };
        tally = tally.add(code(firsts, 0), 0).add(code(seconds, 0), 0);
        tally = tally.add(code(firsts, 1), 1).add(code(seconds, 1), 1);
        tally = tally.add(code(firsts, 2), 2).add(code(seconds, 2), 2);
        tally = tally.add(code(firsts, 3), 3).add(code(seconds, 3), 3);
        let mut other = match tally.count {
            1 if is_sure => NO_LABEL,
            2 if is_sure => tally.high,
            _ => MANY,
        };
        if other == MANY {
            let at = self.open.fetch_add(0, 1);
            if at < self.room {
                other = LISTED;
                self.open_rows.set(at as u64, row);
                let list = |codes: [u32; 4], lane: usize, place: u64| {
                    self.open_codes.set(at as u64 * 8 + place, if is_sure { code(codes, lane) } else { MANY });
                };
                list(firsts, 0, 0);
                list(seconds, 0, 1);
                list(firsts, 1, 2);
                list(seconds, 1, 3);
                list(firsts, 2, 4);
                list(seconds, 2, 5);
                list(firsts, 3, 6);
                list(seconds, 3, 7);
            }
        }
        self.labels.set(row, tally.low);
        self.others.set(row, other);
    }
}

/// Whether a code stands for the scores that a lane sees in runs of tiles.
#[inline(always)]
pub(super) fn is_runs(code: u32) -> bool {
    code & RUNS != 0
}

/// Whether a code stands for some of the 32 scores that a lane sees of a tile, and not for one.
#[inline(always)]
pub(super) fn is_group(code: u32) -> bool {
    code % (1 << SUM_BITS) >= 2 * WEIGHT
}

/// The label that a code of lane `lane` stands for.
#[inline(always)]
pub(super) fn label(code: u32, lane: u32) -> u32 {
    label_in_tile(tile(code), code % (1 << SUM_BITS) - WEIGHT, lane)
}

/// The tile of a code that is not of runs.
#[inline(always)]
pub(super) fn tile(code: u32) -> u32 {
    code >> SUM_BITS
}

/// The label of score `place` of lane `lane` in a tile.
#[inline(always)]
pub(super) fn label_in_tile(tile: u32, place: u32, lane: u32) -> u32 {
    tile * 128 + place / 2 * 8 + lane % 4 * 2 + place % 2
}

/// The bits of the greatest score of row `r`, if one is positive.
#[inline(always)]
fn greatest(scores: &Wide, r: usize) -> i32 {
    let bits = |value: f32| value.to_bits() as i32;
    let mut chains = [i32::MIN; 4];
    for (j, eight) in scores.iter().enumerate() {
        let chain = &mut chains[j % 4];
        *chain = (*chain).max(bits(eight[2 * r])).max(bits(eight[2 * r + 1]));
    }
    chains[0].max(chains[1]).max(chains[2]).max(chains[3])
}

/// The sum of weights of the scores of row `r` that reach the threshold.
#[inline(always)]
fn weights(scores: &Wide, r: usize, threshold: f32) -> u32 {
    let mut chains = [COUNTER, 0.0];
    for (j, eight) in scores.iter().enumerate() {
        for c in 0..2 {
            let weight = (WEIGHT + j as u32 * 2 + c as u32) as f32;
            chains[c] = multiply_add(at_least(eight[2 * r + c], threshold), weight, chains[c]);
        }
    }
    (chains[0] + chains[1]).to_bits() - COUNTER.to_bits()
}
