//! `fit_batch` gives each problem what the reference, and `fit`, give it alone.

use kmeans_core::settings::Settings;
use kmeans_host::{Control, Device, Element, EmptyCluster, Error, Init, KMeans, Progress, Stop, bf16, f16};
use kmeans_tests::compare::{Job, assert_same_fit, bits};
use kmeans_tests::data::{self, KINDS, Kind};
use kmeans_tests::gpu::first_gpu;
use kmeans_tests::proptest_config;
use ndarray::{Array2, Array3, Axis, s};
use proptest::prelude::*;

/// b problems of different data of a kind.
fn problems<T: Element>(kind: Kind, (b, n, d): (usize, usize, usize), seed: u64) -> Array3<T> {
    let mut all = Array3::from_elem((b, n, d), T::from_f64(0.0));
    for (i, mut problem) in all.outer_iter_mut().enumerate() {
        problem.assign(&data::points::<T>(kind, n, d, seed + i as u64));
    }
    all
}

/// Compares every fit with the reference; of several that fail, the first is reported.
fn assert_batch<T: Element>(job: &Job, points: &Array3<T>) {
    let own = |i: usize| -> Array2<T> { points.index_axis(Axis(0), i).to_owned() };
    let expected: Result<Vec<_>, Error> = (0..points.len_of(Axis(0)))
        .map(|i| job.reference(&own(i), None).map_err(|error| Error::Problem { problem: i, error: Box::new(error) }))
        .collect();
    match (job.kmeans().fit_batch(points), expected) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert_same_fit(found, expected);
            }
        }
        (found, expected) => assert_eq!(found.err(), expected.err(), "{job:?}"),
    }
}

fn every_type(job: &Job, kind: Kind, shape: (usize, usize, usize), seed: u64) {
    assert_batch::<f32>(job, &problems(kind, shape, seed));
    assert_batch::<f64>(job, &problems(kind, shape, seed));
    assert_batch::<f16>(job, &problems(kind, shape, seed));
    assert_batch::<bf16>(job, &problems(kind, shape, seed));
}

const STARTS: [Init; 6] = [
    Init::FirstK,
    Init::EvenlySpaced,
    Init::RandomPoints,
    Init::RandomLabels,
    Init::KMeansPlusPlus,
    Init::KMeansParallel,
];

#[test]
fn every_start_policy_and_rule_gives_the_references_fits() {
    let stops = [Stop::LabelsRepeat, Stop::RelativeTolerance(1e-2), Stop::Movement(0.5), Stop::LabelsChanged(0.05)];
    let policies = [EmptyCluster::Farthest, EmptyCluster::Keep, EmptyCluster::Error];
    for (i, init) in STARTS.iter().enumerate() {
        for (j, &stop) in stops.iter().enumerate() {
            for (l, &empty) in policies.iter().enumerate() {
                let mut job = Job::new(5, init.clone());
                (job.seed, job.n_init) = (i as u64, 1 + (i + j) % 2);
                job.settings = Settings { max_iter: 12, stop, empty };
                let kind = KINDS[(i + 2 * j + 3 * l) % KINDS.len()];
                every_type(&job, kind, (4, 90, 3), (i * 100 + j * 10 + l) as u64);
            }
        }
    }
}

#[test]
fn shapes_around_tiles_and_windows() {
    for (b, n, d, k) in
        [(1, 1, 1, 1), (3, 64, 8, 8), (5, 65, 1, 9), (2, 200, 130, 12), (3, 150, 16, 40), (70, 12, 2, 3)]
    {
        let mut job = Job::new(k, Init::KMeansPlusPlus).max_iter(6);
        job.settings.stop = Stop::LabelsRepeat;
        every_type(&job, KINDS[0], (b, n, d), 7);
    }
}

#[test]
fn all_problems_may_begin_at_given_centroids() {
    let centroids = Array2::from_shape_fn((4, 2), |(c, j)| (3 * c + j) as f64 * 0.25);
    for max_iter in [0, 1, 20] {
        let job = Job::new(4, Init::Centroids(centroids.clone())).max_iter(max_iter);
        every_type(&job, KINDS[0], (3, 80, 2), 5);
    }
}

#[test]
fn a_batch_of_nothing_is_nothing() {
    let none = Array3::<f32>::zeros((0, 10, 2));
    assert_eq!(KMeans::new(3).fit_batch(&none).unwrap(), []);
}

#[test]
fn any_layout_is_read() {
    let points = problems::<f32>(KINDS[0], (4, 60, 6), 3);
    let kmeans = KMeans::new(4).seed(2);
    let expected = kmeans.fit_batch(&points).unwrap();
    let mut columns = Array3::zeros((6, 60, 4));
    columns.assign(&points.view().reversed_axes());
    assert_eq!(kmeans.fit_batch(&columns.view().reversed_axes()).unwrap(), expected);
    let mut wide = Array3::zeros((4, 60, 9));
    wide.slice_mut(s![.., .., 2..8]).assign(&points);
    assert_eq!(kmeans.fit_batch(&wide.slice(s![.., .., 2..8])).unwrap(), expected);
    let backwards = kmeans.fit_batch(&points.slice(s![..;-1, .., ..])).unwrap();
    assert!(backwards.iter().rev().eq(&expected));
}

