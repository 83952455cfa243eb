//! Loading a saved tree (feature `serde`): what is read is checked before anything can go down it.

use ndarray::Array2;
use serde::Deserialize;

use super::grow::Grown;
use super::{FittedTree, Node};
use crate::Element;

/// The fields of a [`FittedTree`] as a file gives them.
#[derive(Deserialize)]
pub(crate) struct Unchecked<T> {
    centroids: Array2<T>,
    nodes: Vec<Node>,
    order: Vec<usize>,
    max_leaf_size: Option<usize>,
    engine: String,
}

impl<T: Element> TryFrom<Unchecked<T>> for FittedTree<T> {
    type Error = String;

    fn try_from(saved: Unchecked<T>) -> Result<Self, String> {
        check_centroids(&saved.centroids, saved.nodes.len())?;
        check_nodes(&saved.nodes, saved.order.len())?;
        check_order(&saved.order)?;
        let grown = Grown {
            // Row-major, as a fit leaves it, whatever order the file was written in.
            centroids: saved.centroids.as_standard_layout().into_owned(),
            nodes: saved.nodes,
            order: saved.order,
        };
        Self::new(grown, saved.max_leaf_size, saved.engine).map_err(|error| error.to_string())
    }
}

fn check_centroids<T: Element>(centroids: &Array2<T>, nodes: usize) -> Result<(), String> {
    let (rows, d) = centroids.dim();
    if rows != nodes || rows == 0 || d == 0 {
        return Err(format!("the saved tree has {nodes} nodes, but its centroids are [{rows}, {d}]"));
    }
    // Not finite, or so large that D to a point at the origin would not be.
    let unusable = |v: &T| !(4.0 * d as f64 * v.to_f64() * v.to_f64()).is_finite();
    match centroids.indexed_iter().find(|(_, v)| unusable(v)) {
        Some(((row, column), value)) => Err(format!(
            "the saved centroid of node {row} is {value} in column {column}, which is not finite, or too large to square"
        )),
        None => Ok(()),
    }
}

/// Nodes are numbered level by level; the children of each divide its places.
fn check_nodes(nodes: &[Node], n: usize) -> Result<(), String> {
    if n == 0 || nodes[0].places != (0..n) || nodes[0].level != 0 || nodes[0].parent.is_some() {
        return Err(format!("the root of the saved tree does not hold all {n} points"));
    }
    let mut next = 1;
    for (index, node) in nodes.iter().enumerate() {
        if node.is_leaf() {
            continue;
        }
        let children = node.children.clone();
        if children.start != next || children.end > nodes.len() || children.len() < 2 {
            return Err(format!("the children of node {index} of the saved tree are not the nodes that follow"));
        }
        let mut place = node.places.start;
        for child in children {
            let Node { parent, level, places, .. } = &nodes[child];
            let fits = *parent == Some(index) && *level == node.level + 1;
            if !fits || places.start != place || places.is_empty() || places.end > node.places.end {
                return Err(format!("node {child} of the saved tree is not a part of node {index}"));
            }
            place = places.end;
        }
        if place != node.places.end {
            return Err(format!("the children of node {index} of the saved tree do not hold all its points"));
        }
        next = node.children.end;
    }
    if next == nodes.len() { Ok(()) } else { Err(format!("node {next} of the saved tree is no node's child")) }
}

fn check_order(order: &[usize]) -> Result<(), String> {
    let mut seen = vec![false; order.len()];
    for (place, &row) in order.iter().enumerate() {
        match seen.get_mut(row) {
            Some(seen) if !*seen => *seen = true,
            _ => return Err(format!("row {row}, at place {place} of the saved tree, is no row or stands there twice")),
        }
    }
    Ok(())
}
