//! Every error is provoked and says the numbers that matter; nothing that a caller can pass panics.

use kmeans_host::{Control, Device, Element, EmptyCluster, Error, Init, KMeans, Stop, bf16, f16};
use kmeans_tests::proptest_config;
use ndarray::{Array1, Array2, array};
use proptest::prelude::*;

/// Asserts the error and that its message contains all of `parts`.
fn assert_error<T: std::fmt::Debug>(result: Result<T, Error>, expected: Error, parts: &[&str]) {
    let error = result.unwrap_err();
    assert_eq!(error, expected);
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

fn points() -> Array2<f64> {
    array![[0.0, 0.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0]]
}

#[test]
fn zero_clusters() {
    assert_error(KMeans::new(0).fit(&points()), Error::ZeroClusters, &["k is 0"]);
}

#[test]
fn more_clusters_than_labels() {
    let k = 1 << 33;
    assert_error(KMeans::new(k).fit(&points()), Error::TooManyClusters { k }, &["8589934592", "4294967295"]);
}

#[test]
fn fewer_points_than_clusters() {
    assert_error(KMeans::new(9).fit(&points()), Error::TooFewPoints { n: 4, k: 9 }, &["4 points", "k = 9"]);
}

#[test]
fn no_points() {
    assert_error(KMeans::new(1).fit(&Array2::<f32>::zeros((0, 3))), Error::NoPoints, &["n = 0"]);
}

#[test]
fn no_columns() {
    assert_error(KMeans::new(1).fit(&Array2::<f32>::zeros((3, 0))), Error::NoColumns, &["d = 0"]);
}

#[test]
fn a_value_that_is_not_finite_in_every_type() {
    fn check<T: Element>() {
        for value in [f64::INFINITY, f64::NEG_INFINITY] {
            let mut bad = Array2::from_elem((700, 3), T::from_f64(1.0));
            bad[[650, 1]] = T::from_f64(value);
            bad[[690, 0]] = T::from_f64(f64::NAN);
            let (row, column) = (650, 1);
            let sign = if value > 0.0 { "is inf" } else { "is -inf" };
            let expected = Error::NonFinite { row, column, value };
            assert_error(KMeans::new(2).fit(&bad), expected.clone(), &["row 650", "column 1", sign]);
            let fitted = KMeans::new(1).fit(&Array2::from_elem((2, 3), T::from_f64(1.0))).unwrap();
            assert_error(fitted.predict(&bad), expected.clone(), &["row 650"]);
            assert_error(fitted.transform(&bad), expected.clone(), &["row 650"]);
            assert_error(fitted.score(&bad), expected, &["row 650"]);
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}

#[test]
fn values_whose_squares_are_too_large() {
    let error = KMeans::new(1).fit(&array![[1.0, 2.0], [3.0, -1e200]]).unwrap_err();
    let Error::ValuesTooLarge { row: 1, column: 1, value: -1e200, limit } = error else { panic!("{error:?}") };
    assert!(error.to_string().contains("row 1, column 1 is -1e200"), "{error}");
    assert!(error.to_string().contains(&format!("{limit:e}")), "{error}");
    // What the message advises is accepted.
    assert!(KMeans::new(1).fit(&array![[1.0, 2.0], [3.0, -limit / 2.0]]).unwrap().inertia().is_finite());
}

#[test]
fn weights_count_towards_the_largest_value() {
    let large = array![[1e150], [-1e150]];
    assert!(KMeans::new(1).fit(&large).unwrap().inertia().is_finite());
    let error = KMeans::new(1).fit_weighted(&large, &array![1e30, 1e30]).unwrap_err();
    assert!(matches!(error, Error::ValuesTooLarge { row: 0, column: 0, value: 1e150, .. }), "{error:?}");
}

#[test]
fn values_whose_squares_are_too_small() {
    let error = KMeans::new(1).fit(&array![[1e-200], [-3e-200]]).unwrap_err();
    let Error::ValuesTooSmall { largest: 3e-200, limit } = error else { panic!("{error:?}") };
    assert!(error.to_string().contains("3e-200") && error.to_string().contains(&format!("{limit:e}")), "{error}");
    assert!(KMeans::new(1).fit(&array![[limit], [1e-300]]).is_ok());
    assert!(KMeans::new(1).fit(&array![[0.0], [0.0]]).is_ok());
}

#[test]
fn another_number_of_columns() {
    let fitted = KMeans::new(2).fit(&points()).unwrap();
    let expected = Error::DimensionMismatch { expected: 2, found: 3 };
    let three = Array2::zeros((5, 3));
    assert_error(fitted.predict(&three), expected.clone(), &["3 columns", "fitted on 2"]);
    assert_error(fitted.transform(&three), expected.clone(), &[]);
    assert_error(fitted.score(&three), expected.clone(), &[]);
    assert_error(fitted.score_weighted(&three, &Array1::ones(5)), expected, &[]);
}

#[test]
fn another_number_of_weights() {
    let expected = Error::WeightCount { expected: 4, found: 3 };
    let three = Array1::ones(3);
    assert_error(KMeans::new(1).fit_weighted(&points(), &three), expected.clone(), &["3 sample weights", "4 points"]);
    assert_error(KMeans::new(1).fit(&points()).unwrap().score_weighted(&points(), &three), expected, &[]);
}

#[test]
fn a_weight_that_is_negative_or_not_finite() {
    for (value, text) in [(-0.5, "-0.5"), (f64::INFINITY, "inf"), (-1e-300, "-0.0")] {
        let weights = array![1.0, 0.0, value, f64::NAN];
        let expected = Error::BadWeight { index: 2, value };
        assert_error(KMeans::new(1).fit_weighted(&points(), &weights), expected, &["index 2", text]);
    }
    let error = KMeans::new(1).fit_weighted(&points(), &array![1.0, f64::NAN, 1.0, 1.0]).unwrap_err();
    assert!(matches!(error, Error::BadWeight { index: 1, value } if value.is_nan()));
    assert!(KMeans::new(1).fit_weighted(&points(), &array![1.0, -0.0, 0.0, 1.0]).is_ok());
}

#[test]
fn weights_that_are_all_zero() {
    assert_error(KMeans::new(1).fit_weighted(&points(), &Array1::zeros(4)), Error::ZeroWeights, &["zero"]);
}

#[test]
fn given_centroids_of_another_shape() {
    for shape in [(3, 2), (2, 1), (0, 0)] {
        let kmeans = KMeans::new(2).init(Init::Centroids(Array2::zeros(shape)));
        let expected = Error::InitShape { k: 2, d: 2, found_k: shape.0, found_d: shape.1 };
        assert_error(kmeans.fit(&points()), expected, &[&format!("[{}, {}]", shape.0, shape.1), "[2, 2]"]);
    }
}

#[test]
fn given_centroids_that_the_type_cannot_hold() {
    let start = |value| KMeans::new(2).init(Init::Centroids(array![[0.0, 0.0], [1.0, value]]));
    let expected = |value| Error::InitNotFinite { row: 1, column: 1, value };
    assert_error(start(f64::INFINITY).fit(&points()), expected(f64::INFINITY), &["row 1, column 1", "inf"]);
    assert!(matches!(start(f64::NAN).fit(&points()).unwrap_err(), Error::InitNotFinite { row: 1, column: 1, .. }));
    assert_error(start(1e39).fit(&points().mapv(|v| v as f32)), expected(1e39), &["row 1, column 1"]);
    assert_error(start(1e5).fit(&points().mapv(f16::from_f64)), expected(1e5), &["row 1, column 1", "100000"]);
    assert_error(start(1e200).fit(&points()), expected(1e200), &[]);
}

#[test]
fn given_centroids_whose_weighted_distances_would_overflow() {
    let far = KMeans::new(1).init(Init::Centroids(array![[1e150]])).max_iter(0);
    assert!(far.fit(&array![[1.0], [2.0]]).unwrap().inertia().is_finite());
    let weighted = far.fit_weighted(&array![[1.0], [2.0]], &array![1e100, 1.0]);
    assert_error(weighted, Error::InitNotFinite { row: 0, column: 0, value: 1e150 }, &["row 0, column 0"]);
}

#[test]
fn a_stop_rule_with_a_bad_number() {
    for stop in [Stop::RelativeTolerance(-1.0), Stop::Movement(-1.0), Stop::LabelsChanged(-1.0)] {
        assert_error(KMeans::new(1).stop(stop).fit(&points()), Error::BadStop { value: -1.0 }, &["-1"]);
    }
    for value in [f64::NAN, f64::INFINITY] {
        let error = KMeans::new(1).stop(Stop::Movement(value)).fit(&points()).unwrap_err();
        assert!(error.to_string().contains(&value.to_string()), "{error}");
    }
}

#[test]
fn no_starts() {
    assert_error(KMeans::new(1).n_init(0).fit(&points()), Error::ZeroRestarts, &["n_init is 0"]);
}

#[test]
fn an_empty_cluster_where_that_is_an_error() {
    let given = Init::Centroids(array![[0.0, 0.0], [1e3, 1e3], [5.0, 5.0]]);
    let fitted = KMeans::new(3).init(given).empty_cluster(EmptyCluster::Error).fit(&points());
    assert_error(fitted, Error::EmptyCluster { cluster: 1, iteration: 1 }, &["cluster 1", "assignment 1"]);
}

#[test]
fn a_device_that_is_not_there() {
    let error = KMeans::new(1).device(Device::Cuda(4711)).fit(&points()).unwrap_err();
    assert!(matches!(&error, Error::NoDevice { index: 4711, reason } if !reason.is_empty()), "{error:?}");
    assert!(error.to_string().contains("4711") && error.to_string().contains("Device::Cpu"), "{error}");
}

#[test]
fn a_cancelled_fit() {
    let cancelled = KMeans::new(2).init(Init::FirstK).on_progress(|_| Control::Cancel).fit(&points());
    assert_error(cancelled, Error::Cancelled { iterations: 1 }, &["after 1 iteration"]);
}

#[test]
fn errors_are_standard_errors_that_threads_can_pass_on() {
    fn check<E: std::error::Error + Clone + Send + Sync + 'static>(_: E) {}
    check(Error::ZeroClusters);
}

/// Values by how likely they are to be accepted.
fn values() -> impl Strategy<Value = Vec<f64>> {
    let any_bits = any::<u64>().prop_map(f64::from_bits);
    let single_bits = any::<u32>().prop_map(|bits| f64::from(f32::from_bits(bits)));
    let moderate = (-60_i32..60, -1.0..1.0).prop_map(|(e, m)| m * 2.0_f64.powi(e));
    let special =
        prop::sample::select(vec![0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::MAX, 5e-324, 1e-310, 1e152, -1e151]);
    let value = |weights: [u32; 4]| {
        prop_oneof![
            weights[0] => any_bits.clone(),
            weights[1] => single_bits.clone(),
            weights[2] => moderate.clone(),
            weights[3] => special.clone(),
        ]
    };
    let mild = prop_oneof![20 => -10.0..10.0, 1 => Just(1e151), 1 => Just(5e-324), 1 => Just(0.0)];
    prop_oneof![
        prop::collection::vec(value([1, 1, 1, 1]), 0..60),
        prop::collection::vec(value([0, 0, 20, 1]), 0..60),
        prop::collection::vec(mild, 0..120),
        prop::collection::vec(-10.0..10.0, 0..120),
    ]
}

#[derive(Clone, Debug)]
struct Request {
    k: usize,
    d: usize,
    values: Vec<f64>,
    weights: Option<Vec<f64>>,
    init: Init,
    stop: Stop,
    empty: EmptyCluster,
    max_iter: usize,
    n_init: usize,
    seed: u64,
}

fn requests() -> impl Strategy<Value = Request> {
    let number = || prop_oneof![2 => 0.0..1.0, 1 => any::<f64>(), 1 => Just(f64::NAN), 1 => Just(f64::MAX)];
    let stop = prop_oneof![
        3 => Just(Stop::LabelsRepeat),
        1 => number().prop_map(Stop::RelativeTolerance),
        1 => number().prop_map(Stop::Movement),
        1 => number().prop_map(Stop::LabelsChanged),
    ];
    let k = prop_oneof![30 => 0_usize..12, 1 => Just(usize::MAX), 1 => Just(1 << 32)];
    let given = (values(), 0_usize..4).prop_map(|(values, columns)| {
        let rows = values.len() / columns.max(1);
        Init::Centroids(Array2::from_shape_vec((rows, columns), values[..rows * columns].to_vec()).expect("cut to fit"))
    });
    let init = prop_oneof![
        6 => prop::sample::select(vec![
            Init::FirstK,
            Init::EvenlySpaced,
            Init::RandomPoints,
            Init::RandomLabels,
            Init::KMeansPlusPlus,
            Init::KMeansParallel,
        ]),
        1 => given,
    ];
    let empty = prop::sample::select(vec![EmptyCluster::Farthest, EmptyCluster::Keep, EmptyCluster::Error]);
    let weights = prop::option::weighted(0.3, values());
    let data = (k, 0_usize..5, values(), weights);
    let run = (init, stop, empty, 0_usize..20, prop_oneof![9 => 1_usize..3, 1 => Just(0)], any::<u64>());
    (data, run).prop_map(|((k, d, values, weights), (init, stop, empty, max_iter, n_init, seed))| {
        // Half of the time there is one weight per row.
        let rows = values.len() / d.max(1);
        let weights = weights
            .map(|w| if seed.is_multiple_of(2) { w.iter().map(|v| v.abs()).cycle().take(rows).collect() } else { w });
        Request { k, d, values, weights, init, stop, empty, max_iter, n_init, seed }
    })
}

/// Fits, and whatever comes back makes sense.
fn fit_as<T: Element>(request: &Request) {
    let rows = request.values.len() / request.d.max(1);
    let points: Vec<T> = request.values[..rows * request.d].iter().map(|&v| T::from_f64(v)).collect();
    let points = Array2::from_shape_vec((rows, request.d), points).expect("cut to fit");
    let kmeans = KMeans::new(request.k)
        .init(request.init.clone())
        .stop(request.stop)
        .empty_cluster(request.empty)
        .max_iter(request.max_iter)
        .n_init(request.n_init)
        .seed(request.seed)
        .device(Device::Cpu);
    let result = match &request.weights {
        None => kmeans.fit(&points),
        Some(weights) => kmeans.fit_weighted(&points, &Array1::from(weights.clone())),
    };
    match result {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(fitted) => {
            assert!(fitted.labels().iter().all(|&l| (l as usize) < request.k));
            assert_eq!(fitted.counts().sum(), rows as u64);
            assert!(fitted.centroids().iter().all(|v| v.to_f64().is_finite()));
            assert!(fitted.inertia() >= 0.0);
            assert_eq!(fitted.predict(&points).unwrap(), fitted.labels());
            assert!(fitted.transform(&points).unwrap().iter().all(|&v| v >= 0.0));
        }
    }
}

proptest! {
    #![proptest_config(proptest_config(4000))]
    #[test]
    fn any_request_gives_an_answer_or_an_error(request in requests()) {
        fit_as::<f64>(&request);
        fit_as::<f32>(&request);
        fit_as::<f16>(&request);
        fit_as::<bf16>(&request);
    }
}
