//! Whole fits in one launch: all blocks stay for many rounds and meet at barriers of the grid, so that a round costs what it
//! computes and not what its launches cost.
//!
//! | kernel | for |
//! |---|---|
//! | [`narrow`] | rows of up to four columns, in registers |
//! | [`tensor`] | rows of up to 128 columns and as many clusters, on tensor cores (tier ampere) |
//!
//! A round has two halves. First blocks label their rows, and add those that changed cluster to differences in shared
//! memory, which they then add to what sums and counts gain. All blocks meet. Then sums become centroids: of few, every block makes
//! all for itself; of more, each makes some, and all meet again. What a round found is logged in a slot of its own: nobody waits for the host, which reads
//! the log when the launch is over, and makes records and inertias of it.

mod fours;
pub mod narrow;
mod own;
mod scores;
pub mod tensor;

use kmeans_core::launch::{FIT_CLOSE, FIT_FIRST, FIT_KEEP_EMPTY, FitEnd, FitRule};

pub use fours::Fours;

use crate::device::{Out, Shared};
use crate::scale::divide::Integer;
use crate::scale::means::add_in_order;

/// What rounds leave, a slot each.
#[derive(Clone, Copy)]
struct Log<'a, T> {
    /// `[slots, k, d]`: round r finds labels for those of slot r, and means for slot r + 1.
    centroids: Out<'a, T>,
    /// `[slots, k, d, words]`: the sums after round r in slot r + 1.
    sums: Out<'a, u64>,
    /// `[slots, k]`: the counts likewise.
    counts: Out<'a, u64>,
    /// `[slots, k·(d·words + 1)]`: what the sums gained in round r, and then the counts, in slot r + 1.
    gained: Out<'a, u64>,
    /// `[slots, k]`: how far each centroid moved in round r, the bits of `f64`.
    moved: Out<'a, u64>,
    /// `[slots, 2]`: labels that changed in round r, and empty clusters.
    found: Out<'a, u64>,
    k: u32,
    d: u32,
}

/// Sum number `index` of `sums`, or of what they gained.
#[inline(always)]
fn sum<F: Integer>(sums: Out<u64>, first: u64, index: u64, words: u64) -> i128 {
    F::integer(|word| sums.get(first + index * words + word as u64))
}

impl<T> Log<'_, T> {
    /// Where `gained` has slot `slot`, for sums of `words` words.
    #[inline(always)]
    fn gains(&self, slot: u64, words: u32) -> u64 {
        slot * (self.k * (self.d * words + 1)) as u64
    }
}

/// What ends the rounds of a launch.
#[derive(Clone, Copy)]
struct Ending {
    rule: u32,
    limit: u64,
    flags: u32,
    rounds: u32,
}

impl Ending {
    /// Whether how far centroids moved ends the rounds.
    #[inline(always)]
    fn by_movement(self) -> bool {
        self.rule == FitRule::MovementAtMost as u32 || self.rule == FitRule::MovementBelow as u32
    }

    /// Whether the labels of the last means are to be found after an end.
    #[inline(always)]
    fn closes(self, end: FitEnd) -> bool {
        end == FitEnd::Converged || (end == FitEnd::Rounds && self.flags & FIT_CLOSE != 0)
    }

    /// Whether, and why, round `slot` was the last, in which so many labels `changed`, and so many clusters came out `empty`; `moved` has
    /// how far each moved, `[k]`.
    #[inline(always)]
    fn end(self, slot: u64, changed: u64, empty: u64, moved: Shared<f64>, k: u32) -> FitEnd {
        if changed == 0 && self.has_labels(slot) {
            return FitEnd::Repeated;
        }
        if empty > 0 && self.flags & FIT_KEEP_EMPTY == 0 {
            return FitEnd::Empty;
        }
        let limit = f64::from_bits(self.limit);
        let stops = if self.by_movement() {
            // The definition adds them one after the other, so no tree; every thread for itself, which saves a barrier.
            let movement = add_in_order(0.0, moved, 0, k);
            movement < limit || (movement == limit && self.rule == FitRule::MovementAtMost as u32)
        } else {
            self.rule == FitRule::ChangedBelow as u32 && (changed as f64) < limit
        };
        if stops {
            FitEnd::Converged
        } else if slot + 1 == self.rounds as u64 {
            FitEnd::Rounds
        } else {
            FitEnd::None
        }
    }

    /// Whether rows have labels before the first round.
    #[inline(always)]
    fn has_labels(self, slot: u64) -> bool {
        slot > 0 || self.flags & FIT_FIRST == 0
    }
}
