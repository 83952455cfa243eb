//! Lloyd's iterations on the CPU: one parallel pass over the points per round.
//!
//! A pass labels each block of rows and, while the block is in cache, moves the rows that changed cluster from one sum
//! to the other. Sums are exact integers, so neither the order of rows nor the split over threads can be seen in them.

use std::ops::Range;
use std::sync::Mutex;

use kmeans_core::exact::ExactSum;
use kmeans_core::settings::{EmptyCluster, Iteration, Settings, Stop};
use kmeans_core::{Scalar, distance};
use ndarray::Array2;
use pulp::Arch;
use rayon::prelude::*;

use super::assign::{Assigner, Scratch};
use super::bounds::{Bounds, Drift, Pruning};
use super::cluster_sums::ClusterSums;
use super::frame::Frame;
use super::inertia::{inertia, mean_variance, square_sum};
use super::line::{Line, Segments};
use super::move_rows::{MoveRows, PARTIAL_BYTES, sums_of};
use super::sums::Sign;
use super::{empty, sums_by_cluster};
use crate::Error;
use crate::engine::{OnIteration, Outcome};
use crate::points::Points;
use crate::progress::Control;

/// Below this many multiplications per row (k·d) the bounds cost more than the distances they save.
const PRUNE_FROM: usize = 64;

/// What a fit carries from round to round.
struct State<'a, 'p, T> {
    points: &'a Points<'p, T>,
    arch: Arch,
    frame: Frame,
    labels: Vec<u32>,
    /// The labels of the round before, for rows that an empty cluster takes over.
    before: Vec<u32>,
    /// Empty where rows are not pruned.
    upper: Vec<f32>,
    lower: Vec<f32>,
    sums: ClusterSums,
    first: bool,
    pruning: Pruning,
    /// Rounds to wait before bounds are tried again.
    patience: usize,
    /// For one column: the points in order, while that can be used, and the clusters of the round before.
    line: Option<(Line, Option<Segments>)>,
    empty: EmptyCluster,
}

/// Buffers of a thread, kept for the next block that a thread works on.
struct Worker<T> {
    scratch: Scratch<T>,
    sums: Option<ClusterSums>,
}

/// [`kmeans_core::reference::lloyd`], in parallel: the outcome and its labels.
pub(crate) fn lloyd<T: Scalar>(
    arch: Arch,
    points: &Points<'_, T>,
    start: Array2<T>,
    settings: &Settings,
    observe: OnIteration<'_>,
) -> Result<(Outcome<T>, Vec<u32>), Error> {
    let (n, (k, d)) = (points.n(), start.dim());
    let threshold = match settings.stop {
        Stop::RelativeTolerance(tolerance) => tolerance * mean_variance(arch, points),
        _ => 0.0,
    };
    let squares = square_sum(arch, points, true);
    let mut centroids: Vec<T> = start.iter().copied().collect();
    let mut state = State::new(arch, points, k, settings);
    let mut drift = Drift::unknown();
    let mut history = Vec::new();
    let (mut converged, mut current, mut finish) = (false, false, false);

    while history.len() < settings.max_iter && !converged && !finish {
        let first = state.first;
        let changed = state.assign(&centroids, &drift);
        let mut record = Iteration {
            inertia: state.inertia(&squares, &centroids),
            movement: 0.0,
            labels_changed: if first { n as u64 } else { changed },
        };
        if !first && changed == 0 {
            (converged, current) = (true, true);
        } else {
            let moved = state.fill_empty_clusters(&centroids, settings.empty, history.len() + 1)?;
            if !first {
                record.labels_changed = record.labels_changed.wrapping_add_signed(moved);
            }
            let updated = state.means(&centroids);
            let distances: Vec<f64> = updated
                .par_chunks_exact(d)
                .zip(centroids.par_chunks_exact(d))
                .with_min_len(1 + (1 << 14) / d)
                .map(|(new, old)| distance(new, old))
                .collect();
            record.movement = distances.iter().sum();
            converged = match settings.stop {
                Stop::RelativeTolerance(_) => record.movement <= threshold,
                Stop::Movement(limit) => record.movement < limit,
                Stop::LabelsChanged(share) => (record.labels_changed as f64) < share * n as f64,
                _ => false,
            };
            centroids = updated;
            state.plan_next(&drift);
            drift = state.drift(&distances, &centroids, drift.tighten_next(history.len()));
        }
        history.push(record);
        match observe(history.len(), record) {
            Control::Continue => {}
            Control::Finish => finish = true,
            Control::Cancel => return Err(Error::Cancelled { iterations: history.len() }),
        }
    }

    if !current {
        if state.pruning == Pruning::Establish {
            // Nobody will use bounds made in the last pass.
            state.pruning = Pruning::Off(1);
        }
        // The last update moved the centroids: the labels returned belong to where they are now.
        state.assign(&centroids, &drift);
    }
    let inertia = state.inertia(&squares, &centroids);
    let (labels, counts) = state.into_labels();
    let centroids = Array2::from_shape_vec((k, d), centroids).expect("k·d values");
    Ok((Outcome { centroids, counts, inertia, converged, finished: finish, history }, labels))
}

