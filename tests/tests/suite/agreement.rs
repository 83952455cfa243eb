//! The engine returns the bits of the reference, for random settings on random data of every kind.

use kmeans_core::settings::Settings;
use kmeans_core::{distance, reference};
use kmeans_host::{Element, EmptyCluster, Init, Stop, bf16, f16};
use kmeans_tests::compare::{Job, assert_same, assert_same_fit, bits, packed, with_threads};
use kmeans_tests::data::{self, KINDS, Kind, Numbers, Weighting, store};
use kmeans_tests::layout::{LAYOUTS, Layout, with_layout};
use kmeans_tests::proptest_config;
use ndarray::Array2;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Type {
    F32,
    F64,
    F16,
    Bf16,
}

#[derive(Clone, Copy, Debug)]
enum Start {
    FirstK,
    EvenlySpaced,
    RandomPoints,
    RandomLabels,
    PlusPlus,
    Parallel,
    GivenRows,
    GivenDuplicates,
    GivenFarAway,
}

/// Everything a fit depends on, small enough to print.
#[derive(Clone, Debug)]
struct Case {
    element: Type,
    kind: Kind,
    n: usize,
    d: usize,
    k: usize,
    start: Start,
    n_init: usize,
    weighting: Weighting,
    settings: Settings,
    threads: usize,
    layout: Layout,
    seed: u64,
}

fn settings() -> impl Strategy<Value = Settings> {
    let stop = prop_oneof![
        Just(Stop::LabelsRepeat),
        prop::sample::select(vec![0.0, 1e-4, 0.1]).prop_map(Stop::RelativeTolerance),
        prop::sample::select(vec![0.0, 1e-3, 10.0]).prop_map(Stop::Movement),
        prop::sample::select(vec![0.0, 0.01, 0.3]).prop_map(Stop::LabelsChanged),
    ];
    let empty = prop::sample::select(vec![EmptyCluster::Farthest, EmptyCluster::Keep, EmptyCluster::Error]);
    let max_iter = prop_oneof![1 => 0_usize..4, 3 => Just(30)];
    (stop, empty, max_iter).prop_map(|(stop, empty, max_iter)| Settings { max_iter, stop, empty })
}

/// Cases with `n` and `d` in the given ranges and at most `work`/d clusters.
fn cases(n: impl Strategy<Value = usize>, d: impl Strategy<Value = usize>, work: usize) -> impl Strategy<Value = Case> {
    let element = prop::sample::select(vec![Type::F32, Type::F64, Type::F16, Type::Bf16]);
    let start = prop::sample::select(vec![
        Start::FirstK,
        Start::EvenlySpaced,
        Start::RandomPoints,
        Start::RandomLabels,
        Start::PlusPlus,
        Start::Parallel,
        Start::GivenRows,
        Start::GivenDuplicates,
        Start::GivenFarAway,
    ]);
    let weighting = prop::sample::select(vec![
        Weighting::Unweighted,
        Weighting::Unweighted,
        Weighting::Random,
        Weighting::WithZeros,
        Weighting::Wide,
    ]);
    let shape = (n, d, prop_oneof![4 => 0.0..0.2, 1 => 0.0..1.0, 1 => Just(1.0)]);
    let data = (element, prop::sample::select(KINDS.to_vec()), weighting, any::<u64>());
    let run = (start, prop_oneof![5 => Just(1_usize), 1 => Just(3)], settings(), 1_usize..=8);
    (shape, data, run, prop::sample::select(LAYOUTS.to_vec())).prop_map(
        move |((n, d, share), (element, kind, weighting, seed), (start, n_init, settings, threads), layout)| {
            let k = (1 + (share * (n - 1) as f64) as usize).min(1 + work / d);
            Case { element, kind, n, d, k, start, n_init, weighting, settings, threads, layout, seed }
        },
    )
}

