//! The builder: what to fit, and the fit itself.

use std::sync::Arc;

use kmeans_core::rng::Random;
use kmeans_core::seeding as rows_of;
use kmeans_core::settings::{EmptyCluster, Settings, Stop};
use ndarray::{Array2, ArrayBase, ArrayView2, Data, Ix1, Ix2};

use crate::choose::{Work, engine_for, gpu_for, resolve};
use crate::engine::{Engine, Job, OnSeeding, Outcome, Task};
use crate::fitted::FittedKMeans;
use crate::points::{Bytes, Facts, Points};
use crate::progress::{Control, Observer, Progress};
use crate::{Device, Element, Error, Init};

/// K-means with k clusters: settings first, then [`fit`](Self::fit).
///
/// | setting | default |
/// |---|---|
/// | [`init`](Self::init) | greedy k-means++ |
/// | [`max_iter`](Self::max_iter) | 300 |
/// | [`stop`](Self::stop) | relative tolerance 1e-4, as scikit-learn |
/// | [`empty_cluster`](Self::empty_cluster) | move to the farthest points, as scikit-learn |
/// | [`n_init`](Self::n_init) | 1 |
/// | [`seed`](Self::seed) | 0 |
/// | [`device`](Self::device) | a GPU if one can be used, else the processor |
///
/// ```
/// use kmeans_host::{KMeans, Stop};
/// use ndarray::Array2;
///
/// let points = Array2::from_shape_fn((1000, 8), |(i, j)| ((i * 7 + j * 13) % 101) as f32);
/// let fitted = KMeans::new(10).n_init(3).seed(42).stop(Stop::LabelsRepeat).fit(&points)?;
/// assert_eq!(fitted.labels().len(), 1000);
/// assert_eq!(fitted.counts().sum(), 1000);
/// # Ok::<(), kmeans_host::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct KMeans {
    pub(crate) k: usize,
    pub(crate) init: Init,
    pub(crate) settings: Settings,
    n_init: usize,
    pub(crate) seed: u64,
    pub(crate) device: Device,
    pub(crate) observer: Option<Observer>,
}

impl KMeans {
    /// K-means with `k` clusters and the default settings.
    pub fn new(k: usize) -> Self {
        Self {
            k,
            init: Init::default(),
            settings: Settings::default(),
            n_init: 1,
            seed: 0,
            device: Device::default(),
            observer: None,
        }
    }

    /// How starting centroids are chosen.
    pub fn init(mut self, init: Init) -> Self {
        self.init = init;
        self
    }

    /// The most rounds of assignment and update. With 0 the starting centroids are returned as they are.
    pub fn max_iter(mut self, max_iter: usize) -> Self {
        self.settings.max_iter = max_iter;
        self
    }

    /// The stop rule beside repeating labels and the cap.
    pub fn stop(mut self, stop: Stop) -> Self {
        self.settings.stop = stop;
        self
    }

    /// What happens to a cluster that loses its points.
    pub fn empty_cluster(mut self, policy: EmptyCluster) -> Self {
        self.settings.empty = policy;
        self
    }

    /// The number of starts, of which the one with the smallest inertia is kept (the first among equals). A start that
    /// is not random is made once, whatever is asked here.
    pub fn n_init(mut self, n_init: usize) -> Self {
        self.n_init = n_init;
        self
    }

    /// The seed of all random draws.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Where the work runs.
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// A function that is told how the fit goes, and can end it. It is called from the thread that called `fit`.
    ///
    /// ```
    /// use kmeans_host::{Control, Error, KMeans, Progress};
    /// use ndarray::Array2;
    ///
    /// let points = Array2::from_shape_fn((500, 2), |(i, j)| ((i * 31 + j * 17) % 97) as f64);
    /// let stopped = KMeans::new(20)
    ///     .on_progress(|progress| match progress {
    ///         Progress::Iteration { iteration: 2, .. } => Control::Cancel,
    ///         _ => Control::Continue,
    ///     })
    ///     .fit(&points);
    /// assert_eq!(stopped.unwrap_err(), Error::Cancelled { iterations: 2 });
    /// ```
    pub fn on_progress(mut self, observer: impl Fn(&Progress) -> Control + Send + Sync + 'static) -> Self {
        self.observer = Some(Observer(Arc::new(observer)));
        self
    }

    /// Clusters `points`, `[n, d]`: any ndarray of `f32`, `f64`, `f16` or `bf16`, owned or a view, in any layout.
    ///
    /// # Errors
    /// An [`Error`] that says which setting, row or device is wrong; the points are checked before any work is done.
    pub fn fit<T: Element, S: Data<Elem = T>>(&self, points: &ArrayBase<S, Ix2>) -> Result<FittedKMeans<T>, Error> {
        self.fit_view(points.view(), None)
    }

