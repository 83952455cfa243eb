//! Public cases, by number, in which k-means software answered wrongly: stale labels, moved empty clusters, seeding that
//! misses clusters, endless loops, sums without weights.

use half::f16;
use kmeans_core::settings::Settings;
use kmeans_host::{Element, EmptyCluster, Error, FittedKMeans, Init, KMeans, Notice, Stop};
use kmeans_tests::compare::{Job, assert_agreement, assert_close, assert_identical, assert_same, bits};
use kmeans_tests::data::{Kind, Numbers, blobs, points};
use kmeans_tests::files::digits;
use ndarray::{Array2, Axis, array};

const POLICIES: [EmptyCluster; 2] = [EmptyCluster::Farthest, EmptyCluster::Keep];

fn assert_finite<T: Element>(fitted: &FittedKMeans<T>) {
    assert!(fitted.centroids().iter().all(|v| v.to_f64().is_finite()));
    assert!(fitted.inertia().is_finite() && fitted.inertia() >= 0.0);
}

/// Labels, counts and inertia all belong to the centroids that are returned.
fn assert_belongs_together<T: Element>(fitted: &FittedKMeans<T>, points: &Array2<T>) {
    assert_same("labels", &fitted.labels().to_vec(), &fitted.predict(points).unwrap().to_vec());
    assert_close(fitted.inertia(), -fitted.score(points).unwrap(), 0.0);
    for (cluster, &count) in fitted.counts().iter().enumerate() {
        assert_eq!(count, fitted.labels().iter().filter(|&&l| l as usize == cluster).count() as u64);
    }
}

fn non_empty<T: Element>(fitted: &FittedKMeans<T>) -> usize {
    fitted.counts().iter().filter(|&&c| c > 0).count()
}

#[test]
fn case_08_labels_at_the_cap_belong_to_the_returned_centroids() {
    let points = points::<f32>(Kind::Uniform, 2000, 3, 8);
    for max_iter in 0..6 {
        let fitted = KMeans::new(20).init(Init::FirstK).max_iter(max_iter).fit(&points).unwrap();
        assert!(!fitted.converged());
        assert_belongs_together(&fitted, &points);
    }
}

/// N = 100,000 and K = 10,000 take minutes: a fiftieth of both (the memory test has the bound on memory).
#[test]
fn case_10_parallel_seeding_of_many_clusters() {
    let (points, _) = blobs::<f32>(2000, 64, 200, 10);
    let fitted = KMeans::new(200).init(Init::KMeansParallel).max_iter(3).fit(&points).unwrap();
    assert_eq!(non_empty(&fitted), 200);
    assert_belongs_together(&fitted, &points);
}

#[test]
fn case_11_greedy_trials_find_well_separated_blobs() {
    // 20 blobs on a line, 100 wide apart, of spread 1.
    let mut numbers = Numbers::new(11);
    let points = Array2::from_shape_fn((1000, 2), |(i, _)| 100.0 * (i % 20) as f64 + numbers.normal());
    for seed in 0..20 {
        let fitted = KMeans::new(20).seed(seed).n_init(5).fit(&points).unwrap();
        assert!(fitted.counts().iter().all(|&c| c == 50), "seed {seed}: {:?}", fitted.counts());
    }
}

#[test]
fn case_12_inertia_and_score_are_weighted() {
    let points = array![[0.0], [1.0], [10.0], [12.0]];
    let weights = array![3.0, 1.0, 1.0, 1.0];
    let fitted = KMeans::new(2).init(Init::Centroids(array![[0.0], [11.0]])).fit_weighted(&points, &weights).unwrap();
    assert_eq!(fitted.centroids().column(0).to_vec(), [0.25, 11.0]);
    assert_eq!(fitted.inertia(), 3.0 * 0.0625 + 0.5625 + 2.0);
    assert_eq!(fitted.score_weighted(&points, &weights).unwrap(), -fitted.inertia());
    assert_eq!(fitted.score(&points).unwrap(), -(0.0625 + 0.5625 + 2.0));
}

