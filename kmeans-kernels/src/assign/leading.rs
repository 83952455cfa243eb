//! The leading scores of rows, from products as four warps' tensor cores leave them: who is best, and who is too close to
//! it to be ruled out.
//!
//! Scores are compared as integers, which has an instruction for the greatest of three, and is right for floats of which
//! one at least is positive. Then all scores are compared with a threshold, the best less a margin; a sum of weights
//! says how many reached it, and which one if it was one. That takes five instructions for two scores, where keeping
//! best, label and second best took eight or more.

use super::NO_LABEL;
use crate::device::{Out, Shared, SharedMemory, Wide, at_least, ballot, lane, multiply_add, shuffle_xor};
use crate::prune::FromScores;

/// Sums from here on count integers exactly, in the low bits.
const COUNTER: f32 = (1 << 23) as f32;
/// Weight of the first of a lane's 32 scores; below the sum of any two.
const WEIGHT: u32 = 64;
/// Bits for a tile's sum of weights.
pub(super) const SUM_BITS: u32 = 12;
/// Marks a code for more tiles than two: a bit for each of so many runs of tiles.
const RUNS: u32 = 1 << 31;
const RUN_COUNT: u32 = 26;
/// Above any score of a row with a margin.
const ABOVE_SCORES: f32 = f32::from_bits((127 + 126) << 23);
/// Any candidate.
pub(crate) const MANY: u32 = NO_LABEL - 1;
/// More candidates than two, in a list.
pub(crate) const LISTED: u32 = NO_LABEL - 2;

/// The leading scores of a lane's two rows: row g and row g + 8 of the warp's 16.
#[derive(Clone, Copy)]
pub(crate) struct Leading {
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
    /// The bits of a number that no score of a centroid without a code exceeds. Kept where bounds are made, else 0.
    below: i32,
}

impl Leading {
    /// No score yet.
    #[inline(always)]
    pub fn new(margins: [f32; 2]) -> Self {
        Self { rows: margins.map(|margin| Row { best: 0, first: 0, second: 0, margin, below: 0 }) }
    }

    /// Takes the scores of the centroids of a tile into account. `keeps_below` is known where this is compiled: rows without
    /// bounds must not pay for them.
    #[inline(always)]
    pub fn offer(&mut self, scores: &Wide, tile: u32, runs: Runs, keeps_below: bool) {
        let best = [greatest(scores, 0), greatest(scores, 1)];
        let mut thresholds = [0.0; 2];
        let mut is_near = false;
        for r in 0..2 {
            let row = &self.rows[r];
            is_near |= f32::from_bits(best[r] as u32) >= f32::from_bits(row.best as u32) - row.margin;
            thresholds[r] = f32::from_bits(row.best.max(best[r]) as u32) - row.margin;
        }
        if ballot(is_near) == 0 {
            if keeps_below {
                // One by one: an iterator would keep the rows in local memory.
                self.rows[0].below = self.rows[0].below.max(best[0]);
                self.rows[1].below = self.rows[1].below.max(best[1]);
            }
            return;
        }
        for r in 0..2 {
            let row = &mut self.rows[r];
            let hits = if keeps_below {
                let (hits, rest) = weights_and_rest(scores, r, thresholds[r]);
                row.below = row.below.max(rest);
                hits
            } else {
                weights(scores, r, thresholds[r])
            };
            if keeps_below && thresholds[r] > f32::from_bits(row.best as u32) {
                // Those with a code lose it.
                row.below = row.below.max(row.best);
            }
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
    pub fn tell(&self, seen: Seen, place: u32, keeps_below: bool) {
        for r in 0..2 {
            let (row, index) = (&self.rows[r], (place + 8 * r as u32) * 4 + lane() % 4);
            seen.best.set(index, f32::from_bits(row.best as u32));
            seen.first.set(index, row.first);
            seen.second.set(index, row.second);
            if keeps_below {
                seen.below.set(index, f32::from_bits(row.below as u32));
            }
            if lane().is_multiple_of(4) {
                seen.margin.set(place + 8 * r as u32, row.margin);
            }
        }
    }

    /// Writes the outcome for rows `first` and `first + 8` of n, whose numbers in the matrix are `number`; all lanes take part.
    #[inline(always)]
    pub fn conclude(&self, first: u64, n: u64, number: impl Fn(u64) -> u64, results: Results) {
        for r in 0..2 {
            let (row, index) = (&self.rows[r], first + 8 * r as u64);
            let best = f32::from_bits(row.best as u32);
            // The first of four lanes sees them in order.
            let bests = [best, shuffle_xor(best, 1), shuffle_xor(best, 2), shuffle_xor(best, 3)];
            let below = f32::from_bits(row.below as u32);
            let belows = if results.bounds.is_some() {
                [below, shuffle_xor(below, 1), shuffle_xor(below, 2), shuffle_xor(below, 3)]
            } else {
                [0.0; 4]
            };
            let four = |code: u32| [code, shuffle_xor(code, 1), shuffle_xor(code, 2), shuffle_xor(code, 3)];
            let (firsts, seconds) = (four(row.first), four(row.second));
            if lane().is_multiple_of(4) && index < n {
                results.conclude(bests, belows, firsts, seconds, row.margin, number(index));
            }
        }
    }
}

/// Where the outcome goes.
#[derive(Clone, Copy)]
pub(crate) struct Results<'a> {
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
    /// Bounds for the next round, where it prunes.
    pub bounds: Option<FromScores<'a>>,
}

/// Runs of tiles, 2 to the power of this long: few enough for a bit each.
#[derive(Clone, Copy)]
pub(crate) struct Runs(u32);

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
    pub(super) fn join(self, first: u32, second: u32, tile: u32) -> u32 {
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
pub(crate) struct Seen<'a> {
    best: Shared<'a, f32>,
    first: Shared<'a, u32>,
    second: Shared<'a, u32>,
    margin: Shared<'a, f32>,
    /// No elements where no bounds are made.
    below: Shared<'a, f32>,
}

impl Seen<'_> {
    /// Of `rows` rows.
    #[inline(always)]
    pub fn new(shared: &mut SharedMemory, rows: u32, keeps_below: bool) -> Self {
        Self {
            best: shared.array(rows * 4),
            first: shared.array(rows * 4),
            second: shared.array(rows * 4),
            margin: shared.array(rows),
            below: shared.array(if keeps_below { rows * 4 } else { 0 }),
        }
    }

