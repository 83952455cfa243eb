//! The result of a fit, and what can be asked of it.

use kmeans_core::settings::Iteration;
use ndarray::{Array1, Array2, ArrayBase, ArrayView1, ArrayView2, Data, Ix1, Ix2};

use crate::choose::{Work, engine_for};
use crate::engine::{Engine, Job, Outcome, Task};
use crate::notice::Notice;
use crate::points::{Facts, Points};
use crate::{Device, Element, Error};

/// A fitted model: centroids, and the labels of the points it was fitted on.
///
/// The labels belong to the centroids: `fitted.labels()` is what `fitted.predict` returns for the same points, also when
/// the cap on iterations ended the fit.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "crate::saved::Unchecked<T>"))]
#[cfg_attr(
    feature = "serde",
    serde(bound(serialize = "T: serde::Serialize", deserialize = "T: Element + serde::Deserialize<'de>"))
)]
pub struct FittedKMeans<T> {
    pub(crate) centroids: Array2<T>,
    pub(crate) labels: Array1<u32>,
    pub(crate) counts: Array1<u64>,
    pub(crate) inertia: f64,
    pub(crate) converged: bool,
    pub(crate) history: Vec<Iteration>,
    pub(crate) device: Device,
    pub(crate) engine: String,
}

impl<T: Element> FittedKMeans<T> {
    pub(crate) fn new(outcome: Outcome<T>, labels: Vec<u32>, device: Device, engine: String) -> Self {
        Self {
            centroids: outcome.centroids,
            labels: Array1::from(labels),
            counts: Array1::from(outcome.counts),
            inertia: outcome.inertia,
            converged: outcome.converged,
            history: outcome.history,
            device,
            engine,
        }
    }

    /// The model with these `centroids`, `[k, d]`, such as read from a file: it labels and scores points on `device`. It was
    /// fitted on no points, so that it has no labels, counts of zero and no notices.
    ///
    /// ```
    /// use kmeans_host::{Device, FittedKMeans};
    /// use ndarray::array;
    ///
    /// let model = FittedKMeans::from_centroids(&array![[0.0_f32, 0.0], [10.0, 10.0]], Device::Auto)?;
    /// assert_eq!(model.predict(&array![[9.0_f32, 8.0], [1.0, 2.0]])?.to_vec(), [1, 0]);
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ZeroClusters`], [`Error::TooManyClusters`], [`Error::NoColumns`]; [`Error::InitNotFinite`] for a value that is not
    /// finite, or too large to square.
    pub fn from_centroids<S: Data<Elem = T>>(centroids: &ArrayBase<S, Ix2>, device: Device) -> Result<Self, Error> {
        let (k, d) = centroids.dim();
        if k == 0 {
            return Err(Error::ZeroClusters);
        }
        if k > u32::MAX as usize {
            return Err(Error::TooManyClusters { k });
        }
        if d == 0 {
            return Err(Error::NoColumns);
        }
        if let Some(((row, column), value)) = unusable(centroids.view()) {
            return Err(Error::InitNotFinite { row, column, value: value.to_f64() });
        }
        Ok(Self {
            centroids: centroids.as_standard_layout().into_owned(),
            labels: Array1::default(0),
            counts: Array1::zeros(k),
            inertia: 0.0,
            converged: true,
            history: Vec::new(),
            device,
            engine: "none: the centroids were given".into(),
        })
    }

    /// The centroids, `[k, d]`, in the points' type.
    pub fn centroids(&self) -> ArrayView2<'_, T> {
        self.centroids.view()
    }

    /// The label of each point, `[n]`: the lowest k among the nearest centroids.
    pub fn labels(&self) -> ArrayView1<'_, u32> {
        self.labels.view()
    }

    /// Points per cluster, `[k]`; whatever their weights.
    pub fn counts(&self) -> ArrayView1<'_, u64> {
        self.counts.view()
    }

    /// The weighted sum over points of the squared Euclidean distance to the nearest centroid, exact, rounded once.
    pub fn inertia(&self) -> f64 {
        self.inertia
    }

    /// Rounds of assignment run, the one that found the labels repeated included.
    pub fn iterations(&self) -> usize {
        self.history.len()
    }

    /// Whether a stop rule ended the rounds, and not the cap or the progress callback.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// What each round did.
    pub fn history(&self) -> &[Iteration] {
        &self.history
    }

    /// What did the work, for people, such as "cpu (AVX-512, 2 threads)".
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// What is right but may surprise: not converged, clusters without points.
    pub fn notices(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        if self.labels.is_empty() {
            return notices;
        }
        if !self.converged {
            notices.push(Notice::NotConverged { iterations: self.iterations() });
        }
        let non_empty = self.counts.iter().filter(|&&c| c > 0).count();
        if non_empty < self.counts.len() {
            notices.push(Notice::EmptyClusters { k: self.counts.len(), non_empty });
        }
        notices
    }

    /// The labels, without a copy.
    pub fn into_labels(self) -> Array1<u32> {
        self.labels
    }

    /// The label of each of `points`, `[n, d]` of the model's type: the lowest k among the nearest centroids.
    ///
    /// # Errors
    /// For another number of columns, values that are not finite or too large to square, or a device that is gone.
    pub fn predict<S: Data<Elem = T>>(&self, points: &ArrayBase<S, Ix2>) -> Result<Array1<u32>, Error> {
        let points = self.check(points.view(), None)?;
        let engine = self.engine_for(points.facts())?;
        let mut job = self.load(engine.as_ref(), &points)?;
        job.assign(self.centroids())?;
        Ok(Array1::from(job.labels()?))
    }

    /// The Euclidean distance (not squared) of each of `points`, `[n, d]`, to each centroid: `[n, k]`.
    ///
    /// ```
    /// use kmeans_host::{Init, KMeans};
    /// use ndarray::array;
    ///
    /// let points = array![[0.0_f32, 0.0], [6.0, 8.0]];
    /// let fitted = KMeans::new(2).init(Init::FirstK).fit(&points)?;
    /// assert_eq!(fitted.transform(&points)?, array![[0.0, 10.0], [10.0, 0.0]]);
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn transform<S: Data<Elem = T>>(&self, points: &ArrayBase<S, Ix2>) -> Result<Array2<f64>, Error> {
        let points = self.check(points.view(), None)?;
        let engine = self.engine_for(points.facts())?;
        self.load(engine.as_ref(), &points)?.transform(self.centroids())
    }

