//! Many problems of equal size in one call.

use kmeans_core::settings::Settings;
use kmeans_core::tree::Start;
use ndarray::{Array2, ArrayBase, ArrayView2, ArrayView3, Axis, Data, Ix3};
use rayon::prelude::*;

use crate::choose::{engine_for, resolve};
use crate::engine::{Batch, BatchStart, Engine, Labelled};
use crate::kmeans::given_centroids;
use crate::points::{Facts, Points};
use crate::{Device, Element, Error, FittedKMeans, Init, KMeans};

impl KMeans {
    /// Clusters each of b sets of points, `points` being `[b, n, d]`, by the same settings: model i is that of
    /// [`fit`](Self::fit) on `points[i]`, bit for bit, the seed being the same for all of them. With
    /// [`Init::Centroids`] all begin at the same centroids.
    ///
    /// A GPU works on all problems in each launch. It takes them one after the other where there is a progress callback (which
    /// is told about each fit in turn) and for [`Init::KMeansParallel`]. On the processor they are fitted side by side.
    ///
    /// ```
    /// use kmeans_host::KMeans;
    /// use ndarray::{Array3, Axis};
    ///
    /// let points = Array3::from_shape_fn((4, 100, 2), |(b, i, j)| ((i * (7 + b) + j * 13) % 31) as f32); // [b, n, d]
    /// let settings = KMeans::new(3).seed(1);
    /// let fits = settings.fit_batch(&points)?;
    /// assert_eq!(fits.len(), 4);
    /// let alone = settings.fit(&points.index_axis(Axis(0), 2))?;
    /// assert_eq!(fits[2].centroids(), alone.centroids());
    /// assert_eq!(fits[2].inertia(), alone.inertia());
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit`](Self::fit). What is wrong with one problem is [`Error::Problem`], which says with which: the first, if there
    /// are several.
    pub fn fit_batch<T: Element, S: Data<Elem = T>>(
        &self,
        points: &ArrayBase<S, Ix3>,
    ) -> Result<Vec<FittedKMeans<T>>, Error> {
        let view = points.view();
        let (problems, n, d) = view.dim();
        self.check((n, d))?;
        let device = resolve(self.device)?;
        if problems == 0 {
            return Ok(Vec::new());
        }
        let engine = engine_for::<T>(device, self.work((n.saturating_mul(problems), d)))?;
        let each = checked(view)?;
        let rows = match view.into_shape_with_order((problems * n, d)) {
            Ok(rows) => Points::of(rows, union(&each)),
            // Rows that do not lie one after the other are fitted problem by problem, or copied for all of them.
            Err(_) => return self.fit_copied(engine.as_ref(), device, &each, view),
        };
        self.fit_together_or_cpu(engine.as_ref(), device, &each, &rows)
    }

    fn fit_copied<T: Element>(
        &self,
        engine: &dyn Engine<T>,
        device: Device,
        each: &[Points<'_, T>],
        view: ArrayView3<'_, T>,
    ) -> Result<Vec<FittedKMeans<T>>, Error> {
        let (problems, n, d) = view.dim();
        let rows = Array2::from_shape_vec((problems * n, d), view.iter().copied().collect()).expect("b·n·d values");
        self.fit_together_or_cpu(engine, device, each, &Points::of(rows.view(), union(each)))
    }

    fn fit_together_or_cpu<T: Element>(
        &self,
        engine: &dyn Engine<T>,
        device: Device,
        each: &[Points<'_, T>],
        rows: &Points<'_, T>,
    ) -> Result<Vec<FittedKMeans<T>>, Error> {
        match self.fit_all(engine, each, rows) {
            // The caller left the choice open.
            Err(Error::DeviceMemory { .. }) if device == Device::Auto => self.fit_all(T::cpu().as_ref(), each, rows),
            fits => fits,
        }
    }

    /// `each` are the problems, `rows` the rows of all of them.
    fn fit_all<T: Element>(
        &self,
        engine: &dyn Engine<T>,
        each: &[Points<'_, T>],
        rows: &Points<'_, T>,
    ) -> Result<Vec<FittedKMeans<T>>, Error> {
        let together =
            self.observer.is_none() && !matches!(self.init, Init::KMeansParallel) && !rows.facts().is_too_large();
        if together && let Some(mut batch) = engine.load_batch(rows, each.len(), self.k)? {
            let limit = each.iter().map(|points| points.facts().limit()).fold(f64::INFINITY, f64::min);
            let fits = self.best_of_all(batch.as_mut(), each.len(), limit)?;
            return Ok(fits
                .into_iter()
                .map(|(outcome, labels)| FittedKMeans::new(outcome, labels, self.device, engine.name()))
                .collect());
        }
        let fit = |(problem, points)| self.fit_on(engine, points).map_err(|error| in_problem(problem, error));
        if !engine.is_gpu() && self.observer.is_none() {
            let fits: Vec<_> = each.par_iter().enumerate().map(fit).collect();
            fits.into_iter().collect()
        } else {
            each.iter().enumerate().map(fit).collect()
        }
    }

    /// The best of all starts of each problem, and its labels.
    fn best_of_all<T: Element>(
        &self,
        batch: &mut dyn Batch<T>,
        problems: usize,
        limit: f64,
    ) -> Result<Vec<Labelled<T>>, Error> {
        let settings: &Settings = &self.settings;
        let mut best: Vec<Option<Labelled<T>>> = (0..problems).map(|_| None).collect();
        let mut failed = vec![None; problems];
        for restart in 0..self.starts() {
            let start = self.batch_start(restart as u32, limit)?;
            for (problem, fit) in batch.lloyd(&start, settings)?.into_iter().enumerate() {
                let fit = match fit {
                    Ok(fit) => fit,
                    Err(found) => {
                        failed[problem].get_or_insert(found);
                        continue;
                    }
                };
                if best[problem].as_ref().is_none_or(|b| fit.0.inertia < b.0.inertia) {
                    best[problem] = Some(fit);
                }
            }
        }
        for (problem, found) in failed.into_iter().enumerate() {
            if let Some(found) = found {
                let error = Error::EmptyCluster { cluster: found.cluster, iteration: found.iteration };
                return Err(in_problem(problem, error));
            }
        }
        Ok(best.into_iter().map(|best| best.expect("n_init was checked to be at least 1")).collect())
    }

    fn batch_start<T: Element>(&self, restart: u32, limit: f64) -> Result<BatchStart<T>, Error> {
        let start = match &self.init {
            Init::FirstK => Start::FirstK,
            Init::EvenlySpaced => Start::EvenlySpaced,
            Init::RandomPoints => Start::RandomPoints,
            Init::RandomLabels => Start::RandomLabels,
            Init::Centroids(centroids) => return Ok(BatchStart::Given(given_centroids(centroids, limit)?)),
            _ => Start::KMeansPlusPlus,
        };
        Ok(BatchStart::Drawn { start, seed: self.seed, restart })
    }
}

/// Each problem's points, checked.
fn checked<T: Element>(view: ArrayView3<'_, T>) -> Result<Vec<Points<'_, T>>, Error> {
    let problems = 0..view.len_of(Axis(0));
    let check = |problem| {
        let own: ArrayView2<'_, T> = view.index_axis_move(Axis(0), problem);
        Points::to_fit(own, None).map_err(|error| in_problem(problem, error))
    };
    problems.map(check).collect()
}

/// What is known of the rows of all problems.
fn union<T: Element>(each: &[Points<'_, T>]) -> Facts {
    let mut facts = each[0].facts().clone();
    facts.n *= each.len();
    facts.range = each.iter().fold(facts.range, |range, points| range.union(points.facts().range));
    facts
}

fn in_problem(problem: usize, error: Error) -> Error {
    Error::Problem { problem, error: Box::new(error) }
}
