//! Tensor cores label rows as D does: shapes around their tiles, and data that make scores hard to tell apart.

use kmeans_core::settings::{EmptyCluster, Settings, Stop};

use crate::check::check;
use crate::common::Data;
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