#[test]
fn case_13_transform_gives_plain_distances() {
    let fitted = KMeans::new(2).init(Init::Centroids(array![[0.0, 0.0], [6.0, 8.0]])).max_iter(0);
    let distances = fitted.fit(&array![[0.0, 0.0], [3.0, 4.0]]).unwrap().transform(&array![[3.0, 4.0], [6.0, 0.0]]);
    assert_eq!(distances.unwrap(), array![[5.0, 5.0], [6.0, 8.0]]);
}

#[test]
fn case_16_identical_runs_stop_after_the_same_rounds() {
    let points = points::<f32>(Kind::Uniform, 5000, 8, 16);
    let job = Job { seed: 42, ..Job::new(16, Init::KMeansPlusPlus) };
    let first = job.fit(points.view(), None).unwrap();
    for _ in 0..5 {
        assert_identical(&job.fit(points.view(), None).unwrap(), &first);
    }
}

#[test]
fn case_18_a_moved_empty_cluster_leaves_no_stale_label_and_ends_on_duplicates() {
    let far = array![[0.0_f64], [1.0], [2.0], [50.0]];
    let fitted = KMeans::new(2).init(Init::Centroids(array![[1.0], [1000.0]])).fit(&far).unwrap();
    assert_eq!(fitted.labels().to_vec(), [0, 0, 0, 1]);
    assert_belongs_together(&fitted, &far);

    let rows: Vec<usize> = (0..500).map(|i| i % 3).collect();
    let duplicated = points::<f64>(Kind::Uniform, 3, 2, 18).select(Axis(0), &rows);
    let fitted = KMeans::new(8).stop(Stop::LabelsRepeat).max_iter(10_000).fit(&duplicated).unwrap();
    assert!(fitted.converged() && fitted.iterations() < 20, "{}", fitted.iterations());
    assert_belongs_together(&fitted, &duplicated);
}

#[test]
fn case_19_an_empty_cluster_is_never_nan() {
    let points = points::<f32>(Kind::Uniform, 100, 2, 19);
    let mut given = points.slice(ndarray::s![..5, ..]).to_owned();
    given.row_mut(2).fill(1e6);
    let kmeans = KMeans::new(5).init(Init::centroids(&given));
    for policy in POLICIES {
        let fitted = kmeans.clone().empty_cluster(policy).fit(&points).unwrap();
        assert_finite(&fitted);
        assert_eq!(fitted.counts()[2] > 0, policy == EmptyCluster::Farthest);
    }
    let error = kmeans.empty_cluster(EmptyCluster::Error).fit(&points).unwrap_err();
    assert_eq!(error, Error::EmptyCluster { cluster: 2, iteration: 1 });
}

#[test]
fn case_20_f16_converges_or_says_that_it_did_not() {
    let points = points::<f16>(Kind::Uniform, 2000, 4, 20);
    let fitted = KMeans::new(30).stop(Stop::LabelsRepeat).fit(&points).unwrap();
    assert!(fitted.converged());
    let capped = KMeans::new(30).stop(Stop::LabelsRepeat).max_iter(2).fit(&points).unwrap();
    assert!(!capped.converged());
    assert_eq!(capped.notices(), [Notice::NotConverged { iterations: 2 }]);
}

#[test]
fn case_22_centroids_are_the_means_of_their_points() {
    let points = points::<f64>(Kind::Grid, 600, 3, 22);
    let fitted = KMeans::new(9).stop(Stop::LabelsRepeat).fit(&points).unwrap();
    assert!(fitted.converged());
    for (cluster, centroid) in fitted.centroids().rows().into_iter().enumerate() {
        let rows: Vec<usize> = (0..600).filter(|&i| fitted.labels()[i] as usize == cluster).collect();
        // Sums of small integers are exact in f64, so that this mean is rounded once too.
        let mean = points.select(Axis(0), &rows).sum_axis(Axis(0)) / rows.len() as f64;
        assert_eq!(bits(centroid), bits(&mean));
    }
}

