//! The seedings find clusters that are there: not just some local optimum.

use kmeans_host::{Init, KMeans};
use kmeans_tests::data::{Kind, store};
use kmeans_tests::data::{Numbers, Weighting, points, weights};
use ndarray::{Array1, Array2};

const GREEDY: [Init; 2] = [Init::KMeansPlusPlus, Init::KMeansParallel];

/// `per` points of spread 1 around each of `k` centres on a grid with steps of 30, in turn; [k·per, d].
fn separate(k: usize, per: usize, d: usize, seed: u64) -> (Array2<f32>, Vec<usize>) {
    let mut numbers = Numbers::new(seed);
    let side = k.isqrt() + 1;
    let of_point: Vec<usize> = (0..k * per).map(|i| i % k).collect();
    let points = Array2::from_shape_fn((k * per, d), |(i, j)| {
        let centre = of_point[i];
        let at = if j % 2 == 0 { centre % side } else { centre / side };
        store(30.0 * at as f64 + numbers.normal())
    });
    (points, of_point)
}

/// Whether two labellings are the same up to the names of the clusters.
fn same_partition(labels: &Array1<u32>, truth: &[usize], k: usize) -> bool {
    let mut name = vec![None; k];
    let mut taken = vec![false; k];
    labels.iter().zip(truth).all(|(&label, &group)| match name[group] {
        Some(known) => known == label,
        None if taken[label as usize] => false,
        None => {
            taken[label as usize] = true;
            name[group] = Some(label);
            true
        }
    })
}

#[test]
fn a_single_start_finds_every_blob_nearly_always() {
    for init in GREEDY {
        let found = (0..20)
            .filter(|&seed| {
                let (points, truth) = separate(16, 40, 3, seed);
                let fitted = KMeans::new(16).init(init.clone()).seed(seed).fit(&points).unwrap();
                same_partition(&fitted.into_labels(), &truth, 16)
            })
            .count();
        assert!(found >= 18, "{init:?}: {found} of 20");
    }
}

#[test]
fn three_starts_find_every_blob_always() {
    for init in GREEDY {
        for (k, d) in [(5, 2), (25, 2), (16, 10), (36, 4)] {
            for seed in 0..5 {
                let (points, truth) = separate(k, 30, d, seed);
                let fitted = KMeans::new(k).init(init.clone()).n_init(3).seed(seed).fit(&points).unwrap();
                assert!(same_partition(&fitted.into_labels(), &truth, k), "{init:?}, k = {k}, d = {d}, seed {seed}");
            }
        }
    }
}

#[test]
fn a_hundred_blobs_are_found_by_a_few_starts() {
    for init in GREEDY {
        let (points, truth) = separate(100, 50, 2, 1);
        let fitted = KMeans::new(100).init(init.clone()).n_init(8).fit(&points).unwrap();
        assert!(same_partition(&fitted.into_labels(), &truth, 100), "{init:?}");
    }
}

#[test]
fn blobs_of_very_different_sizes_are_found() {
    // 5,000 points in one blob, 20 in each of four others.
    let mut numbers = Numbers::new(5);
    let truth: Vec<usize> = (0..5080).map(|i| if i < 5000 { 0 } else { 1 + i % 4 }).collect();
    let points = Array2::from_shape_fn((5080, 2), |(i, _)| 200.0 * truth[i] as f64 + numbers.normal());
    for init in GREEDY {
        let fitted = KMeans::new(5).init(init.clone()).n_init(3).fit(&points).unwrap();
        assert!(same_partition(&fitted.into_labels(), &truth, 5), "{init:?}");
    }
}

#[test]
fn better_seeding_starts_lower_than_random_rows() {
    let (points, _) = separate(49, 40, 2, 3);
    let start = |init: Init, seed| KMeans::new(49).init(init).seed(seed).max_iter(0).fit(&points).unwrap().inertia();
    for seed in 0..10 {
        let random = start(Init::RandomPoints, seed);
        for init in GREEDY {
            let greedy = start(init.clone(), seed);
            assert!(greedy * 4.0 < random, "{init:?}, seed {seed}: {greedy} and {random}");
        }
    }
}

#[test]
fn heavy_points_are_seeded_first() {
    // Two heavy places among many light points: with two clusters they are the ones to be found.
    let mut points = points::<f64>(Kind::Uniform, 1000, 2, 8);
    points.row_mut(10).fill(-40.0);
    points.row_mut(20).fill(40.0);
    let mut weights = weights(Weighting::Random, 1000, 8).unwrap().mapv(|w| w * 1e-3);
    (weights[10], weights[20]) = (1e3, 1e3);
    for init in GREEDY {
        for seed in 0..10 {
            let fitted = KMeans::new(2).init(init.clone()).seed(seed).fit_weighted(&points, &weights).unwrap();
            assert_ne!(fitted.labels()[10], fitted.labels()[20], "{init:?}, seed {seed}");
            let reach = fitted.centroids().column(0).fold(0.0_f64, |reach, v| reach.max(v.abs()));
            assert!((39.0..=40.0).contains(&reach), "{init:?}, seed {seed}: {:?}", fitted.centroids());
        }
    }
}

#[test]
fn inertia_falls_in_every_round() {
    for (kind, seed) in [(Kind::Uniform, 1), (Kind::Blobs, 2), (Kind::Offset, 3), (Kind::Wide, 4)] {
        let fitted =
            KMeans::new(15).init(Init::RandomPoints).seed(seed).fit(&points::<f64>(kind, 1000, 3, seed)).unwrap();
        let trace: Vec<f64> = fitted.history().iter().map(|r| r.inertia).chain([fitted.inertia()]).collect();
        assert!(trace.is_sorted_by(|a, b| a >= b || (a - b).abs() <= 1e-12 * a), "{kind:?}: {trace:?}");
    }
}