    /// Minus the inertia of `points`, `[n, d]`, under this model: larger is better, as scikit-learn's `score`.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn score<S: Data<Elem = T>>(&self, points: &ArrayBase<S, Ix2>) -> Result<f64, Error> {
        self.score_of(self.check(points.view(), None)?)
    }

    /// As [`score`](Self::score), each row counting as much as its entry of `weights`, `[n]`.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), and for bad weights.
    pub fn score_weighted<S: Data<Elem = T>, W: Data<Elem = f64>>(
        &self,
        points: &ArrayBase<S, Ix2>,
        weights: &ArrayBase<W, Ix1>,
    ) -> Result<f64, Error> {
        self.score_of(self.check(points.view(), Some(weights.to_vec()))?)
    }

    fn score_of(&self, points: Points<'_, T>) -> Result<f64, Error> {
        let engine = self.engine_for(points.facts())?;
        let mut job = self.load(engine.as_ref(), &points)?;
        job.assign(self.centroids())?;
        Ok(-job.inertia(self.centroids())?)
    }

    fn engine_for(&self, facts: &Facts) -> Result<Box<dyn Engine<T>>, Error> {
        engine_for::<T>(self.device, Work::new((facts.n, facts.d), self.centroids.nrows(), 1))
    }

    fn load<'a>(&self, engine: &dyn Engine<T>, points: &'a Points<'_, T>) -> Result<Box<dyn Job<T> + 'a>, Error> {
        engine.load(points, Task::Predict { k: self.centroids.nrows() })
    }

    fn check<'a>(&self, points: ArrayView2<'a, T>, weights: Option<Vec<f64>>) -> Result<Points<'a, T>, Error> {
        let expected = self.centroids.ncols();
        if points.ncols() != expected {
            return Err(Error::DimensionMismatch { expected, found: points.ncols() });
        }
        Points::to_label(points, weights)
    }
}

/// The first centroid value that is not finite, or so large that D to a point at the origin would not be.
pub(crate) fn unusable<T: Element>(centroids: ArrayView2<'_, T>) -> Option<((usize, usize), T)> {
    let d = centroids.ncols() as f64;
    let is_unusable = |value: T| !(4.0 * d * value.to_f64() * value.to_f64()).is_finite();
    centroids.indexed_iter().map(|(at, &value)| (at, value)).find(|&(_, value)| is_unusable(value))
}
