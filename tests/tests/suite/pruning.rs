//! Rounds on a GPU that compare only rows whose label may have changed give the bits of those that compare all.

use kmeans_host::kernels::{Pruning, with_pruning};
use kmeans_host::{Device, Element, EmptyCluster, Init, Stop, bf16, f16};
use kmeans_tests::compare::{Job, assert_identical, assert_same_fit};
use kmeans_tests::data::{KINDS, Kind, Weighting, blobs, points, step, weights};
use kmeans_tests::gpu::first_gpu;
use ndarray::{Array1, Array2};

/// Asserts that fits that prune always, never, and as they see fit are the reference's, or fail as it fails.
fn check<T: Element>(what: &str, job: &Job, points: &Array2<T>, weights: Option<&Array1<f64>>) {
    println!("{what}, {} × {}, k = {}, {}", points.nrows(), points.ncols(), job.k, T::NAME);
    let expected = job.reference(points, weights);
    for pruning in [Pruning::Always, Pruning::Never, Pruning::Automatic] {
        let found = with_pruning(pruning, || {
            let kmeans = job.kmeans().device(Device::Cuda(0));
            match weights {
                None => kmeans.fit(points),
                Some(weights) => kmeans.fit_weighted(points, weights),
            }
        });
        match (&found, &expected) {
            (Ok(found), Ok(expected)) => assert_same_fit(found, expected),
            _ => assert_eq!(found.as_ref().err(), expected.as_ref().err(), "{pruning:?}"),
        }
    }
}

/// Runs a check for the types whose rounds can prune.
macro_rules! for_each_type {
    ($check:ident($($argument:expr),*)) => {
        $check::<f32>($($argument),*);
        $check::<f16>($($argument),*);
        $check::<bf16>($($argument),*);
    };
}

#[test]
fn fits_of_clustered_points_are_the_references() {
    fn check_shapes<T: Element>() {
        // Up to 64, up to 128 and more columns; a multiple of eight and not.
        for (n, d, k) in [(3000, 20, 40), (2500, 64, 150), (2000, 100, 300), (1500, 129, 60), (1200, 200, 30)] {
            let (points, _) = blobs::<T>(n, d, k / 2, 5);
            for init in [Init::EvenlySpaced, Init::KMeansPlusPlus] {
                let mut job = Job::new(k, init).max_iter(12);
                job.settings.stop = Stop::LabelsRepeat;
                check("blobs", &job, &points, None);
            }
        }
    }
    if first_gpu().is_none() {
        return;
    }
    for_each_type!(check_shapes());
}

#[test]
fn ties_duplicates_and_every_scale_give_the_references_bits() {
    fn check_kinds<T: Element>() {
        for kind in KINDS {
            for (n, d, k) in [(900, 12, 50), (700, 70, 130)] {
                let points = points::<T>(kind, n, d, 7);
                for empty in [EmptyCluster::Keep, EmptyCluster::Farthest, EmptyCluster::Error] {
                    let mut job = Job::new(k, Init::EvenlySpaced).max_iter(8);
                    (job.settings.stop, job.settings.empty) = (Stop::LabelsRepeat, empty);
                    check(&format!("{kind:?} {empty:?}"), &job, &points, None);
                }
            }
        }
    }
    if first_gpu().is_none() {
        return;
    }
    for_each_type!(check_kinds());
}

#[test]
fn tiny_and_huge_blobs_give_the_references_bits() {
    if first_gpu().is_none() {
        return;
    }
    let (base, _) = blobs::<f32>(1500, 30, 20, 3);
    for exponent in [-120, -60, 60, 110] {
        let points = base.mapv(|v| v * 2.0_f32.powi(exponent));
        let mut job = Job::new(45, Init::EvenlySpaced).max_iter(10);
        job.settings.stop = Stop::LabelsRepeat;
        check(&format!("2^{exponent}"), &job, &points, None);
        check(&format!("2^{exponent}"), &job, &points.mapv(|v| bf16::from_f64(f64::from(v))), None);
    }
}

