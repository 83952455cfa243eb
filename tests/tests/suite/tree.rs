//! A fitted tree has the bits of the reference, whatever the points, the settings and the number of threads.

use kmeans_core::tree::{Plan, Start};
use kmeans_host::{Element, EmptyCluster, Init, KMeans, KMeansTree, Notice, Stop, bf16, f16};
use kmeans_tests::compare::{assert_same, bits, with_threads};
use kmeans_tests::data::{KINDS, Kind, points};
use kmeans_tests::files::{digits, iris};
use kmeans_tests::layout::{LAYOUTS, with_layout};
use kmeans_tests::proptest_config;
use kmeans_tests::tree::{STARTS, assert_agreement, builder, plan};
use ndarray::{Array2, Axis, array};
use proptest::prelude::*;

fn check<T: Element>(plan: &Plan, points: &Array2<T>) {
    assert_agreement(plan, points, points.view());
}

#[test]
fn every_kind_of_points_in_every_type() {
    fn each_kind<T: Element>() {
        for (seed, kind) in KINDS.into_iter().enumerate() {
            for (k, depth) in [(2, 4), (5, 2)] {
                check(&Plan { seed: seed as u64, ..plan(k, depth) }, &points::<T>(kind, 300, 4, seed as u64));
            }
        }
    }
    each_kind::<f32>();
    each_kind::<f64>();
    each_kind::<f16>();
    each_kind::<bf16>();
}

#[test]
fn every_start_policy_and_stop_rule() {
    let points = points::<f32>(Kind::Blobs, 700, 3, 1);
    for start in STARTS {
        for empty in [EmptyCluster::Farthest, EmptyCluster::Keep, EmptyCluster::Error] {
            for stop in
                [Stop::LabelsRepeat, Stop::RelativeTolerance(1e-2), Stop::Movement(1.0), Stop::LabelsChanged(0.1)]
            {
                let mut plan = Plan { start, seed: 3, ..plan(4, 3) };
                (plan.settings.empty, plan.settings.stop) = (empty, stop);
                check(&plan, &points);
            }
        }
    }
}

#[test]
fn widths_and_branchings_around_the_tiles_of_kernels() {
    for d in [1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 65, 128, 130] {
        check(&Plan { seed: d as u64, ..plan(8, 2) }, &points::<f32>(Kind::Uniform, 400, d, 1));
    }
    for k in [2, 3, 7, 8, 9, 16, 17, 32, 33, 64, 100, 128, 129] {
        check(&Plan { start: Start::RandomPoints, ..plan(k, 2) }, &points::<f32>(Kind::Uniform, 1500, 5, 2));
    }
}

#[test]
fn the_most_children_that_a_node_can_have() {
    let mut plan = Plan { start: Start::RandomPoints, ..plan(1024, 2) };
    plan.settings.max_iter = 2;
    check(&plan, &points::<f32>(Kind::Uniform, 3000, 2, 3));
    check(&plan, &points::<f32>(Kind::Uniform, 1024, 2, 3));
    check(&plan, &points::<f32>(Kind::Uniform, 1023, 2, 3));
}

#[test]
fn few_points() {
    for n in 1..12 {
        for k in [2, 3, 8, 20] {
            check(&plan(k, 5), &points::<f64>(Kind::Uniform, n, 2, n as u64));
            check(&plan(k, 5), &points::<f32>(Kind::Equal, n, 2, n as u64));
        }
    }
}

#[test]
fn depth_0_is_the_root_alone() {
    let points = points::<f32>(Kind::Blobs, 50, 3, 1);
    check(&plan(4, 0), &points);
    let tree = builder(&plan(4, 0)).fit(&points).unwrap();
    assert_eq!((tree.nodes().len(), tree.leaves(), tree.levels().len()), (1, &[0][..], 1));
    let whole = KMeans::new(1).max_iter(1).fit(&points).unwrap();
    assert_eq!(tree.centroids(), whole.centroids());
    assert_eq!(tree.inertia(), whole.inertia());
}

#[test]
fn leaf_sizes_alone_end_a_tree() {
    for max_leaf in [1, 2, 10, 100, 1000] {
        for kind in [Kind::Uniform, Kind::Duplicated, Kind::Grid, Kind::Sorted] {
            check(&Plan { max_leaf, ..plan(3, usize::MAX) }, &points::<f32>(kind, 500, 2, 7));
        }
    }
}

