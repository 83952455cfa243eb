//! Calinski-Harabasz and Davies-Bouldin, from one pass over the points.

use ndarray::{Array2, ArrayBase, ArrayView2, Data, Ix2};

use super::silhouette::{Clusters, number};
use crate::{Element, Error};

/// The Calinski-Harabasz score of a clustering of `points`, `[n, d]`: between-cluster over within-cluster variance, larger is better.
///
/// (B / (k − 1)) / (W / (n − k)), where W sums squared distances of points to the mean of their cluster, and B those of the
/// means to the mean of all, each as often as its cluster has points; 1 if W is 0. Source: Caliński & Harabasz, "A dendrite
/// method for cluster analysis", Communications in Statistics 3, 1974.
///
/// # Errors
/// [`Error::NotScorable`] unless 2 ≤ clusters with points < n; one label per point is needed.
pub fn calinski_harabasz<T: Element, S: Data<Elem = T>>(
    points: &ArrayBase<S, Ix2>,
    labels: &[u32],
) -> Result<f64, Error> {
    let clusters = Clusters::new(points.nrows(), labels)?;
    Ok(calinski_harabasz_of(points.view(), &clusters))
}

/// The Davies-Bouldin score of a clustering of `points`, `[n, d]`: how alike clusters are to their most similar ones, smaller is better.
///
/// The mean over clusters of the largest (sᵢ + sⱼ) / |mᵢ − mⱼ|, where s is the mean distance of a cluster's points to
/// their mean m; a pair of equal means counts as 0. Source: Davies & Bouldin, "A cluster separation measure", IEEE TPAMI 1, 1979.
///
/// # Errors
/// As [`calinski_harabasz`].
pub fn davies_bouldin<T: Element, S: Data<Elem = T>>(points: &ArrayBase<S, Ix2>, labels: &[u32]) -> Result<f64, Error> {
    let clusters = Clusters::new(points.nrows(), labels)?;
    Ok(davies_bouldin_of(points.view(), &clusters))
}

pub(super) fn calinski_harabasz_of<T: Element>(points: ArrayView2<'_, T>, clusters: &Clusters) -> f64 {
    let (n, k) = (points.nrows() as f64, clusters.len() as f64);
    let means = means(points, clusters);
    let (mut within, mut between) = (0.0, 0.0);
    let mut centre = vec![0.0; points.ncols()];
    for (c, rows) in clusters.iter().enumerate() {
        centre.iter_mut().zip(means.row(c)).for_each(|(sum, m)| *sum += m * rows.len() as f64);
    }
    for sum in &mut centre {
        *sum /= n;
    }
    for (c, rows) in clusters.iter().enumerate() {
        let mean = means.row(c);
        between += rows.len() as f64 * squared(mean.iter().copied(), centre.iter().copied());
        within += rows.iter().map(|&i| squared(points.row(i).iter().map(number), mean.iter().copied())).sum::<f64>();
    }
    if within == 0.0 { 1.0 } else { (between / (k - 1.0)) / (within / (n - k)) }
}

pub(super) fn davies_bouldin_of<T: Element>(points: ArrayView2<'_, T>, clusters: &Clusters) -> f64 {
    let means = means(points, clusters);
    let spread: Vec<f64> = clusters
        .iter()
        .enumerate()
        .map(|(c, rows)| {
            let distance = |&i: &usize| squared(points.row(i).iter().map(number), means.row(c).iter().copied()).sqrt();
            rows.iter().map(distance).sum::<f64>() / rows.len() as f64
        })
        .collect();
    let k = clusters.len();
    let worst = |i: usize| {
        let similarity = |j: usize| {
            let apart = squared(means.row(i).iter().copied(), means.row(j).iter().copied()).sqrt();
            if apart == 0.0 { 0.0 } else { (spread[i] + spread[j]) / apart }
        };
        (0..k).filter(|&j| j != i).map(similarity).fold(0.0, f64::max)
    };
    (0..k).map(worst).sum::<f64>() / k as f64
}

/// The mean of each cluster that has points.
fn means<T: Element>(points: ArrayView2<'_, T>, clusters: &Clusters) -> Array2<f64> {
    let mut means = Array2::zeros((clusters.len(), points.ncols()));
    for (rows, mut mean) in clusters.iter().zip(means.rows_mut()) {
        for &i in rows {
            mean.iter_mut().zip(points.row(i)).for_each(|(sum, v)| *sum += number(v));
        }
        mean.mapv_inplace(|sum: f64| sum / rows.len() as f64);
    }
    means
}

fn squared(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> f64 {
    a.zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