/// Given centroids that hold `k` rows of `points` after some change.
fn given<T: Element>(points: &Array2<T>, k: usize, seed: u64, start: Start) -> Init {
    let mut numbers = Numbers::new(seed);
    let rows: Vec<usize> = match start {
        Start::GivenDuplicates => (0..k).map(|_| numbers.below(1 + k / 3)).collect(),
        _ => (0..k).map(|_| numbers.below(points.nrows())).collect(),
    };
    let mut centroids = points.select(ndarray::Axis(0), &rows);
    if let Start::GivenFarAway = start {
        centroids.row_mut(k / 2).fill(store(3e4));
    }
    Init::centroids(&centroids)
}

fn job<T: Element>(case: &Case, points: &Array2<T>) -> Job {
    let init = match case.start {
        Start::FirstK => Init::FirstK,
        Start::EvenlySpaced => Init::EvenlySpaced,
        Start::RandomPoints => Init::RandomPoints,
        Start::RandomLabels => Init::RandomLabels,
        Start::PlusPlus => Init::KMeansPlusPlus,
        Start::Parallel => Init::KMeansParallel,
        start => given(points, case.k, case.seed, start),
    };
    Job { k: case.k, init, seed: case.seed, n_init: case.n_init, settings: case.settings }
}

fn check_as<T: Element>(case: &Case) {
    let points = data::points::<T>(case.kind, case.n, case.d, case.seed);
    let weights = data::weights(case.weighting, case.n, case.seed);
    let job = job(case, &points);
    let expected = job.reference(&points, weights.as_ref());
    let found =
        with_threads(case.threads, || with_layout(&points, case.layout, |view| job.fit(view, weights.as_ref())));
    let (fitted, expected) = match (found, expected) {
        (Ok(fitted), Ok(expected)) => (fitted, expected),
        (found, expected) => return assert_eq!(found.err(), expected.err()),
    };
    assert_same_fit(&fitted, &expected);

    let new_points = data::points::<T>(case.kind, case.n, case.d, case.seed + 1);
    let new_labels = reference::assign(packed(&new_points), case.d, &expected.centroids);
    let inertia = reference::inertia(packed(&new_points), case.d, None, &expected.centroids, &new_labels);
    assert_same("predicted labels", &fitted.predict(&new_points).unwrap().to_vec(), &new_labels);
    assert_eq!(fitted.score(&new_points).unwrap(), -inertia, "score");
    let distances = fitted.transform(&new_points).unwrap();
    let by_definition = Array2::from_shape_fn((case.n, case.k), |(i, c)| {
        distance(&new_points.row(i).to_vec(), &expected.centroids[c * case.d..][..case.d]).sqrt()
    });
    assert_same("distances", &bits(&distances), &bits(&by_definition));
}

fn check(case: &Case) {
    match case.element {
        Type::F32 => check_as::<f32>(case),
        Type::F64 => check_as::<f64>(case),
        Type::F16 => check_as::<f16>(case),
        Type::Bf16 => check_as::<bf16>(case),
    }
}

proptest! {
    #![proptest_config(proptest_config(1000))]
    #[test]
    fn few_points_in_few_columns(case in cases(prop_oneof![3 => 1_usize..60, 1 => 60_usize..400], 1_usize..=8, 1000)) {
        check(&case);
    }
}

proptest! {
    #![proptest_config(proptest_config(150))]
    #[test]
    fn few_points_in_many_columns(case in cases(1_usize..300, 9_usize..=70, 1000)) {
        check(&case);
    }
}

proptest! {
    #![proptest_config(proptest_config(60))]
    #[test]
    fn several_blocks_of_points(case in cases(1000_usize..9000, 1_usize..=20, 60)) {
        check(&case);
    }
}

proptest! {
    #![proptest_config(proptest_config(300))]
    #[test]
    fn one_column_of_points(case in cases(20_usize..1500, Just(1_usize), 120)) {
        check(&case);
    }
}