#[test]
fn deep_trees() {
    // Powers of two: every split takes off the largest few, so the tree is as deep as it can be.
    let points = Array2::from_shape_fn((60, 1), |(i, _)| 2.0_f64.powi(8 * i as i32 - 240));
    let plan = Plan { start: Start::FirstK, ..plan(2, usize::MAX) };
    let (tree, _) = assert_agreement(&Plan { max_leaf: 1, ..plan }, &points, points.view()).unwrap();
    assert!(tree.levels().len() > 20, "{} levels", tree.levels().len());
}

#[test]
fn no_rounds_and_one() {
    for max_iter in [0, 1] {
        for start in STARTS {
            let mut plan = Plan { start, ..plan(3, 3) };
            plan.settings.max_iter = max_iter;
            check(&plan, &points::<f32>(Kind::Grid, 200, 2, 4));
        }
    }
}

#[test]
fn large_nodes_and_small_ones_in_one_level() {
    // Most points in one tight place, the others all over.
    let mut points = points::<f32>(Kind::Uniform, 20_000, 3, 5);
    for mut row in points.rows_mut().into_iter().take(15_000) {
        row.mapv_inplace(|v| 50.0 + v);
    }
    for threads in [1, 2, 5] {
        with_threads(threads, || check(&Plan { start: Start::RandomPoints, ..plan(3, 4) }, &points));
    }
}

#[test]
fn any_memory_layout() {
    let points = points::<f32>(Kind::Blobs, 300, 5, 6);
    for layout in LAYOUTS {
        with_layout(&points, layout, |view| assert_agreement(&plan(3, 3), &points, view));
    }
}

#[test]
fn thread_counts_and_runs_are_invisible() {
    let points = points::<f16>(Kind::Blobs, 3000, 6, 8);
    let run = |threads| with_threads(threads, || builder(&plan(6, 3)).fit(&points).unwrap());
    let one = run(1);
    for threads in [1, 2, 3, 8] {
        let again = run(threads);
        assert_eq!(again.nodes(), one.nodes());
        assert_eq!(again.permutation(), one.permutation());
        assert_same("centroid values", &bits(again.centroids()), &bits(one.centroids()));
    }
}

#[test]
fn real_data() {
    check(&plan(4, 3), &digits());
    check(&Plan { max_leaf: 10, ..plan(2, usize::MAX) }, &iris());
    check(&plan(8, 2), &digits().mapv(|v| bf16::from_f64(v)));
}

#[test]
fn a_tree_of_one_split_is_a_fit() {
    let points = digits();
    let fitted = KMeans::new(10).max_iter(10).stop(Stop::LabelsRepeat).seed(5).fit(&points).unwrap();
    let tree = KMeansTree::new(10).depth(1).seed(5).fit(&points).unwrap();
    assert_eq!(tree.leaf_labels(), fitted.labels());
    assert_eq!(tree.centroids().slice(ndarray::s![1.., ..]), fitted.centroids());
}

#[test]
fn a_subtree_is_the_tree_of_its_points() {
    // Draws depend on the path from the root, and on nothing else.
    let points = points::<f64>(Kind::Blobs, 400, 3, 9);
    let tree = builder(&Plan { seed: 11, ..plan(3, 3) }).fit(&points).unwrap();
    for (label, child) in tree.nodes()[0].children.clone().enumerate() {
        // A node is split while its rows are in their original order.
        let mut rows = tree.rows(child).to_vec();
        rows.sort_unstable();
        let own = points.select(Axis(0), &rows);
        let seed = kmeans_core::tree::child_seed(11, label);
        let subtree = builder(&Plan { seed, ..plan(3, 2) }).fit(&own).unwrap();
        let expected: Vec<usize> = subtree.permutation().iter().map(|&row| rows[row]).collect();
        assert_eq!(tree.rows(child), expected);
    }
}

