//! Clusters of at least a minimum size.

use kmeans_core::distance::nearest;
use ndarray::{Array2, ArrayBase, Axis, Data, Ix2};
use rayon::prelude::*;

use crate::{Element, Error, FittedKMeans, Init, KMeans};

/// A minimum for the size of clusters, down to a minimum number of clusters.
///
/// The rule, exactly:
///
/// 1. Fit.
/// 2. While more than `clusters` clusters are left and the smallest of them (the lowest label among equals) has fewer than
///    `points` points, remove it. Its points move to the nearest centroid that is left, the first among equals.
/// 3. If any was removed, fit from the centroids that are left and go to 2.
///
/// Every turn leaves fewer clusters, so this ends. Labels are renumbered in the order of the clusters left.
///
/// ```
/// use kmeans_host::{KMeans, MinimumSize};
/// use ndarray::Array2;
///
/// let points = Array2::from_shape_fn((300, 2), |(i, j)| ((i * 37 + j * 11) % 101) as f32);
/// let fitted = MinimumSize::new(30).clusters(4).fit(&KMeans::new(20), &points)?;
/// assert!(fitted.counts().iter().all(|&count| count >= 30) || fitted.counts().len() == 4);
/// # Ok::<(), kmeans_host::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct MinimumSize {
    points: u64,
    clusters: usize,
}

impl MinimumSize {
    /// Clusters of at least `points` points.
    pub fn new(points: u64) -> Self {
        Self { points, clusters: 1 }
    }

    /// No fewer than this many clusters are left, though they be small. At least one always is.
    pub fn clusters(mut self, clusters: usize) -> Self {
        self.clusters = clusters.max(1);
        self
    }

    /// Clusters `points`, `[n, d]`, by `kmeans` and the rule.
    ///
    /// # Errors
    /// Those of [`KMeans::fit`].
    pub fn fit<T: Element, S: Data<Elem = T>>(
        &self,
        kmeans: &KMeans,
        points: &ArrayBase<S, Ix2>,
    ) -> Result<FittedKMeans<T>, Error> {
        let mut fitted = kmeans.fit(points)?;
        while let Some(left) = self.remove_small(points, &fitted) {
            let centroids = fitted.centroids().select(Axis(0), &left);
            let mut again = kmeans.clone().init(Init::centroids(&centroids));
            again.k = left.len();
            fitted = again.fit(points)?;
        }
        Ok(fitted)
    }

    /// The clusters left after step 2; `None` if all are.
    fn remove_small<T: Element, S: Data<Elem = T>>(
        &self,
        points: &ArrayBase<S, Ix2>,
        fitted: &FittedKMeans<T>,
    ) -> Option<Vec<usize>> {
        let points = points.view();
        let mut left: Vec<usize> = (0..fitted.counts().len()).collect();
        let mut counts = fitted.counts().to_vec();
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); counts.len()];
        for (row, &label) in fitted.labels().iter().enumerate() {
            members[label as usize].push(row);
        }
        while left.len() > self.clusters {
            let at = (0..left.len()).min_by_key(|&i| counts[left[i]])?;
            if counts[left[at]] >= self.points {
                break;
            }
            let removed = left.remove(at);
            let centroids: Array2<T> = fitted.centroids().select(Axis(0), &left);
            let centroids = centroids.as_slice().expect("packed");
            let rows = std::mem::take(&mut members[removed]);
            let moved: Vec<usize> =
                rows.par_iter().map(|&row| left[nearest(&points.row(row).to_vec(), centroids).0 as usize]).collect();
            for (row, to) in rows.into_iter().zip(moved) {
                counts[to] += 1;
                members[to].push(row);
            }
        }
        (left.len() < counts.len()).then_some(left)
    }
}
