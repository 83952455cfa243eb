//! Where new points belong: the way down from the root, greedy or along a beam.

use ndarray::{Array1, Array2, ArrayBase, Data, Ix2};
use rayon::prelude::*;

use super::FittedTree;
use crate::points::Points;
use crate::{Element, Error};

/// Leaves near each of some points.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NearestLeaves {
    /// Leaf numbers, `[points, width]`, nearest first; fewer columns if the tree has fewer leaves.
    pub leaves: Array2<u32>,
    /// The Euclidean distance (not squared) to the centroid of each, of the same shape.
    pub distances: Array2<f64>,
}

/// Centroids whose distances are added up side by side.
const LANES: usize = 8;

impl<T: Element> FittedTree<T> {
    /// The number of the leaf that each of `points`, `[m, d]`, comes to by going from the root down to the child whose
    /// centroid is nearest, the first among equals. For the points the tree was fitted to it is their
    /// [`leaf_labels`](Self::leaf_labels).
    ///
    /// Runs on the processor. The time per point grows with k·d and the number of levels, not with the number of leaves.
    ///
    /// # Errors
    /// For another number of columns, or values that are not finite or too large to square.
    pub fn assign<S: Data<Elem = T>>(&self, points: &ArrayBase<S, Ix2>) -> Result<Array1<u32>, Error> {
        let beam = self.beam(&self.check(points)?, 1);
        Ok(beam.into_iter().map(|(leaf, _)| leaf).collect())
    }

    /// `width` leaves near each of `points`, `[m, d]`, nearest first, found by following the `width` best nodes at once.
    ///
    /// The beam begins as the root alone. Again and again every node in it is replaced by its children, and the `width` nodes of
    /// the nearest centroids stay, those of the lowest index among equals, until all are leaves. A wider beam misses near
    /// leaves less often. With a width of 1 this is [`assign`](Self::assign).
    ///
    /// ```
    /// use kmeans_host::KMeansTree;
    /// use ndarray::array;
    ///
    /// let points = array![[0.0_f32], [1.0], [10.0], [11.0], [100.0], [101.0]];
    /// let tree = KMeansTree::new(3).depth(1).fit(&points)?;
    /// let near = tree.nearest_leaves(&array![[8.0_f32]], 2)?;
    /// assert_eq!(near.leaves[[0, 0]], tree.leaf_labels()[2]);
    /// assert_eq!(near.distances, array![[2.5, 7.5]]);
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`assign`](Self::assign), and for a width of 0.
    pub fn nearest_leaves<S: Data<Elem = T>>(
        &self,
        points: &ArrayBase<S, Ix2>,
        width: usize,
    ) -> Result<NearestLeaves, Error> {
        if width == 0 {
            return Err(Error::ZeroBeam);
        }
        let points = self.check(points)?;
        let width = width.min(self.leaves.len());
        let (leaves, distances) = self.beam(&points, width).into_iter().map(|(leaf, d)| (leaf, d.sqrt())).unzip();
        let shape = (points.n(), width);
        Ok(NearestLeaves {
            leaves: Array2::from_shape_vec(shape, leaves).expect("a beam of this width for each point"),
            distances: Array2::from_shape_vec(shape, distances).expect("a beam of this width for each point"),
        })
    }

    fn check<'a, S: Data<Elem = T>>(&self, points: &'a ArrayBase<S, Ix2>) -> Result<Points<'a, T>, Error> {
        let expected = self.centroids.ncols();
        if points.ncols() != expected {
            return Err(Error::DimensionMismatch { expected, found: points.ncols() });
        }
        Points::to_label(points.view(), None)
    }

    /// For each point, `width` leaf numbers with D to their centroids, nearest first; `width` is at most the number of leaves.
    fn beam(&self, points: &Points<'_, T>, width: usize) -> Vec<(u32, f64)> {
        let mut number = vec![0; self.nodes.len()];
        for (leaf, &node) in self.leaves.iter().enumerate() {
            number[node] = leaf as u32;
        }
        let mut found = vec![(0, 0.0); points.n() * width];
        points.blocks().zip(found.par_chunks_mut(points.block_rows() * width)).for_each_init(
            || (Vec::new(), Beam::default()),
            |(scratch, beam), (block, found)| {
                let rows = points.rows(block, scratch);
                for (x, found) in rows.chunks_exact(points.d()).zip(found.chunks_exact_mut(width)) {
                    // A node has at least two children, so a beam that once was full stays so, and one that never was has all leaves.
                    for (found, &(near, node)) in found.iter_mut().zip(beam.follow(self, x, width)) {
                        *found = (number[node], near);
                    }
                }
            },
        );
        found
    }
}

/// The nodes that are followed for one point.
#[derive(Default)]
struct Beam {
    point: Vec<f64>,
    /// D and node, nearest first.
    nodes: Vec<(f64, usize)>,
    next: Vec<(f64, usize)>,
}

impl Beam {
    /// The leaves of the beam for `x`, as [`kmeans_core::tree::Tree::beam`] has them.
    fn follow<T: Element>(&mut self, tree: &FittedTree<T>, x: &[T], width: usize) -> &[(f64, usize)] {
        self.point.clear();
        self.point.extend(x.iter().map(|x| x.to_f64()));
        let centroids = tree.centroids.as_slice().expect("row-major, as made or loaded");
        self.nodes.clear();
        push_distances(&self.point, centroids, 0..1, &mut self.nodes);
        while self.nodes.iter().any(|&(_, node)| !tree.nodes[node].is_leaf()) {
            self.next.clear();
            for &(near, node) in &self.nodes {
                match tree.nodes[node].children.clone() {
                    children if children.is_empty() => self.next.push((near, node)),
                    children => push_distances(&self.point, centroids, children, &mut self.next),
                }
            }
            self.next.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            self.next.truncate(width);
            std::mem::swap(&mut self.nodes, &mut self.next);
        }
        &self.nodes
    }
}

/// Appends D from `x` to the centroid of each of `nodes`.
///
/// Every sum is in index order, as D asks for; several run at once, since one alone would wait for its own additions.
fn push_distances<T: Element>(x: &[f64], centroids: &[T], nodes: std::ops::Range<usize>, out: &mut Vec<(f64, usize)>) {
    let d = x.len();
    let mut first = nodes.start;
    for several in centroids[nodes.start * d..nodes.end * d].chunks(LANES * d) {
        let lanes = several.len() / d;
        // Lanes beyond the last centroid repeat the first.
        let rows: [&[T]; LANES] = std::array::from_fn(|l| &several[if l < lanes { l * d } else { 0 }..][..d]);
        let mut sums = [0.0; LANES];
        for (j, x) in x.iter().enumerate() {
            for (sum, row) in sums.iter_mut().zip(&rows) {
                let difference = x - row[j].to_f64();
                *sum += difference * difference;
            }
        }
        out.extend(sums[..lanes].iter().zip(first..).map(|(&sum, node)| (sum, node)));
        first += lanes;
    }
}
