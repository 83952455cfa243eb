//! DBSCAN over a partition of the points, with the result of plain DBSCAN, to the last label.
//!
//! Every leaf of a tree lies in a ball around its centroid. Two points within eps of each other are in one leaf, or in two whose
//! balls are no farther apart than eps; so all neighbours of a point are found by looking into its own leaf and into those
//! whose balls reach it. Leaves are clustered on their own, side by side, and clusters of different leaves that have
//! core points within eps of each other become one.
//!
//! DBSCAN: Ester, Kriegel, Sander, Xu, "A density-based algorithm for discovering clusters", KDD 1996. A point is a core point
//! if at least `min_points` points, itself among them, are within eps. Core points within eps of each other are in one cluster.
//! Other points within eps of a core point belong to its cluster too, to the one with the lowest number if there are several;
//! the rest is noise. Clusters are numbered by their first core point. These are the labels that scikit-learn gives.

use std::collections::HashSet;

use kmeans_host::FittedTree;
use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

/// The label of noise.
pub const NOISE: i32 = -1;

/// What DBSCAN asks for.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The distance within which points are neighbours.
    pub eps: f64,
    /// Neighbours that make a core point, itself among them.
    pub min_points: usize,
}

/// Labels, and how much work they took.
#[derive(Debug)]
pub struct Clustering {
    /// The cluster of each point, or [`NOISE`].
    pub labels: Vec<i32>,
    /// Whether each point is a core point.
    pub core: Vec<bool>,
    /// Pairs of leaves whose points were compared, and all pairs.
    pub leaf_pairs: (usize, usize),
    /// Pairs of points whose distance was computed to find core points, and all pairs.
    pub point_pairs: (u64, u64),
}

/// Points leaf by leaf, with the ball that each leaf lies in.
struct Leaves {
    /// `[n, d]`: the points in the order of the tree's permutation.
    points: Array2<f32>,
    /// The places of each leaf.
    places: Vec<std::ops::Range<usize>>,
    /// The leaf of each place.
    of_place: Vec<usize>,
    /// The centroid of each leaf, and the largest distance of its points to it.
    centroids: Array2<f32>,
    radii: Vec<f64>,
    /// The distance of each place to the centroid of its leaf.
    to_centroid: Vec<f64>,
    /// For each leaf, first itself, then those whose points may be within eps of its points.
    near: Vec<Vec<usize>>,
}

/// Distances are computed to within this factor of the real ones for up to a million columns: a ball counts as in reach a little
/// longer than it is.
const SLACK: f64 = 1.0 + 1e-9;

impl Leaves {
    fn new(tree: &FittedTree<f32>, points: ArrayView2<'_, f32>, eps: f64) -> Self {
        let points = points.select(Axis(0), tree.permutation());
        let places: Vec<_> = tree.leaves().iter().map(|&leaf| tree.nodes()[leaf].places.clone()).collect();
        let centroids = tree.centroids().select(Axis(0), tree.leaves());
        let mut of_place = vec![0; points.nrows()];
        for (leaf, places) in places.iter().enumerate() {
            of_place[places.clone()].fill(leaf);
        }
        let row = |place: usize| points.row(place).to_slice().expect("rows are packed");
        let centroid = |leaf: usize| centroids.row(leaf).to_slice().expect("rows are packed");
        let to_centroid: Vec<f64> =
            (0..points.nrows()).into_par_iter().map(|p| squared(row(p), centroid(of_place[p])).sqrt()).collect();
        let radii: Vec<f64> =
            places.iter().map(|places| to_centroid[places.clone()].iter().copied().fold(0.0, f64::max)).collect();
        let near = (0..places.len())
            .into_par_iter()
            .map(|a| {
                let reach = |b: usize| (radii[a] + radii[b] + eps) * SLACK;
                let reached = |&b: &usize| b != a && squared(centroid(a), centroid(b)).sqrt() <= reach(b);
                std::iter::once(a).chain((0..places.len()).filter(reached)).collect()
            })
            .collect();
        Self { points, places, of_place, centroids, radii, to_centroid, near }
    }

    fn row(&self, place: usize) -> &[f32] {
        self.points.row(place).to_slice().expect("rows are packed")
    }

    fn centroid(&self, leaf: usize) -> &[f32] {
        self.centroids.row(leaf).to_slice().expect("rows are packed")
    }

    /// The places of a leaf that may be within eps of `x`: by the triangle inequality their distance to the centroid differs from
    /// that of `x` by no more than eps.
    fn candidates(&self, leaf: usize, x: &[f32], eps: f64) -> impl Iterator<Item = usize> {
        let near = squared(x, self.centroid(leaf)).sqrt();
        let in_reach = near <= (self.radii[leaf] + eps) * SLACK;
        let places = if in_reach { self.places[leaf].clone() } else { 0..0 };
        // Both distances are rounded.
        places.filter(move |&place| {
            let own = self.to_centroid[place];
            (near - own).abs() <= eps + (SLACK - 1.0) * (near + own + eps)
        })
    }

