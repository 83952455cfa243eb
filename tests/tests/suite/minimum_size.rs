//! A minimum size of clusters, against the rule written plainly.

use kmeans_core::reference::assign;
use kmeans_host::{Init, KMeans, MinimumSize};
use kmeans_tests::compare::{assert_identical, packed};
use kmeans_tests::data::{Kind, blobs, points};
use ndarray::{Array2, Axis};

/// The rule, with every point labelled anew after every removal.
fn plainly(points: &Array2<f32>, kmeans: &KMeans, minimum: usize, clusters: usize) -> kmeans_host::FittedKMeans<f32> {
    let mut fitted = kmeans.fit(points).unwrap();
    loop {
        let mut centroids = fitted.centroids().to_owned();
        while centroids.nrows() > clusters {
            let mut counts = vec![0; centroids.nrows()];
            for label in assign(packed(points), points.ncols(), packed(&centroids)) {
                counts[label as usize] += 1;
            }
            let smallest = (0..counts.len()).min_by_key(|&c| counts[c]).unwrap();
            if counts[smallest] >= minimum {
                break;
            }
            let left: Vec<usize> = (0..counts.len()).filter(|&c| c != smallest).collect();
            centroids = centroids.select(Axis(0), &left);
        }
        if centroids.nrows() == fitted.centroids().nrows() {
            return fitted;
        }
        fitted = KMeans::new(centroids.nrows()).init(Init::centroids(&centroids)).fit(points).unwrap();
    }
}

#[test]
fn small_clusters_are_removed_as_the_rule_says() {
    for (points, k) in [
        (points::<f32>(Kind::Uniform, 400, 3, 1), 30),
        (points::<f32>(Kind::Duplicated, 300, 2, 2), 25),
        (points::<f32>(Kind::Grid, 500, 2, 3), 12),
        (blobs::<f32>(600, 4, 9, 4).0, 40),
    ] {
        for (minimum, clusters) in [(1, 1), (10, 1), (25, 6), (1000, 1), (1000, 5), (3, 100)] {
            let kmeans = KMeans::new(k).seed(3);
            let found = MinimumSize::new(minimum as u64).clusters(clusters).fit(&kmeans, &points).unwrap();
            assert_identical(&found, &plainly(&points, &kmeans, minimum, clusters));
            let small = found.counts().iter().any(|&count| count < minimum as u64);
            assert!(!small || found.counts().len() <= clusters);
            assert_eq!(found.labels(), found.predict(&points).unwrap());
        }
    }
}
