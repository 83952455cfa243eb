//! Stop rules compare the same bits as the reference: a limit equal to what a round did, or one unit beside it, decides
//! as defined.

use kmeans_core::reference::{Fit, mean_variance};
use kmeans_host::{Element, EmptyCluster, Init, Stop, bf16, f16};
use kmeans_tests::compare::{Job, assert_agreement, packed};
use kmeans_tests::data::{Kind, Weighting, points, weights};
use ndarray::Array2;

fn job(stop: Stop) -> Job {
    let mut job = Job::new(8, Init::FirstK).max_iter(60);
    job.settings.stop = stop;
    job
}

fn data<T: Element>(kind: Kind) -> (Array2<T>, Fit<T>) {
    let points = points::<T>(kind, 200, 3, 1);
    let fit = job(Stop::LabelsRepeat).reference(&points, None).unwrap();
    (points, fit)
}

const SPREAD: [Kind; 5] = [Kind::Uniform, Kind::Offset, Kind::Blobs, Kind::Wide, Kind::Outlier];

#[test]
fn movement_is_below_the_limit_or_not() {
    fn check<T: Element>() {
        for kind in SPREAD {
            let (points, full) = data::<T>(kind);
            for record in &full.history {
                let limit = record.movement;
                for limit in [limit, limit.next_up(), limit.next_down()].into_iter().filter(|&l| l >= 0.0) {
                    assert_agreement(&job(Stop::Movement(limit)), &points, None);
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
fn the_tolerance_is_relative_to_the_same_variance_bit_for_bit() {
    fn check<T: Element>() {
        for kind in SPREAD {
            let (points, full) = data::<T>(kind);
            let variance = mean_variance(packed(&points), 3);
            let weights = weights(Weighting::Random, 200, 2);
            for record in &full.history {
                let tolerance = record.movement / variance;
                if tolerance.is_finite() {
                    for tolerance in [tolerance, tolerance.next_up(), tolerance.next_down().max(0.0)] {
                        assert_agreement(&job(Stop::RelativeTolerance(tolerance)), &points, None);
                    }
                    // The variance is that of the points, whatever their weights.
                    assert_agreement(&job(Stop::RelativeTolerance(tolerance)), &points, weights.as_ref());
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
fn the_share_of_changed_labels_is_below_the_limit_or_not() {
    let (points, full) = data::<f32>(Kind::Uniform);
    for record in &full.history {
        let share = record.labels_changed as f64 / 200.0;
        for share in [share, share.next_up(), share.next_down().max(0.0)] {
            assert_agreement(&job(Stop::LabelsChanged(share)), &points, None);
        }
    }
}

#[test]
fn changed_labels_count_the_points_that_empty_clusters_took_over() {
    // Far more clusters than places: many are empty in every round, and points move to them.
    for kind in [Kind::Duplicated, Kind::Grid, Kind::Uniform, Kind::Sorted] {
        let points = points::<f32>(kind, 300, 2, 3);
        for k in [2, 40, 150] {
            let start = Array2::from_shape_fn((k, 2), |(c, _)| if c % 2 == 0 { 0.5 } else { 100.0 + c as f64 });
            for empty in [EmptyCluster::Farthest, EmptyCluster::Keep] {
                for share in [0.0, 0.01, 0.1, 0.5] {
                    let mut job = Job::new(k, Init::Centroids(start.clone()));
                    job.settings.stop = Stop::LabelsChanged(share);
                    job.settings.empty = empty;
                    assert_agreement(&job, &points, None);
                }
            }
        }
    }
}

#[test]
fn every_cap_up_to_convergence() {
    let (points, full) = data::<f32>(Kind::Uniform);
    for max_iter in 0..=full.iterations + 1 {
        let capped = job(Stop::LabelsRepeat).max_iter(max_iter);
        assert_agreement(&capped, &points, None);
        let converged = capped.fit(points.view(), None).unwrap().converged();
        assert_eq!(converged, max_iter >= full.iterations);
    }
}