#[test]
fn case_24_equal_points_fill_one_cluster_and_the_others_are_reported() {
    let points = Array2::<f32>::from_elem((50, 3), 0.1);
    for policy in POLICIES {
        for init in [Init::FirstK, Init::RandomLabels, Init::KMeansPlusPlus, Init::KMeansParallel] {
            let fitted = KMeans::new(5).init(init).empty_cluster(policy).fit(&points).unwrap();
            assert_eq!(fitted.counts().to_vec(), [50, 0, 0, 0, 0]);
            assert_eq!(fitted.inertia(), 0.0);
            assert_eq!(fitted.notices(), [Notice::EmptyClusters { k: 5, non_empty: 1 }]);
            assert_finite(&fitted);
        }
    }
}

#[test]
fn case_26_sorted_points_from_the_first_rows_go_where_the_reference_goes() {
    let points = points::<f64>(Kind::Sorted, 1000, 1, 26);
    let mut job = Job::new(10, Init::FirstK);
    job.settings.stop = Stop::LabelsRepeat;
    assert_agreement(&job, &points, None);
    let from_first = job.fit(points.view(), None).unwrap();
    let recovered = KMeans::new(10).n_init(5).stop(Stop::LabelsRepeat).fit(&points).unwrap();
    // Ten equal parts are the optimum: 100 steps of 0.37 each.
    let optimum = 10.0 * 0.37 * 0.37 * 100.0 * (100.0 * 100.0 - 1.0) / 12.0;
    assert!(recovered.inertia() <= 1.05 * optimum, "{} {optimum}", recovered.inertia());
    assert!(from_first.converged() && from_first.inertia() >= optimum * (1.0 - 1e-9));
}

fn seventeen_rows() -> Array2<f64> {
    let counted = [
        ([1086.0, 348.0], 2),
        ([1087.0, 347.0], 2),
        ([1190.0, 244.0], 2),
        ([1185.0, 249.0], 2),
        ([1193.0, 241.0], 1),
        ([1188.0, 247.0], 1),
        ([1187.0, 233.0], 1),
        ([26.0, 111.0], 2),
        ([26.0, 110.0], 4),
    ];
    let rows: Vec<[f64; 2]> = counted.into_iter().flat_map(|(row, times)| vec![row; times]).collect();
    assert_eq!(rows.len(), 17);
    Array2::from(rows)
}

#[test]
fn case_27_seventeen_rows_nine_distinct() {
    let points = seventeen_rows();
    for seed in 0..10 {
        let fitted = KMeans::new(10).seed(seed).fit(&points).unwrap();
        assert_eq!((fitted.inertia(), non_empty(&fitted)), (0.0, 9), "seed {seed}");
        assert!(fitted.notices().contains(&Notice::EmptyClusters { k: 10, non_empty: 9 }));
        assert_belongs_together(&fitted, &points);
    }
}

