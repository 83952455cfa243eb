//! Everything that the GPU engine does, at sizes that compute-sanitizer can bear, in tests that each take it a minute or less.

use kmeans_core::tree::{Plan, Start};
use kmeans_host::{Device, Element, EmptyCluster, Init, bf16, f16};
use kmeans_tests::compare::{Job, assert_same_fit};
use kmeans_tests::data::{Kind, Weighting, points, weights};
use kmeans_tests::gpu::first_gpu;
use kmeans_tests::tree::{assert_agreement, plan};
use ndarray::{Array2, Array3};

/// Fits, predictions, scores and distances of `n` points of `d` columns.
fn check<T: Element>(kind: Kind, (n, d, k): (usize, usize, usize)) {
    if first_gpu().is_none() {
        return;
    }
    let points = points::<T>(kind, n, d, 1);
    let weights = weights(Weighting::Wide, n, 2).unwrap();
    for init in [Init::RandomLabels, Init::KMeansPlusPlus, Init::KMeansParallel] {
        let mut job = Job::new(k, init).max_iter(3);
        for weights in [None, Some(&weights)] {
            let kmeans = job.kmeans().device(Device::Cuda(0));
            let fitted = match weights {
                None => kmeans.fit(&points),
                Some(weights) => kmeans.fit_weighted(&points, weights),
            };
            let fitted = fitted.unwrap();
            assert_same_fit(&fitted, &job.reference(&points, weights).unwrap());
            assert_eq!(fitted.predict(&points).unwrap(), fitted.labels());
            fitted.transform(&points).unwrap();
            fitted.score(&points).unwrap();
            job.seed += 1;
        }
    }
    // Clusters that start without points.
    let far = Array2::from_shape_fn((6, d), |(i, _)| T::from_f64(0.5 + 1000.0 * (i / 2) as f64));
    let job = Job::new(6, Init::centroids(&far)).max_iter(2);
    let fitted = job.kmeans().device(Device::Cuda(0)).fit(&points).unwrap();
    assert_same_fit(&fitted, &job.reference(&points, None).unwrap());
}

/// Rows in registers.
const FEW: (usize, usize, usize) = (1500, 3, 7);
/// As many columns as one tile of tensor cores has.
const SOME: (usize, usize, usize) = (300, 40, 20);
/// More clusters than a fit in one launch has.
const CLUSTERS: (usize, usize, usize) = (300, 20, 140);
/// More columns than those whose rows tensor cores keep.
const MANY: (usize, usize, usize) = (150, 140, 9);

#[test]
fn few_columns_of_f32() {
    check::<f32>(Kind::Uniform, FEW);
    check::<f32>(Kind::Wide, FEW);
}

#[test]
fn some_columns_of_f32() {
    check::<f32>(Kind::Uniform, SOME);
}

#[test]
fn many_clusters_of_f32() {
    check::<f32>(Kind::Uniform, CLUSTERS);
}

#[test]
fn many_columns_of_f32() {
    check::<f32>(Kind::Uniform, MANY);
    check::<f32>(Kind::Wide, MANY);
}

#[test]
fn columns_of_f64() {
    check::<f64>(Kind::Uniform, FEW);
    check::<f64>(Kind::Wide, SOME);
}

#[test]
fn columns_of_f16() {
    check::<f16>(Kind::Uniform, FEW);
    check::<f16>(Kind::Uniform, SOME);
    check::<f16>(Kind::Uniform, MANY);
}

#[test]
fn columns_of_bf16() {
    check::<bf16>(Kind::Grid, SOME);
    check::<bf16>(Kind::Grid, MANY);
}

/// Trees of two levels from several starts, and a batch of three problems, with k clusters per node and problem: the kernels for
/// many groups.
fn check_groups<T: Element>(kind: Kind, (n, d, k): (usize, usize, usize)) {
    if first_gpu().is_none() {
        return;
    }
    let all = points::<T>(kind, n, d, 3);
    for (seed, start) in (0..).zip([Start::RandomPoints, Start::RandomLabels, Start::KMeansPlusPlus]) {
        let mut plan = Plan { start, seed, ..plan(k, 2) };
        plan.settings.max_iter = 2;
        assert_agreement(&plan, &all, all.view());
    }
    let problems = Array3::from_shape_fn((3, n, d), |(i, row, column)| all[[(row + 7 * i) % n, column]]);
    let mut job = Job::new(k, Init::KMeansPlusPlus).max_iter(2);
    job.settings.empty = EmptyCluster::Farthest;
    let fits = job.kmeans().device(Device::Cuda(0)).fit_batch(&problems).unwrap();
    for (fit, problem) in fits.iter().zip(problems.outer_iter()) {
        assert_same_fit(fit, &job.reference(&problem.to_owned(), None).unwrap());
    }
}

/// Sums of few clusters beside labels: tensor cores, or `f32` on tier portable.
const FEW_PER_GROUP: (usize, usize, usize) = (400, 40, 5);
/// Rows that do not consist of whole pieces.
const ODD_COLUMNS: (usize, usize, usize) = (300, 19, 9);
/// More clusters than have their sums found beside labels: Hopper's streams, or labels and sums apart.
const MANY_PER_GROUP: (usize, usize, usize) = (600, 24, 140);

#[test]
fn groups_of_f32() {
    check_groups::<f32>(Kind::Uniform, FEW_PER_GROUP);
    check_groups::<f32>(Kind::Wide, FEW_PER_GROUP);
    check_groups::<f32>(Kind::Grid, ODD_COLUMNS);
}

#[test]
fn groups_of_many_clusters() {
    check_groups::<f32>(Kind::Uniform, MANY_PER_GROUP);
    check_groups::<bf16>(Kind::Uniform, MANY_PER_GROUP);
}

#[test]
fn groups_of_16_bits() {
    check_groups::<f16>(Kind::Uniform, FEW_PER_GROUP);
    check_groups::<bf16>(Kind::Grid, FEW_PER_GROUP);
    check_groups::<bf16>(Kind::Uniform, ODD_COLUMNS);
}

#[test]
fn groups_of_f64() {
    check_groups::<f64>(Kind::Uniform, FEW_PER_GROUP);
}
