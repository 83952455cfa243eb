//! Bounds that carry over from one round to the next, so that most rows need no distances at all.
//!
//! Hamerly, "Making k-means even faster", SDM 2010: for every row an upper bound on the distance to its centroid and a
//! lower bound on the distance to every other one. When centroids move, the bounds move with them; while the upper
//! stays below the lower, the label cannot change. Every bound here is rounded to the safe side, and a row is skipped only
//! where the inequality is strict by more than D's own rounding, so that skipping never changes a label.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::filter::up;

/// How much the comparison must be strict by: above 2·(d + 4)·2^-53, D's relative error, for any d that is filtered.
const STRICT: f32 = 1.0 + 1e-6;

/// Distances below this, in a frame where the data are about 1, may be below what D resolves in tiny `f64` data.
const SMALLEST: f32 = 1e-21;

/// The bounds of a block of rows, in the frame.
pub(crate) struct Bounds<'a> {
    /// On the distance to the row's centroid.
    pub upper: &'a mut [f32],
    /// On the distance to every other centroid.
    pub lower: &'a mut [f32],
}

/// How far the centroids moved since the bounds were made.
pub(crate) struct Drift {
    /// Per centroid; empty in the first round.
    moved: Vec<f32>,
    /// The farthest moved, how far, and how far the next.
    farthest: (u32, f32, f32),
    /// Per centroid, half the distance to the nearest other one, or less.
    half_gaps: Vec<f32>,
    /// Whether measuring the distance to a row's own centroid first has paid lately.
    pub tighten: bool,
    /// Rows that were not decided by the bounds alone, rows for which the distance was measured, and rows that this
    /// decided.
    pub undecided: AtomicUsize,
    pub tried: AtomicUsize,
    pub decided: AtomicUsize,
}

/// What a round does about bounds. Keeping them costs time per row, which on data without structure nothing repays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pruning {
    /// Not at all, for this many rounds.
    Off(usize),
    /// Evaluate every row and keep its bounds.
    Establish,
    /// Skip the rows that the bounds decide.
    On,
}

impl Drift {
    /// Before the first round: nothing is known and every row is undecided.
    pub fn unknown() -> Self {
        Self {
            moved: Vec::new(),
            farthest: (0, 0.0, 0.0),
            half_gaps: Vec::new(),
            tighten: true,
            undecided: AtomicUsize::new(0),
            tried: AtomicUsize::new(0),
            decided: AtomicUsize::new(0),
        }
    }

    /// From distances moved in the frame, not rounded down, and half gaps from [`super::assign::Assigner::half_gaps`].
    pub fn new(moved: impl Iterator<Item = f64>, half_gaps: Vec<f32>, tighten: bool) -> Self {
        let moved: Vec<f32> = moved.map(|m| up(m * (1.0 + 1e-9))).collect();
        let mut farthest = (0, 0.0, 0.0);
        for (k, &m) in moved.iter().enumerate() {
            if m > farthest.1 {
                farthest = (k as u32, m, farthest.1);
            } else if m > farthest.2 {
                farthest.2 = m;
            }
        }
        Self { moved, farthest, half_gaps, tighten, ..Self::unknown() }
    }

    /// Whether to tighten in the next round: it must have decided one row in eight, or not have been tried for a while.
    pub fn tighten_next(&self, round: usize) -> bool {
        let (tried, decided) = (self.tried.load(Ordering::Relaxed), self.decided.load(Ordering::Relaxed));
        decided * 8 > tried || round.is_multiple_of(8)
    }

    /// Whether the bounds decided too few of n rows to be worth keeping.
    pub fn is_useless(&self, n: usize) -> bool {
        self.undecided.load(Ordering::Relaxed) > n - n / 8
    }

    /// Whether rows have labels from a round before.
    pub fn has_labels(&self) -> bool {
        !self.moved.is_empty()
    }

    /// Whether a row labelled `label` with these bounds certainly keeps its label.
    #[inline(always)]
    pub fn decides(&self, label: u32, upper: f32, lower: f32) -> bool {
        let lower = lower.max(self.half_gaps[label as usize]);
        upper * STRICT < lower && lower > SMALLEST
    }

    /// Moves the bounds along and lists the rows whose label could have changed.
    #[inline(always)]
    pub fn undecided(&self, labels: &[u32], bounds: &mut Bounds<'_>, out: &mut Vec<u32>) {
        out.clear();
        if !self.has_labels() {
            out.extend(0..labels.len() as u32);
            return;
        }
        let rows = labels.iter().zip(&mut *bounds.upper).zip(&mut *bounds.lower);
        for (i, ((&label, upper), lower)) in rows.enumerate() {
            let others = if label == self.farthest.0 { self.farthest.2 } else { self.farthest.1 };
            // One addition in f32 is off by at most 2^-24 of its result; the factors more than undo that.
            *upper = (*upper + self.moved[label as usize]) * (1.0 + 2.4e-7);
            *lower = ((*lower - others) * (1.0 - 2.4e-7)).max(0.0);
            if !self.decides(label, *upper, *lower) {
                out.push(i as u32);
            }
        }
        self.undecided.fetch_add(out.len(), Ordering::Relaxed);
    }
}
