//! A fitted tree, and what can be asked of it.

use std::fmt;
use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use super::grow::Grown;
use crate::{Element, Error, Notice};

/// A part of the points, which is split into its children or is a leaf.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Node {
    /// Index of the node it came from; none for the root.
    pub parent: Option<usize>,
    /// Splits above it: 0 for the root.
    pub level: usize,
    /// Its places in [`FittedTree::permutation`].
    pub places: Range<usize>,
    /// Indices of its children; empty for a leaf.
    pub children: Range<usize>,
    /// Σ |x − centroid|² over its points: exact, rounded once.
    pub inertia: f64,
    /// Rounds of its own clustering; 0 if there was none.
    pub iterations: usize,
    /// Whether a stop rule ended its own clustering, and not the cap.
    pub converged: bool,
}

impl Node {
    pub(super) fn new(parent: Option<usize>, level: usize, places: Range<usize>, inertia: f64) -> Self {
        Self { parent, level, places, children: 0..0, inertia, iterations: 0, converged: false }
    }

    /// Its points.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Whether it has no children.
    pub fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }
}

/// A fitted k-means tree of n points in d columns.
///
/// Nodes are numbered level by level from the root, 0, and within a level in the order of their places; children of one
/// node are neighbours. Leaves have numbers of their own, in the order of their places.
///
/// `Display` is a summary in one line.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "super::saved::Unchecked<T>"))]
#[cfg_attr(
    feature = "serde",
    serde(bound(serialize = "T: serde::Serialize", deserialize = "T: Element + serde::Deserialize<'de>"))
)]
pub struct FittedTree<T> {
    pub(super) centroids: Array2<T>,
    pub(super) nodes: Vec<Node>,
    pub(super) order: Vec<usize>,
    pub(super) max_leaf_size: Option<usize>,
    pub(super) engine: String,
    /// Derived: the node of each leaf.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) leaves: Vec<usize>,
    /// Derived: the leaf of each point.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) leaf_labels: Array1<u32>,
}

impl<T: Element> FittedTree<T> {
    pub(super) fn new(grown: Grown<T>, max_leaf_size: Option<usize>, engine: String) -> Result<Self, Error> {
        let Grown { centroids, nodes, order } = grown;
        let mut leaves: Vec<usize> = (0..nodes.len()).filter(|&i| nodes[i].is_leaf()).collect();
        if u32::try_from(leaves.len()).is_err() {
            return Err(Error::TooManyLeaves { leaves: leaves.len() });
        }
        leaves.sort_unstable_by_key(|&i| nodes[i].places.start);
        let mut leaf_labels = Array1::zeros(order.len());
        for (leaf, &node) in leaves.iter().enumerate() {
            for &row in &order[nodes[node].places.clone()] {
                leaf_labels[row] = leaf as u32;
            }
        }
        Ok(Self { centroids, nodes, order, max_leaf_size, engine, leaves, leaf_labels })
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The centroid of each node, `[nodes, d]`, as the clustering of its parent left it; of the root, the mean of all points.
    pub fn centroids(&self) -> ArrayView2<'_, T> {
        self.centroids.view()
    }

    /// The row at each place, `[n]`: the points of a node are those at its places. Within a leaf rows ascend.
    pub fn permutation(&self) -> &[usize] {
        &self.order
    }

    /// The rows of the points of a node: ascending for a leaf, else leaf after leaf.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn rows(&self, node: usize) -> &[usize] {
        &self.order[self.nodes[node].places.clone()]
    }

    /// The node of each leaf, by leaf number.
    pub fn leaves(&self) -> &[usize] {
        &self.leaves
    }

    /// The number of the leaf that each point is in, `[n]`.
    pub fn leaf_labels(&self) -> ArrayView1<'_, u32> {
        self.leaf_labels.view()
    }

    /// What did the work, for people, such as "cpu (AVX-512, 2 threads)".
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// What is right but may surprise: leaves larger than was asked for.
    pub fn notices(&self) -> Vec<Notice> {
        let Some(max_leaf_size) = self.max_leaf_size else { return Vec::new() };
        let sizes = self.leaves.iter().map(|&leaf| self.nodes[leaf].count());
        let over: Vec<usize> = sizes.filter(|&size| size > max_leaf_size).collect();
        match over.iter().max() {
            Some(&largest) => vec![Notice::OverfullLeaves { max_leaf_size, leaves: over.len(), largest }],
            None => Vec::new(),
        }
    }
}

impl<T: Element> fmt::Display for FittedTree<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels = self.levels();
        let (last, plural) = (levels.len() - 1, if levels.len() == 1 { "" } else { "s" });
        write!(
            f,
            "{} points, {} nodes on {} level{plural}; {}; inertia {:e}",
            self.order.len(),
            self.nodes.len(),
            levels.len(),
            self.balance(),
            levels[last].inertia
        )
    }
}