#[test]
fn one_cluster_and_two_give_the_references_bits() {
    fn check_few<T: Element>() {
        // So many columns that tensor cores are used for so few clusters.
        let points = points::<T>(Kind::Blobs, 400, 600, 2);
        for k in [1, 2] {
            let mut job = Job::new(k, Init::EvenlySpaced).max_iter(8);
            job.settings.stop = Stop::LabelsRepeat;
            check("few clusters", &job, &points, None);
        }
    }
    if first_gpu().is_none() {
        return;
    }
    for_each_type!(check_few());
}

#[test]
fn clusters_without_points_are_treated_as_the_reference_treats_them() {
    fn check_empty<T: Element>() {
        let (points, _) = blobs::<T>(1200, 16, 12, 9);
        // Every other centroid is far from all points; some are equal.
        let start = Array2::from_shape_fn((140, 16), |(c, j)| match c % 4 {
            0 | 2 => points[[c * 7, j]],
            1 => T::from_f64(500.0 + c as f64),
            _ => points[[21, j]],
        });
        for empty in [EmptyCluster::Keep, EmptyCluster::Farthest, EmptyCluster::Error] {
            let mut job = Job::new(140, Init::centroids(&start)).max_iter(10);
            (job.settings.stop, job.settings.empty) = (Stop::LabelsRepeat, empty);
            check(&format!("{empty:?}"), &job, &points, None);
        }
    }
    if first_gpu().is_none() {
        return;
    }
    for_each_type!(check_empty());
}

#[test]
fn rows_between_centroids_change_when_the_definition_says_so() {
    fn check_between<T: Element>() {
        // Two heavy groups on a line pull their centroids by steps of a last place; rows in the middle tie, or nearly so.
        let d = 40;
        let points = Array2::from_shape_fn((600, d), |(i, j)| {
            let side = if i % 2 == 0 { 1.0 } else { -1.0 };
            match (i, j) {
                (..500, 0) => step(T::from_f64(side), (i / 2 % 9) as f64 - 4.0),
                (_, 0) => step(T::from_f64(0.0), (i as f64 - 550.0) * 3.0),
                _ => T::from_f64((j % 3) as f64),
            }
        });
        for k in [2, 13, 200] {
            let mut job = Job::new(k, Init::FirstK).max_iter(15);
            job.settings.stop = Stop::LabelsRepeat;
            check("between", &job, &points, None);
        }
    }
    if first_gpu().is_none() {
        return;
    }
    for_each_type!(check_between());
}

#[test]
fn restarts_and_weights_do_not_confuse_bounds() {
    if first_gpu().is_none() {
        return;
    }
    let (points, _) = blobs::<f32>(2000, 24, 30, 4);
    let weights = weights(Weighting::WithZeros, 2000, 8);
    for init in [Init::RandomPoints, Init::KMeansParallel] {
        let mut job = Job::new(50, init).max_iter(9);
        (job.n_init, job.seed) = (3, 6);
        check("restarts", &job, &points, None);
        check("restarts, weighted", &job, &points, weights.as_ref());
    }
}

#[test]
fn a_long_fit_begins_to_prune_by_itself_and_changes_nothing() {
    if first_gpu().is_none() {
        return;
    }
    // Work enough for automatic pruning; the reference would take minutes, rounds without pruning are tested against it.
    let (n, d, k) = (1 << 18, 128, 1024);
    let (points, _) = blobs::<bf16>(n, d, 600, 1);
    let mut job = Job::new(k, Init::EvenlySpaced).max_iter(25);
    job.settings.stop = Stop::LabelsRepeat;
    let fit = |pruning| with_pruning(pruning, || job.kmeans().device(Device::Cuda(0)).fit(&points).unwrap());
    let never = fit(Pruning::Never);
    assert_identical(&fit(Pruning::Automatic), &never);
    assert_identical(&fit(Pruning::Always), &never);
}
