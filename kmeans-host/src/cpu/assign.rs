//! Labels for a block of rows: skip what bounds decide, filter the rest in `f32`, settle what is close by D.

use kmeans_core::Scalar;
use std::sync::atomic::Ordering;

use kmeans_core::distance::{distance, nearest};
use pulp::{Arch, Simd, WithSimd};

use super::bounds::{Bounds, Drift};
use super::filter::{FAR_POINT, Panels};
use super::frame::Frame;
use super::small::{self, Broadcast};
use super::tile::{self, Lowest};

/// Columns beyond which the filter's error analysis leaves the range it was made for; then D alone decides.
const FILTER_COLUMNS: usize = 1 << 20;

/// The nearest of some centroids, for any number of rows.
pub(crate) struct Assigner<'a, T> {
    arch: Arch,
    frame: &'a Frame,
    centroids: &'a [T],
    d: usize,
    panels: Panels,
    broadcast: Option<Broadcast>,
}

/// Buffers of one thread.
pub(crate) struct Scratch<T> {
    /// Rows copied from a strided view.
    pub rows: Vec<T>,
    gathered: Vec<T>,
    undecided: Vec<u32>,
    y: Vec<f32>,
    lower: Vec<f32>,
    group: Box<small::Group>,
}

impl<T> Scratch<T> {
    pub fn new() -> Self {
        Self {
            rows: Vec::new(),
            gathered: Vec::new(),
            undecided: Vec::new(),
            y: Vec::new(),
            lower: Vec::new(),
            group: small::Group::new(),
        }
    }
}

/// A decided row: its label and, in the frame, bounds on the distance to its centroid and to every other one.
struct Decided {
    label: u32,
    upper: f32,
    lower: f32,
}

impl<'a, T: Scalar> Assigner<'a, T> {
    /// For `centroids`, `[k, d]`.
    pub fn new(arch: Arch, frame: &'a Frame, centroids: &'a [T], d: usize) -> Self {
        let panels = Panels::new(frame, centroids, d, tile::width(arch), tile::fused(arch));
        let broadcast = Broadcast::new(&panels);
        Self { arch, frame, centroids, d, panels, broadcast }
    }

    /// The labels of `rows`, row-major.
    pub fn label(&self, rows: &[T], scratch: &mut Scratch<T>, labels: &mut [u32]) {
        self.arch.dispatch(Block { assigner: self, rows, scratch, labels, bounds: None });
    }

    /// The labels of `rows`, given their last labels and bounds; both are brought up to date.
    pub fn relabel(&self, rows: &[T], scratch: &mut Scratch<T>, labels: &mut [u32], bounds: (Bounds<'_>, &Drift)) {
        self.arch.dispatch(Block { assigner: self, rows, scratch, labels, bounds: Some(bounds) });
    }

    /// For every centroid, half of a lower bound on its distance to the nearest other one, in the frame.
    pub fn half_gaps(&self, scratch: &mut Scratch<T>) -> Vec<f32> {
        let k = self.panels.k;
        let mut gaps = vec![0.0; k];
        if self.d <= FILTER_COLUMNS {
            self.arch.dispatch(Gaps { assigner: self, scratch, gaps: &mut gaps });
        }
        gaps
    }

    fn centroid(&self, k: usize) -> &[T] {
        &self.centroids[k * self.d..][..self.d]
    }

    /// Settles a row by D among the centroids that the filter could not rule out. `limit` bounds S of the nearest one
    /// from above.
    #[inline(always)]
    fn settle(&self, point: &[T], y: &[f32], limit: f64, lower: &mut Vec<f32>) -> Decided {
        tile::lower_bounds(self.arch, &self.panels, y, lower);
        let mut best = (0, f64::INFINITY);
        for (k, &low) in lower.iter().enumerate() {
            if low as f64 <= limit {
                let d = distance(point, self.centroid(k));
                if d < best.1 {
                    best = (k, d);
                }
            }
        }
        lower[best.0] = f32::INFINITY;
        let second = lower.iter().copied().fold(f32::MAX, f32::min);
        Decided {
            label: best.0 as u32,
            upper: self.upper_from_d(best.1),
            lower: self.panels.distance_below(y[self.d], second),
        }
    }

    /// As [`settle`](Self::settle) for a point that the filter does not apply to.
    fn settle_far(&self, point: &[T]) -> Decided {
        let (label, d) = nearest(point, self.centroids);
        Decided { label, upper: self.upper_from_d(d), lower: 0.0 }
    }

    fn upper_from_d(&self, d: f64) -> f32 {
        // D is within (d + 2)·2^-53 of the truth, or 2^-1074 per column.
        let relative = 1.0 + (self.d + 4) as f64 * f64::EPSILON;
        super::filter::up(self.frame.distance(d * relative + self.d as f64 * f64::from_bits(1)) * (1.0 + 1e-12))
    }
}

struct Block<'a, T> {
    assigner: &'a Assigner<'a, T>,
    rows: &'a [T],
    scratch: &'a mut Scratch<T>,
    labels: &'a mut [u32],
    bounds: Option<(Bounds<'a>, &'a Drift)>,
}

