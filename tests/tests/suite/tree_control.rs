//! Every wrong setting of a tree is a typed error; reports come level by level and can end the work.

use std::sync::{Arc, Mutex};

use kmeans_host::{Control, Device, Element, EmptyCluster, Error, FittedTree, Init, KMeansTree, Progress, Stop};
use kmeans_tests::data::{Kind, points};
use ndarray::{Array2, array};

fn assert_error<T: std::fmt::Debug>(result: Result<T, Error>, expected: Error, parts: &[&str]) {
    let error = result.unwrap_err();
    assert_eq!(error, expected);
    for part in parts {
        assert!(error.to_string().contains(part), "{part:?} is not in {error}");
    }
}

fn uniform() -> Array2<f32> {
    points(Kind::Uniform, 500, 3, 1)
}

#[test]
fn a_number_of_children_out_of_range() {
    for k in [0, 1, 1025, usize::MAX] {
        assert_error(KMeansTree::new(k).depth(2).fit(&uniform()), Error::Branching { k }, &["2 to 1,024"]);
    }
}

#[test]
fn no_limit_of_depth_or_size() {
    assert_error(KMeansTree::new(2).fit(&uniform()), Error::EndlessTree, &["depth", "leaf size"]);
    assert_error(KMeansTree::new(2).depth(3).max_leaf_size(0).fit(&uniform()), Error::ZeroLeafSize, &["is 0"]);
}

#[test]
fn bad_numbers_of_stop_rules() {
    for value in [-1.0, f64::NAN, f64::INFINITY] {
        let error = KMeansTree::new(2).depth(1).stop(Stop::Movement(value)).fit(&uniform()).unwrap_err();
        assert!(matches!(error, Error::BadStop { .. }), "{error}");
    }
}

#[test]
fn no_points_and_no_columns() {
    let tree = KMeansTree::new(2).depth(1);
    assert_error(tree.fit(&Array2::<f32>::zeros((0, 3))), Error::NoPoints, &[]);
    assert_error(tree.fit(&Array2::<f32>::zeros((3, 0))), Error::NoColumns, &[]);
}

#[test]
fn points_that_are_not_finite_or_out_of_range() {
    let tree = KMeansTree::new(2).depth(1);
    let bad = array![[0.0_f64], [f64::NAN]];
    assert!(matches!(tree.fit(&bad).unwrap_err(), Error::NonFinite { row: 1, column: 0, .. }));
    assert!(matches!(tree.fit(&array![[0.0_f64], [1e300]]).unwrap_err(), Error::ValuesTooLarge { row: 1, .. }));
    assert!(matches!(tree.fit(&array![[0.0_f64], [1e-200]]).unwrap_err(), Error::ValuesTooSmall { .. }));
    let fitted = tree.fit(&array![[0.0_f64], [1.0]]).unwrap();
    assert!(matches!(fitted.assign(&bad).unwrap_err(), Error::NonFinite { row: 1, column: 0, .. }));
    assert!(matches!(fitted.nearest_leaves(&bad, 1).unwrap_err(), Error::NonFinite { .. }));
}

#[test]
fn questions_that_do_not_fit_the_tree() {
    let tree = KMeansTree::new(2).depth(1).fit(&uniform()).unwrap();
    let wrong = Array2::<f32>::zeros((2, 4));
    assert_error(tree.assign(&wrong), Error::DimensionMismatch { expected: 3, found: 4 }, &[]);
    assert_error(tree.nearest_leaves(&wrong, 1), Error::DimensionMismatch { expected: 3, found: 4 }, &[]);
    assert_error(tree.nearest_leaves(&uniform(), 0), Error::ZeroBeam, &["is 0"]);
}

#[test]
fn an_empty_cluster_where_that_is_an_error() {
    let tree = KMeansTree::new(3).depth(2).init(Init::FirstK).empty_cluster(EmptyCluster::Error);
    let points = array![[1.0_f32], [1.0], [2.0], [3.0]];
    assert_error(tree.fit(&points), Error::EmptyCluster { cluster: 1, iteration: 1 }, &["cluster 1"]);
}

