//! The engine returns the bits of the reference where fast engines take another path: odd sizes, near ties, many
//! clusters, many rounds.

use kmeans_core::reference;
use kmeans_host::{Element, EmptyCluster, Init, Stop, bf16, f16};
use kmeans_tests::compare::{Job, assert_agreement, assert_same, packed, with_threads};
use kmeans_tests::data::{self, Kind, Numbers, blobs, points, step, store};
use ndarray::{Array2, array};

fn in_every_type(check: impl Fn(&dyn Fn(&Job, Kind, usize, usize))) {
    fn agree<T: Element>(job: &Job, kind: Kind, n: usize, d: usize) {
        assert_agreement(job, &points::<T>(kind, n, d, n as u64), None);
    }
    check(&agree::<f32>);
    check(&agree::<f64>);
    check(&agree::<f16>);
    check(&agree::<bf16>);
}

#[test]
fn one_cluster() {
    in_every_type(|agree| {
        for kind in data::KINDS {
            agree(&Job::new(1, Init::FirstK), kind, 777, 3);
        }
    });
}

#[test]
fn as_many_clusters_as_points() {
    in_every_type(|agree| {
        for init in [Init::FirstK, Init::KMeansPlusPlus, Init::KMeansParallel, Init::RandomLabels] {
            agree(&Job::new(65, init), Kind::Uniform, 65, 2);
        }
    });
}

#[test]
fn one_column() {
    in_every_type(|agree| {
        for (k, kind) in [(2, Kind::Sorted), (7, Kind::Uniform), (40, Kind::Grid), (300, Kind::Offset)] {
            agree(&Job::new(k, Init::EvenlySpaced), kind, 2000, 1);
        }
    });
}

#[test]
fn a_thousand_columns() {
    in_every_type(|agree| {
        for (k, kind) in [(1, Kind::Uniform), (5, Kind::Blobs), (17, Kind::Wide), (9, Kind::FarTight)] {
            agree(&Job::new(k, Init::KMeansPlusPlus).max_iter(8), kind, 70, 1000);
        }
    });
}

#[test]
fn rows_one_beside_every_multiple_of_32() {
    for n in [31, 32, 33, 63, 64, 65, 95, 97, 127, 129, 255, 256, 257, 511, 513, 1023, 1025, 4095, 4096, 4097] {
        for d in [1, 2, 3, 8] {
            assert_agreement(&Job::new(9, Init::EvenlySpaced), &points::<f32>(Kind::Blobs, n, d, 5), None);
            assert_agreement(&Job::new(9, Init::EvenlySpaced), &points::<f64>(Kind::Grid, n, d, 5), None);
        }
    }
}

#[test]
fn clusters_one_beside_every_multiple_of_16_and_48() {
    for k in [15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 79, 80, 81, 95, 96, 97, 143, 144, 145] {
        for d in [2, 5, 24] {
            assert_agreement(
                &Job::new(k, Init::EvenlySpaced).max_iter(10),
                &points::<f32>(Kind::Uniform, 600, d, 1),
                None,
            );
            assert_agreement(
                &Job::new(k, Init::EvenlySpaced).max_iter(10),
                &points::<f16>(Kind::Uniform, 300, d, 1),
                None,
            );
        }
    }
}

#[test]
fn every_number_of_clusters_up_to_300() {
    let (line, space) = (points::<f32>(Kind::Uniform, 320, 1, 2), points::<f32>(Kind::Uniform, 320, 3, 3));
    for k in 2..=300 {
        for points in [&line, &space] {
            assert_agreement(&Job::new(k, Init::EvenlySpaced).max_iter(4), points, None);
        }
    }
}

#[test]
fn every_number_of_columns_up_to_80() {
    for d in 1..=80 {
        assert_agreement(&Job::new(6, Init::FirstK).max_iter(5), &points::<f32>(Kind::Uniform, 150, d, d as u64), None);
        assert_agreement(
            &Job::new(6, Init::FirstK).max_iter(5),
            &points::<bf16>(Kind::Uniform, 150, d, d as u64),
            None,
        );
    }
}

#[test]
fn an_outlier_at_1e30() {
    for d in [1, 3, 20] {
        for seed in 0..4 {
            let job = Job { seed, ..Job::new(6, Init::RandomPoints) };
            assert_agreement(&job, &points::<f32>(Kind::Outlier, 500, d, seed), None);
            assert_agreement(&job, &points::<f64>(Kind::Outlier, 500, d, seed), None);
        }
    }
}

/// Pairs of centroids and the points halfway between them, exact and one unit in the last place of one column off.
fn near_ties<T: Element>(d: usize, offset: f64, seed: u64) -> (Array2<T>, Array2<T>) {
    let mut numbers = Numbers::new(seed);
    let k = 12;
    let centroids = Array2::from_shape_fn((k, d), |_| store::<T>(offset + numbers.symmetric()));
    let mut rows = Vec::new();
    for (a, b) in (0..k).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let halfway = |j: usize| store::<T>(f64::midpoint(centroids[[a, j]].to_f64(), centroids[[b, j]].to_f64()));
        for steps in [-1.0, 0.0, 1.0] {
            let moved = numbers.below(d);
            rows.extend((0..d).map(|j| if j == moved { step(halfway(j), steps) } else { halfway(j) }));
        }
    }
    (Array2::from_shape_vec((rows.len() / d, d), rows).expect("d columns"), centroids)
}