    /// Clusters `points`, `[n, d]`, each row counting as much as its entry of `weights`, `[n]`: finite, not negative, not
    /// all zero. Rows of weight zero get labels but move no centroid.
    ///
    /// ```
    /// use kmeans_host::KMeans;
    /// use ndarray::array;
    ///
    /// let points = array![[0.0_f64], [1.0], [50.0]];
    /// let fitted = KMeans::new(1).fit_weighted(&points, &array![3.0, 1.0, 0.0])?;
    /// assert_eq!(fitted.centroids()[[0, 0]], 0.25);
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and for bad weights.
    pub fn fit_weighted<T: Element, S: Data<Elem = T>, W: Data<Elem = f64>>(
        &self,
        points: &ArrayBase<S, Ix2>,
        weights: &ArrayBase<W, Ix1>,
    ) -> Result<FittedKMeans<T>, Error> {
        self.fit_view(points.view(), Some(weights.to_vec()))
    }

    fn fit_view<T: Element>(
        &self,
        view: ArrayView2<'_, T>,
        weights: Option<Vec<f64>>,
    ) -> Result<FittedKMeans<T>, Error> {
        self.fit_points(view.dim(), || Points::to_fit(view, weights))
    }

    /// As [`fit_weighted`](Self::fit_weighted), for points that are bytes.
    pub(crate) fn fit_bytes(&self, bytes: Bytes<'_>, weights: Option<Vec<f64>>) -> Result<FittedKMeans<f32>, Error> {
        self.fit_points(bytes.dim(), || Points::of_bytes(bytes, weights))
    }

    /// Whether points of shape `dim` are clustered on a GPU.
    pub(crate) fn uses_gpu(&self, dim: (usize, usize)) -> Result<bool, Error> {
        Ok(gpu_for::<f32>(self.device, self.work(dim))?.is_some())
    }

