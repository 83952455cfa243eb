//! One fit made by an engine and by the reference, and the comparison of the two.

use std::fmt::Debug;

use kmeans_core::reference::{self, Fit};
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::seeding;
use kmeans_core::settings::Settings;
use kmeans_host::{Element, Error, FittedKMeans, Init, KMeans};
use ndarray::{Array1, Array2, ArrayView2};

/// Everything that is chosen about a fit.
#[derive(Clone, Debug)]
pub struct Job {
    /// Clusters.
    pub k: usize,
    /// Start.
    pub init: Init,
    /// Seed of all draws.
    pub seed: u64,
    /// Starts.
    pub n_init: usize,
    /// Cap, stop rule and policy for empty clusters.
    pub settings: Settings,
}

impl Job {
    /// `k` clusters from `init`; everything else as [`KMeans::new`] has it.
    pub fn new(k: usize, init: Init) -> Self {
        Self { k, init, seed: 0, n_init: 1, settings: Settings::default() }
    }

    /// At most `max_iter` rounds.
    pub fn max_iter(mut self, max_iter: usize) -> Self {
        self.settings.max_iter = max_iter;
        self
    }

    /// The public builder with these choices, on the device that `KMEANS_DEVICE` names.
    pub fn kmeans(&self) -> KMeans {
        KMeans::new(self.k)
            .init(self.init.clone())
            .seed(self.seed)
            .n_init(self.n_init)
            .max_iter(self.settings.max_iter)
            .stop(self.settings.stop)
            .empty_cluster(self.settings.empty)
    }

    /// The fit as an engine makes it.
    ///
    /// # Errors
    /// Those of the fit.
    pub fn fit<T: Element>(
        &self,
        points: ArrayView2<'_, T>,
        weights: Option<&Array1<f64>>,
    ) -> Result<FittedKMeans<T>, Error> {
        match weights {
            None => self.kmeans().fit(&points),
            Some(weights) => self.kmeans().fit_weighted(&points, weights),
        }
    }

    /// The fit as the reference makes it: the best of all starts, the first among equals.
    ///
    /// # Errors
    /// An empty cluster, if that is the policy.
    pub fn reference<T: Element>(&self, points: &Array2<T>, weights: Option<&Array1<f64>>) -> Result<Fit<T>, Error> {
        let mut best: Option<Fit<T>> = None;
        let starts =
            if matches!(self.init, Init::FirstK | Init::EvenlySpaced | Init::Centroids(_)) { 1 } else { self.n_init };
        for restart in 0..starts {
            let start = reference_start(self, points, weights, restart);
            let fit = reference::lloyd(packed(points), points.ncols(), slice(weights), &start, &self.settings)
                .map_err(|e| Error::EmptyCluster { cluster: e.cluster, iteration: e.iteration })?;
            if best.as_ref().is_none_or(|b| fit.inertia < b.inertia) {
                best = Some(fit);
            }
        }
        Ok(best.expect("at least one start"))
    }
}

/// The starting centroids, [k, d], that `restart` begins from by definition.
pub fn reference_start<T: Element>(
    job: &Job,
    points: &Array2<T>,
    weights: Option<&Array1<f64>>,
    restart: usize,
) -> Vec<T> {
    let (n, d) = points.dim();
    let (k, weights, random) = (job.k, slice(weights), Random::new(job.seed, restart as u32));
    let rows: Vec<usize> = match &job.init {
        Init::FirstK => (0..k).collect(),
        Init::EvenlySpaced => seeding::evenly_spaced(n, k),
        Init::RandomPoints => seeding::random_rows(n, k, &random),
        Init::RandomLabels => return reference::random_label_start(packed(points), d, weights, k, &random),
        Init::KMeansPlusPlus => {
            seeding::plus_plus(packed(points), d, weights, k, seeding::trials(k), &random, Purpose::PlusPlus)
        }
        Init::KMeansParallel => seeding::parallel(packed(points), d, weights, k, &random),
        Init::Centroids(centroids) => return centroids.iter().map(|&v| T::from_f64(v)).collect(),
        other => panic!("the reference knows no {other:?}"),
    };
    rows.iter().flat_map(|&i| points.row(i).to_vec()).collect()
}

