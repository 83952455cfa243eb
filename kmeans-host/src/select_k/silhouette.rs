//! The silhouette coefficient: exact, of a sample, and simplified.
//!
//! Source: Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of cluster analysis", Journal of
//! Computational and Applied Mathematics 20, 1987. The simplified form: Hruschka, de Castro, Campello, "Evolutionary
//! algorithms for clustering gene-expression data", ICDM 2004.

use kmeans_core::rng::Random;
use kmeans_core::seeding::random_rows;
use ndarray::{ArrayBase, ArrayView2, Axis, Data, Ix2};
use rayon::prelude::*;

use crate::choose::{Work, engine_for, resolve};
use crate::engine::Grouped;
use crate::{Device, Element, Error};

/// The rows of each cluster that has points.
pub(super) struct Clusters(Vec<Vec<usize>>);

impl Clusters {
    /// Of `n` points, if they can be scored.
    pub fn new(n: usize, labels: &[u32]) -> Result<Self, Error> {
        if labels.len() != n {
            return Err(Error::Shape { what: "the labels", expected: vec![n], found: vec![labels.len()] });
        }
        let clusters = Self::any(labels);
        if clusters.len() < 2 || clusters.len() >= n {
            return Err(Error::NotScorable { clusters: clusters.len(), n });
        }
        Ok(clusters)
    }

