//! The engine returns the bits of the reference where points, centroids and rounding errors are of very different sizes.

use kmeans_core::reference;
use kmeans_host::{Element, FittedKMeans, Init, KMeans, Stop, bf16, f16};
use kmeans_tests::compare::{Job, assert_agreement, assert_same, packed};
use kmeans_tests::data::{KINDS, Kind, Numbers, points, step, store};
use ndarray::{Array2, s};

fn assert_predicts<T: Element>(fitted: &FittedKMeans<T>, points: &Array2<T>) {
    let centroids: Vec<T> = fitted.centroids().iter().copied().collect();
    let expected = reference::assign(packed(points), points.ncols(), &centroids);
    assert_same("labels", &fitted.predict(points).unwrap().to_vec(), &expected);
}

fn in_every_type(check: [fn(); 4]) {
    for check in check {
        check();
    }
}

#[test]
fn a_model_of_one_scale_labels_points_of_every_other() {
    fn check<T: Element>() {
        for (d, k) in [(1, 9), (3, 20), (7, 40)] {
            for kind in KINDS {
                let fitted = KMeans::new(k).init(Init::FirstK).max_iter(2).fit(&points::<T>(kind, 200, d, 1)).unwrap();
                for other in KINDS {
                    assert_predicts(&fitted, &points::<T>(other, 60, d, 2));
                    // The sample that the engine looks at is then not all of the points.
                    assert_predicts(&fitted, &points::<T>(other, 1100, d, 3));
                }
            }
        }
    }
    in_every_type([check::<f32>, check::<f64>, check::<f16>, check::<bf16>]);
}

#[test]
fn each_point_alone_gets_the_label_it_gets_among_others() {
    fn check<T: Element>() {
        for kind in KINDS {
            for d in [2, 6] {
                let points = points::<T>(kind, 40, d, 4);
                let fitted = KMeans::new(12).init(Init::FirstK).max_iter(3).fit(&points).unwrap();
                for i in 0..40 {
                    let alone = fitted.predict(&points.slice(s![i..=i, ..])).unwrap();
                    assert_eq!(alone[0], fitted.labels()[i], "{kind:?}, row {i}");
                }
            }
        }
    }
    in_every_type([check::<f32>, check::<f64>, check::<f16>, check::<bf16>]);
}

/// Rows ⌊i·n/1024⌋, which a sample might consist of, are all equal; the others are what matters.
#[test]
fn points_that_an_even_sample_of_rows_does_not_see() {
    fn check<T: Element>() {
        let n = 4096;
        for d in [2, 9] {
            for kind in [Kind::Uniform, Kind::FarTight, Kind::Wide, Kind::Subnormal, Kind::Outlier, Kind::Grid] {
                let mut points = points::<T>(kind, n, d, 5);
                points.slice_mut(s![..;4, ..]).fill(T::from_f64(1.0));
                assert_agreement(&Job::new(16, Init::RandomPoints).max_iter(6), &points, None);
                // Only units in the last place differ.
                let tight = Array2::from_shape_fn((n, d), |(i, j)| {
                    step(T::from_f64(1.0), if i % 4 == 0 { 0.0 } else { ((i * 7 + j * 3) % 5) as f64 })
                });
                assert_agreement(&Job::new(7, Init::RandomPoints).max_iter(6), &tight, None);
            }
        }
    }
    in_every_type([check::<f32>, check::<f64>, check::<f16>, check::<bf16>]);
}

#[test]
fn given_centroids_far_beyond_the_points() {
    let mut numbers = Numbers::new(6);
    for d in [1, 3, 4, 6, 20] {
        for (near, far) in [(1, 1), (1, 7), (8, 1), (8, 8), (0, 5), (30, 40)] {
            for size in [1e5, 1e10, 1e17, 1e30, 1e100, 1e149] {
                let given = Array2::from_shape_fn((near + far, d), |(c, _)| {
                    numbers.symmetric() * if c % (near + far).div_ceil(far.max(1)) == 0 { size } else { 1.0 }
                });
                let job = Job::new(near + far, Init::Centroids(given.clone()));
                assert_agreement(&job.clone().max_iter(0), &points::<f64>(Kind::Uniform, 300, d, 7), None);
                assert_agreement(&job.clone().max_iter(5), &points::<f64>(Kind::Blobs, 300, d, 7), None);
                if size < 1e38 {
                    assert_agreement(&job.max_iter(5), &points::<f32>(Kind::Uniform, 300, d, 7), None);
                }
            }
        }
    }
}

