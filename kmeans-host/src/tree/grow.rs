//! Level by level: which nodes are split, and what becomes of their clusters.

use kmeans_core::Scalar;
use kmeans_core::tree::{Plan, child_seed};
use ndarray::Array2;

use super::Node;
use crate::engine::{Engine, Group, Recipe, Splits};
use crate::points::Points;
use crate::progress::Observer;
use crate::{Control, Error, Progress};

/// What grows a tree.
pub(super) struct Grower<'a> {
    pub plan: Plan,
    pub observer: Option<&'a Observer>,
}

/// A tree without what can be derived from it.
pub(super) struct Grown<T> {
    /// `[nodes, d]`
    pub centroids: Array2<T>,
    pub nodes: Vec<Node>,
    pub order: Vec<usize>,
}

impl Grower<'_> {
    /// Grows the tree of `points` on an engine.
    pub fn grow<T: Scalar>(&self, engine: &dyn Engine<T>, points: &Points<'_, T>) -> Result<Grown<T>, Error> {
        let d = points.d();
        let mut groups = engine.load_groups(points, self.plan.k)?;
        let (mut centroids, inertia) = groups.mean()?;
        let mut nodes = vec![Node::new(None, 0, 0..points.n(), inertia)];
        // The nodes of the level, and the seed of each.
        let (mut level, mut seeds) = (0..1, vec![self.plan.seed]);
        let recipe = Recipe { k: self.plan.k, start: self.plan.start, settings: self.plan.settings };
        loop {
            let (split, todo): (Vec<usize>, Vec<Group>) = level
                .clone()
                .zip(&seeds)
                .filter(|&(node, _)| self.splits(&nodes[node]))
                .map(|(node, &seed)| (node, Group { places: nodes[node].places.clone(), seed }))
                .unzip();
            if todo.is_empty() {
                break;
            }
            let (number, points) = (nodes[split[0]].level, todo.iter().map(|group| group.places.len()).sum());
            let mut answer = Control::Continue;
            let mut report = |done| {
                let progress = Progress::Level { level: number, nodes: todo.len(), done, points };
                answer = self.observer.map_or(Control::Continue, |o| (o.0)(&progress));
                answer
            };
            let splits = match report(0) {
                Control::Continue => groups.split(&todo, &recipe, &mut |done, total| {
                    // That all is done is told once, below.
                    let share = (done as u128 * points as u128 / total.max(1) as u128) as usize;
                    report(share.min(points - 1))
                }),
                _ => Err(Error::Cancelled { iterations: 0 }),
            };
            if splits.is_ok() {
                report(points);
            }
            match (splits, answer) {
                (_, Control::Cancel) => return Err(Error::Cancelled { iterations: number }),
                // What is done of a level that was not finished is of no use.
                (Err(Error::Cancelled { .. }), _) => break,
                (splits, _) => {
                    seeds = add_children(&mut nodes, &mut centroids, &split, &todo, &splits?, d);
                    level = nodes.len() - seeds.len()..nodes.len();
                }
            }
            if answer == Control::Finish {
                break;
            }
        }
        let centroids = Array2::from_shape_vec((nodes.len(), d), centroids).expect("d values for each node");
        Ok(Grown { centroids, nodes, order: groups.order()? })
    }

    fn splits(&self, node: &Node) -> bool {
        self.plan.splits(node.level, node.count(), node.inertia)
    }
}

/// Adds the children of the nodes `split`, in their order. The result is their seeds.
fn add_children<T: Scalar>(
    nodes: &mut Vec<Node>,
    centroids: &mut Vec<T>,
    split: &[usize],
    groups: &[Group],
    fits: &Splits<T>,
    d: usize,
) -> Vec<u64> {
    let k = fits.counts.len() / groups.len();
    let mut seeds = Vec::new();
    for (g, (&parent, group)) in split.iter().zip(groups).enumerate() {
        nodes[parent].iterations = fits.iterations[g] as usize;
        nodes[parent].converged = fits.converged[g];
        let counts = &fits.counts[g * k..][..k];
        if counts.iter().filter(|&&count| count > 0).count() < 2 {
            continue;
        }
        let (first, mut place) = (nodes.len(), group.places.start);
        for (label, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            let places = place..place + count as usize;
            place = places.end;
            nodes.push(Node::new(Some(parent), nodes[parent].level + 1, places, fits.inertias[g * k + label]));
            centroids.extend_from_slice(&fits.centroids[(g * k + label) * d..][..d]);
            seeds.push(child_seed(group.seed, label));
        }
        nodes[parent].children = first..nodes.len();
    }
    seeds
}
