//! A level of a tree: large groups one after the other on all threads, small ones side by side.
//!
//! Each group is a fit of this engine on a copy of its rows, which lives as long as the fit.

use kmeans_core::Scalar;
use kmeans_core::rng::Random;
use kmeans_core::seeding;
use kmeans_core::tree::Start;
use ndarray::Array2;
use pulp::Arch;
use rayon::prelude::*;

use super::inertia::inertias;
use super::move_rows::sums_of;
use super::{CpuJob, lloyd};
use crate::Error;
use crate::engine::{Group, Groups, Job, OnGroups, Outcome, Recipe, Splits};
use crate::points::Points;
use crate::progress::Control;

/// A group of at least this many blocks of rows per thread gets all threads.
const BLOCKS_PER_THREAD: usize = 4;
/// Small groups fitted between two reports have at least this many points together, if there are as many.
const REPORT_POINTS: usize = 1 << 16;

/// All points, and the row at each place.
pub(crate) struct CpuGroups<'a, 'p, T> {
    arch: Arch,
    points: &'a Points<'p, T>,
    order: Vec<usize>,
}

/// One group's fit.
struct Fitted<T> {
    outcome: Outcome<T>,
    inertias: Vec<f64>,
    /// Its rows, by label.
    order: Vec<usize>,
}

impl<'a, 'p, T: Scalar> CpuGroups<'a, 'p, T> {
    pub fn new(arch: Arch, points: &'a Points<'p, T>) -> Self {
        Self { arch, points, order: (0..points.n()).collect() }
    }

    /// Fits one group. `observe` is told the round, 0 while seeding.
    fn fit(&self, group: &Group, recipe: &Recipe, observe: OnRound<'_>) -> Result<Fitted<T>, Error> {
        let rows = &self.order[group.places.clone()];
        // All rows in their own order are read in place.
        if rows.len() == self.points.n() && rows.is_sorted() {
            return self.fit_points(self.points, rows, group.seed, recipe, observe);
        }
        self.fit_points(&Points::new(self.points.select(rows).view(), None)?, rows, group.seed, recipe, observe)
    }

    /// Fits `points`, which are at `rows` of all points.
    fn fit_points(
        &self,
        points: &Points<'_, T>,
        rows: &[usize],
        seed: u64,
        recipe: &Recipe,
        observe: OnRound<'_>,
    ) -> Result<Fitted<T>, Error> {
        let start = self.start(points, seed, recipe, observe)?;
        let (outcome, labels) =
            lloyd::lloyd(self.arch, points, start, &recipe.settings, &mut |round, _| observe(round))?;
        let centroids = outcome.centroids.as_slice().expect("made in standard layout");
        let inertias = inertias(self.arch, points, &labels, centroids);
        let mut next = starts(&outcome.counts);
        let mut order = vec![0; rows.len()];
        for (&row, &label) in rows.iter().zip(&labels) {
            let place = &mut next[label as usize];
            order[*place] = row;
            *place += 1;
        }
        Ok(Fitted { outcome, inertias, order })
    }

    fn start(
        &self,
        points: &Points<'_, T>,
        seed: u64,
        recipe: &Recipe,
        observe: OnRound<'_>,
    ) -> Result<Array2<T>, Error> {
        let (n, k, random) = (points.n(), recipe.k, Random::new(seed, 0));
        let mut job = CpuJob::new(self.arch, points);
        let rows = match recipe.start {
            Start::FirstK => (0..k).collect(),
            Start::EvenlySpaced => seeding::evenly_spaced(n, k),
            Start::RandomPoints => seeding::random_rows(n, k, &random),
            Start::KMeansPlusPlus => job.plus_plus(k, &random, &mut |_, _| observe(0))?,
            // The only one that is not of rows.
            _ => return job.random_label_start(k, &random),
        };
        job.rows(&rows)
    }
}

/// Told the round.
type OnRound<'a> = &'a mut (dyn FnMut(usize) -> Control + Send);

/// The place in its group at which each cluster begins.
fn starts(counts: &[u64]) -> Vec<usize> {
    counts
        .iter()
        .scan(0, |place, &count| {
            let start = *place;
            *place += count as usize;
            Some(start)
        })
        .collect()
}

