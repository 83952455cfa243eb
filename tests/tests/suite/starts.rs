//! Each way of starting picks the centroids that `kmeans_core` defines, and the best of several starts is kept.

use kmeans_host::{Element, Error, Init, Stop, bf16, f16};
use kmeans_tests::compare::{Job, assert_agreement, assert_same, assert_same_fit, bits, reference_start, with_threads};
use kmeans_tests::data::{KINDS, Kind, Weighting, points, weights};
use ndarray::{Array1, Array2};

const WEIGHTINGS: [Weighting; 4] = [Weighting::Unweighted, Weighting::Random, Weighting::WithZeros, Weighting::Wide];

/// With no rounds the starting centroids are what comes back.
fn assert_start<T: Element>(init: Init, k: usize, points: &Array2<T>, weighting: Weighting, seed: u64) {
    let weights = weights(weighting, points.nrows(), seed);
    let job = Job { seed, ..Job::new(k, init) }.max_iter(0);
    let fitted = job.fit(points.view(), weights.as_ref()).unwrap();
    assert_eq!((fitted.iterations(), fitted.converged()), (0, false));
    let expected = reference_start(&job, points, weights.as_ref(), 0);
    assert_same("starting values", &bits(fitted.centroids()), &bits(&expected));
}

fn assert_starts(init: &Init) {
    fn of_type<T: Element>(init: &Init) {
        for (seed, kind) in KINDS.into_iter().enumerate() {
            let few = points::<T>(kind, 60, 3, seed as u64);
            let many = points::<T>(kind, 5000, 2, seed as u64);
            for weighting in WEIGHTINGS {
                for k in [1, 2, 13, 60] {
                    assert_start(init.clone(), k, &few, weighting, seed as u64);
                }
                assert_start(init.clone(), 12, &many, weighting, seed as u64);
            }
        }
    }
    of_type::<f32>(init);
    of_type::<f64>(init);
    of_type::<f16>(init);
    of_type::<bf16>(init);
}

#[test]
fn first_k_are_the_first_k_rows() {
    assert_starts(&Init::FirstK);
}

#[test]
fn evenly_spaced_rows_start_at_the_first() {
    assert_starts(&Init::EvenlySpaced);
}

#[test]
fn random_points_are_those_of_the_seed() {
    assert_starts(&Init::RandomPoints);
}

#[test]
fn random_labels_start_from_the_means_of_equal_labels() {
    assert_starts(&Init::RandomLabels);
}

#[test]
fn plus_plus_picks_the_rows_of_the_definition() {
    assert_starts(&Init::KMeansPlusPlus);
}

#[test]
fn parallel_picks_the_rows_of_the_definition() {
    assert_starts(&Init::KMeansParallel);
}

#[test]
fn seeding_does_not_depend_on_threads() {
    let points = points::<f32>(Kind::Blobs, 9000, 4, 3);
    for threads in [1, 2, 5, 8] {
        with_threads(threads, || {
            for init in [Init::KMeansPlusPlus, Init::KMeansParallel, Init::RandomLabels] {
                assert_start(init, 30, &points, Weighting::Random, 3);
            }
        });
    }
}

#[test]
fn parallel_reduces_without_greedy_trials_above_1024_clusters() {
    let points = points::<f32>(Kind::Uniform, 2500, 2, 3);
    assert_start(Init::KMeansParallel, 1025, &points, Weighting::Unweighted, 0);
}

#[test]
fn plus_plus_in_many_columns() {
    for d in [16, 75, 300] {
        assert_start(Init::KMeansPlusPlus, 20, &points::<f32>(Kind::Blobs, 700, d, 1), Weighting::Unweighted, 1);
        assert_start(Init::KMeansParallel, 20, &points::<f16>(Kind::Uniform, 700, d, 1), Weighting::Random, 1);
    }
}