impl<T: Scalar> WithSimd for Block<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Block { assigner, rows, scratch, labels, bounds } = self;
        let d = assigner.d;
        if assigner.panels.k == 1 {
            labels.fill(0);
        } else if d > FILTER_COLUMNS {
            for (row, label) in rows.chunks_exact(d).zip(labels) {
                *label = nearest(row, assigner.centroids).0;
            }
        } else if let Some((mut bounds, drift)) = bounds {
            drift.undecided(labels, &mut bounds, &mut scratch.undecided);
            match &assigner.broadcast {
                Some(broadcast) => assigner.small_some(broadcast, rows, scratch, labels, &mut bounds),
                None => assigner.tiled_some(rows, scratch, labels, &mut bounds, drift),
            }
        } else {
            match &assigner.broadcast {
                Some(broadcast) => assigner.small_all(broadcast, rows, scratch, labels),
                None => assigner.tiled_all(rows, scratch, labels),
            }
        }
    }
}

impl<T: Scalar> Assigner<'_, T> {
    /// All rows, lanes over rows.
    #[inline(always)]
    fn small_all(&self, broadcast: &Broadcast, rows: &[T], scratch: &mut Scratch<T>, labels: &mut [u32]) {
        let group = &mut *scratch.group;
        for (rows, labels) in rows.chunks(small::GROUP_ROWS * self.d).zip(labels.chunks_mut(small::GROUP_ROWS)) {
            broadcast.lowest(self.arch, self.frame, &self.panels, rows, group);
            labels.copy_from_slice(&group.labels[..labels.len()]);
            let (low, second) = (&group.low[..labels.len()], &group.second[..labels.len()]);
            // Counted first, without a branch per row: groups without a close call are the rule.
            let close = low.iter().zip(second).map(|(l, s)| u32::from(!(s - l > group.gap))).sum::<u32>();
            if close == 0 {
                continue;
            }
            for (i, row) in rows.chunks_exact(self.d).enumerate() {
                if !(second[i] - low[i] > group.gap) {
                    let limit = low[i] as f64 + group.gap as f64;
                    labels[i] = self.settle_small(row, group.rho, limit, &mut scratch.y, &mut scratch.lower).label;
                }
            }
        }
    }

    #[inline(always)]
    fn settle_small(&self, row: &[T], group_rho: f32, limit: f64, y: &mut Vec<f32>, lower: &mut Vec<f32>) -> Decided {
        y.resize(self.panels.stride(), 0.0);
        if group_rho <= FAR_POINT && self.panels.row(self.frame, row, y) {
            self.settle(row, y, limit, lower)
        } else {
            self.settle_far(row)
        }
    }

    /// The undecided rows, lanes over rows, with their bounds.
    #[inline(always)]
    fn small_some(
        &self,
        broadcast: &Broadcast,
        rows: &[T],
        scratch: &mut Scratch<T>,
        labels: &mut [u32],
        bounds: &mut Bounds<'_>,
    ) {
        let d = self.d;
        let Scratch { gathered, undecided, y, lower, group, .. } = scratch;
        for indices in undecided.chunks(small::GROUP_ROWS) {
            gathered.clear();
            for &i in indices {
                gathered.extend_from_slice(&rows[i as usize * d..][..d]);
            }
            broadcast.lowest(self.arch, self.frame, &self.panels, gathered, group);
            for (at, &i) in indices.iter().enumerate() {
                let (low, second) = (group.low[at], group.second[at]);
                let row = &gathered[at * d..][..d];
                let decided = if second - low > group.gap {
                    // The row's own norm gives tighter bounds than the group's.
                    let rho = group.row_rho(at, &self.panels);
                    Decided {
                        label: group.labels[at],
                        upper: self.panels.distance_above(rho, low as f64 + group.error as f64),
                        lower: self.panels.distance_below(rho, super::filter::down(second as f64 - group.error as f64)),
                    }
                } else {
                    self.settle_small(row, group.rho, low as f64 + group.gap as f64, y, lower)
                };
                labels[i as usize] = decided.label;
                bounds.upper[i as usize] = decided.upper;
                bounds.lower[i as usize] = decided.lower;
            }
        }
    }

    /// All rows, lanes over centroids.
    #[inline(always)]
    fn tiled_all(&self, rows: &[T], scratch: &mut Scratch<T>, labels: &mut [u32]) {
        let stride = self.panels.stride();
        let Scratch { y, lower, .. } = scratch;
        for (rows, labels) in rows.chunks(tile::GROUP_ROWS * self.d).zip(labels.chunks_mut(tile::GROUP_ROWS)) {
            y.resize(tile::GROUP_ROWS * stride, 0.0);
            let mut near = [true; tile::GROUP_ROWS];
            for ((row, y), near) in rows.chunks_exact(self.d).zip(y.chunks_exact_mut(stride)).zip(&mut near) {
                *near = self.panels.row(self.frame, row, y);
            }
            let mut found = [Lowest::default(); tile::GROUP_ROWS];
            let found = &mut found[..labels.len()];
            tile::lowest(self.arch, &self.panels, &y[..labels.len() * stride], found);
            for (i, (label, found)) in labels.iter_mut().zip(found).enumerate() {
                let (y, row) = (&y[i * stride..][..stride], &rows[i * self.d..][..self.d]);
                let upper = self.panels.upper(found.label as usize, found.low, y[self.d]);
                *label = if near[i] && found.second as f64 > upper {
                    found.label
                } else if near[i] {
                    self.settle(row, y, upper, lower).label
                } else {
                    self.settle_far(row).label
                };
            }
        }
    }

    /// The undecided rows, lanes over centroids, with their bounds.
    #[inline(always)]
    fn tiled_some(
        &self,
        rows: &[T],
        scratch: &mut Scratch<T>,
        labels: &mut [u32],
        bounds: &mut Bounds<'_>,
        drift: &Drift,
    ) {
        let (d, stride) = (self.d, self.panels.stride());
        let Scratch { undecided, y, lower, .. } = scratch;
        y.resize(tile::GROUP_ROWS * stride, 0.0);
        let mut waiting = undecided.iter().map(|&i| i as usize);
        let tighten = drift.has_labels() && drift.tighten;
        let mut decided_early = 0;
        loop {
            // Rows whose last centroid is provably still the nearest once its distance is known drop out here.
            let mut group = [(0, true); tile::GROUP_ROWS];
            let mut filled = 0;
            while filled < tile::GROUP_ROWS {
                let Some(i) = waiting.next() else { break };
                let y = &mut y[filled * stride..][..stride];
                let near = self.panels.row(self.frame, &rows[i * d..][..d], y);
                if near && tighten {
                    let upper = self.panels.distance_direct(y, labels[i] as usize);
                    bounds.upper[i] = upper;
                    if drift.decides(labels[i], upper, bounds.lower[i]) {
                        decided_early += 1;
                        continue;
                    }
                }
                group[filled] = (i, near);
                filled += 1;
            }
            if filled == 0 {
                break;
            }
            let mut found = [Lowest::default(); tile::GROUP_ROWS];
            tile::lowest(self.arch, &self.panels, &y[..filled * stride], &mut found[..filled]);
            for (at, &(i, near)) in group[..filled].iter().enumerate() {
                let (y, row, found) = (&y[at * stride..][..stride], &rows[i * d..][..d], found[at]);
                let upper = self.panels.upper(found.label as usize, found.low, y[d]);
                let decided = if near && found.second as f64 > upper {
                    Decided {
                        label: found.label,
                        upper: self.panels.distance_above(y[d], upper),
                        lower: self.panels.distance_below(y[d], found.second),
                    }
                } else if near {
                    self.settle(row, y, upper, lower)
                } else {
                    self.settle_far(row)
                };
                labels[i] = decided.label;
                bounds.upper[i] = decided.upper;
                bounds.lower[i] = decided.lower;
            }
        }
        if tighten {
            drift.tried.fetch_add(undecided.len(), Ordering::Relaxed);
            drift.decided.fetch_add(decided_early, Ordering::Relaxed);
        }
    }
}