    /// Writes the outcome for row `row` of the matrix, which is `place` here.
    #[inline(always)]
    pub fn conclude(self, place: u32, row: u64, results: Results) {
        // Sixteen bytes at a time: one warp does this for all rows of a block.
        let four = |of: Shared<u32>| of.cast::<f32>().get4(place * 4).map(f32::to_bits);
        let bests = self.best.get4(place * 4);
        let (firsts, seconds, margin) = (four(self.first), four(self.second), self.margin.get(place));
        if results.bounds.is_none()
            && let Some(label) = only(bests, firsts, seconds, margin)
        {
            results.labels.set(row, label);
            results.others.set(row, NO_LABEL);
            return;
        }
        let belows = if results.bounds.is_some() { self.below.get4(place * 4) } else { [0.0; 4] };
        results.conclude(bests, belows, firsts, seconds, margin, row);
    }
}

/// The label of a row with one candidate, as nearly all have, in fewer steps than [`Results::conclude`] takes.
#[inline(always)]
fn only(bests: [f32; 4], firsts: [u32; 4], seconds: [u32; 4], margin: f32) -> Option<u32> {
    let best = bests[0].max(bests[1]).max(bests[2].max(bests[3]));
    // A second code is there only beside a first.
    let is_named = |lane: usize| bests[lane] >= best - margin && firsts[lane] != 0;
    let named = [is_named(0), is_named(1), is_named(2), is_named(3)];
    let count = named[0] as u32 + named[1] as u32 + named[2] as u32 + named[3] as u32;
    let lane = named[1] as u32 + 2 * named[2] as u32 + 3 * named[3] as u32;
    let of = |codes: [u32; 4], lane: usize| if named[lane] { codes[lane] } else { 0 };
    let any = |codes: [u32; 4]| of(codes, 0) | of(codes, 1) | of(codes, 2) | of(codes, 3);
    let (code, second) = (any(firsts), any(seconds));
    let is_only = count == 1 && second == 0 && best - margin >= 0.0;
    if is_only && !is_runs(code) && !is_group(code) { Some(label(code, lane)) } else { None }
}

/// The candidates of a row, while they are counted.
#[derive(Clone, Copy)]
pub(super) struct Tally {
    pub low: u32,
    pub high: u32,
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

    /// What is written beside the lower candidate, if scores and margins were sound.
    #[inline(always)]
    pub fn other(self, is_sure: bool) -> u32 {
        match self.count {
            1 if is_sure => NO_LABEL,
            2 if is_sure => self.high,
            _ => MANY,
        }
    }
}