#[test]
fn given_centroids_are_rounded_to_the_type_of_the_points() {
    // The last is a hair above the middle of 2048 and 2050, the neighbours in `f16`: rounding twice would lose the hair.
    let given = ndarray::array![[0.1, 1.0 / 3.0], [1e-40, 2049.0 + 1e-9]];
    let expect = |bits: Vec<u64>, of: [f64; 4]| assert_eq!(bits, of.map(f64::to_bits));
    let job = Job::new(2, Init::Centroids(given)).max_iter(0);
    let single = job.fit(Array2::<f32>::zeros((3, 2)).view(), None).unwrap();
    expect(bits(single.centroids()), [0.1_f32, 1.0 / 3.0, 1e-40, 2049.0].map(f64::from));
    let half = job.fit(Array2::<f16>::from_elem((3, 2), f16::ONE).view(), None).unwrap();
    expect(bits(half.centroids()), [0.099_975_585_937_5, 0.333_251_953_125, 0.0, 2050.0]);
}

#[test]
fn the_best_of_three_starts_is_kept() {
    let points = points::<f32>(Kind::Blobs, 400, 2, 12);
    let weights = weights(Weighting::Random, 400, 12);
    for init in [Init::RandomPoints, Init::RandomLabels, Init::KMeansPlusPlus, Init::KMeansParallel] {
        for seed in 0..5 {
            let mut job = Job { seed, n_init: 3, ..Job::new(12, init.clone()) };
            job.settings.stop = Stop::LabelsRepeat;
            assert_agreement(&job, &points, None);
            assert_agreement(&job, &points, weights.as_ref());
        }
    }
}

#[test]
fn more_starts_are_never_worse_and_the_first_is_among_them() {
    let points = points::<f64>(Kind::Uniform, 300, 2, 1);
    let inertia =
        |n_init| Job { n_init, ..Job::new(15, Init::RandomPoints) }.fit(points.view(), None).unwrap().inertia();
    let (one, five, twenty) = (inertia(1), inertia(5), inertia(20));
    assert!(twenty <= five && five <= one && twenty < one, "{one} {five} {twenty}");
}

#[test]
fn a_start_that_is_not_random_is_made_once() {
    let points = points::<f32>(Kind::Uniform, 200, 2, 1);
    for init in [Init::FirstK, Init::EvenlySpaced] {
        let once = Job::new(7, init.clone());
        let expected = once.reference(&points, None).unwrap();
        assert_same_fit(&Job { n_init: 10, ..once }.fit(points.view(), None).unwrap(), &expected);
    }
}

#[test]
fn another_seed_starts_elsewhere() {
    let points = points::<f64>(Kind::Uniform, 500, 2, 1);
    for init in [Init::RandomPoints, Init::RandomLabels, Init::KMeansPlusPlus, Init::KMeansParallel] {
        let start = |seed| {
            let job = Job { seed, ..Job::new(5, init.clone()) }.max_iter(0);
            bits(job.fit(points.view(), None).unwrap().centroids())
        };
        assert_ne!(start(1), start(2), "{init:?}");
        // Seeds use all 64 bits.
        assert_ne!(start(1), start(1 | 1 << 40), "{init:?}");
    }
}

/// The candidates of k-means|| weigh as much as all rows together: that must not count against their size.
#[test]
fn parallel_takes_values_as_large_as_any_other_start_takes() {
    let mut points = points::<f64>(Kind::Uniform, 1000, 1, 4);
    let largest = points.iter().fold(0.0_f64, |largest, v| largest.max(v.abs()));
    let Err(Error::ValuesTooLarge { limit, .. }) = Job::new(5, Init::FirstK).fit((&points * 1e160).view(), None) else {
        panic!("1e160 is too large")
    };
    points *= limit / largest * 0.75;
    assert!(Job::new(5, Init::FirstK).fit(points.view(), None).is_ok());
    assert_start(Init::KMeansParallel, 5, &points, Weighting::Unweighted, 4);
    assert_start(Init::KMeansPlusPlus, 5, &points, Weighting::Unweighted, 4);
}

/// The only value of ordinary size has weight zero, so that no candidate of k-means|| has it.
#[test]
fn parallel_takes_tiny_candidates() {
    let mut points = points::<f64>(Kind::Uniform, 100, 1, 4) * 1e-152;
    points[[0, 0]] = 1.0;
    let mut weights = Array1::ones(100);
    weights[0] = 0.0;
    for init in [Init::KMeansParallel, Init::KMeansPlusPlus] {
        let job = Job::new(3, init).max_iter(0);
        let found = job.fit(points.view(), Some(&weights)).unwrap();
        assert_same(
            "starting values",
            &bits(found.centroids()),
            &bits(&reference_start(&job, &points, Some(&weights), 0)),
        );
    }
}
