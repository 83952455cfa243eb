//! A k-means tree: the definition that engines which fit a whole level at once must reproduce bit for bit.
//!
//! The root holds all points. A node that is split is clustered by [`reference::lloyd`] into k, from a start and with
//! draws of its own, and every cluster that has points becomes a child. A split brings the rows of each child together, in the order
//! they had, so that each node is a range of one permutation of the rows, and is split while its rows are ascending.
//!
//! Nothing here is fast: node after node, each with a copy of its points.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::distance;
use crate::reference::{self, EmptyClusterFound};
use crate::rng::{Purpose, Random};
use crate::scalar::Scalar;
use crate::seeding;
use crate::settings::Settings;

/// How the starting centroids of a node are chosen, among the rows of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// The first k rows.
    FirstK,
    /// Rows ⌊i·count/k⌋.
    EvenlySpaced,
    /// [`seeding::random_rows`].
    RandomPoints,
    /// [`reference::random_label_start`].
    RandomLabels,
    /// [`seeding::plus_plus`] with the usual trials.
    KMeansPlusPlus,
}

/// Everything that is chosen about a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Centroids per node, at least 1.
    pub k: usize,
    /// Nodes of this level are not split; the root is level 0.
    pub depth: usize,
    /// Nodes of at most this many points are not split.
    pub max_leaf: usize,
    /// Start of each node.
    pub start: Start,
    /// Rounds, stop rule and policy for empty clusters of each node.
    pub settings: Settings,
    /// The seed of all draws.
    pub seed: u64,
}

impl Plan {
    /// Whether a node is clustered: it is above the last level, has more than `max_leaf` points, at least k, and its
    /// points are not all at its centroid.
    ///
    /// A clustered node still is a leaf if one cluster takes all its points, as happens where all points are equal.
    pub fn splits(&self, level: usize, count: usize, inertia: f64) -> bool {
        level < self.depth && count > self.max_leaf && count >= self.k && inertia > 0.0
    }
}

/// The seed of the child that comes from cluster `label` of a node whose seed is `seed`. The root has the tree's seed.
pub fn child_seed(seed: u64, label: usize) -> u64 {
    Random::new(seed, 0).bits(Purpose::Child, 0, label as u64)
}

/// A node. `T` is the points' type.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<T> {
    /// Index of the node it was split from; none for the root.
    pub parent: Option<usize>,
    /// Splits above it.
    pub level: usize,
    /// Its places in the permutation.
    pub places: Range<usize>,
    /// Indices of its children; empty for a leaf.
    pub children: Range<usize>,
    /// As its parent's clustering left it, `[d]`; the mean of all points for the root.
    pub centroid: Vec<T>,
    /// Σ |x − centroid|² over its points, exact, rounded once.
    pub inertia: f64,
    /// Rounds of its own clustering; 0 if there was none.
    pub iterations: usize,
    /// Whether a stop rule ended its own clustering.
    pub converged: bool,
    /// The seed of its own clustering.
    pub seed: u64,
}

/// A fitted tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree<T> {
    /// Level by level from the root, and within a level in the order of their places.
    pub nodes: Vec<Node<T>>,
    /// The row at each place.
    pub order: Vec<usize>,
    /// Indices of the nodes without children, in the order of their places. A leaf's number is its position here.
    pub leaves: Vec<usize>,
}

/// Fits a tree to `points`, `[n, d]` row-major, n ≥ 1.
///
/// # Errors
/// If the policy asks for it and a cluster of some node loses its points: of the first level where that happens, the one
/// found in the earliest round, in the first of the nodes.
pub fn fit<T: Scalar>(points: &[T], d: usize, plan: &Plan) -> Result<Tree<T>, EmptyClusterFound> {
    let n = points.len() / d;
    let mut order: Vec<usize> = (0..n).collect();
    let mut nodes = vec![root(points, d, plan.seed)];
    let mut level = 0..1;
    while !level.is_empty() {
        let mut failed: Option<EmptyClusterFound> = None;
        for index in level.clone() {
            let node = &nodes[index];
            if !plan.splits(node.level, node.places.len(), node.inertia) {
                continue;
            }
            let rows = order[node.places.clone()].to_vec();
            let own = gather(points, d, &rows);
            let start = start(&own, d, plan, node.seed);
            match reference::lloyd(&own, d, None, &start, &plan.settings) {
                Ok(fit) => split(&mut nodes, &mut order, index, &rows, &own, d, &fit),
                Err(found) if failed.is_none_or(|f| found.iteration < f.iteration) => failed = Some(found),
                Err(_) => {}
            }
        }
        if let Some(failed) = failed {
            return Err(failed);
        }
        level = level.end..nodes.len();
    }
    let mut leaves: Vec<usize> = (0..nodes.len()).filter(|&i| nodes[i].children.is_empty()).collect();
    leaves.sort_by_key(|&i| nodes[i].places.start);
    Ok(Tree { nodes, order, leaves })
}

