//! A centroid is the exact mean, rounded once: ties to even, no double rounding, the sign of zero included.

use kmeans_host::{Element, Init, KMeans, bf16, f16};
use kmeans_tests::compare::{Job, assert_agreement, bits};
use kmeans_tests::data::{Kind, Numbers, Weighting, points, step, store, weights};
use ndarray::{Array1, Array2, array};

fn in_every_type(check: [fn(); 4]) {
    for check in check {
        check();
    }
}

/// One cluster whose only column holds `values`.
fn assert_mean<T: Element>(values: &[T], weights: Option<&Array1<f64>>) {
    let points = Array2::from_shape_vec((values.len(), 1), values.to_vec()).expect("one column");
    assert_agreement(&Job::new(1, Init::FirstK).max_iter(1), &points, weights);
}

#[test]
fn halfway_between_two_neighbours_goes_to_the_even_one() {
    fn check<T: Element>() {
        let mut numbers = Numbers::new(1);
        for _ in 0..300 {
            let low: T = store(numbers.wide(-10, 10));
            let high = step(low, 1.0);
            assert_mean(&[low, high], None);
            assert_mean(&[high, low, low, high], None);
            // A hair beside the middle.
            assert_mean(&[low, high, low, high, high], None);
            assert_mean(&[[low; 50], [high; 50]].concat(), None);
            let mut nearly = [[low; 500], [high; 500]].concat();
            nearly[0] = step(low, -1.0);
            assert_mean(&nearly, None);
        }
    }
    in_every_type([check::<f32>, check::<f64>, check::<f16>, check::<bf16>]);
    // By hand: 1 and its neighbour meet at 1, whose significand is even.
    let fitted = KMeans::new(1).fit(&array![[1.0_f32], [1.0_f32.next_up()]]).unwrap();
    assert_eq!(fitted.centroids()[[0, 0]], 1.0);
    let fitted = KMeans::new(1).fit(&array![[1.0_f32.next_up()], [1.0_f32.next_up().next_up()]]).unwrap();
    assert_eq!(fitted.centroids()[[0, 0]], 1.0_f32.next_up().next_up());
}

#[test]
fn thirds_and_sevenths_of_the_smallest_values() {
    fn check<T: Element>() {
        let tiny = step(T::ZERO, 1.0);
        for sign in [1.0, -1.0] {
            for (times, n) in [(1, 2), (1, 3), (2, 3), (3, 2), (5, 2), (1, 7), (4, 7), (6, 7), (1, 1000)] {
                let value = T::from_f64(sign * times as f64 * tiny.to_f64());
                // An ordinary value beside, in a cluster of its own, keeps f64 data from being all too small.
                let mut values = vec![T::ZERO; n];
                values[0] = value;
                values.push(T::from_f64(100.0));
                let points = Array2::from_shape_vec((n + 1, 1), values).expect("one column");
                assert_agreement(&Job::new(2, Init::Centroids(array![[0.0], [100.0]])), &points, None);
            }
        }
    }
    in_every_type([check::<f32>, check::<f64>, check::<f16>, check::<bf16>]);
}

#[test]
fn the_sign_of_a_zero_mean_is_the_one_defined() {
    fn check<T: Element>() {
        let (zero, minus) = (T::ZERO, T::from_f64(-0.0));
        assert_mean(&[minus, minus], None);
        assert_mean(&[minus, zero], None);
        let (one, opposite) = (T::from_f64(1.0), T::from_f64(-1.0));
        assert_mean(&[one, opposite], None);
        assert_mean(&[opposite, one, minus], Some(&array![0.5, 0.5, 3.0]));
    }
    in_every_type([check::<f32>, check::<f64>, check::<f16>, check::<bf16>]);
}

#[test]
fn sums_that_cancel_leave_what_is_left() {
    let fitted = KMeans::new(1).fit(&array![[1e100], [3.0], [-1e100]]).unwrap();
    assert_eq!(fitted.centroids()[[0, 0]], 1.0);
    let fitted = KMeans::new(1).fit(&array![[1e38_f32], [1e-38], [-1e38], [1e-38]]).unwrap();
    assert_eq!(bits(fitted.centroids()), [f64::from(0.5e-38_f32).to_bits()]);
}

#[test]
fn the_largest_values_do_not_overflow() {
    let fitted = KMeans::new(1).fit(&Array2::from_elem((100, 2), f32::MAX)).unwrap();
    assert!(fitted.centroids().iter().all(|&v| v == f32::MAX));
    let fitted = KMeans::new(1).fit(&Array2::from_elem((100, 2), f16::MAX)).unwrap();
    assert!(fitted.centroids().iter().all(|&v| v == f16::MAX));
    let fitted = KMeans::new(1).fit(&Array2::from_elem((100, 2), bf16::MIN)).unwrap();
    assert!(fitted.centroids().iter().all(|&v| v == bf16::MIN));
}

#[test]
fn weights_of_any_size_weigh_exactly() {
    fn check<T: Element>() {
        for (seed, kind) in [Kind::Uniform, Kind::Wide, Kind::Subnormal, Kind::Grid].into_iter().enumerate() {
            let points = points::<T>(kind, 400, 2, seed as u64);
            for weighting in [Weighting::Random, Weighting::WithZeros, Weighting::Wide] {
                let weights = weights(weighting, 400, seed as u64);
                assert_agreement(&Job::new(5, Init::EvenlySpaced).max_iter(5), &points, weights.as_ref());
            }
        }
        let (low, high) = (T::from_f64(1.0), step(T::from_f64(1.0), 1.0));
        // Equal weights meet halfway; a weight that differs in its last place does not.
        assert_mean(&[low, high], Some(&array![0.1, 0.1]));
        assert_mean(&[low, high], Some(&array![0.1, 0.1_f64.next_up()]));
        assert_mean(&[low, high], Some(&array![0.1_f64.next_up(), 0.1]));
        assert_mean(&[low, high], Some(&array![5e-324, 5e-324]));
        assert_mean(&[low, high, low], Some(&array![1e-300, 1e100, 1e100]));
    }
    in_every_type([check::<f32>, check::<f64>, check::<f16>, check::<bf16>]);
}

#[test]
fn the_order_of_the_points_does_not_matter() {
    let forward = points::<f32>(Kind::Wide, 3000, 4, 5);
    let mut backward = forward.clone();
    backward.invert_axis(ndarray::Axis(0));
    let given = Init::centroids(&forward.slice(ndarray::s![..9, ..]));
    let (a, b) = (Job::new(9, given.clone()).fit(forward.view(), None), Job::new(9, given).fit(backward.view(), None));
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_eq!(bits(a.centroids()), bits(b.centroids()));
    assert_eq!(a.inertia(), b.inertia());
    assert_eq!(a.labels(), b.labels().slice(ndarray::s![..;-1]));
}
