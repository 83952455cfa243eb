//! The policy for empty clusters, step by step, gives the reference's labels.

mod common;

use common::{Data, SHAPES, labels, launch, numbers};
use kmeans_core::launch::{self as contract};
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::settings::EmptyCluster;
use kmeans_core::{distance, reference};
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::Emulator;
use kmeans_kernels::{count, empty};

/// All steps on the GPU. Returns labels and the list of clusters that were empty.
fn fill<T: Number>(
    seed: u64,
    points: &[T],
    centroids: &[T],
    weights: Option<&[f64]>,
    assigned: &[u32],
    d: usize,
) -> (Vec<u32>, Vec<u32>) {
    let (n, k) = (assigned.len(), centroids.len() / d);
    let own = |i: usize| distance(&points[i * d..][..d], &centroids[assigned[i] as usize * d..][..d]);
    let emulator = Emulator::new(seed);
    let labels = emulator.buffer("labels", assigned);
    let distances = emulator.buffer("distances", &(0..n).map(own).collect::<Vec<_>>());
    let members = emulator.buffer("members", &vec![0_u64; k]);
    if let Some(weights) = weights {
        let weights = emulator.buffer("weights", weights);
        launch(&emulator, &contract::COUNT_MEMBERS, contract::COUNT_MEMBERS.thread_each(n as u64), || {
            count::members::members(labels.input(), weights.input(), members.output(), n as u64);
        });
        launch(&emulator, &contract::EMPTY_MASK, contract::EMPTY_MASK.thread_each(n as u64), || {
            empty::mask::mask(distances.output(), weights.input(), n as u64);
        });
    } else {
        launch(&emulator, &contract::COUNT_GLOBAL, contract::COUNT_GLOBAL.thread_each(n as u64), || {
            count::global::global(labels.input(), members.output(), n as u64);
        });
    }
    let list = emulator.buffer("list", &vec![u32::MAX; k]);
    let found = emulator.uninitialised::<u32>("count", 1);
    launch(&emulator, &contract::EMPTY_LIST, contract::empty_list(), || {
        empty::list::list(members.input(), list.output(), found.output(), k as u32);
    });
    let found = found.to_vec()[0];
    let geometry = contract::empty_farthest(n as u64);
    let blocks = geometry.grid[0];
    let best = emulator.uninitialised::<u64>("best", blocks as usize);
    let rows = emulator.uninitialised::<u64>("rows", blocks as usize);
    for index in 0..found {
        launch(&emulator, &contract::EMPTY_FARTHEST, geometry, || {
            let (distances, labels, members) = (distances.input(), labels.input(), members.input());
            empty::farthest::farthest(distances, labels, members, best.output(), rows.output(), n as u64);
        });
        launch(&emulator, &contract::EMPTY_MOVE, contract::empty_move(), || {
            let (best, rows, list) = (best.input(), rows.input(), list.input());
            empty::farthest::take(best, rows, list, labels.output(), members.output(), blocks, index);
        });
    }
    let mut list = list.to_vec();
    assert!(list[found as usize..].iter().all(|&cluster| cluster == u32::MAX));
    list.truncate(found as usize);
    (labels.to_vec(), list)
}

/// Labels that leave all clusters but a few empty, and weights some of which are 0.
fn check<T: Number>((n, k, d): (usize, usize, usize), data: Data, seed: u64) {
    let points = numbers::<T>(data, n * d, seed);
    let centroids = numbers::<T>(data, k * d, seed + 1);
    let few = 1 + labels(1, k.min(9), seed)[0] as usize;
    let assigned: Vec<u32> = labels(n, few, seed).iter().map(|&l| l * (k / few) as u32).collect();
    let random = Random::new(seed, 0);
    let weights: Vec<f64> = (0..n as u64).map(|i| random.below(3, Purpose::Point, 0, i) as f64).collect();
    for weights in [None, Some(&weights[..])] {
        let mut expected = assigned.clone();
        let members = |c: usize| (0..n).any(|i| assigned[i] as usize == c && weights.is_none_or(|w| w[i] > 0.0));
        let empty: Vec<u32> = (0..k).filter(|&c| !members(c)).map(|c| c as u32).collect();
        let policy = EmptyCluster::Farthest;
        reference::fill_empty_clusters(&points, d, weights, &centroids, &mut expected, policy).unwrap();
        let (found, list) = fill(seed, &points, &centroids, weights, &assigned, d);
        assert_eq!(list, empty);
        assert_eq!(found, expected, "{} {data:?} n {n} k {k} d {d} seed {seed}", T::NAME);
    }
}

fn each_shape<T: Number>() {
    for (seed, &shape) in (0..).zip(&SHAPES) {
        for data in [Data::Grid, Data::Unit, Data::Same] {
            check::<T>(shape, data, seed);
        }
    }
}

#[test]
fn empty_clusters_take_the_references_points() {
    for_each_type!(each_shape());
}

#[test]
fn equally_far_points_in_several_blocks_go_in_the_order_of_rows() {
    for seed in 0..4 {
        check::<f32>((3000, 20, 1), Data::Grid, seed);
    }
}

#[test]
fn lists_of_empty_clusters_ascend_for_any_k() {
    for k in [1_usize, 31, 32, 33, 1023, 1024, 1025, 2048, 33_000] {
        for every in [1, 2, 7, 40_000] {
            let members: Vec<u64> = (0..k as u64).map(|c| (c + 1) % every).collect();
            let expected: Vec<u32> = (0..k as u32).filter(|&c| members[c as usize] == 0).collect();
            let emulator = Emulator::new(k as u64);
            let buffer = emulator.buffer("members", &members);
            let list = emulator.buffer("list", &vec![0_u32; k]);
            let count = emulator.uninitialised::<u32>("count", 1);
            launch(&emulator, &contract::EMPTY_LIST, contract::empty_list(), || {
                empty::list::list(buffer.input(), list.output(), count.output(), k as u32);
            });
            assert_eq!(count.to_vec()[0] as usize, expected.len());
            assert_eq!(list.to_vec()[..expected.len()], expected);
        }
    }
}