    fn fit_points<'p, T: Element>(
        &self,
        dim: (usize, usize),
        points: impl FnOnce() -> Result<Points<'p, T>, Error>,
    ) -> Result<FittedKMeans<T>, Error> {
        self.check(dim)?;
        let device = resolve(self.device)?;
        let engine = engine_for::<T>(device, self.work(dim))?;
        let points = points()?;
        match self.fit_on(engine.as_ref(), &points) {
            // The caller left the choice open.
            Err(Error::DeviceMemory { .. }) if device == Device::Auto => self.fit_on(T::cpu().as_ref(), &points),
            fitted => fitted,
        }
    }

    pub(crate) fn fit_on<T: Element>(
        &self,
        engine: &dyn Engine<T>,
        points: &Points<'_, T>,
    ) -> Result<FittedKMeans<T>, Error> {
        let mut job = engine.load(points, Task::Fit { k: self.k })?;
        let best = self.fit_job(job.as_mut(), points.facts())?;
        Ok(FittedKMeans::new(best, job.labels()?, self.device, engine.name()))
    }

    /// As [`fit_weighted`](Self::fit_weighted), but from what `start` makes of the draws of each start, and by `settings`.
    pub(crate) fn fit_from<T: Element>(
        &self,
        view: ArrayView2<'_, T>,
        weights: Vec<f64>,
        settings: &Settings,
        mut start: impl FnMut(&Random, OnSeeding<'_>) -> Result<Array2<T>, Error>,
    ) -> Result<FittedKMeans<T>, Error> {
        self.check(view.dim())?;
        let device = resolve(self.device)?;
        let engine = engine_for::<T>(device, self.work(view.dim()))?;
        let points = Points::to_fit(view, Some(weights))?;
        let mut fit = |engine: &dyn Engine<T>| {
            let mut job = engine.load(&points, Task::Fit { k: self.k })?;
            let best = self.best_of(job.as_mut(), settings, &mut |_, random, seeding| start(random, seeding))?;
            Ok(FittedKMeans::new(best, job.labels()?, self.device, engine.name()))
        };
        match fit(engine.as_ref()) {
            Err(Error::DeviceMemory { .. }) if device == Device::Auto => fit(T::cpu().as_ref()),
            fitted => fitted,
        }
    }

    /// The best of all starts, whose labels `job` has.
    pub(crate) fn fit_job<T: Element>(&self, job: &mut dyn Job<T>, facts: &Facts) -> Result<Outcome<T>, Error> {
        self.best_of(job, &self.settings, &mut |job, random, seeding| self.start(job, facts, random, seeding))
    }

    fn best_of<T: Element>(
        &self,
        job: &mut dyn Job<T>,
        settings: &Settings,
        start: OnStart<'_, T>,
    ) -> Result<Outcome<T>, Error> {
        let mut best: Option<Outcome<T>> = None;
        for restart in 0..self.starts() {
            let outcome = match self.run(job, settings, restart, start) {
                // The observer said to finish while a later start was being seeded: there is a model to return.
                Err(Stopped::WhileSeeding(Control::Finish)) if best.is_some() => break,
                outcome => outcome?,
            };
            let finished = outcome.finished;
            if best.as_ref().is_none_or(|b| outcome.inertia < b.inertia) {
                best = Some(outcome);
                job.keep();
            }
            if finished {
                break;
            }
        }
        Ok(best.expect("n_init was checked to be at least 1"))
    }

    /// Clusters.
    #[cfg(feature = "cuda")]
    pub(crate) fn k(&self) -> usize {
        self.k
    }

    pub(crate) fn starts(&self) -> usize {
        if self.init.is_random() { self.n_init } else { 1 }
    }

    /// How much there is to do on points of shape `dim`, at most.
    pub(crate) fn work(&self, dim: (usize, usize)) -> Work {
        Work::new(dim, self.k, self.settings.max_iter.saturating_mul(self.starts()))
    }

    /// The settings against the shape of the points.
    pub(crate) fn check(&self, (n, d): (usize, usize)) -> Result<(), Error> {
        let k = self.k;
        if k == 0 {
            return Err(Error::ZeroClusters);
        }
        if k > u32::MAX as usize {
            return Err(Error::TooManyClusters { k });
        }
        if self.n_init == 0 {
            return Err(Error::ZeroRestarts);
        }
        if let Some(value) = self.settings.stop.parameter()
            && !(value.is_finite() && value >= 0.0)
        {
            return Err(Error::BadStop { value });
        }
        if d == 0 {
            return Err(Error::NoColumns);
        }
        if n == 0 {
            return Err(Error::NoPoints);
        }
        if n < k {
            return Err(Error::TooFewPoints { n, k });
        }
        if let Init::Centroids(c) = &self.init
            && c.dim() != (k, d)
        {
            return Err(Error::InitShape { k, d, found_k: c.nrows(), found_d: c.ncols() });
        }
        Ok(())
    }

    fn run<T: Element>(
        &self,
        job: &mut dyn Job<T>,
        settings: &Settings,
        restart: usize,
        start: OnStart<'_, T>,
    ) -> Result<Outcome<T>, Stopped> {
        let report = |progress: Progress| self.observer.as_ref().map_or(Control::Continue, |o| (o.0)(&progress));
        let random = Random::new(self.seed, restart as u32);
        let mut answer = Control::Continue;
        let start = start(job, &random, &mut |done, total| {
            answer = report(Progress::Seeding { restart, done, total });
            answer
        });
        let start = match start {
            Err(Error::Cancelled { .. }) => return Err(Stopped::WhileSeeding(answer)),
            start => start?,
        };
        let outcome = job.lloyd(start, settings, &mut |iteration, record| {
            report(Progress::Iteration { restart, iteration, max_iter: self.settings.max_iter, record })
        });
        Ok(outcome?)
    }

    fn start<T: Element>(
        &self,
        job: &mut dyn Job<T>,
        facts: &Facts,
        random: &Random,
        seeding: OnSeeding<'_>,
    ) -> Result<Array2<T>, Error> {
        let (n, k) = (facts.n, self.k);
        let rows = match &self.init {
            Init::FirstK => (0..k).collect(),
            Init::EvenlySpaced => rows_of::evenly_spaced(n, k),
            Init::RandomPoints => rows_of::random_rows(n, k, random),
            Init::RandomLabels => return job.random_label_start(k, random),
            Init::KMeansPlusPlus => job.plus_plus(k, random, seeding)?,
            Init::KMeansParallel => job.parallel(k, random, seeding)?,
            Init::Centroids(centroids) => return given_centroids(centroids, facts.limit()),
        };
        job.rows(&rows)
    }
}

/// Makes the starting centroids of one start from its draws.
type OnStart<'a, T> = &'a mut dyn FnMut(&mut dyn Job<T>, &Random, OnSeeding<'_>) -> Result<Array2<T>, Error>;

/// Why a start gave no outcome.
enum Stopped {
    /// The observer gave this answer before there were centroids.
    WhileSeeding(Control),
    Failed(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::WhileSeeding(_) => Self::Cancelled { iterations: 0 },
            Stopped::Failed(error) => error,
        }
    }
}

/// Given centroids, rounded to the points' type; as large as points may be, at most.
pub(crate) fn given_centroids<T: Element>(centroids: &Array2<f64>, limit: f64) -> Result<Array2<T>, Error> {
    for ((row, column), &value) in centroids.indexed_iter() {
        let rounded = T::from_f64(value).to_f64();
        if !(rounded.is_finite() && rounded.abs() < limit) {
            return Err(Error::InitNotFinite { row, column, value });
        }
    }
    Ok(centroids.mapv(T::from_f64))
}
