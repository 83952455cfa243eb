//! The builder: what to fit, checked before any work is done.

use kmeans_core::settings::{EmptyCluster, Stop};
use kmeans_core::tree::{Plan, Start};
use ndarray::{ArrayBase, Data, Ix2};

use super::FittedTree;
use super::grow::Grower;
use crate::choose::{Work, engine_for, resolve};
use crate::points::Points;
use crate::{Control, Device, Element, Error, Init, KMeans, Progress};

/// The children that a node can have.
const BRANCHING: std::ops::RangeInclusive<usize> = 2..=1024;

/// A k-means tree: settings first, then [`fit`](Self::fit).
///
/// A node is split into k clusters by k-means on its points alone, and every cluster that has points becomes a child.
/// A node is a leaf if it is at level [`depth`](Self::depth) (the root is level 0), has at most
/// [`max_leaf_size`](Self::max_leaf_size) points or fewer than k, or if its clustering left all points in one
/// cluster, as when all are equal. So leaves can be larger than asked for, and [`FittedTree::notices`] says when.
///
/// | setting | default |
/// |---|---|
/// | [`depth`](Self::depth) | no limit |
/// | [`max_leaf_size`](Self::max_leaf_size) | no limit; one of the two is needed |
/// | [`init`](Self::init) | greedy k-means++ |
/// | [`max_iter`](Self::max_iter) | 10 rounds per node |
/// | [`stop`](Self::stop) | only when labels repeat |
/// | [`empty_cluster`](Self::empty_cluster) | move to the farthest points |
/// | [`seed`](Self::seed) | 0 |
/// | [`device`](Self::device) | a GPU if one can be used, else the processor |
///
/// The root is split as [`KMeans`](crate::KMeans) with the same settings would cluster the points. Every other node draws
/// with a seed of its own, made from its parent's seed and its cluster there, so the order of work cannot be seen.
#[derive(Clone, Debug)]
#[must_use]
pub struct KMeansTree {
    /// What splits a node.
    kmeans: KMeans,
    depth: Option<usize>,
    max_leaf_size: Option<usize>,
}

impl KMeansTree {
    /// A tree whose nodes are split into `k` clusters, 2 to 1,024.
    pub fn new(k: usize) -> Self {
        let kmeans = KMeans::new(k).max_iter(10).stop(Stop::LabelsRepeat);
        Self { kmeans, depth: None, max_leaf_size: None }
    }

    /// The most splits between the root and a leaf. With 0 the root is the only node.
    pub fn depth(mut self, depth: usize) -> Self {
        self.depth = Some(depth);
        self
    }

    /// Nodes of at most this many points are not split.
    pub fn max_leaf_size(mut self, points: usize) -> Self {
        self.max_leaf_size = Some(points);
        self
    }

    /// How the starting centroids of each node are chosen among its points: any way but k-means|| and given centroids.
    pub fn init(mut self, init: Init) -> Self {
        self.kmeans = self.kmeans.init(init);
        self
    }

    /// The most rounds of assignment and update per node. With 0 the starting centroids divide the points.
    pub fn max_iter(mut self, max_iter: usize) -> Self {
        self.kmeans = self.kmeans.max_iter(max_iter);
        self
    }

    /// The stop rule of each node beside repeating labels and the cap.
    pub fn stop(mut self, stop: Stop) -> Self {
        self.kmeans = self.kmeans.stop(stop);
        self
    }

    /// What happens to a cluster that loses its points while a node is being clustered. One that has none in the end is no
    /// child.
    pub fn empty_cluster(mut self, policy: EmptyCluster) -> Self {
        self.kmeans = self.kmeans.empty_cluster(policy);
        self
    }

    /// The seed of all random draws.
    pub fn seed(mut self, seed: u64) -> Self {
        self.kmeans = self.kmeans.seed(seed);
        self
    }

