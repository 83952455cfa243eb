//! How evenly a tree divides its points, and how far each level brings it.

use std::fmt;

use super::FittedTree;
use crate::Element;

/// The sizes of a tree's leaves, in points.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Balance {
    /// Leaves.
    pub leaves: usize,
    /// The smallest.
    pub smallest: usize,
    /// Half of the leaves are at most this large; of an even number of leaves, the mean of the two in the middle.
    pub median: f64,
    /// The largest.
    pub largest: usize,
    /// Points per leaf.
    pub mean: f64,
    /// The standard deviation of the sizes, over all leaves.
    pub standard_deviation: f64,
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { leaves, smallest, median, largest, mean, standard_deviation } = self;
        let plural = if *leaves == 1 { "leaf" } else { "leaves" };
        write!(
            f,
            "{leaves} {plural} of {smallest} to {largest} points, median {median}, mean {mean:.1} ± {standard_deviation:.1}"
        )
    }
}

/// One level of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Level {
    /// Its number: 0 for the root's.
    pub level: usize,
    /// Its nodes.
    pub nodes: usize,
    /// Its nodes that are leaves.
    pub leaves: usize,
    /// Points in its nodes; the others are in leaves above.
    pub points: usize,
    /// The inertia of the division into the nodes of this level and the leaves above it: the `f64` sum of theirs, in the
    /// order of their indices.
    pub inertia: f64,
}

impl<T: Element> FittedTree<T> {
    /// How evenly the leaves divide the points.
    ///
    /// ```
    /// use kmeans_host::KMeansTree;
    /// use ndarray::array;
    ///
    /// let points = array![[0.0_f32], [1.0], [2.0], [100.0]];
    /// let balance = KMeansTree::new(2).depth(1).fit(&points)?.balance();
    /// assert_eq!((balance.smallest, balance.largest, balance.mean), (1, 3, 2.0));
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    pub fn balance(&self) -> Balance {
        let mut sizes: Vec<usize> = self.leaves.iter().map(|&leaf| self.nodes[leaf].count()).collect();
        sizes.sort_unstable();
        let leaves = sizes.len();
        let mean = self.order.len() as f64 / leaves as f64;
        let variance = sizes.iter().map(|&size| (size as f64 - mean).powi(2)).sum::<f64>() / leaves as f64;
        Balance {
            leaves,
            smallest: sizes[0],
            median: f64::midpoint(sizes[(leaves - 1) / 2] as f64, sizes[leaves / 2] as f64),
            largest: sizes[leaves - 1],
            mean,
            standard_deviation: variance.sqrt(),
        }
    }

    /// All levels, from the root's.
    pub fn levels(&self) -> Vec<Level> {
        let mut levels: Vec<Level> = Vec::new();
        // Leaves above the level.
        let mut above = Vec::new();
        let mut start = 0;
        while start < self.nodes.len() {
            let level = levels.len();
            let nodes = self.nodes[start..].partition_point(|node| node.level == level);
            let own = &self.nodes[start..start + nodes];
            levels.push(Level {
                level,
                nodes,
                leaves: own.iter().filter(|node| node.is_leaf()).count(),
                points: own.iter().map(|node| node.count()).sum(),
                inertia: above.iter().copied().chain(own.iter().map(|node| node.inertia)).sum(),
            });
            above.extend(own.iter().filter(|node| node.is_leaf()).map(|node| node.inertia));
            start += nodes;
        }
        levels
    }

    /// The inertia of the division into leaves, Σ |x − centroid of its leaf|²: that of the last of [`levels`](Self::levels).
    pub fn inertia(&self) -> f64 {
        self.levels().last().map_or(0.0, |level| level.inertia)
    }
}