struct Gaps<'a, T> {
    assigner: &'a Assigner<'a, T>,
    scratch: &'a mut Scratch<T>,
    gaps: &'a mut [f32],
}

impl<T: Scalar> WithSimd for Gaps<'_, T> {
    type Output = ();

    /// The centroids are filtered as if they were points: the second lowest bound belongs to the nearest other one.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Gaps { assigner, scratch, gaps } = self;
        let (panels, d, stride) = (&assigner.panels, assigner.d, assigner.panels.stride());
        let y = &mut scratch.y;
        y.resize(tile::GROUP_ROWS * stride, 0.0);
        for (g, gaps) in gaps.chunks_mut(tile::GROUP_ROWS).enumerate() {
            let mut near = [true; tile::GROUP_ROWS];
            for (i, y) in y.chunks_exact_mut(stride).take(gaps.len()).enumerate() {
                near[i] = panels.row(assigner.frame, assigner.centroid(g * tile::GROUP_ROWS + i), y);
            }
            let mut found = [Lowest::default(); tile::GROUP_ROWS];
            tile::lowest(assigner.arch, panels, &y[..gaps.len() * stride], &mut found[..gaps.len()]);
            for (i, gap) in gaps.iter_mut().enumerate() {
                let itself = found[i].label as usize == g * tile::GROUP_ROWS + i;
                let low = if itself { found[i].second } else { found[i].low };
                *gap = if near[i] { panels.distance_below(y[i * stride + d], low) * 0.5 } else { 0.0 };
            }
        }
    }
}
