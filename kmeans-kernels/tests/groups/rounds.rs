//! Rounds give each group what the reference gives it alone, whatever the data, the rules and the way to find labels.

use kmeans_core::launch as contract;
use kmeans_core::settings::{EmptyCluster, Settings, Stop};

use crate::check::check;
use crate::common::{Data, numbers};
use crate::problem::{Problem, SIZES};
use crate::run::{Tested, Way};

const WAYS: [Way; 4] = [Way::Fused, Way::Apart, Way::Tensor, Way::TensorLong];

fn settings(stop: Stop, empty: EmptyCluster, max_iter: usize) -> Settings {
    Settings { max_iter, stop, empty }
}

fn every_shape<T: Tested>() {
    for (seed, (k, d)) in [(8, 5), (2, 1), (9, 12), (3, 130), (8, 128), (1, 3)].into_iter().enumerate() {
        for (i, data) in [Data::Grid, Data::Unit, Data::Offset].into_iter().enumerate() {
            let problem = Problem::<T>::new(&SIZES, k, d, data, seed as u64);
            for way in WAYS {
                // One shape sees everything, the others some.
                if seed > 0 && (seed + i + way as usize) % 2 == 1 {
                    continue;
                }
                check(&problem, &settings(Stop::LabelsRepeat, EmptyCluster::Farthest, 3), way, [64, 128][seed % 2]);
            }
        }
    }
}

#[test]
fn groups_of_f32_are_fitted_as_each_alone() {
    every_shape::<f32>();
}

#[test]
fn groups_of_f64_are_fitted_as_each_alone() {
    every_shape::<f64>();
}

#[test]
fn groups_of_f16_and_bf16_are_fitted_as_each_alone() {
    every_shape::<half::f16>();
    every_shape::<half::bf16>();
}

#[test]
fn every_stop_rule_and_policy_decides_for_each_group() {
    let problem = Problem::<f32>::new(&SIZES, 5, 3, Data::Unit, 11);
    for stop in [Stop::LabelsRepeat, Stop::RelativeTolerance(0.03), Stop::Movement(0.2), Stop::LabelsChanged(0.2)] {
        for policy in [EmptyCluster::Farthest, EmptyCluster::Keep, EmptyCluster::Error] {
            for way in [Way::Fused, Way::Apart, Way::Tensor] {
                check(&problem, &settings(stop, policy, 20), way, 64);
            }
        }
    }
    // Without a round, labels are those of the start.
    check(&problem, &settings(Stop::LabelsRepeat, EmptyCluster::Farthest, 0), Way::Fused, 64);
}

#[test]
fn some_groups_fail_and_others_go_on() {
    let mut problem = Problem::<f32>::new(&SIZES, 3, 2, Data::Unit, 5);
    // Distinct starts for all groups but the second.
    let (k, d) = (problem.k, problem.d);
    for g in [0, 2, 3, 4] {
        for c in 0..k {
            let row = problem.groups[g].start + 2 * c;
            let values = problem.points[row * d..][..d].to_vec();
            problem.starts[(g * k + c) * d..][..d].copy_from_slice(&values);
        }
    }
    let settings = settings(Stop::LabelsRepeat, EmptyCluster::Error, 10);
    let fails: Vec<bool> = problem.expected(&settings).iter().map(Result::is_err).collect();
    assert_eq!(fails, [false, true, false, false, false]);
    check(&problem, &settings, Way::Fused, 64);
}

#[test]
fn sums_of_any_range_are_exact() {
    for (k, d) in [(4, 3), (20, 2)] {
        check(
            &Problem::<f32>::new(&SIZES, k, d, Data::Extreme, 3),
            &settings(Stop::LabelsRepeat, EmptyCluster::Farthest, 3),
            Way::Apart,
            64,
        );
        check(
            &Problem::<f64>::new(&SIZES, k, d, Data::Extreme, 4),
            &settings(Stop::LabelsRepeat, EmptyCluster::Farthest, 3),
            Way::Apart,
            64,
        );
    }
    check(
        &Problem::<f32>::new(&[40, 30], 4, 2, Data::Same, 3),
        &settings(Stop::LabelsRepeat, EmptyCluster::Farthest, 5),
        Way::Fused,
        64,
    );
}

#[test]
fn more_centroids_than_shared_memory_holds_go_through_it_in_windows() {
    // 40 centroids, 32 at a time; 70 wide sums of 129 columns do not fit, and runs are added to global memory.
    for (k, d) in [(40, 7), (33, 128), (70, 129)] {
        let problem = Problem::<f32>::new(&[150, 80], k, d, Data::Unit, 8);
        for way in [Way::Fused, Way::Apart] {
            check(&problem, &settings(Stop::LabelsRepeat, EmptyCluster::Keep, 2), way, 128);
        }
    }
    assert_eq!(contract::group_sum_words(70, 129, 2), 0);
    assert!(
        contract::groups_fuse(8, 128, 2) && contract::groups_fuse(16, 1000, 2) && !contract::groups_fuse(70, 129, 2)
    );
}

#[test]
fn rows_between_two_centroids_are_settled_in_each_group() {
    // Points at the middle of two centroids, and as little to either side as the type can say; the two trade places in the
    // second group, so that ties go the other way.
    for d in [1, 7, 128, 200] {
        let middle = numbers::<f32>(Data::Unit, d, 1);
        let apart = numbers::<f32>(Data::Grid, d, 2);
        let at = |shift: f32| (0..d).map(|j| middle[j] + shift * apart[j] / 64.0).collect::<Vec<f32>>();
        let mut points = vec![0.0; d];
        for _ in 0..2 {
            for i in 0..80_i32 {
                points.extend(at((i - 40) as f32 * 2.0_f32.powi(-(i % 24))));
            }
            points.extend(vec![0.0; d]);
        }
        let starts = [at(1.0), at(-1.0), at(-1.0), at(1.0)].concat();
        let what = format!("between two, d {d}");
        let problem = Problem { points, groups: vec![1..81, 82..162], starts, k: 2, d, what };
        for way in WAYS {
            check(&problem, &settings(Stop::LabelsRepeat, EmptyCluster::Keep, 2), way, 64);
        }
    }
}
