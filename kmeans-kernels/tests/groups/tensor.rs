//! Tensor cores label rows as D does: shapes around their tiles, and data that make scores hard to tell apart.

use std::iter::once;

use kmeans_core::settings::{EmptyCluster, Settings, Stop};

use crate::check::check;
use crate::common::{Data, numbers};
use crate::problem::Problem;
use crate::run::{Tested, Way};

const ONE_ROUND: Settings = Settings { max_iter: 1, stop: Stop::LabelsRepeat, empty: EmptyCluster::Keep };

fn both_ways<T: Tested>(problem: &Problem<T>) {
    for way in [Way::Tensor, Way::TensorLong] {
        check(problem, &ONE_ROUND, way, 256);
    }
}

#[test]
fn shapes_around_the_tiles_of_tensor_cores() {
    // Steps of 16 columns, the last of which is one of its own; pieces of four; lanes that share a row; tiles of 8 centroids.
    for (seed, (k, d)) in
        [(7, 4), (8, 15), (9, 16), (17, 17), (3, 36), (4, 64), (2, 100), (5, 112), (6, 113), (4, 124), (2, 127)]
            .into_iter()
            .enumerate()
    {
        let seed = seed as u64;
        both_ways(&Problem::<f32>::new(&[40, 18, 300], k, d, Data::Unit, seed));
        both_ways(&Problem::<half::bf16>::new(&[33, 17], k, d, Data::Unit, seed));
        both_ways(&Problem::<half::f16>::new(&[31, 64], k, d, Data::Grid, seed));
    }
    both_ways(&Problem::<f32>::new(&[140, 129], 128, 128, Data::Unit, 20));
}

#[test]
fn rows_of_any_scale_and_place() {
    // The square of a length from far below the smallest f32 to far above the largest, and rows far off their spread.
    for exponent in [-140, -120, -70, -30, 0, 40, 58, 61, 100, 120] {
        let mut problem = Problem::<f32>::new(&[60, 40], 6, 20, Data::Unit, 7);
        let scale =
            |values: &mut Vec<f32>| values.iter_mut().for_each(|v| *v = (*v as f64 * 2.0_f64.powi(exponent)) as f32);
        scale(&mut problem.points);
        scale(&mut problem.starts);
        problem.what = format!("scaled by 2^{exponent}");
        both_ways(&problem);
    }
    for offset in [1e3_f32, 1e6, -3e7] {
        let mut problem = Problem::<f32>::new(&[60, 40], 6, 20, Data::Grid, 8);
        let shift = |values: &mut Vec<f32>| values.iter_mut().for_each(|v| *v += offset);
        shift(&mut problem.points);
        shift(&mut problem.starts);
        problem.what = format!("{offset} off");
        both_ways(&problem);
    }
    // One centroid far out makes the margin of all rows large.
    let mut problem = Problem::<f32>::new(&[60, 40], 6, 20, Data::Unit, 9);
    for value in &mut problem.starts[20..40] {
        *value = 3e38;
    }
    both_ways(&problem);
}

#[test]
fn rows_between_two_centroids_far_from_the_mean_of_all_are_settled() {
    // A third centroid, far off, so that the rows are not near the centre about which numbers are split.
    for d in [7, 64, 128] {
        let middle = numbers::<f32>(Data::Unit, d, 1);
        let apart = numbers::<f32>(Data::Grid, d, 2);
        let at = |shift: f32| (0..d).map(|j| middle[j] + shift * apart[j] / 64.0).collect::<Vec<f32>>();
        let mut points = vec![0.0; d];
        for i in 0..80_i32 {
            points.extend(at((i - 40) as f32 * 2.0_f32.powi(-(i % 24))));
        }
        let far: Vec<f32> = middle.iter().map(|m| m + 37.0).collect();
        let starts = [at(1.0), far, at(-1.0)].concat();
        let what = format!("between two and far off, d {d}");
        both_ways(&Problem { points, groups: once(1..81).collect(), starts, k: 3, d, what });
    }
}