    fn any(labels: &[u32]) -> Self {
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by_key(|&i| labels[i]);
        Self(order.chunk_by(|&a, &b| labels[a] == labels[b]).map(<[usize]>::to_vec).collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Vec<usize>> {
        self.0.iter()
    }
}

pub(super) fn number<T: Element>(value: &T) -> f64 {
    value.to_f64()
}

/// The mean silhouette coefficient of a clustering of `points`, `[n, d]`: −1 to 1, larger is better.
///
/// Exact: all n·n distances are computed, in `f64`, on all threads or on a GPU where there is one, with the same bits, and none is
/// stored; memory is n·d `f64`. The time is that of n·n·d multiplications and n·n square roots: see [`SilhouetteForm`](super::SilhouetteForm)
/// for how far that goes.
///
/// ```
/// use kmeans_host::select_k::silhouette;
/// use ndarray::array;
///
/// let points = array![[0.0_f32], [1.0], [10.0], [11.0]];
/// // a = 1 and b = 10.5 for the outer points, b = 9.5 for the inner ones.
/// assert_eq!(silhouette(&points, &[0, 0, 1, 1])?, ((10.5 - 1.0) / 10.5 + (9.5 - 1.0) / 9.5) / 2.0);
/// # Ok::<(), kmeans_host::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotScorable`] unless 2 ≤ clusters with points < n; one label per point is needed.
pub fn silhouette<T: Element, S: Data<Elem = T>>(points: &ArrayBase<S, Ix2>, labels: &[u32]) -> Result<f64, Error> {
    Ok(mean(&silhouette_samples(points, labels)?))
}

/// The silhouette coefficient of each of `points`: (b − a) / max(a, b), where a is the mean distance to the other points
/// of its cluster and b the smallest mean distance to the points of another; 0 for a point alone in its cluster.
///
/// # Errors
/// As [`silhouette`].
pub fn silhouette_samples<T: Element, S: Data<Elem = T>>(
    points: &ArrayBase<S, Ix2>,
    labels: &[u32],
) -> Result<Vec<f64>, Error> {
    let clusters = Clusters::new(points.nrows(), labels)?;
    samples_of(points.view(), &clusters, Device::Auto)
}

/// The coefficients, on `device`.
pub(super) fn samples_of<T: Element>(
    points: ArrayView2<'_, T>,
    clusters: &Clusters,
    device: Device,
) -> Result<Vec<f64>, Error> {
    let order: Vec<usize> = clusters.iter().flatten().copied().collect();
    let (n, d) = points.dim();
    let mut columns = vec![0.0; n * d];
    columns.par_chunks_mut(n).zip(points.columns().into_iter().collect::<Vec<_>>()).for_each(|(to, column)| {
        to.iter_mut().zip(&order).for_each(|(value, &i)| *value = column[i].to_f64());
    });
    let grouped = Grouped { columns, n, sizes: clusters.iter().map(Vec::len).collect() };
    let device = resolve(device)?;
    let engine = engine_for::<T>(device, Work::of_distances((n, d), n))?;
    let sorted = match engine.silhouettes(&grouped) {
        // The caller left the choice open.
        Err(Error::DeviceMemory { .. } | Error::DeviceFailed { .. }) if device == Device::Auto => {
            T::cpu().silhouettes(&grouped)
        }
        sorted => sorted,
    }?;
    let mut samples = vec![0.0; n];
    order.iter().zip(sorted).for_each(|(&i, s)| samples[i] = s);
    Ok(samples)
}

/// The mean silhouette coefficient of `sample` rows drawn without replacement by `seed`, among themselves: an estimate,
/// as scikit-learn's `sample_size`. All rows if there are no more.
///
/// # Errors
/// As [`silhouette`], for the sample.
pub fn sampled_silhouette<T: Element, S: Data<Elem = T>>(
    points: &ArrayBase<S, Ix2>,
    labels: &[u32],
    sample: usize,
    seed: u64,
) -> Result<f64, Error> {
    if labels.len() != points.nrows() || points.nrows() <= sample {
        return silhouette(points, labels);
    }
    let mut rows = random_rows(points.nrows(), sample, &Random::new(seed, 0));
    rows.sort_unstable();
    let labels: Vec<u32> = rows.iter().map(|&i| labels[i]).collect();
    silhouette(&points.select(Axis(0), &rows), &labels)
}

/// The simplified silhouette: as [`silhouette`], with the distance to a cluster's centroid in place of the mean distance to
/// its points. n·k·d multiplications. `labels` are those of the nearest of `centroids`, `[k, d]`.
///
/// # Errors
/// As [`silhouette`]; and for centroids of another number of columns, or too few for the labels.
pub fn simplified_silhouette<T: Element, S: Data<Elem = T>, C: Data<Elem = T>>(
    points: &ArrayBase<S, Ix2>,
    labels: &[u32],
    centroids: &ArrayBase<C, Ix2>,
) -> Result<f64, Error> {
    let clusters = Clusters::new(points.nrows(), labels)?;
    if centroids.ncols() != points.ncols() {
        return Err(Error::DimensionMismatch { expected: centroids.ncols(), found: points.ncols() });
    }
    let k = centroids.nrows();
    if let Some(index) = labels.iter().position(|&label| label as usize >= k) {
        return Err(Error::LabelTooLarge { index, label: labels[index], k });
    }
    let with_points: Vec<usize> = clusters.iter().map(|rows| labels[rows[0]] as usize).collect();
    let alone: Vec<bool> =
        (0..k).map(|c| clusters.iter().any(|r| r.len() == 1 && labels[r[0]] as usize == c)).collect();
    let (points, centroids) = (points.view(), centroids.view());
    let samples: Vec<f64> = (0..points.nrows())
        .into_par_iter()
        .with_min_len(256)
        .map(|i| {
            let own = labels[i] as usize;
            if alone[own] {
                return 0.0;
            }
            let distance = |c: usize| {
                let square = |(x, y): (&T, &T)| (x.to_f64() - y.to_f64()) * (x.to_f64() - y.to_f64());
                points.row(i).iter().zip(centroids.row(c)).map(square).sum::<f64>().sqrt()
            };
            let others = with_points.iter().filter(|&&c| c != own);
            coefficient(distance(own), others.map(|&c| distance(c)).fold(f64::INFINITY, f64::min))
        })
        .collect();
    Ok(mean(&samples))
}

/// (b − a) / max(a, b).
pub(crate) fn coefficient(a: f64, b: f64) -> f64 {
    let larger = f64::max(a, b);
    if larger == 0.0 { 0.0 } else { (b - a) / larger }
}

pub(super) fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}
