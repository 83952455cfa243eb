//! The clusters as the picture shows them: largest first, each with some of its patches.

use kmeans_host::FittedKMeans;
use ndarray::{Array2, ArrayView1};

/// A cluster and the patches that stand for it.
#[derive(Debug, PartialEq)]
pub struct Cluster {
    /// Its row among the centroids.
    pub label: usize,
    /// How many patches it has.
    pub count: u64,
    /// Rows of some of them, from the one nearest to the centroid to the farthest.
    pub samples: Vec<usize>,
}

/// The `shown` largest clusters, the lower label first among equals, with up to `samples` patches each.
pub fn largest(fitted: &FittedKMeans<f32>, patches: &Array2<f32>, shown: usize, samples: usize) -> Vec<Cluster> {
    let mut members = vec![Vec::new(); fitted.counts().len()];
    for (row, &label) in fitted.labels().iter().enumerate() {
        let distance = squared_distance(patches.row(row), fitted.centroids().row(label as usize));
        members[label as usize].push((distance, row));
    }
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|&label| std::cmp::Reverse(members[label].len()));
    order.truncate(shown);
    let cluster = |label: usize| {
        let members = &mut members[label];
        members.sort_by(|a, b| a.0.total_cmp(&b.0));
        let samples = spread(members.len(), samples).map(|i| members[i].1).collect();
        Cluster { label, count: members.len() as u64, samples }
    };
    order.into_iter().map(cluster).collect()
}

/// `wanted` of the indices below `len` (all, if there are no more), evenly spaced from the first to the last.
fn spread(len: usize, wanted: usize) -> impl Iterator<Item = usize> {
    let taken = wanted.min(len);
    (0..taken).map(move |i| if taken == 1 { 0 } else { i * (len - 1) / (taken - 1) })
}

fn squared_distance(a: ArrayView1<'_, f32>, b: ArrayView1<'_, f32>) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use kmeans_host::{EmptyCluster, Init, KMeans};
    use ndarray::array;

    use super::*;

    #[test]
    fn clusters_are_sorted_by_size_and_samples_by_distance() {
        let points = array![[0.0_f32], [104.0], [100.0], [102.0], [900.0], [900.0]];
        let start = Init::centroids(&array![[0.0], [100.5], [900.0], [5000.0]]);
        let model = KMeans::new(4).init(start).empty_cluster(EmptyCluster::Keep).max_iter(0).fit(&points).unwrap();
        let cluster = |label, samples: &[usize], count| Cluster { label, count, samples: samples.to_vec() };
        let expected = [cluster(1, &[2, 3, 1], 3), cluster(2, &[4, 5], 2), cluster(0, &[0], 1), cluster(3, &[], 0)];
        assert_eq!(largest(&model, &points, 4, 8), expected);
        assert_eq!(largest(&model, &points, 1, 2), [cluster(1, &[2, 1], 3)]);
    }

    #[test]
    fn samples_are_spread_from_the_first_to_the_last() {
        assert_eq!(spread(10, 4).collect::<Vec<_>>(), [0, 3, 6, 9]);
        assert_eq!(spread(3, 8).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(spread(5, 1).collect::<Vec<_>>(), [0]);
        assert_eq!(spread(0, 8).count() + spread(5, 0).count(), 0);
    }
}
