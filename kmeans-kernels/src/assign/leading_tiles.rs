//! The same as [`leading`](super::leading), where each tile of centroids has a margin of its own.
//!
//! A score s of a tile with margin E stands for anything from s − E to s + E. The floor of a row is the greatest s − E; a
//! centroid is a candidate if its s + E reaches the floor. With one margin for all that is what `leading` does with twice
//! the margin.

use super::NO_LABEL;
use super::bound::{Lengths, TileBound};
use super::leading::{MANY, Named, Results, Runs, SUM_BITS, greatest, weights};
use crate::device::{In, Shared, Wide, ballot, lane, shuffle_xor, sync_warp};

/// The leading scores of a lane's two rows: row g and row g + 8 of the warp's 16.
#[derive(Clone, Copy)]
pub(crate) struct Leading {
    rows: [Row; 2],
}

/// Those of one row, among the columns that the lane sees.
#[derive(Clone, Copy)]
struct Row {
    lengths: Lengths,
    /// The greatest score less its margin, 0 for none above zero.
    floor: f32,
    /// What the candidates reach at most, with their margins.
    reach: f32,
    /// Codes of tiles with candidates: their sums of weights, or runs of tiles.
    first: u32,
    second: u32,
}

/// What the scores of a tile are held against.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    thresholds: [f32; 2],
    /// What the best of them reach, with the tile's margin.
    reaches: [f32; 2],
    /// Whether any lane of the warp has a candidate.
    is_any: bool,
}

impl Found {
    /// Of no scores.
    pub const NOTHING: Self = Self { thresholds: [0.0; 2], reaches: [0.0; 2], is_any: false };
}

impl Leading {
    /// No score yet.
    #[inline(always)]
    pub fn new(lengths: [Lengths; 2]) -> Self {
        Self { rows: lengths.map(|lengths| Row { lengths, floor: 0.0, reach: 0.0, first: 0, second: 0 }) }
    }

    /// Adds what scores begin with, from `first` on, to the products with a tile, and finds out what the rows' floors are now.
    #[inline(always)]
    pub fn look(&mut self, products: &mut Wide, starts: Shared<f32>, first: u32, bound: TileBound) -> Found {
        for (j, eight) in products.iter_mut().enumerate() {
            let at = first + j as u32 * 8 + lane() % 4 * 2;
            let (a, b) = (starts.get(at), starts.get(at + 1));
            *eight = [eight[0] + a, eight[1] + b, eight[2] + a, eight[3] + b];
        }
        // One lane will say that the starts may be replaced.
        sync_warp();
        let (mut thresholds, mut reaches) = ([0.0; 2], [0.0; 2]);
        let mut is_near = false;
        for r in 0..2 {
            let row = &mut self.rows[r];
            // If none is positive, all are below zero.
            let best = f32::from_bits(greatest(products, r).max(0) as u32);
            let margin = row.lengths.margin(bound);
            row.floor = row.floor.max(best - margin);
            thresholds[r] = row.floor - margin;
            reaches[r] = best + margin;
            is_near |= best >= thresholds[r];
        }
        Found { thresholds, reaches, is_any: ballot(is_near) != 0 }
    }

    /// Notes the candidates among the scores of tile `tile`.
    #[inline(always)]
    pub fn note(&mut self, scores: &Wide, found: Found, tile: u32, runs: Runs) {
        if !found.is_any {
            return;
        }
        for r in 0..2 {
            let row = &mut self.rows[r];
            let hits = weights(scores, r, found.thresholds[r]);
            if hits != 0 {
                let (code, reach) = (tile << SUM_BITS | hits, found.reaches[r]);
                if row.reach < row.floor || row.first == 0 {
                    (row.first, row.second, row.reach) = (code, 0, reach);
                } else {
                    row.second = if row.second == 0 { code } else { runs.join(row.first, row.second, tile) };
                    row.reach = row.reach.max(reach);
                }
            }
        }
    }

    /// Writes the outcome for rows `first` and `first + 8` of n, where `order` has the label of each place in the tiles; all
    /// lanes take part.
    #[inline(always)]
    pub fn conclude(&self, first: u64, n: u64, order: In<u32>, results: Results) {
        for r in 0..2 {
            let (row, index) = (&self.rows[r], first + 8 * r as u64);
            let mut floor = row.floor.max(shuffle_xor(row.floor, 1));
            floor = floor.max(shuffle_xor(floor, 2));
            // The first of four lanes sees them in order.
            let reaches = [row.reach, shuffle_xor(row.reach, 1), shuffle_xor(row.reach, 2), shuffle_xor(row.reach, 3)];
            let four = |code: u32| [code, shuffle_xor(code, 1), shuffle_xor(code, 2), shuffle_xor(code, 3)];
            let (firsts, seconds) = (four(row.first), four(row.second));
            if lane().is_multiple_of(4) && index < n {
                let named = Named { near: reaches.map(|reach| reach >= floor), firsts, seconds };
                // Not so for no score above zero, or where margins are infinite or no numbers.
                let is_sure = floor > 0.0;
                let tally = named.tally();
                let (mut label, mut other) = (tally.low, tally.other(is_sure));
                if other != MANY {
                    label = order.get(tally.low as u64);
                    if other != NO_LABEL {
                        let second = order.get(tally.high as u64);
                        (label, other) = (label.min(second), label.max(second));
                    }
                }
                results.write(label, other, named, is_sure, index);
            }
        }
    }
}