fn root<T: Scalar>(points: &[T], d: usize, seed: u64) -> Node<T> {
    let n = points.len() / d;
    let labels = vec![0; n];
    let centroid = reference::update(points, d, None, &points[..d], &labels);
    let inertia = reference::inertia(points, d, None, &centroid, &labels);
    Node {
        parent: None,
        level: 0,
        places: 0..n,
        children: 0..0,
        centroid,
        inertia,
        iterations: 0,
        converged: false,
        seed,
    }
}

/// Starting centroids, `[k, d]`, for a node with these points.
fn start<T: Scalar>(own: &[T], d: usize, plan: &Plan, seed: u64) -> Vec<T> {
    let (n, k, random) = (own.len() / d, plan.k, Random::new(seed, 0));
    let rows = match plan.start {
        Start::FirstK => (0..k).collect(),
        Start::EvenlySpaced => seeding::evenly_spaced(n, k),
        Start::RandomPoints => seeding::random_rows(n, k, &random),
        Start::RandomLabels => return reference::random_label_start(own, d, None, k, &random),
        Start::KMeansPlusPlus => seeding::plus_plus(own, d, None, k, seeding::trials(k), &random, Purpose::PlusPlus),
    };
    gather(own, d, &rows)
}

/// Records the clustering of a node, makes its children and brings their rows together.
fn split<T: Scalar>(
    nodes: &mut Vec<Node<T>>,
    order: &mut [usize],
    index: usize,
    rows: &[usize],
    own: &[T],
    d: usize,
    fit: &reference::Fit<T>,
) {
    (nodes[index].iterations, nodes[index].converged) = (fit.iterations, fit.converged);
    if fit.counts.iter().filter(|&&count| count > 0).count() < 2 {
        return;
    }
    let (level, seed, mut place) = (nodes[index].level, nodes[index].seed, nodes[index].places.start);
    let first = nodes.len();
    for (label, centroid) in fit.centroids.chunks_exact(d).enumerate() {
        let members: Vec<usize> = (0..rows.len()).filter(|&i| fit.labels[i] as usize == label).collect();
        if members.is_empty() {
            continue;
        }
        let inertia = reference::inertia(&gather(own, d, &members), d, None, centroid, &vec![0; members.len()]);
        nodes.push(Node {
            parent: Some(index),
            level: level + 1,
            places: place..place + members.len(),
            children: 0..0,
            centroid: centroid.to_vec(),
            inertia,
            iterations: 0,
            converged: false,
            seed: child_seed(seed, label),
        });
        for i in members {
            order[place] = rows[i];
            place += 1;
        }
    }
    nodes[index].children = first..nodes.len();
}

fn gather<T: Scalar>(points: &[T], d: usize, rows: &[usize]) -> Vec<T> {
    rows.iter().flat_map(|&i| points[i * d..][..d].iter().copied()).collect()
}

impl<T: Scalar> Tree<T> {
    /// The number of the leaf that each row is in.
    pub fn leaf_labels(&self) -> Vec<u32> {
        let mut labels = vec![0; self.order.len()];
        for (leaf, &node) in self.leaves.iter().enumerate() {
            for &row in &self.order[self.nodes[node].places.clone()] {
                labels[row] = leaf as u32;
            }
        }
        labels
    }

    /// The number of the leaf that `x`, `[d]`, comes to by going to the child of least D, the first among equals, from
    /// the root down. For a fitted point it is the leaf that the point is in.
    pub fn descend(&self, x: &[T]) -> u32 {
        self.beam(x, 1)[0].0
    }