#[test]
fn a_device_that_is_not_there() {
    let error = KMeansTree::new(2).depth(1).device(Device::Cuda(99)).fit(&uniform()).unwrap_err();
    assert!(matches!(error, Error::NoDevice { index: 99, .. }), "{error}");
}

/// All reports of one fit, each answered by `answer`.
fn reports_of<T: Element>(
    tree: &KMeansTree,
    points: &Array2<T>,
    answer: impl Fn(&Progress) -> Control + Send + Sync + 'static,
) -> (Vec<Progress>, Result<FittedTree<T>, Error>) {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reports);
    let tree = tree.clone().on_progress(move |progress| {
        seen.lock().unwrap().push(*progress);
        answer(progress)
    });
    let result = tree.fit(points);
    let reports = reports.lock().unwrap().clone();
    (reports, result)
}

/// Level, nodes, points done and all of them.
fn numbers(report: &Progress) -> (usize, usize, usize, usize) {
    match *report {
        Progress::Level { level, nodes, done, points } => (level, nodes, done, points),
        other => panic!("a tree does not report {other:?}"),
    }
}

#[test]
fn every_level_is_reported_to_its_end() {
    let (reports, tree) = reports_of(&KMeansTree::new(3).depth(4), &uniform(), |_| Control::Continue);
    let reports: Vec<_> = reports.iter().map(numbers).collect();
    assert!(reports.is_sorted_by_key(|&(level, _, done, _)| (level, done)), "{reports:?}");
    let tree = tree.unwrap();
    for level in 0..4 {
        let own: Vec<_> = reports.iter().filter(|r| r.0 == level).collect();
        let split = tree.nodes().iter().filter(|node| node.level == level && !node.is_leaf()).count();
        assert_eq!(own[0].2, 0);
        let &&(_, nodes, done, total) = own.last().unwrap();
        assert_eq!((nodes, done), (split, total));
        assert!(own.iter().all(|r| r.3 == total));
        assert_eq!(own.iter().filter(|r| r.2 >= total).count(), 1);
    }
}

#[test]
fn finishing_keeps_the_levels_that_are_done() {
    let whole = KMeansTree::new(3).depth(4).fit(&uniform()).unwrap();
    for level in 0..4 {
        let at_end = move |p: &Progress| {
            let (at, _, done, total) = numbers(p);
            if at == level && done == total { Control::Finish } else { Control::Continue }
        };
        let (_, tree) = reports_of(&KMeansTree::new(3).depth(4), &uniform(), at_end);
        let expected = KMeansTree::new(3).depth(level + 1).fit(&uniform()).unwrap();
        let tree = tree.unwrap();
        assert_eq!(tree.nodes(), expected.nodes());
        assert_eq!(tree.permutation(), expected.permutation());
        assert!(tree.nodes().len() <= whole.nodes().len());
    }
}

#[test]
fn finishing_within_a_level_returns_a_tree_without_it() {
    let points = points::<f32>(Kind::Uniform, 200_000, 8, 2);
    let within = |p: &Progress| {
        let (level, _, done, total) = numbers(p);
        if level == 1 && done > 0 && done < total { Control::Finish } else { Control::Continue }
    };
    let (_, tree) = reports_of(&KMeansTree::new(4).depth(3).init(Init::RandomPoints).max_iter(3), &points, within);
    let tree = tree.unwrap();
    assert_eq!(tree.levels().len(), 2);
    assert_eq!(tree.assign(&points).unwrap(), tree.leaf_labels());
}

#[test]
fn cancelling_is_an_error() {
    let cancel = |_: &Progress| Control::Cancel;
    let (reports, tree) = reports_of(&KMeansTree::new(3).depth(4), &uniform(), cancel);
    assert_eq!(reports.len(), 1);
    assert_error(tree, Error::Cancelled { iterations: 0 }, &[]);
    let cancel_later = |p: &Progress| if numbers(p).0 == 2 { Control::Cancel } else { Control::Continue };
    let (_, tree) = reports_of(&KMeansTree::new(3).depth(4), &uniform(), cancel_later);
    assert_error(tree, Error::Cancelled { iterations: 2 }, &["2"]);
}