/// Case 49.
#[test]
fn identical_rows_stay_in_one_leaf_larger_than_asked_for() {
    for others in [0, 1] {
        let mut rows = Array2::from_elem((500, 3), 7.0_f32);
        if others == 1 {
            rows[[123, 1]] = 8.0;
        }
        let plan = Plan { max_leaf: 10, ..plan(4, usize::MAX) };
        let (tree, _) = assert_agreement(&plan, &rows, rows.view()).unwrap();
        let sizes: Vec<usize> = tree.leaves().iter().map(|&leaf| tree.nodes()[leaf].count()).collect();
        assert_eq!(sizes.iter().max(), Some(&(500 - others)));
        assert_eq!(sizes.len(), 1 + others);
        let largest = 500 - others;
        assert_eq!(tree.notices(), [Notice::OverfullLeaves { max_leaf_size: 10, leaves: 1, largest }]);
        assert!(tree.notices()[0].to_string().contains(&largest.to_string()));
    }
}

#[test]
fn statistics_are_those_of_the_nodes() {
    let points = array![[0.0_f64], [1.0], [2.0], [3.0], [100.0], [101.0]];
    let tree = KMeansTree::new(2).depth(2).seed(1).fit(&points).unwrap();
    let balance = tree.balance();
    assert_eq!((balance.leaves, balance.smallest, balance.largest), (4, 1, 2));
    assert_eq!((balance.median, balance.mean, balance.standard_deviation), (1.5, 1.5, 0.5));
    let levels = tree.levels();
    assert_eq!(
        levels.iter().map(|l| (l.nodes, l.leaves, l.points)).collect::<Vec<_>>(),
        [(1, 0, 6), (2, 0, 6), (4, 4, 6)]
    );
    assert_eq!((levels[1].inertia, levels[2].inertia), (5.5, 1.0));
    assert_eq!(tree.inertia(), 1.0);
    assert_eq!(
        tree.to_string(),
        "6 points, 7 nodes on 3 levels; 4 leaves of 1 to 2 points, median 1.5, mean 1.5 ± 0.5; inertia 1e0"
    );
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let stop = prop_oneof![
        3 => Just(Stop::LabelsRepeat),
        1 => prop::sample::select(vec![0.0, 1e-4, 0.1]).prop_map(Stop::RelativeTolerance),
        1 => prop::sample::select(vec![0.0, 1e-3, 10.0]).prop_map(Stop::Movement),
        1 => prop::sample::select(vec![0.0, 0.01, 0.3]).prop_map(Stop::LabelsChanged),
    ];
    let empty = prop::sample::select(vec![EmptyCluster::Farthest, EmptyCluster::Keep, EmptyCluster::Error]);
    let limits = (prop_oneof![1 => Just(usize::MAX), 3 => 0_usize..5], prop_oneof![Just(1_usize), 2_usize..50]);
    let k = prop_oneof![4 => 2_usize..10, 1 => 10_usize..70];
    (k, limits, prop::sample::select(STARTS.to_vec()), stop, empty, 0_usize..8, any::<u64>()).prop_map(
        |(k, (depth, max_leaf), start, stop, empty, max_iter, seed)| Plan {
            k,
            depth,
            max_leaf,
            start,
            settings: kmeans_core::settings::Settings { max_iter, stop, empty },
            seed,
        },
    )
}

proptest! {
    #![proptest_config(proptest_config(300))]
    #[test]
    fn random_settings_on_random_points(
        plan in any_plan(),
        kind in prop::sample::select(KINDS.to_vec()),
        (n, d) in (1_usize..400, 1_usize..8),
        (element, seed, threads) in (0..4, any::<u64>(), 1_usize..=4),
    ) {
        with_threads(threads, || match element {
            0 => check(&plan, &points::<f32>(kind, n, d, seed)),
            1 => check(&plan, &points::<f64>(kind, n, d, seed)),
            2 => check(&plan, &points::<f16>(kind, n, d, seed)),
            _ => check(&plan, &points::<bf16>(kind, n, d, seed)),
        });
    }
}

#[test]
fn other_starts_are_refused_by_name() {
    let points = points::<f32>(Kind::Uniform, 50, 2, 1);
    let error = KMeansTree::new(2).depth(1).init(Init::KMeansParallel).fit(&points).unwrap_err();
    assert_eq!(error, kmeans_host::Error::TreeInit { init: "KMeansParallel" });
    let given = Init::centroids(&points.slice(ndarray::s![..2, ..]));
    let error = KMeansTree::new(2).depth(1).init(given).fit(&points).unwrap_err();
    assert!(error.to_string().contains("Centroids"), "{error}");
}