#[test]
fn case_28_a_start_at_the_rows_stops_at_once() {
    let points = array![[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
    for policy in POLICIES {
        let fitted = KMeans::new(5).init(Init::FirstK).empty_cluster(policy).fit(&points).unwrap();
        assert_eq!(fitted.labels().to_vec(), [0, 1, 1, 3, 4]);
        assert_eq!((fitted.inertia(), fitted.iterations(), fitted.converged()), (0.0, 1, true));
    }
}

/// The picture of the report has five colours among its first eight pixels: so have these rows.
#[test]
fn case_29_a_start_from_equal_rows_is_finite() {
    let mut points = points::<f32>(Kind::Uniform, 2000, 3, 29).mapv(|v| (v * 127.0 + 128.0).round());
    for (equal, to) in [(3, 1), (5, 1), (6, 0)] {
        let row = points.row(to).to_owned();
        points.row_mut(equal).assign(&row);
    }
    for policy in POLICIES {
        let mut job = Job::new(8, Init::FirstK);
        job.settings.empty = policy;
        assert_agreement(&job, &points, None);
        let fitted = job.fit(points.view(), None).unwrap();
        assert_finite(&fitted);
        assert!(non_empty(&fitted) == 8 || policy == EmptyCluster::Keep);
    }
}

#[test]
fn case_30_one_update_reaches_the_mean() {
    let kmeans = KMeans::new(1).init(Init::Centroids(array![[10.0]])).max_iter(1);
    assert_eq!(kmeans.fit(&array![[0.0_f32], [1.0]]).unwrap().centroids()[[0, 0]], 0.5);
}

#[test]
fn case_31_as_many_clusters_as_points_is_legal() {
    for points in [points::<f32>(Kind::Uniform, 5, 3, 31), Array2::zeros((5, 3))] {
        for init in [Init::FirstK, Init::RandomPoints, Init::RandomLabels, Init::KMeansPlusPlus, Init::KMeansParallel] {
            let fitted = KMeans::new(5).init(init).fit(&points).unwrap();
            assert_eq!(fitted.inertia(), 0.0);
            assert_finite(&fitted);
        }
    }
}

#[test]
fn case_34_starts_are_drawn_without_replacement() {
    let corners = array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
    for init in [Init::RandomPoints, Init::KMeansPlusPlus, Init::KMeansParallel] {
        for seed in 0..100 {
            let fitted = KMeans::new(4).init(init.clone()).seed(seed).max_iter(0).fit(&corners).unwrap();
            assert_eq!(fitted.counts().to_vec(), [1, 1, 1, 1], "{init:?}, seed {seed}");
        }
    }
}

#[test]
fn case_44_a_movement_tolerance_of_zero_ends_when_labels_repeat() {
    let points = points::<f32>(Kind::Uniform, 1000, 2, 44);
    for stop in [Stop::Movement(0.0), Stop::RelativeTolerance(0.0), Stop::LabelsChanged(0.0)] {
        let fitted = KMeans::new(10).stop(stop).max_iter(100_000).fit(&points).unwrap();
        assert!(fitted.converged() && fitted.iterations() < 1000);
        assert_eq!(fitted.history().last().unwrap().movement, 0.0);
    }
}

#[test]
fn case_45_a_start_at_data_rows_still_computes_means() {
    let points = points::<f64>(Kind::Uniform, 300, 1, 45);
    for (k, init) in [(3, Init::FirstK), (20, Init::EvenlySpaced), (150, Init::RandomPoints)] {
        let job = Job::new(k, init);
        assert_agreement(&job, &points, None);
        let fitted = job.fit(points.view(), None).unwrap();
        assert!(fitted.iterations() > 1 && fitted.history()[0].movement > 0.0);
    }
}

#[test]
fn case_46_after_one_round_labels_inertia_and_centroids_belong_together() {
    let digits = digits();
    for init in [Init::FirstK, Init::KMeansPlusPlus] {
        let fitted = KMeans::new(10).init(init).max_iter(1).fit(&digits).unwrap();
        assert_eq!(fitted.iterations(), 1);
        assert_belongs_together(&fitted, &digits);
    }
}

#[test]
fn case_48_restarts_find_what_a_poor_start_misses() {
    let mut numbers = Numbers::new(48);
    let centre = |i: usize| if i < 100 { 0.0 } else { 100.0 + 10.0 * ((i - 100) / 10) as f64 };
    let points = Array2::from_shape_fn((120, 1), |(i, _)| centre(i) + numbers.symmetric());
    let settings = Settings { stop: Stop::LabelsRepeat, ..Settings::default() };
    let inertia =
        |init, n_init| Job { settings, n_init, ..Job::new(3, init) }.fit(points.view(), None).unwrap().inertia();
    let good = inertia(Init::KMeansPlusPlus, 10);
    // Three groups of spread 1: about a third of the number of points; two groups merged: 500 more.
    assert!((25.0..60.0).contains(&good), "{good}");
    for poor in [Init::FirstK, Init::EvenlySpaced] {
        assert!((480.0..560.0).contains(&inertia(poor.clone(), 1)), "{poor:?}");
    }
}
