//! The ways of choosing starting centroids.

use kmeans_core::Scalar;
use ndarray::{Array2, ArrayBase, Data, Ix2};

/// How the starting centroids are chosen. The seed and the points decide them, bit for bit, on every machine.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// The first k rows.
    FirstK,
    /// Rows ⌊i·n/k⌋.
    EvenlySpaced,
    /// k different rows, drawn uniformly.
    RandomPoints,
    /// Every row draws a label; the starting centroids are the means of equal labels.
    RandomLabels,
    /// Greedy k-means++ (the default): each centroid is the best of 2 + ⌊ln k⌋ rows drawn by their distance to the
    /// centroids before it.
    #[default]
    KMeansPlusPlus,
    /// k-means||: a few rounds that each draw about 2·k rows, then k-means++ among those. For large k.
    KMeansParallel,
    /// These centroids, `[k, d]`; each value is rounded to the points' type. [`Init::centroids`] makes one from any type.
    Centroids(Array2<f64>),
}

impl Init {
    /// Starts from `centroids`, `[k, d]`.
    ///
    /// ```
    /// use kmeans_host::{Init, KMeans};
    /// use ndarray::array;
    ///
    /// let points = array![[0.0_f32], [1.0], [10.0], [11.0]];
    /// let fitted = KMeans::new(2).init(Init::centroids(&array![[10.0_f32], [0.0]])).fit(&points)?;
    /// assert_eq!(fitted.labels().to_vec(), [1, 1, 0, 0]);
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    pub fn centroids<T: Scalar, S: Data<Elem = T>>(centroids: &ArrayBase<S, Ix2>) -> Self {
        Self::Centroids(centroids.mapv(T::to_f64))
    }

    /// Whether another seed could choose other centroids.
    pub(crate) fn is_random(&self) -> bool {
        !matches!(self, Self::FirstK | Self::EvenlySpaced | Self::Centroids(_))
    }
}
