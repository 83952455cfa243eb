//! A fit in one way beside the reference.

use kmeans_core::fixed::{ExponentRange, FixedPoint};
use kmeans_core::launch as contract;
use kmeans_core::settings::Settings;
use kmeans_kernels::groups::runs::{Long, Short};
use kmeans_kernels::update::fixed::{Limbs, Narrow, Wide};

use crate::common::{bits, words};
use crate::problem::Problem;
use crate::run::{Tested, Way, apart, run, together};

/// Fits all groups in one way and compares each with the reference.
pub fn check<T: Tested>(problem: &Problem<T>, settings: &Settings, way: Way, tile_rows: u32) {
    let n = problem.points.len() / problem.d;
    let range = problem.points.iter().fold(ExponentRange::ZERO, |r, v| r.union(ExponentRange::of(v.to_f64())));
    let format = FixedPoint::for_sums(range, n as u64);
    let sums = (format.exponent, words(format));
    if way == Way::Fused && (sums.1 > 2 || T::NAME == "f64") {
        return;
    }
    if matches!(way, Way::Tensor | Way::TensorLong) {
        // What the host would do by another kernel.
        let kernel = contract::group_tensor_kernel(range.span(), tile_rows);
        let is_short = kernel == Some(&contract::GROUPS_TENSOR_SHORT);
        let shape = problem.d as u32 <= contract::GROUP_TENSOR_COLUMNS && T::NAME != "f64";
        if !shape || kernel.is_none() || (way == Way::Tensor && !is_short) {
            return;
        }
    }
    let found = match (way, sums.1) {
        // The format matters to other steps only.
        (Way::Tensor, 1) => run::<T, Narrow>(problem, settings, way, sums, &T::tensor::<Short>, tile_rows),
        (Way::Tensor, _) => run::<T, Wide>(problem, settings, way, sums, &T::tensor::<Short>, tile_rows),
        (Way::TensorLong, 1) => run::<T, Narrow>(problem, settings, way, sums, &T::tensor::<Long>, tile_rows),
        (Way::TensorLong, _) => run::<T, Wide>(problem, settings, way, sums, &T::tensor::<Long>, tile_rows),
        (Way::Fused, 1) => {
            run::<T, Narrow>(problem, settings, way, sums, &|e, v, m, s| together::<T, Narrow>(e, v, m, s), tile_rows)
        }
        (Way::Fused, _) => {
            run::<T, Wide>(problem, settings, way, sums, &|e, v, m, s| together::<T, Wide>(e, v, m, s), tile_rows)
        }
        (_, 1) => {
            run::<T, Narrow>(problem, settings, way, sums, &|e, v, m, s| apart::<T, Narrow>(e, v, m, s), tile_rows)
        }
        (_, 2) => run::<T, Wide>(problem, settings, way, sums, &|e, v, m, s| apart::<T, Wide>(e, v, m, s), tile_rows),
        _ => run::<T, Limbs>(problem, settings, way, sums, &|e, v, m, s| apart::<T, Limbs>(e, v, m, s), tile_rows),
    };
    let (k, d) = (problem.k, problem.d);
    for (g, expected) in problem.expected(settings).into_iter().enumerate() {
        let what = format!("{} {way:?} {settings:?} group {g}", problem.what);
        let fit = match expected {
            Err(failed) => {
                assert_eq!(found.states[g], contract::FAILED, "{what}");
                assert_eq!(
                    (found.vacant[g], found.iterations[g]),
                    (failed.cluster as u32, failed.iteration as u32),
                    "{what}"
                );
                continue;
            }
            Ok(fit) => fit,
        };
        let rows = problem.groups[g].clone();
        let labels: Vec<u32> = found.labels[rows].iter().map(|&l| l - (g * k) as u32).collect();
        assert_eq!(labels, fit.labels, "{what}");
        assert_eq!(bits(&found.centroids[g * k * d..][..k * d]), bits(&fit.centroids), "{what}");
        assert_eq!(found.counts[g * k..][..k], fit.counts, "{what}");
        assert_eq!(found.iterations[g] as usize, fit.iterations, "{what}");
        assert_eq!(matches!(found.states[g], contract::STOPPED | contract::REPEATED), fit.converged, "{what}");
        assert_eq!(found.inertias[g].to_bits(), fit.inertia.to_bits(), "{what}");
        for (round, (record, found)) in fit.history.iter().zip(&found.history).enumerate() {
            let what = format!("{what} round {round}");
            assert_eq!(found.0[g].to_bits(), record.inertia.to_bits(), "{what}");
            assert_eq!(found.1[g].to_bits(), record.movement.to_bits(), "{what}");
            assert_eq!(found.2[g], record.labels_changed, "{what}");
        }
    }
}