impl Results<'_> {
    /// Writes the outcome for a row from what four lanes have seen of it.
    #[inline(always)]
    fn conclude(self, bests: [f32; 4], belows: [f32; 4], firsts: [u32; 4], seconds: [u32; 4], margin: f32, row: u64) {
        let best = bests[0].max(bests[1]).max(bests[2].max(bests[3]));
        // Not so for no score above zero, or where the best, the margin or both are infinite or no numbers.
        let is_sure = best - margin >= 0.0;
        let near = bests.map(|b| b >= best - margin);
        let named = Named { near, firsts, seconds };
        let tally = named.tally();
        let other = tally.other(is_sure);
        if let Some(bounds) = self.bounds {
            if other == NO_LABEL {
                // What a lane has seen that is no candidate: all of it if its best is none.
                let second = |lane: usize| if near[lane] { belows[lane] } else { bests[lane].max(belows[lane]) };
                bounds.set(row, best, second(0).max(second(1)).max(second(2).max(second(3))), margin);
            } else {
                bounds.forget(row);
            }
        }
        self.write(tally.low, other, named, is_sure, row);
    }

    /// Writes a row's label and the other candidate; if that is [`MANY`], lists the row.
    #[inline(always)]
    pub(super) fn write(self, label: u32, mut other: u32, named: Named, is_sure: bool, row: u64) {
        if other == MANY {
            let at = self.open.fetch_add(0, 1);
            if at < self.room {
                other = LISTED;
                self.open_rows.set(at as u64, row);
                let list = |codes: [u32; 4], lane: usize, place: u64| {
                    self.open_codes.set(at as u64 * 8 + place, if is_sure { named.code(codes, lane) } else { MANY });
                };
                list(named.firsts, 0, 0);
                list(named.seconds, 0, 1);
                list(named.firsts, 1, 2);
                list(named.seconds, 1, 3);
                list(named.firsts, 2, 4);
                list(named.seconds, 2, 5);
                list(named.firsts, 3, 6);
                list(named.seconds, 3, 7);
            }
        }
        self.labels.set(row, label);
        self.others.set(row, other);
    }
}

/// The codes of four lanes for a row, and whose count: a lane's count if some of what it has seen is near the best.
#[derive(Clone, Copy)]
pub(super) struct Named {
    pub near: [bool; 4],
    pub firsts: [u32; 4],
    pub seconds: [u32; 4],
}

impl Named {
    #[inline(always)]
    fn code(&self, codes: [u32; 4], lane: usize) -> u32 {
        if self.near[lane] { codes[lane] } else { 0 }
    }

    #[inline(always)]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally { low: NO_LABEL, high: 0, count: 0 };
        tally = tally.add(self.code(self.firsts, 0), 0).add(self.code(self.seconds, 0), 0);
        tally = tally.add(self.code(self.firsts, 1), 1).add(self.code(self.seconds, 1), 1);
        tally = tally.add(self.code(self.firsts, 2), 2).add(self.code(self.seconds, 2), 2);
        tally.add(self.code(self.firsts, 3), 3).add(self.code(self.seconds, 3), 3)
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
pub(super) fn greatest(scores: &Wide, r: usize) -> i32 {
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
pub(super) fn weights(scores: &Wide, r: usize, threshold: f32) -> u32 {
    let mut chains = [COUNTER, 0.0];
    for (j, eight) in scores.iter().enumerate() {
        for c in 0..2 {
            let weight = (WEIGHT + j as u32 * 2 + c as u32) as f32;
            chains[c] = multiply_add(at_least(eight[2 * r + c], threshold), weight, chains[c]);
        }
    }
    (chains[0] + chains[1]).to_bits() - COUNTER.to_bits()
}

/// The same, and the bits of the greatest score that does not reach it, if one is positive.
#[inline(always)]
fn weights_and_rest(scores: &Wide, r: usize, threshold: f32) -> (u32, i32) {
    let mut chains = [COUNTER, 0.0];
    let mut rests = [i32::MIN; 2];
    for (j, eight) in scores.iter().enumerate() {
        let mut rest = [0; 2];
        for c in 0..2 {
            let reaches = at_least(eight[2 * r + c], threshold);
            let weight = (WEIGHT + j as u32 * 2 + c as u32) as f32;
            chains[c] = multiply_add(reaches, weight, chains[c]);
            // A score that does not reach it stays as it is.
            rest[c] = multiply_add(reaches, -ABOVE_SCORES, eight[2 * r + c]).to_bits() as i32;
        }
        rests[j % 2] = rests[j % 2].max(rest[0]).max(rest[1]);
    }
    ((chains[0] + chains[1]).to_bits() - COUNTER.to_bits(), rests[0].max(rests[1]))
}