/// D is rounded: two centroids may be equally far by definition, where one is nearer in real numbers. The label is then
/// the lower one all the same.
#[test]
fn distances_that_differ_by_less_than_a_rounding_are_ties() {
    fn check<T: Element>() {
        for d in [2, 3, 4, 5, 17, 64] {
            let mut given = Array2::from_elem((3, d), T::ZERO);
            given[[0, 0]] = T::from_f64(1024.0);
            given[[0, 1]] = T::from_f64(2.0_f64.powi(-20));
            given[[1, 0]] = T::from_f64(1024.0);
            given[[2, 0]] = T::from_f64(-1024.0);
            let points = Array2::from_shape_fn((600, d), |(i, j)| {
                T::from_f64(if j == 0 { [0.0, 1.0, -3.0, 2000.0][i % 4] } else { 0.0 })
            });
            let job = Job::new(3, Init::centroids(&given)).max_iter(0);
            assert_eq!(job.fit(points.view(), None).unwrap().labels()[0], 0, "1024² + 2^-40 rounds to 1024²");
            assert_agreement(&job, &points, None);
            assert_agreement(&job.max_iter(10), &points, None);
        }
    }
    in_every_type([check::<f32>, check::<f64>, check::<f16>, check::<bf16>]);
}

/// Clusters that are a few roundings of D apart from a far point, over rounds in which bounds could be carried along.
#[test]
fn far_points_and_close_centroids_over_many_rounds() {
    fn check<T: Element>() {
        let mut numbers = Numbers::new(8);
        for d in [2, 5, 30] {
            // Half of the points far away in the first column, where D of all the others is nearly the same.
            let points = Array2::from_shape_fn((1500, d), |(i, j)| {
                store::<T>(if i % 2 == 0 && j == 0 { 3e4 } else { numbers.normal() })
            });
            let mut job = Job::new(40, Init::RandomPoints).max_iter(30);
            job.settings.stop = Stop::LabelsRepeat;
            assert_agreement(&job, &points, None);
        }
    }
    in_every_type([check::<f32>, check::<f64>, check::<f16>, check::<bf16>]);
}

/// Squared differences fall below the smallest `f64`, or close to it.
#[test]
fn f64_data_near_the_smallest_allowed() {
    for exponent in [-498, -480, -440, -300] {
        for (kind, d) in [(Kind::Uniform, 3), (Kind::Blobs, 8), (Kind::Grid, 2), (Kind::FarTight, 3), (Kind::Wide, 2)] {
            let points = points::<f64>(kind, 1500, d, 9) * 2.0_f64.powi(exponent);
            for init in [Init::EvenlySpaced, Init::KMeansPlusPlus] {
                let mut job = Job::new(30, init).max_iter(12);
                job.settings.stop = Stop::LabelsRepeat;
                assert_agreement(&job, &points, None);
            }
        }
    }
}

#[test]
fn f64_data_near_the_largest_allowed() {
    for (kind, d) in [(Kind::Uniform, 3), (Kind::Blobs, 8), (Kind::Grid, 2), (Kind::Wide, 2)] {
        for exponent in [300, 440, 470] {
            let points = points::<f64>(kind, 1500, d, 10) * 2.0_f64.powi(exponent);
            assert_agreement(&Job::new(30, Init::KMeansPlusPlus).max_iter(12), &points, None);
        }
    }
}

#[test]
fn f32_data_over_the_whole_range_of_the_type() {
    for exponent in [-149, -140, -126, -100, 60, 100, 120] {
        for d in [1, 3, 10] {
            let mut numbers = Numbers::new(11);
            let points = Array2::from_shape_fn((1200, d), |_| {
                store::<f32>((numbers.symmetric() * 64.0).round() * 2.0_f64.powi(exponent))
            });
            assert_agreement(&Job::new(25, Init::KMeansPlusPlus).max_iter(12), &points, None);
        }
    }
}
