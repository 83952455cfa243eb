//! The CPU engine.

use kmeans_core::rng::Random;
use kmeans_core::settings::Settings;
use kmeans_core::{Scalar, distance, reference, seeding};
use ndarray::{Array2, ArrayView2};

use crate::Error;
use crate::engine::{Engine, OnIteration, OnSeeding, Outcome};
use crate::points::Points;
use crate::progress::Control;

/// Runs on the threads of the current rayon pool.
pub(crate) struct CpuEngine;

impl CpuEngine {
    pub fn new() -> Self {
        Self
    }
}

fn packed<T: Scalar>(points: &Points<'_, T>) -> Vec<T> {
    points.view().iter().copied().collect()
}

impl<T: Scalar> Engine<T> for CpuEngine {
    fn name(&self) -> String {
        "cpu (plain)".into()
    }

    fn lloyd(
        &self,
        points: &Points<'_, T>,
        start: Array2<T>,
        settings: &Settings,
        observe: OnIteration<'_>,
    ) -> Result<Outcome<T>, Error> {
        let (k, d) = start.dim();
        let start: Vec<T> = start.iter().copied().collect();
        let fit = reference::lloyd(&packed(points), d, points.weights(), &start, settings)
            .map_err(|e| Error::EmptyCluster { cluster: e.cluster, iteration: e.iteration })?;
        for (i, record) in fit.history.iter().enumerate() {
            if observe(i + 1, *record) == Control::Cancel {
                return Err(Error::Cancelled { iterations: i + 1 });
            }
        }
        Ok(Outcome {
            labels: fit.labels,
            centroids: Array2::from_shape_vec((k, d), fit.centroids).expect("k·d values"),
            counts: fit.counts,
            inertia: fit.inertia,
            converged: fit.converged,
            history: fit.history,
        })
    }

    fn random_label_start(&self, points: &Points<'_, T>, k: usize, random: &Random) -> Array2<T> {
        let start = reference::random_label_start(&packed(points), points.d(), points.weights(), k, random);
        Array2::from_shape_vec((k, points.d()), start).expect("k·d values")
    }

    fn plus_plus(
        &self,
        points: &Points<'_, T>,
        k: usize,
        random: &Random,
        _observe: OnSeeding<'_>,
    ) -> Result<Vec<usize>, Error> {
        let trials = seeding::trials(k);
        let purpose = kmeans_core::rng::Purpose::PlusPlus;
        Ok(seeding::plus_plus(&packed(points), points.d(), points.weights(), k, trials, random, purpose))
    }

    fn parallel(
        &self,
        points: &Points<'_, T>,
        k: usize,
        random: &Random,
        _observe: OnSeeding<'_>,
    ) -> Result<Vec<usize>, Error> {
        Ok(seeding::parallel(&packed(points), points.d(), points.weights(), k, random))
    }

    fn assign(&self, points: &Points<'_, T>, centroids: ArrayView2<'_, T>) -> Vec<u32> {
        let c: Vec<T> = centroids.iter().copied().collect();
        reference::assign(&packed(points), points.d(), &c)
    }

    fn inertia(&self, points: &Points<'_, T>, centroids: ArrayView2<'_, T>, labels: &[u32]) -> f64 {
        let c: Vec<T> = centroids.iter().copied().collect();
        reference::inertia(&packed(points), points.d(), points.weights(), &c, labels)
    }

    fn transform(&self, points: &Points<'_, T>, centroids: ArrayView2<'_, T>) -> Array2<f64> {
        let c: Vec<Vec<T>> = centroids.rows().into_iter().map(|r| r.to_vec()).collect();
        Array2::from_shape_fn((points.n(), c.len()), |(i, k)| distance(&points.row(i), &c[k]).sqrt())
    }
}