impl<'a, 'p, T: Scalar> State<'a, 'p, T> {
    fn new(arch: Arch, points: &'a Points<'p, T>, k: usize, settings: &Settings) -> Self {
        let (n, d) = (points.n(), points.d());
        let line = Line::new(points, k, settings.max_iter).map(|line| (line, None));
        let pruned = if k * d >= PRUNE_FROM { n } else { 0 };
        Self {
            points,
            arch,
            frame: Frame::new(points),
            labels: vec![0; n],
            before: vec![0; n],
            upper: vec![0.0; pruned],
            lower: vec![0.0; pruned],
            sums: ClusterSums::new(points, k),
            first: true,
            // In the first round or two centroids jump too far for bounds to hold.
            pruning: if pruned > 0 { Pruning::Off(1) } else { Pruning::Off(usize::MAX) },
            patience: 1,
            line,
            empty: settings.empty,
        }
    }

    /// What the next round does about bounds, after a round that ran with `drift`.
    fn plan_next(&mut self, drift: &Drift) {
        if self.line.is_some() {
            return;
        }
        self.pruning = match self.pruning {
            Pruning::Off(1) => Pruning::Establish,
            Pruning::Off(rounds) => Pruning::Off(rounds - 1),
            Pruning::On if drift.is_useless(self.points.n()) => {
                self.patience *= 2;
                Pruning::Off(self.patience)
            }
            Pruning::Establish | Pruning::On => Pruning::On,
        };
    }

    /// One pass: labels, bounds and sums for `centroids`. Returns the number of labels that changed.
    fn assign(&mut self, centroids: &[T], drift: &Drift) -> u64 {
        self.assign_on_line(centroids).unwrap_or_else(|| self.assign_blocks(centroids, drift))
    }

    /// As [`assign`](Self::assign), for points in order; `None`, and never again, where that cannot go on.
    fn assign_on_line(&mut self, centroids: &[T]) -> Option<u64> {
        let (line, before) = self.line.as_mut()?;
        let now = line.segments(centroids);
        let k = centroids.len();
        if let Some(now) = now.filter(|now| self.empty == EmptyCluster::Keep || !now.counts(k).contains(&0)) {
            let changed = before.as_ref().map_or(self.points.n() as u64, |before| now.changed(before));
            *before = Some(now);
            self.first = false;
            return Some(changed);
        }
        // Empty clusters take points over row by row: go on with labels, from where the last round ended.
        let (line, before) = self.line.take().expect("looked at above");
        if let Some(before) = before {
            line.labels(&before, &mut self.labels);
            self.sums = sums_of(self.arch, self.points, k, &self.labels);
        }
        None
    }