    /// Where the work runs.
    pub fn device(mut self, device: Device) -> Self {
        self.kmeans = self.kmeans.device(device);
        self
    }

    /// A function that is told how the work goes ([`Progress::Level`]), and can end it. It is called from the thread that
    /// called `fit`.
    ///
    /// ```
    /// use kmeans_host::{Control, KMeansTree, Progress};
    /// use ndarray::Array2;
    ///
    /// let points = Array2::from_shape_fn((500, 2), |(i, j)| ((i * 31 + j * 17) % 97) as f64);
    /// let tree = KMeansTree::new(3)
    ///     .max_leaf_size(5)
    ///     .on_progress(|progress| match progress {
    ///         Progress::Level { level: 1, .. } => Control::Finish,
    ///         _ => Control::Continue,
    ///     })
    ///     .fit(&points)?;
    /// assert!(tree.levels().len() <= 3);
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    pub fn on_progress(mut self, observer: impl Fn(&Progress) -> Control + Send + Sync + 'static) -> Self {
        self.kmeans = self.kmeans.on_progress(observer);
        self
    }

    /// Fits a tree to `points`, `[n, d]`: any ndarray of `f32`, `f64`, `f16` or `bf16`, owned or a view, in any layout.
    ///
    /// # Errors
    /// An [`Error`] that says which setting, row or device is wrong; the points are checked before any work is done.
    pub fn fit<T: Element, S: Data<Elem = T>>(&self, points: &ArrayBase<S, Ix2>) -> Result<FittedTree<T>, Error> {
        let (plan, (n, d)) = (self.plan()?, points.dim());
        if d == 0 {
            return Err(Error::NoColumns);
        }
        if n == 0 {
            return Err(Error::NoPoints);
        }
        let device = resolve(self.kmeans.device)?;
        let levels = plan.depth.min(n.ilog(plan.k) as usize + 1);
        let rounds = plan.settings.max_iter.saturating_mul(levels);
        let engine = engine_for::<T>(device, Work::new((n, d), plan.k, rounds))?;
        let points = Points::to_fit(points.view(), None)?;
        let grower = Grower { plan, observer: self.kmeans.observer.as_ref() };
        let (grown, engine) = match grower.grow(engine.as_ref(), &points) {
            // The caller left the choice open.
            Err(Error::DeviceMemory { .. }) if device == Device::Auto => {
                let cpu = T::cpu();
                (grower.grow(cpu.as_ref(), &points)?, cpu.name())
            }
            grown => (grown?, engine.name()),
        };
        FittedTree::new(grown, self.max_leaf_size, engine)
    }

    /// The settings, checked.
    fn plan(&self) -> Result<Plan, Error> {
        let KMeans { k, settings, seed, .. } = self.kmeans;
        if !BRANCHING.contains(&k) {
            return Err(Error::Branching { k });
        }
        if self.depth.is_none() && self.max_leaf_size.is_none() {
            return Err(Error::EndlessTree);
        }
        if self.max_leaf_size == Some(0) {
            return Err(Error::ZeroLeafSize);
        }
        if let Some(value) = settings.stop.parameter()
            && !(value.is_finite() && value >= 0.0)
        {
            return Err(Error::BadStop { value });
        }
        let start = match self.kmeans.init {
            Init::FirstK => Start::FirstK,
            Init::EvenlySpaced => Start::EvenlySpaced,
            Init::RandomPoints => Start::RandomPoints,
            Init::RandomLabels => Start::RandomLabels,
            Init::KMeansPlusPlus => Start::KMeansPlusPlus,
            Init::KMeansParallel => return Err(Error::TreeInit { init: "KMeansParallel" }),
            Init::Centroids(_) => return Err(Error::TreeInit { init: "Centroids" }),
        };
        Ok(Plan {
            k,
            depth: self.depth.unwrap_or(usize::MAX),
            max_leaf: self.max_leaf_size.unwrap_or(0),
            start,
            settings,
            seed,
        })
    }
}