    /// Calls `each` with every place within eps of `place`, itself among them, while it returns true. The result is the
    /// number of distances computed.
    fn neighbours(&self, place: usize, eps: f64, mut each: impl FnMut(usize) -> bool) -> u64 {
        let x = self.row(place);
        let mut computed = 0;
        for &leaf in &self.near[self.of_place[place]] {
            for other in self.candidates(leaf, x, eps) {
                computed += 1;
                if squared(x, self.row(other)) <= eps * eps && !each(other) {
                    return computed;
                }
            }
        }
        computed
    }
}

/// DBSCAN of `points`, `[n, d]`, over the leaves of `tree`, which was fitted to them.
pub fn over_leaves(tree: &FittedTree<f32>, points: ArrayView2<'_, f32>, settings: Settings) -> Clustering {
    let Settings { eps, min_points } = settings;
    let (n, leaves) = (points.nrows(), Leaves::new(tree, points, eps));
    let counted: Vec<(bool, u64)> = (0..n)
        .into_par_iter()
        .map(|place| {
            let mut count = 0;
            let computed = leaves.neighbours(place, eps, |_| {
                count += 1;
                count < min_points
            });
            (count >= min_points, computed)
        })
        .collect();
    let core: Vec<bool> = counted.iter().map(|c| c.0).collect();

    // Each leaf on its own: its core points that hang together.
    let mut groups = Groups::new(n);
    let within: Vec<Vec<(usize, usize)>> =
        leaves.places.par_iter().map(|own| within(&leaves, own, &core, eps)).collect();
    for (a, b) in within.into_iter().flatten() {
        groups.join(a, b);
    }
    // Then across borders, one pair of points for each two clusters that meet.
    let parts: Vec<usize> = (0..n).map(|place| groups.find(place)).collect();
    let across: Vec<_> =
        (0..leaves.places.len()).into_par_iter().map(|own| across(&leaves, own, &core, &parts, eps)).collect();
    for (a, b) in across.into_iter().flatten() {
        groups.join(a, b);
    }

    // Numbers by the first core row of each cluster.
    let order = tree.permutation();
    let mut place_of_row = vec![0; n];
    for (place, &row) in order.iter().enumerate() {
        place_of_row[row] = place;
    }
    let (mut number, mut clusters) = (vec![NOISE; n], 0);
    for &place in place_of_row.iter().filter(|&&place| core[place]) {
        let root = groups.find(place);
        if number[root] == NOISE {
            (number[root], clusters) = (clusters, clusters + 1);
        }
    }
    let cluster: Vec<i32> = (0..n).map(|place| if core[place] { number[groups.find(place)] } else { NOISE }).collect();
    let labels = place_of_row
        .par_iter()
        .map(|&place| {
            let mut label = cluster[place];
            if !core[place] {
                let mut lowest = i32::MAX;
                leaves.neighbours(place, eps, |other| {
                    if core[other] {
                        lowest = lowest.min(cluster[other]);
                    }
                    true
                });
                label = if lowest == i32::MAX { NOISE } else { lowest };
            }
            label
        })
        .collect();
    Clustering {
        labels,
        core: place_of_row.iter().map(|&place| core[place]).collect(),
        leaf_pairs: (leaves.near.iter().map(Vec::len).sum(), leaves.places.len().pow(2)),
        point_pairs: (counted.iter().map(|c| c.1).sum(), (n as u64).pow(2)),
    }
}

/// Pairs of core points of one leaf that make its clusters: enough of them to connect each.
fn within(leaves: &Leaves, own: &std::ops::Range<usize>, core: &[bool], eps: f64) -> Vec<(usize, usize)> {
    let (mut groups, mut pairs) = (Groups::new(own.len()), Vec::new());
    for a in own.clone().filter(|&a| core[a]) {
        for b in (a + 1..own.end).filter(|&b| core[b]) {
            let (i, j) = (a - own.start, b - own.start);
            if groups.find(i) != groups.find(j) && squared(leaves.row(a), leaves.row(b)) <= eps * eps {
                groups.join(i, j);
                pairs.push((a, b));
            }
        }
    }
    pairs
}

/// The parts that hang together with parts of the leaf `own`, in the leaves after it.
fn across(leaves: &Leaves, own: usize, core: &[bool], parts: &[usize], eps: f64) -> HashSet<(usize, usize)> {
    let mut joined = HashSet::new();
    for place in leaves.places[own].clone().filter(|&place| core[place]) {
        let x = leaves.row(place);
        for &leaf in leaves.near[own].iter().filter(|&&leaf| leaf > own) {
            for other in leaves.candidates(leaf, x, eps).filter(|&other| core[other]) {
                let pair = (parts[place], parts[other]);
                if !joined.contains(&pair) && squared(x, leaves.row(other)) <= eps * eps {
                    joined.insert(pair);
                }
            }
        }
    }
    joined
}

