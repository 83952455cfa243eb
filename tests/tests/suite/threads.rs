//! Every bit of a fit, inertia and history included, is the same on any number of threads and from run to run.

use kmeans_host::{Element, EmptyCluster, Init, Stop, bf16, f16};
use kmeans_tests::compare::{Job, assert_identical, assert_same, bits, with_threads};
use kmeans_tests::data::{Kind, Weighting, points, weights};
use kmeans_tests::layout::{Layout, with_layout};
use ndarray::{Array1, Array2};

fn assert_thread_count_is_invisible<T: Element>(job: &Job, points: &Array2<T>, weights: Option<&Array1<f64>>) {
    let one = with_threads(1, || job.fit(points.view(), weights)).unwrap();
    for threads in 2..=8 {
        let several = with_threads(threads, || job.fit(points.view(), weights)).unwrap();
        assert_identical(&several, &one);
    }
}

#[test]
fn any_element_type() {
    let job = Job::new(23, Init::EvenlySpaced).max_iter(12);
    assert_thread_count_is_invisible(&job, &points::<f32>(Kind::Uniform, 9001, 3, 1), None);
    assert_thread_count_is_invisible(&job, &points::<f64>(Kind::Uniform, 4001, 5, 1), None);
    assert_thread_count_is_invisible(&job, &points::<f16>(Kind::Uniform, 4001, 7, 1), None);
    assert_thread_count_is_invisible(&job, &points::<bf16>(Kind::Uniform, 4001, 2, 1), None);
}

#[test]
fn any_kind_of_points() {
    for kind in [Kind::Grid, Kind::Wide, Kind::Subnormal, Kind::Outlier, Kind::Offset, Kind::Sorted] {
        let job = Job::new(17, Init::RandomPoints).max_iter(8);
        assert_thread_count_is_invisible(&job, &points::<f32>(kind, 6007, 4, 2), None);
    }
}

#[test]
fn any_start() {
    let points = points::<f32>(Kind::Blobs, 6007, 4, 3);
    for init in [Init::RandomLabels, Init::KMeansPlusPlus, Init::KMeansParallel] {
        let job = Job { n_init: 2, seed: 5, ..Job::new(12, init) }.max_iter(6);
        assert_thread_count_is_invisible(&job, &points, None);
    }
}

#[test]
fn any_stop_rule_and_weights() {
    let points = points::<f64>(Kind::Uniform, 5003, 2, 4);
    for weighting in [Weighting::Random, Weighting::WithZeros, Weighting::Wide] {
        let weights = weights(weighting, 5003, 4);
        for stop in [Stop::LabelsRepeat, Stop::RelativeTolerance(1e-3), Stop::Movement(1e-4), Stop::LabelsChanged(0.02)]
        {
            let mut job = Job::new(10, Init::RandomPoints).max_iter(15);
            job.settings.stop = stop;
            assert_thread_count_is_invisible(&job, &points, weights.as_ref());
        }
    }
}

#[test]
fn empty_clusters_moved_to_the_farthest_points() {
    let points = points::<f32>(Kind::Duplicated, 4001, 2, 5);
    let mut job = Job::new(30, Init::Centroids(Array2::from_elem((30, 2), 5.0)));
    job.settings.empty = EmptyCluster::Farthest;
    assert_thread_count_is_invisible(&job, &points, None);
}

#[test]
fn few_points_in_many_columns_for_many_threads() {
    let job = Job::new(3, Init::FirstK).max_iter(4);
    assert_thread_count_is_invisible(&job, &points::<f32>(Kind::Uniform, 5, 700, 6), None);
    assert_thread_count_is_invisible(&job, &points::<f32>(Kind::Uniform, 100, 700, 6), None);
}

#[test]
fn predictions_and_scores() {
    let points = points::<f32>(Kind::Uniform, 9001, 3, 7);
    let fitted = Job::new(9, Init::FirstK).max_iter(3).fit(points.view(), None).unwrap();
    let answers = |threads| {
        with_threads(threads, || {
            (
                fitted.predict(&points).unwrap(),
                bits(&fitted.transform(&points).unwrap()),
                fitted.score(&points).unwrap(),
            )
        })
    };
    let one = answers(1);
    for threads in 2..=8 {
        let several = answers(threads);
        assert_same("labels", &several.0.to_vec(), &one.0.to_vec());
        assert_same("distances", &several.1, &one.1);
        assert_eq!(several.2.to_bits(), one.2.to_bits());
    }
}

#[test]
fn a_strided_view_on_several_threads() {
    let points = points::<f32>(Kind::Blobs, 5003, 3, 8);
    let job = Job::new(11, Init::KMeansPlusPlus);
    let packed = with_threads(1, || job.fit(points.view(), None)).unwrap();
    for layout in [Layout::Transposed, Layout::Reversed] {
        for threads in [2, 3, 8] {
            let fitted = with_threads(threads, || with_layout(&points, layout, |view| job.fit(view, None))).unwrap();
            assert_identical(&fitted, &packed);
        }
    }
}

#[test]
fn twenty_runs_with_the_same_seed() {
    let points = points::<f32>(Kind::Uniform, 3001, 3, 9);
    let job = Job { seed: 77, ..Job::new(25, Init::KMeansParallel) };
    let first = job.fit(points.view(), None).unwrap();
    for _ in 0..20 {
        assert_identical(&job.fit(points.view(), None).unwrap(), &first);
    }
}