/// Asserts that the engine makes of `points` what the reference makes of them, or fails as it fails.
pub fn assert_agreement<T: Element>(job: &Job, points: &Array2<T>, weights: Option<&Array1<f64>>) {
    let expected = job.reference(points, weights);
    let found = job.fit(points.view(), weights);
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_same_fit(&found, &expected),
        (found, expected) => assert_eq!(found.err(), expected.err()),
    }
}

/// Asserts that labels, counts, centroids, inertia, rounds and what each round did are the same bits.
pub fn assert_same_fit<T: Element>(found: &FittedKMeans<T>, expected: &Fit<T>) {
    assert_eq!(found.iterations(), expected.iterations, "iterations");
    for (round, (a, b)) in found.history().iter().zip(&expected.history).enumerate() {
        assert_eq!(a.labels_changed, b.labels_changed, "labels changed in round {}", round + 1);
        assert_eq!(a.movement.to_bits(), b.movement.to_bits(), "movement in round {}", round + 1);
        assert_eq!(a.inertia.to_bits(), b.inertia.to_bits(), "inertia in round {}", round + 1);
    }
    assert_same("centroid values", &bits(found.centroids()), &bits(&expected.centroids));
    assert_same("labels", &found.labels().to_vec(), &expected.labels);
    assert_same("counts", &found.counts().to_vec(), &expected.counts);
    assert_eq!(found.inertia().to_bits(), expected.inertia.to_bits(), "inertia");
    assert_eq!(found.converged(), expected.converged, "converged");
}

/// Asserts that two fits are the same in every bit, inertia included.
pub fn assert_identical<T: Element>(a: &FittedKMeans<T>, b: &FittedKMeans<T>) {
    assert_same("labels", &a.labels().to_vec(), &b.labels().to_vec());
    assert_same("centroid values", &bits(a.centroids()), &bits(b.centroids()));
    assert_same("counts", &a.counts().to_vec(), &b.counts().to_vec());
    assert_eq!(a.inertia().to_bits(), b.inertia().to_bits(), "inertia");
    assert_same("history", a.history(), b.history());
    assert_eq!(a.converged(), b.converged(), "converged");
}

/// Asserts that two lists are equal, and names the first difference: whole lists would be too long to read.
pub fn assert_same<A: PartialEq + Debug>(what: &str, found: &[A], expected: &[A]) {
    assert_eq!(found.len(), expected.len(), "number of {what}");
    if let Some(i) = (0..found.len()).find(|&i| found[i] != expected[i]) {
        let different = (0..found.len()).filter(|&i| found[i] != expected[i]).count();
        panic!(
            "{different} of {} {what} differ; the first at {i}: {:?} instead of {:?}",
            found.len(),
            found[i],
            expected[i]
        );
    }
}

/// Asserts that `found` is within `relative` of `expected`.
pub fn assert_close(found: f64, expected: f64, relative: f64) {
    let close = found == expected || (found - expected).abs() <= relative * expected.abs();
    assert!(close, "{found:e} is not within {relative:e} of {expected:e}");
}

/// The values as bits of `f64`, so that equality also tells −0 from 0.
pub fn bits<'a, T: Element>(values: impl IntoIterator<Item = &'a T>) -> Vec<u64> {
    values.into_iter().map(|v| v.to_f64().to_bits()).collect()
}

/// Runs `f` on a pool of `threads` threads.
pub fn with_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool").install(f)
}

/// The elements of a packed array.
pub fn packed<T>(points: &Array2<T>) -> &[T] {
    points.as_slice().expect("row-major, without gaps")
}

fn slice(weights: Option<&Array1<f64>>) -> Option<&[f64]> {
    weights.map(|w| w.as_slice().expect("without gaps"))
}