#[test]
fn what_is_wrong_with_a_problem_is_said_with_its_index() {
    let mut points = problems::<f64>(KINDS[0], (5, 20, 3), 3);
    points[[3, 7, 1]] = f64::NAN;
    points[[4, 0, 0]] = f64::INFINITY;
    let found = KMeans::new(2).fit_batch(&points).unwrap_err();
    let Error::Problem { problem: 3, error } = &found else { panic!("{found:?}") };
    assert!(matches!(**error, Error::NonFinite { row: 7, column: 1, .. }), "{found:?}");
    assert!(found.to_string().starts_with("problem 3 of the batch: the value at row 7, column 1"));
}

#[test]
fn bad_settings_are_the_errors_of_fit() {
    let points = Array3::<f32>::zeros((2, 5, 3));
    assert_eq!(KMeans::new(0).fit_batch(&points).unwrap_err(), Error::ZeroClusters);
    assert_eq!(KMeans::new(6).fit_batch(&points).unwrap_err(), Error::TooFewPoints { n: 5, k: 6 });
    assert_eq!(KMeans::new(2).n_init(0).fit_batch(&points).unwrap_err(), Error::ZeroRestarts);
    let none = Array3::<f32>::zeros((2, 5, 0));
    assert_eq!(KMeans::new(2).fit_batch(&none).unwrap_err(), Error::NoColumns);
    let far = Init::Centroids(Array2::from_elem((2, 3), f64::INFINITY));
    assert!(matches!(
        KMeans::new(2).init(far).fit_batch(&points).unwrap_err(),
        Error::InitNotFinite { .. } | Error::Problem { .. }
    ));
}

#[test]
fn a_callback_is_told_of_each_fit_and_can_end_all() {
    let points = problems::<f32>(KINDS[0], (3, 50, 2), 9);
    let expected = KMeans::new(3).fit_batch(&points).unwrap();
    let watched = KMeans::new(3).on_progress(|_| Control::Continue).fit_batch(&points).unwrap();
    assert_eq!(watched.len(), 3);
    for (watched, expected) in watched.iter().zip(&expected) {
        assert_eq!(watched.labels(), expected.labels());
    }
    let ended = KMeans::new(3)
        .on_progress(|progress| match progress {
            Progress::Iteration { .. } => Control::Cancel,
            _ => Control::Continue,
        })
        .fit_batch(&points);
    let cancelled = Box::new(Error::Cancelled { iterations: 1 });
    assert_eq!(ended.unwrap_err(), Error::Problem { problem: 0, error: cancelled });
}

/// Asserts that a GPU fits each problem as the processor does.
fn assert_like_the_processor<T: Element>(kmeans: &KMeans, points: &Array3<T>) {
    let on_gpu = kmeans.clone().device(Device::Cuda(0)).fit_batch(points).unwrap();
    let expected = kmeans.clone().device(Device::Cpu).fit_batch(points).unwrap();
    for (i, (found, expected)) in on_gpu.iter().zip(&expected).enumerate() {
        assert!(found.engine().starts_with("cuda:0"), "{}", found.engine());
        assert_eq!(found.history(), expected.history(), "problem {i}");
        assert!(found.labels() == expected.labels(), "labels of problem {i}");
        assert_eq!(bits(found.centroids()), bits(expected.centroids()), "problem {i}");
        assert_eq!(found.counts(), expected.counts(), "problem {i}");
        assert_eq!(found.inertia().to_bits(), expected.inertia().to_bits(), "problem {i}");
    }
}

#[test]
fn a_gpu_fits_batches_of_every_shape_as_the_processor_does() {
    if first_gpu().is_none() {
        return;
    }
    // (b, n, d) and k: sums of a block in shared memory; in global memory; tensor cores for labels, of one slice of columns
    // and of two; more columns than those take; many groups of few rows; more tiles than blocks run at a time.
    let shapes = [
        ((5, 7001, 128), 8),
        ((3, 900, 700), 16),
        ((4, 5000, 20), 200),
        ((3, 3001, 128), 300),
        ((2, 600, 200), 70),
        ((1500, 40, 3), 6),
        ((2, 300_000, 4), 5),
    ];
    for (i, (shape, k)) in shapes.into_iter().enumerate() {
        let kmeans = KMeans::new(k).seed(i as u64).max_iter(5).stop(Stop::LabelsRepeat);
        for kind in [Kind::Uniform, Kind::Blobs] {
            assert_like_the_processor::<f32>(&kmeans, &problems(kind, shape, 11));
            assert_like_the_processor::<f16>(&kmeans, &problems(kind, shape, 12));
        }
        assert_like_the_processor::<bf16>(&kmeans, &problems(Kind::Offset, shape, 13));
        assert_like_the_processor::<f64>(&kmeans, &problems(Kind::Uniform, shape, 14));
        let first = kmeans.init(Init::FirstK).empty_cluster(EmptyCluster::Farthest);
        assert_like_the_processor::<f32>(&first, &problems(Kind::Duplicated, shape, 15));
    }
}

proptest! {
    #![proptest_config(proptest_config(48))]

    #[test]
    fn batches_are_their_problems(
        (b, n, d, k) in (1_usize..9, 1_usize..120, 1_usize..20, 1_usize..20),
        kind in prop::sample::select(KINDS.to_vec()),
        init in prop::sample::select(STARTS.to_vec()),
        seed in any::<u64>(),
    ) {
        let mut job = Job::new(k.min(n), init).max_iter(15);
        job.seed = seed;
        assert_batch::<f32>(&job, &problems(kind, (b, n, d), seed >> 1));
        assert_batch::<f16>(&job, &problems(kind, (b, n, d), seed >> 1));
    }
}