/// Anything but going on ends the work.
fn go_on(answer: Control) -> Control {
    if answer == Control::Continue { Control::Continue } else { Control::Cancel }
}

impl<T: Scalar> Groups<T> for CpuGroups<'_, '_, T> {
    fn mean(&mut self) -> Result<(Vec<T>, f64), Error> {
        let points = self.points;
        let labels = vec![0; points.n()];
        let sums = sums_of(self.arch, points, 1, &labels);
        let mut mean = vec![T::from_f64(0.0); points.d()];
        sums.mean(0, &mut mean);
        let inertia = inertias(self.arch, points, &labels, &mean)[0];
        Ok((mean, inertia))
    }

    fn split(&mut self, groups: &[Group], recipe: &Recipe, observe: OnGroups<'_>) -> Result<Splits<T>, Error> {
        let large = BLOCKS_PER_THREAD * rayon::current_num_threads() * self.points.block_rows();
        let total: usize = groups.iter().map(|g| g.places.len()).sum();
        let rounds = recipe.settings.max_iter.max(1);
        let mut fits = Vec::with_capacity(groups.len());
        let (mut done, mut rest) = (0, groups);
        while let Some(first) = rest.first() {
            let count = if first.places.len() >= large { 1 } else { small_groups(rest, large) };
            let (now, later) = rest.split_at(count);
            if first.places.len() >= large {
                let points = first.places.len();
                let part = |round: usize| (points as u128 * round as u128 / rounds as u128) as usize;
                fits.push(self.fit(first, recipe, &mut |round| go_on(observe(done + part(round), total))));
            } else {
                let now: Vec<_> =
                    now.par_iter().map(|group| self.fit(group, recipe, &mut |_| Control::Continue)).collect();
                fits.extend(now);
            }
            if let Some(Err(Error::Cancelled { .. })) = fits.last() {
                return Err(Error::Cancelled { iterations: 0 });
            }
            done += now.iter().map(|g| g.places.len()).sum::<usize>();
            rest = later;
            if !rest.is_empty() && observe(done, total) != Control::Continue {
                return Err(Error::Cancelled { iterations: 0 });
            }
        }
        let fits = all_or_earliest(fits)?;
        let (k, d) = (recipe.k, self.points.d());
        let mut splits = Splits {
            centroids: Vec::with_capacity(groups.len() * k * d),
            counts: Vec::with_capacity(groups.len() * k),
            inertias: Vec::with_capacity(groups.len() * k),
            iterations: Vec::with_capacity(groups.len()),
            converged: Vec::with_capacity(groups.len()),
        };
        for (group, fit) in groups.iter().zip(fits) {
            splits.centroids.extend(fit.outcome.centroids);
            splits.counts.extend(fit.outcome.counts);
            splits.inertias.extend(fit.inertias);
            splits.iterations.push(fit.outcome.history.len() as u32);
            splits.converged.push(fit.outcome.converged);
            self.order[group.places.clone()].copy_from_slice(&fit.order);
        }
        Ok(splits)
    }

    fn order(&mut self) -> Result<Vec<usize>, Error> {
        Ok(self.order.clone())
    }
}

/// How many of the first groups are small and worth a report together.
fn small_groups(groups: &[Group], large: usize) -> usize {
    let mut points = 0;
    groups
        .iter()
        .take_while(|group| {
            let taken = points < REPORT_POINTS && group.places.len() < large;
            points += group.places.len();
            taken
        })
        .count()
}

/// All fits; or the error of the earliest round, of the first group among equals.
fn all_or_earliest<F>(fits: Vec<Result<F, Error>>) -> Result<Vec<F>, Error> {
    let mut all = Vec::with_capacity(fits.len());
    let mut earliest: Option<(usize, Error)> = None;
    for fit in fits {
        let error = match fit {
            Ok(fit) => {
                all.push(fit);
                continue;
            }
            Err(error) => error,
        };
        let round = match error {
            Error::EmptyCluster { iteration, .. } => iteration,
            _ => 0,
        };
        if earliest.as_ref().is_none_or(|e| round < e.0) {
            earliest = Some((round, error));
        }
    }
    earliest.map_or(Ok(all), |(_, error)| Err(error))
}