#[test]
fn points_within_a_rounding_error_of_a_tie() {
    fn check<T: Element>() {
        for d in [1, 2, 3, 7, 16, 33, 64] {
            for (seed, offset) in [0.0, 0.0, 1.0, 300.0, 1e4, 1e7].into_iter().enumerate() {
                // Beside all twelve, just two: then the points halfway are near ties and nothing else can win.
                let (points, centroids) = near_ties::<T>(d, store::<T>(offset).to_f64(), seed as u64);
                for k in [2, 3, 12] {
                    let init = Init::centroids(&centroids.slice(ndarray::s![..k, ..]));
                    for max_iter in [0, 5] {
                        let settings = kmeans_core::settings::Settings {
                            max_iter,
                            stop: Stop::LabelsRepeat,
                            empty: EmptyCluster::Keep,
                        };
                        assert_agreement(&Job { settings, ..Job::new(k, init.clone()) }, &points, None);
                    }
                }
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}

#[test]
fn one_column_cut_at_the_midpoint() {
    fn check<T: Element>() {
        // Neighbouring centroids of a line, and every value close to the cut between them.
        for (low, high) in [(0.0, 1.0), (1.0, 1.0 + 1.0 / 64.0), (100.0, 101.0), (-3.0, 5.0), (7.0, 7.0)] {
            let cut = store::<T>(f64::midpoint(low, high));
            let near: Vec<T> = (-6..=6).map(|s| step(cut, f64::from(s))).collect();
            let points = Array2::from_shape_vec((near.len(), 1), near).expect("one column");
            for given in [array![[low], [high]], array![[high], [low]]] {
                let fitted = Job::new(2, Init::Centroids(given.clone())).max_iter(0).fit(points.view(), None).unwrap();
                let centroids: Vec<T> = given.iter().map(|&v| store(v)).collect();
                assert_same("labels", &fitted.labels().to_vec(), &reference::assign(packed(&points), 1, &centroids));
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}

#[test]
fn centroids_that_are_all_equal() {
    for k in [2, 16, 50] {
        let init = Init::Centroids(Array2::from_elem((k, 3), 0.25));
        for empty in [EmptyCluster::Keep, EmptyCluster::Farthest] {
            let mut job = Job::new(k, init.clone());
            job.settings.empty = empty;
            assert_agreement(&job, &points::<f32>(Kind::Uniform, 400, 3, 8), None);
            assert_agreement(&job, &points::<f64>(Kind::Grid, 400, 3, 8), None);
        }
    }
}

#[test]
fn many_rounds_on_blobs() {
    for d in [2, 3, 5, 16, 40] {
        // More clusters than blobs, so that points go on moving within them.
        let (points, _) = blobs::<f32>(5000, d, 15, 4);
        for init in [Init::FirstK, Init::KMeansPlusPlus] {
            let mut job = Job::new(50, init);
            job.settings.stop = Stop::LabelsRepeat;
            assert!(job.fit(points.view(), None).unwrap().iterations() > 5);
            assert_agreement(&job, &points, None);
        }
    }
}

#[test]
fn many_rounds_without_clear_clusters() {
    fn check<T: Element>(n: usize) {
        for (d, k) in [(1, 20), (2, 30), (3, 100), (8, 40)] {
            let mut job = Job::new(k, Init::RandomPoints).max_iter(100);
            job.settings.stop = Stop::LabelsRepeat;
            assert_agreement(&job, &points::<T>(Kind::Uniform, n, d, 6), None);
        }
    }
    check::<f32>(2000);
    check::<f64>(1000);
    check::<f16>(1000);
    check::<bf16>(1000);
}

#[test]
fn weights_over_many_rounds_and_threads() {
    let (points, _) = blobs::<f32>(5000, 3, 20, 9);
    let weights = data::weights(data::Weighting::WithZeros, 5000, 9).unwrap();
    let mut job = Job::new(40, Init::KMeansPlusPlus);
    job.settings.stop = Stop::LabelsRepeat;
    with_threads(3, || assert_agreement(&job, &points, Some(&weights)));
}

/// A wide range of values needs long sums: one value of 2^-140 among ones in `f32`, 1e-300 in `f64`.
#[test]
fn tiny_values_among_ordinary_ones_are_not_lost() {
    let mut single = points::<f32>(Kind::Grid, 300, 2, 1);
    single[[7, 0]] = 2.0_f32.powi(-140);
    let mut double = points::<f64>(Kind::Grid, 300, 2, 1);
    double[[7, 0]] = 1e-300;
    for k in [1, 5] {
        assert_agreement(&Job::new(k, Init::FirstK), &single, None);
        assert_agreement(&Job::new(k, Init::FirstK), &double, None);
    }
}

/// A set of sums this large is not kept by every thread.
#[test]
fn sums_of_several_megabytes() {
    let mut job = Job::new(700, Init::RandomPoints).max_iter(3);
    assert_agreement(&job, &points::<f32>(Kind::Uniform, 1400, 400, 1), None);
    assert_agreement(&Job::new(120, Init::FirstK).max_iter(4), &points::<f64>(Kind::Subnormal, 700, 64, 2), None);
    let weights = data::weights(data::Weighting::Wide, 700, 3).unwrap();
    job = Job::new(120, Init::Centroids(Array2::zeros((120, 64)))).max_iter(4);
    assert_agreement(&job, &points::<f64>(Kind::Subnormal, 700, 64, 3), Some(&weights));
}