    /// The numbers of `width` leaves (of all, if there are fewer) near `x`, each with D to its centroid, nearest first.
    ///
    /// The beam begins as the root alone. Again and again every node in it that has children is replaced by them, and the
    /// `width` nodes of least D stay, those of the lowest index among equals, until all are leaves.
    pub fn beam(&self, x: &[T], width: usize) -> Vec<(u32, f64)> {
        let to = |node: usize| (distance(x, &self.nodes[node].centroid), node);
        let mut beam = vec![to(0)];
        while beam.iter().any(|&(_, node)| !self.nodes[node].children.is_empty()) {
            let mut next = Vec::new();
            for (near, node) in beam {
                match self.nodes[node].children.clone() {
                    children if children.is_empty() => next.push((near, node)),
                    children => next.extend(children.map(to)),
                }
            }
            next.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            next.truncate(width);
            beam = next;
        }
        let number = |node: usize| self.leaves.iter().position(|&leaf| leaf == node).expect("a leaf") as u32;
        beam.into_iter().map(|(near, node)| (number(node), near)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{EmptyCluster, Stop};

    fn plan(k: usize, depth: usize) -> Plan {
        let settings = Settings { max_iter: 10, stop: Stop::LabelsRepeat, empty: EmptyCluster::Farthest };
        Plan { k, depth, max_leaf: 0, start: Start::KMeansPlusPlus, settings, seed: 1 }
    }

    /// Two pairs of pairs on a line.
    const LINE: [f64; 8] = [0.0, 100.0, 1.0, 101.0, 10.0, 110.0, 11.0, 111.0];

    #[test]
    fn nodes_are_ranges_of_the_permutation_and_rows_keep_their_order() {
        let tree = fit(&LINE, 1, &plan(2, 2)).unwrap();
        assert_eq!((tree.nodes.len(), tree.leaves.len()), (7, 4));
        let mut found: Vec<Vec<usize>> =
            tree.leaves.iter().map(|&leaf| tree.order[tree.nodes[leaf].places.clone()].to_vec()).collect();
        found.sort();
        assert_eq!(found, [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert_eq!(tree.nodes[0].centroid, [55.5]);
        for &leaf in &tree.leaves {
            assert_eq!((tree.nodes[leaf].inertia, tree.nodes[leaf].level), (0.5, 2));
        }
    }

    #[test]
    fn fitted_points_come_to_their_own_leaves() {
        let tree = fit(&LINE, 1, &plan(2, 2)).unwrap();
        let labels = tree.leaf_labels();
        for (x, label) in LINE.iter().zip(labels) {
            assert_eq!(tree.descend(&[*x]), label);
        }
        assert_eq!(
            tree.beam(&[0.0], 9).iter().map(|&(_, d)| d).collect::<Vec<_>>(),
            [0.25, 110.25, 10_100.25, 12_210.25]
        );
    }

    #[test]
    fn equal_points_are_a_leaf_of_any_size() {
        let tree = fit(&[3.0_f32; 20], 1, &plan(3, 9)).unwrap();
        assert_eq!((tree.nodes.len(), tree.nodes[0].iterations), (1, 0));
        // One point beside twenty: two children, and neither can be split.
        let mut points = vec![3.0_f32; 20];
        points.push(4.0);
        let tree = fit(&points, 1, &plan(3, 9)).unwrap();
        assert_eq!(tree.nodes.iter().map(|node| node.places.len()).collect::<Vec<_>>(), [21, 20, 1]);
    }

    #[test]
    fn a_clustering_that_separates_nothing_makes_no_children() {
        let mut plan = plan(2, 5);
        (plan.start, plan.settings.max_iter, plan.settings.empty) = (Start::FirstK, 0, EmptyCluster::Keep);
        let tree = fit(&[1.0_f32, 1.0, 2.0], 1, &plan).unwrap();
        assert_eq!(tree.nodes.len(), 1);
    }

    #[test]
    fn small_nodes_are_not_split() {
        let mut plan = plan(2, usize::MAX);
        plan.max_leaf = 2;
        assert_eq!(fit(&LINE, 1, &plan).unwrap().leaves.len(), 4);
        plan.max_leaf = 4;
        assert_eq!(fit(&LINE, 1, &plan).unwrap().leaves.len(), 2);
        plan.k = 9;
        assert_eq!(fit(&LINE, 1, &plan).unwrap().leaves.len(), 1);
    }

    #[test]
    fn of_the_empty_clusters_of_a_level_the_earliest_is_reported() {
        let mut plan = plan(3, 1);
        (plan.start, plan.settings.empty) = (Start::FirstK, EmptyCluster::Error);
        let error = fit(&[1.0_f32, 1.0, 2.0, 3.0], 1, &plan).unwrap_err();
        assert_eq!(error, EmptyClusterFound { cluster: 1, iteration: 1 });
    }
}
