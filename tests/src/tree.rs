//! One tree fitted by an engine and by the reference, and the comparison of the two.

use kmeans_core::settings::Settings;
use kmeans_core::tree::{self, Plan, Start, Tree};
use kmeans_host::{Element, EmptyCluster, Error, FittedTree, Init, KMeansTree, Stop};
use ndarray::{Array2, ArrayView2};

use crate::compare::{assert_same, bits, packed};

/// Every start that nodes can have.
pub const STARTS: [Start; 5] =
    [Start::FirstK, Start::EvenlySpaced, Start::RandomPoints, Start::RandomLabels, Start::KMeansPlusPlus];

/// A plan with `k` children per node down to level `depth`; everything else as [`KMeansTree::new`] has it.
pub fn plan(k: usize, depth: usize) -> Plan {
    let settings = Settings { max_iter: 10, stop: Stop::LabelsRepeat, empty: EmptyCluster::default() };
    Plan { k, depth, max_leaf: 0, start: Start::KMeansPlusPlus, settings, seed: 0 }
}

/// The public builder with the choices of `plan`, on the device that `KMEANS_DEVICE` names.
pub fn builder(plan: &Plan) -> KMeansTree {
    let init = match plan.start {
        Start::FirstK => Init::FirstK,
        Start::EvenlySpaced => Init::EvenlySpaced,
        Start::RandomPoints => Init::RandomPoints,
        Start::RandomLabels => Init::RandomLabels,
        Start::KMeansPlusPlus => Init::KMeansPlusPlus,
        start => panic!("the builder knows no {start:?}"),
    };
    let builder = KMeansTree::new(plan.k)
        .init(init)
        .max_iter(plan.settings.max_iter)
        .stop(plan.settings.stop)
        .empty_cluster(plan.settings.empty)
        .seed(plan.seed);
    let builder = if plan.depth == usize::MAX { builder } else { builder.depth(plan.depth) };
    if plan.max_leaf == 0 { builder } else { builder.max_leaf_size(plan.max_leaf) }
}

/// The tree as the reference makes it.
///
/// # Errors
/// An empty cluster, if that is the policy.
pub fn reference<T: Element>(plan: &Plan, points: &Array2<T>) -> Result<Tree<T>, Error> {
    tree::fit(packed(points), points.ncols(), plan)
        .map_err(|e| Error::EmptyCluster { cluster: e.cluster, iteration: e.iteration })
}

/// Asserts that an engine makes of `points`, seen through `view`, the tree that the reference makes of them, or fails as it
/// fails. The result is that tree.
pub fn assert_agreement<T: Element>(
    plan: &Plan,
    points: &Array2<T>,
    view: ArrayView2<'_, T>,
) -> Option<(FittedTree<T>, Tree<T>)> {
    match (builder(plan).fit(&view), reference(plan, points)) {
        (Ok(found), Ok(expected)) => {
            assert_same_tree(&found, &expected);
            Some((found, expected))
        }
        (found, expected) => {
            assert_eq!(found.err(), expected.err());
            None
        }
    }
}

/// Asserts that nodes, centroids, permutation and leaves are the same bits.
pub fn assert_same_tree<T: Element>(found: &FittedTree<T>, expected: &Tree<T>) {
    assert_eq!(found.nodes().len(), expected.nodes.len(), "nodes");
    for (index, (a, b)) in found.nodes().iter().zip(&expected.nodes).enumerate() {
        assert_eq!(a.parent, b.parent, "parent of node {index}");
        assert_eq!(a.level, b.level, "level of node {index}");
        assert_eq!(a.places, b.places, "places of node {index}");
        assert_eq!(a.children.is_empty(), b.children.is_empty(), "whether node {index} is a leaf");
        if !a.children.is_empty() {
            assert_eq!(a.children, b.children, "children of node {index}");
        }
        assert_eq!(a.iterations, b.iterations, "iterations of node {index}");
        assert_eq!(a.converged, b.converged, "whether node {index} converged");
        let centroid = found.centroids().row(index).to_vec();
        assert_same(&format!("centroid values of node {index}"), &bits(&centroid), &bits(&b.centroid));
        assert_eq!(
            a.inertia.to_bits(),
            b.inertia.to_bits(),
            "inertia of node {index}: {} and {}",
            a.inertia,
            b.inertia
        );
    }
    assert_same("rows of the permutation", found.permutation(), &expected.order);
    assert_same("leaves", found.leaves(), &expected.leaves);
    assert_same("leaf labels", &found.leaf_labels().to_vec(), &expected.leaf_labels());
}