/// DBSCAN by comparing every point with every other: what the partition must agree with.
pub fn plain(points: ArrayView2<'_, f32>, settings: Settings) -> Vec<i32> {
    let rows: Vec<Vec<f32>> = points.rows().into_iter().map(|row| row.to_vec()).collect();
    let neighbours: Vec<Vec<usize>> = rows
        .par_iter()
        .map(|x| (0..rows.len()).filter(|&j| squared(x, &rows[j]) <= settings.eps * settings.eps).collect())
        .collect();
    let core = |i: usize| neighbours[i].len() >= settings.min_points;
    let mut labels = vec![NOISE; rows.len()];
    let mut clusters = 0;
    for first in 0..rows.len() {
        if labels[first] != NOISE || !core(first) {
            continue;
        }
        let mut queue = vec![first];
        while let Some(i) = queue.pop() {
            if labels[i] == NOISE {
                labels[i] = clusters;
                if core(i) {
                    queue.extend(&neighbours[i]);
                }
            }
        }
        clusters += 1;
    }
    labels
}

/// The squared Euclidean distance, in `f64`.
fn squared(a: &[f32], b: &[f32]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (whole_a, rest_a) = a.as_chunks::<LANES>();
    let (whole_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in whole_a.iter().zip(whole_b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += (f64::from(*a) - f64::from(*b)).powi(2);
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum();
    sums.iter().sum::<f64>() + rest
}

/// Disjoint sets, each with one of its members as its name.
struct Groups(Vec<usize>);

impl Groups {
    fn new(n: usize) -> Self {
        Self((0..n).collect())
    }

    fn find(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use kmeans_examples::vectors;
    use kmeans_host::KMeansTree;
    use ndarray::s;
    use serde_json::Value;

    use super::*;

    fn check(points: &Array2<f32>, settings: Settings, k: usize, leaf: usize) -> Clustering {
        let tree = KMeansTree::new(k).max_leaf_size(leaf).init(kmeans_host::Init::RandomPoints).fit(points).unwrap();
        let found = over_leaves(&tree, points.view(), settings);
        assert_eq!(found.labels, plain(points.view(), settings), "{settings:?}, k = {k}, leaves of {leaf}");
        found
    }

    #[test]
    fn digits_in_partitions_of_any_fineness() {
        let digits = vectors::digits().unwrap();
        for eps in [15.3, 19.1, 21.3, 26.7] {
            for (k, leaf) in [(2, 5), (4, 60), (8, 300), (16, 1796)] {
                check(&digits, Settings { eps, min_points: 5 }, k, leaf);
            }
        }
    }

    #[test]
    fn patches_and_distances_that_tie_with_eps() {
        let patches = vectors::patches().unwrap();
        let some = patches.slice(s![..;21, ..]).to_owned();
        check(&some, Settings { eps: 60.0, min_points: 8 }, 8, 100);
        // On a grid many distances are eps itself.
        let grid =
            Array2::from_shape_fn((400, 2), |(i, j)| if j == 0 { (i / 20) as f32 } else { (i % 20 / 2 * 3) as f32 });
        for eps in [1.0, 3.0] {
            check(&grid, Settings { eps, min_points: 4 }, 3, 7);
        }
    }

    #[test]
    fn equal_points_and_nothing_but_noise() {
        let equal = Array2::from_elem((50, 3), 1.5);
        assert!(check(&equal, Settings { eps: 0.5, min_points: 5 }, 2, 10).labels.iter().all(|&label| label == 0));
        let digits = vectors::digits().unwrap();
        assert!(check(&digits, Settings { eps: 1.0, min_points: 2 }, 4, 50).labels.iter().all(|&label| label == NOISE));
    }

    /// Labels that scikit-learn gives, as recorded by tests/data/dbscan.py.
    #[test]
    fn scikit_learn_finds_the_same() {
        let recorded: Value = serde_json::from_str(include_str!("../../tests/data/dbscan.json")).unwrap();
        for row in recorded["clusterings"].as_array().unwrap() {
            let points = match row["data"].as_str().unwrap() {
                "digits" => vectors::digits().unwrap(),
                _ => vectors::patches().unwrap().slice(s![..;16, ..]).to_owned(),
            };
            let min_points = row["min_samples"].as_u64().unwrap() as usize;
            let settings = Settings { eps: row["eps"].as_f64().unwrap(), min_points };
            let expected: Vec<i32> =
                row["labels"].as_array().unwrap().iter().map(|label| label.as_i64().unwrap() as i32).collect();
            let found = check(&points, settings, 8, 100);
            assert_eq!(found.labels, expected, "eps = {}", settings.eps);
            assert_eq!(found.core.iter().filter(|&&core| core).count() as u64, row["core"].as_u64().unwrap());
        }
    }
}
