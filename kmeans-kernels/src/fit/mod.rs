//! Whole fits in one launch: all blocks stay for many rounds and meet at barriers of the grid, so that a round costs what it
//! computes and not what its launches cost.
//!
//! | kernel | for |
//! |---|---|
//! | [`narrow`] | rows of up to four columns, in registers |
//!
//! A round has two halves. First blocks label their rows, and add those that changed cluster to differences in shared
//! memory, which they then add to the sums of all; then, clusters shared among the blocks, the sums become centroids. After
//! each half all blocks meet. What a round found is logged in a slot of its own: nobody waits for the host, which reads
//! the log when the launch is over, and makes records and inertias of it.

pub mod narrow;

use kmeans_core::exact::quotient_by_count;
use kmeans_core::launch::{FIT_CLOSE, FIT_FIRST, FIT_KEEP_EMPTY, FitEnd, FitRule};

use crate::device::{Number, Out, Shared, block_index, block_size, grid_size, sync_block, thread_index};
use crate::distance::add_square;
use crate::scale::divide::Integer;

/// What rounds leave, a slot each.
#[derive(Clone, Copy)]
struct Log<'a, T> {
    /// `[slots, k, d]`: round r finds labels for those of slot r, and means for slot r + 1.
    centroids: Out<'a, T>,
    /// `[slots, k, d, words]`: the sums after round r in slot r + 1.
    sums: Out<'a, u64>,
    /// `[slots, k]`: the counts likewise.
    counts: Out<'a, u64>,
    /// `[slots, k]`: what the counts gained.
    gained: Out<'a, u64>,
    /// `[slots, k]`: how far each centroid moved in round r, the bits of `f64`.
    moved: Out<'a, u64>,
    /// `[slots, 2]`: labels that changed in round r, and empty clusters.
    found: Out<'a, u64>,
    k: u32,
    d: u32,
}

impl<T: Number> Log<'_, T> {
    /// The second half of round `slot`: centroids from sums, a thread per cluster.
    #[inline(always)]
    fn update<F: Integer>(self, slot: u64, exponent: i32) {
        let (k, d) = (self.k as u64, self.d as u64);
        let words = F::new(exponent, 0).words() as u64;
        // Neighbouring clusters in different blocks: a few clusters are divided at the same time.
        let mut cluster = block_index() as u64 + thread_index() as u64 * grid_size() as u64;
        while cluster < k {
            let (old, new) = (slot * k + cluster, (slot + 1) * k + cluster);
            // Wrapping: a difference may be negative.
            let count = self.counts.get(old).wrapping_add(self.gained.get(new));
            self.counts.set(new, count);
            let mut moved = 0.0_f64;
            for column in 0..d {
                let (before, after) = ((old * d + column) * words, (new * d + column) * words);
                let read = |at: u64| F::integer(|word| self.sums.get(at + word as u64));
                let sum = read(before) + read(after);
                F::store(sum, self.sums, after);
                let centroid = self.centroids.get(old * d + column);
                let mean = if count == 0 { centroid } else { quotient_by_count(sum, exponent, count) };
                self.centroids.set(new * d + column, mean);
                moved = add_square(moved, mean, centroid);
            }
            self.moved.set(old, moved.to_bits());
            if count == 0 {
                self.found.add(slot * 2 + 1, 1);
            }
            cluster += grid_size() as u64 * block_size() as u64;
        }
    }

    /// Whether, and why, round `slot` was the last; all threads of all blocks find the same. `staged` has room for k
    /// numbers, `total` for one.
    #[inline(always)]
    fn end(self, slot: u64, ending: Ending, staged: Shared<f64>, total: Shared<f64>) -> FitEnd {
        let (changed, empty) = (self.found.get(slot * 2), self.found.get(slot * 2 + 1));
        if changed == 0 && ending.has_labels(slot) {
            return FitEnd::Repeated;
        }
        if empty > 0 && ending.flags & FIT_KEEP_EMPTY == 0 {
            return FitEnd::Empty;
        }
        let by_movement = ending.rule == FitRule::MovementAtMost as u32 || ending.rule == FitRule::MovementBelow as u32;
        if by_movement {
            let mut cluster = thread_index();
            while cluster < self.k {
                staged.set(cluster, f64::from_bits(self.moved.get(slot * self.k as u64 + cluster as u64)));
                cluster += block_size();
            }
            sync_block();
            // The definition adds them one after the other, so no tree.
            if thread_index() == 0 {
                let mut sum = 0.0;
                for cluster in 0..self.k {
                    sum += staged.get(cluster);
                }
                total.set(0, sum);
            }
            sync_block();
        }
        let limit = f64::from_bits(ending.limit);
        let stops = if by_movement {
            let movement = total.get(0);
            movement < limit || (movement == limit && ending.rule == FitRule::MovementAtMost as u32)
        } else {
            ending.rule == FitRule::ChangedBelow as u32 && (changed as f64) < limit
        };
        if stops {
            FitEnd::Converged
        } else if slot + 1 == ending.rounds as u64 {
            FitEnd::Rounds
        } else {
            FitEnd::None
        }
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
    /// Whether the labels of the last means are to be found after an end.
    #[inline(always)]
    fn closes(self, end: FitEnd) -> bool {
        end == FitEnd::Converged || (end == FitEnd::Rounds && self.flags & FIT_CLOSE != 0)
    }

    /// Whether rows have labels before the first round.
    #[inline(always)]
    fn has_labels(self, slot: u64) -> bool {
        slot > 0 || self.flags & FIT_FIRST == 0
    }
}