    /// One pass over all blocks of rows.
    fn assign_blocks(&mut self, centroids: &[T], drift: &Drift) -> u64 {
        let (points, d, first) = (self.points, self.points.d(), self.first);
        let k = centroids.len() / d;
        let assigner = Assigner::new(self.arch, &self.frame, centroids, d);
        let partial = ClusterSums::bytes(points, k) <= PARTIAL_BYTES;
        let workers: Mutex<Vec<Worker<T>>> = Mutex::new(Vec::new());
        let take = || workers.lock().expect("no panic while locked").pop();
        std::mem::swap(&mut self.before, &mut self.labels);
        let before = &self.before;
        let step = points.block_rows();
        let work = |block: Range<usize>, labels: &mut [u32], bounds: Option<Bounds<'_>>| {
            let mut worker = take().unwrap_or_else(|| Worker {
                scratch: Scratch::new(),
                sums: partial.then(|| ClusterSums::new(points, k)),
            });
            let mut buffer = std::mem::take(&mut worker.scratch.rows);
            let rows = points.rows(block.clone(), &mut buffer);
            match bounds {
                Some(bounds) => {
                    // Rows that are skipped keep their label.
                    labels.copy_from_slice(&before[block.clone()]);
                    assigner.relabel(rows, &mut worker.scratch, labels, (bounds, drift));
                }
                None => assigner.label(rows, &mut worker.scratch, labels),
            }
            let changed = match &mut worker.sums {
                Some(sums) => {
                    let before = (!first).then(|| &before[block.clone()]);
                    let weights = points.weights().map(|w| &w[block]);
                    self.arch.dispatch(MoveRows { sums, rows, weights, labels, before })
                }
                None if first => labels.len() as u64,
                None => labels.iter().zip(&before[block]).filter(|(a, b)| a != b).count() as u64,
            };
            worker.scratch.rows = buffer;
            workers.lock().expect("no panic while locked").push(worker);
            changed
        };
        let blocks = points.blocks().zip(self.labels.par_chunks_mut(step));
        let changed: u64 = if let Pruning::Off(_) = self.pruning {
            blocks.map(|(block, labels)| work(block, labels, None)).sum()
        } else {
            let bounds = self.upper.par_chunks_mut(step).zip(self.lower.par_chunks_mut(step));
            blocks
                .zip(bounds)
                .map(|((block, labels), (upper, lower))| work(block, labels, Some(Bounds { upper, lower })))
                .sum()
        };
        if partial {
            for mut worker in workers.into_inner().expect("no panic while locked") {
                self.sums.drain(worker.sums.as_mut().expect("made with sums"));
            }
        } else if changed > 0 {
            sums_by_cluster::move_rows(&mut self.sums, points, &self.labels, (!first).then_some(before));
        }
        self.first = false;
        changed
    }

    /// The inertia of the last pass.
    fn inertia(&self, squares: &ExactSum, centroids: &[T]) -> f64 {
        match &self.line {
            Some((line, Some(segments))) => line.inertia(segments, centroids, squares),
            _ => inertia(squares, &self.sums, centroids, self.points.d()),
        }
    }

    /// Labels and counts of the last pass.
    fn into_labels(mut self) -> (Vec<u32>, Vec<u64>) {
        if let Some((line, Some(segments))) = &self.line {
            line.labels(segments, &mut self.labels);
            return (self.labels, segments.counts(self.sums.counts.len()));
        }
        (self.labels, self.sums.counts)
    }

    /// Applies the policy to empty clusters. Returns by how much that changes the number of changed labels.
    fn fill_empty_clusters(&mut self, centroids: &[T], policy: EmptyCluster, iteration: usize) -> Result<i64, Error> {
        if self.line.is_some() {
            return Ok(0);
        }
        let Some(cluster) = self.sums.members().iter().position(|&m| m == 0) else { return Ok(0) };
        match policy {
            EmptyCluster::Error => return Err(Error::EmptyCluster { cluster, iteration }),
            EmptyCluster::Farthest => {}
            _ => return Ok(0),
        }
        let mut delta = 0;
        for (row, to) in empty::farthest(self.points, centroids, &self.labels, self.sums.members()) {
            let (from, before) = (self.labels[row], self.before[row]);
            let (point, weight) = (self.points.row(row), self.points.weights().map(|w| w[row]));
            self.sums.add(from as usize, &point, weight, Sign::Minus);
            self.sums.add(to as usize, &point, weight, Sign::Plus);
            self.labels[row] = to;
            delta += i64::from(to != before) - i64::from(from != before);
            if !self.upper.is_empty() {
                // Its bounds are those of another cluster: know nothing.
                (self.upper[row], self.lower[row]) = (f32::INFINITY, 0.0);
            }
        }
        Ok(delta)
    }

    /// The means; a cluster without points of positive weight keeps its centroid.
    fn means(&self, old: &[T]) -> Vec<T> {
        if let Some((line, Some(segments))) = &self.line {
            return line.means(segments, old);
        }
        let (d, sums) = (self.points.d(), &self.sums);
        let mut new = old.to_vec();
        new.par_chunks_exact_mut(d).with_min_len(1 + (1 << 12) / d).enumerate().for_each(|(k, c)| sums.mean(k, c));
        new
    }

    fn drift(&self, squared: &[f64], centroids: &[T], tighten: bool) -> Drift {
        if self.pruning != Pruning::On {
            return Drift::unknown();
        }
        let k = squared.len();
        // k² distances are worth it while they are few beside the n·k that they can save.
        let half_gaps = if k <= self.points.n() / 8 {
            Assigner::new(self.arch, &self.frame, centroids, self.points.d()).half_gaps(&mut Scratch::new())
        } else {
            vec![0.0; k]
        };
        Drift::new(squared.iter().map(|&s| self.frame.distance(s)), half_gaps, tighten)
    }
}
