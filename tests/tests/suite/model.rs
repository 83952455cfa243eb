//! What a fitted model answers: labels, distances, scores, notices; for its own points and for new ones.

use kmeans_host::{Device, Element, Error, FittedKMeans, Init, KMeans, Notice, Stop, bf16, f16};
use kmeans_tests::compare::{assert_close, assert_same};
use kmeans_tests::data::{KINDS, Kind, Weighting, points, weights};
use ndarray::{Array1, Array2, array};

fn two_clusters() -> FittedKMeans<f64> {
    KMeans::new(2).init(Init::FirstK).fit(&array![[0.0, 0.0], [10.0, 0.0], [0.0, 2.0], [10.0, 2.0]]).unwrap()
}

#[test]
fn labels_are_what_predict_returns_in_every_type_and_at_every_cap() {
    fn check<T: Element>() {
        for (seed, kind) in KINDS.into_iter().enumerate() {
            let points = points::<T>(kind, 500, 3, seed as u64);
            for max_iter in [0, 1, 2, 3, 300] {
                let kmeans = KMeans::new(9).init(Init::RandomPoints).stop(Stop::LabelsRepeat).max_iter(max_iter);
                let fitted = kmeans.fit(&points).unwrap();
                let predicted = fitted.predict(&points).unwrap();
                assert_same("labels", &fitted.labels().to_vec(), &predicted.to_vec());
                assert_close(fitted.score(&points).unwrap(), -fitted.inertia(), 1e-12);
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}

#[test]
fn labels_are_what_predict_returns_under_every_stop_rule_and_weights() {
    let points = points::<f32>(Kind::Uniform, 2000, 2, 1);
    let weights = weights(Weighting::WithZeros, 2000, 1).unwrap();
    for stop in [Stop::RelativeTolerance(1e-2), Stop::Movement(1e-2), Stop::LabelsChanged(0.05), Stop::LabelsRepeat] {
        let fitted = KMeans::new(12).stop(stop).fit_weighted(&points, &weights).unwrap();
        assert!(fitted.converged());
        assert_same("labels", &fitted.labels().to_vec(), &fitted.predict(&points).unwrap().to_vec());
        assert_close(fitted.score_weighted(&points, &weights).unwrap(), -fitted.inertia(), 1e-12);
    }
}

#[test]
fn new_points_get_the_nearest_centroid_and_ties_the_lowest() {
    let fitted = two_clusters();
    assert_eq!(fitted.centroids(), array![[0.0, 1.0], [10.0, 1.0]]);
    let new = array![[-5.0, 1.0], [5.0, 1.0], [5.0, -300.0], [5.000_001, 1.0], [99.0, 99.0]];
    assert_eq!(fitted.predict(&new).unwrap().to_vec(), [0, 0, 0, 1, 1]);
}

#[test]
fn transform_gives_euclidean_distances_to_every_centroid() {
    let fitted = two_clusters();
    let distances = fitted.transform(&array![[3.0, 5.0], [10.0, 1.0]]).unwrap();
    assert_eq!(distances, array![[5.0, 65.0_f64.sqrt()], [10.0, 0.0]]);
}

#[test]
fn the_smallest_distance_is_that_to_the_label() {
    let train = points::<f32>(Kind::Uniform, 300, 5, 2);
    let fitted = KMeans::new(14).fit(&train).unwrap();
    let new = points::<f32>(Kind::Uniform, 400, 5, 3);
    let (labels, distances) = (fitted.predict(&new).unwrap(), fitted.transform(&new).unwrap());
    assert_eq!(distances.dim(), (400, 14));
    for (label, row) in labels.iter().zip(distances.rows()) {
        assert!(row.iter().all(|&d| d >= row[*label as usize]));
    }
}

#[test]
fn score_is_minus_the_sum_of_squared_distances() {
    let fitted = two_clusters();
    assert_eq!(fitted.score(&array![[0.0, 1.0]]).unwrap(), 0.0);
    assert_eq!(fitted.score(&array![[0.0, 4.0], [13.0, 1.0]]).unwrap(), -18.0);
}

#[test]
fn a_weighted_score_counts_each_row_as_often_as_its_weight() {
    let fitted = two_clusters();
    let new = array![[0.0, 4.0], [13.0, 2.0], [1.0, 1.0]];
    assert_eq!(fitted.score_weighted(&new, &array![0.5, 2.0, 0.0]).unwrap(), -(4.5 + 20.0));
    assert_eq!(fitted.score_weighted(&new, &Array1::ones(3)), fitted.score(&new));
}

#[test]
fn integer_weights_are_as_repeated_rows() {
    let points = points::<f64>(Kind::Uniform, 60, 2, 4);
    let times: Vec<usize> = (0..60).map(|i| 1 + i % 3).collect();
    let rows: Vec<usize> = (0..60).flat_map(|i| vec![i; times[i]]).collect();
    let weights = times.iter().map(|&t| t as f64).collect::<Array1<f64>>();
    let given = Init::centroids(&points.slice(ndarray::s![..6, ..]));
    let kmeans = KMeans::new(6).init(given).stop(Stop::LabelsRepeat);
    let weighted = kmeans.fit_weighted(&points, &weights).unwrap();
    let repeated = kmeans.fit(&points.select(ndarray::Axis(0), &rows)).unwrap();
    assert_eq!(weighted.centroids(), repeated.centroids());
    assert_eq!(weighted.iterations(), repeated.iterations());
    assert_close(weighted.inertia(), repeated.inertia(), 1e-12);
    // Counts are of rows, not of weights.
    assert_eq!(weighted.counts().sum(), 60);
}

#[test]
fn rows_of_weight_zero_get_labels_but_move_nothing() {
    let points = array![[0.0], [1.0], [100.0], [101.0], [60.0]];
    let weights = array![1.0, 1.0, 1.0, 1.0, 0.0];
    let fitted = KMeans::new(2).fit_weighted(&points, &weights).unwrap();
    let mut centres = fitted.centroids().column(0).to_vec();
    centres.sort_by(f64::total_cmp);
    assert_eq!(centres, [0.5, 100.5]);
    assert_eq!(fitted.labels()[4], fitted.labels()[2]);
    assert_eq!((fitted.inertia(), fitted.counts().sum()), (1.0, 5));
}

#[test]
fn scaling_all_weights_by_a_power_of_two_changes_only_inertia() {
    let points = points::<f32>(Kind::Uniform, 800, 3, 5);
    let weights = weights(Weighting::Random, 800, 5).unwrap();
    let kmeans = KMeans::new(10).seed(6);
    let (one, four) =
        (kmeans.fit_weighted(&points, &weights).unwrap(), kmeans.fit_weighted(&points, &(&weights * 4.0)).unwrap());
    assert_eq!(one.labels(), four.labels());
    assert_eq!(one.centroids(), four.centroids());
    assert_eq!(one.inertia() * 4.0, four.inertia());
}

#[test]
fn no_points_to_predict_for_is_no_error() {
    let fitted = two_clusters();
    let none = Array2::zeros((0, 2));
    assert!(fitted.predict(&none).unwrap().is_empty());
    assert_eq!(fitted.transform(&none).unwrap().dim(), (0, 2));
    assert_eq!(fitted.score(&none).unwrap(), 0.0);
}

/// A model that has ordinary centroids labels any finite point that can be squared, tiny ones like zero.
#[test]
fn tiny_points_are_predicted_like_zero() {
    let fitted = two_clusters();
    assert_eq!(fitted.predict(&array![[0.0, 0.0]]).unwrap().to_vec(), [0]);
    assert_eq!(fitted.predict(&array![[1e-200, 0.0]]).unwrap().to_vec(), [0]);
    assert_eq!(fitted.score(&array![[1e-200, 0.0]]).unwrap(), -1.0);
}

#[test]
fn points_far_beyond_the_training_data_are_predicted() {
    let single = KMeans::new(2).init(Init::FirstK).fit(&array![[0.0_f32], [1.0]]).unwrap();
    assert_eq!(single.predict(&array![[f32::MAX], [f32::MIN], [0.4]]).unwrap().to_vec(), [0, 0, 0]);
    let distance = single.transform(&array![[f32::MAX]]).unwrap()[[0, 1]];
    assert_eq!(distance, f64::from(f32::MAX) - 1.0);
    let double = two_clusters();
    assert_eq!(double.predict(&array![[1e140, 0.0], [-1e140, 0.0]]).unwrap()[1], 0);
}

#[test]
fn the_default_settings_are_those_documented() {
    let points = points::<f32>(Kind::Uniform, 400, 2, 7);
    let explicit = KMeans::new(8)
        .init(Init::KMeansPlusPlus)
        .max_iter(300)
        .stop(Stop::RelativeTolerance(1e-4))
        .empty_cluster(kmeans_host::EmptyCluster::Farthest)
        .n_init(1)
        .seed(0)
        .device(Device::Auto);
    assert_eq!(KMeans::new(8).fit(&points).unwrap(), explicit.fit(&points).unwrap());
}

#[test]
fn notices_speak_of_the_cap_and_of_empty_clusters() {
    let points = points::<f32>(Kind::Uniform, 400, 2, 8);
    assert!(KMeans::new(4).stop(Stop::LabelsRepeat).fit(&points).unwrap().notices().is_empty());
    let capped = KMeans::new(4).stop(Stop::LabelsRepeat).max_iter(1).fit(&points).unwrap();
    assert_eq!(capped.notices(), [Notice::NotConverged { iterations: 1 }]);
    assert!(capped.notices()[0].to_string().contains("1 iteration"));
    let equal = KMeans::new(3).fit(&Array2::<f32>::ones((9, 1))).unwrap();
    assert_eq!(equal.notices(), [Notice::EmptyClusters { k: 3, non_empty: 1 }]);
    assert!(equal.notices()[0].to_string().contains("1 of 3"));
}

#[test]
fn accessors_agree_with_each_other() {
    let points = points::<f16>(Kind::Blobs, 300, 4, 9);
    let fitted = KMeans::new(5).device(Device::Cpu).fit(&points).unwrap();
    assert_eq!(fitted.centroids().dim(), (5, 4));
    assert_eq!(fitted.labels().len(), 300);
    assert_eq!(fitted.counts().sum(), 300);
    assert_eq!(fitted.iterations(), fitted.history().len());
    assert!(fitted.engine().starts_with("cpu"), "{}", fitted.engine());
    assert_eq!(fitted.clone().into_labels(), fitted.labels());
    assert_eq!(fitted.clone(), fitted);
}

#[test]
fn a_model_of_given_centroids_labels_and_scores_as_the_fit_they_come_from() {
    let fitted = two_clusters();
    let points = array![[0.1_f64, 0.0], [5.2, 1.0], [9.0, -3.0]];
    let given = FittedKMeans::from_centroids(&fitted.centroids(), Device::Auto).unwrap();
    assert_eq!(given.predict(&points).unwrap(), fitted.predict(&points).unwrap());
    assert_eq!(given.score(&points).unwrap(), fitted.score(&points).unwrap());
    assert_eq!(given.transform(&points).unwrap(), fitted.transform(&points).unwrap());
    assert_eq!((given.labels().len(), given.counts().sum(), given.notices()), (0, 0, Vec::new()));
}

#[test]
fn centroids_that_cannot_be_are_refused() {
    let of = |centroids: &Array2<f64>| FittedKMeans::from_centroids(centroids, Device::Cpu).unwrap_err();
    assert_eq!(of(&Array2::zeros((0, 2))), Error::ZeroClusters);
    assert_eq!(of(&Array2::zeros((2, 0))), Error::NoColumns);
    for value in [f64::NAN, f64::INFINITY, 1e200] {
        let error = of(&array![[0.0, 1.0], [2.0, value]]);
        let Error::InitNotFinite { row: 1, column: 1, value: found } = error else { panic!("{error}") };
        assert_eq!(found.to_bits(), value.to_bits());
    }
}
