//! The options of `kmeans tree`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use kmeans_host::KMeansTree;

use super::clusters::TreeStop;
use super::numbers::count;
use super::{Empty, Input, Printing, Running, Start};

#[derive(Args, Debug)]
pub struct Tree {
    #[command(flatten)]
    pub input: Input,

    /// Clusters that a node is split into, 2 to 1024
    #[arg(short, long, value_name = "K", help_heading = "Tree")]
    pub k: usize,

    /// Most splits between the root and a leaf; this or --max-leaf-size is needed
    #[arg(long, value_name = "N", help_heading = "Tree")]
    pub depth: Option<usize>,

    /// Do not split nodes of at most this many points
    #[arg(long, value_name = "N", help_heading = "Tree")]
    pub max_leaf_size: Option<usize>,

    /// How the first centroids of each node are chosen; any way but k-means||
    #[arg(long, value_enum, default_value_t = Start::PlusPlus, value_name = "START", help_heading = "Tree")]
    pub init: Start,

    /// Seed of the random draws
    #[arg(long, default_value_t = 0, help_heading = "Tree")]
    pub seed: u64,

    /// Most iterations per node
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Tree")]
    pub max_iter: usize,

    #[command(flatten)]
    pub stop: TreeStop,

    /// What happens to a cluster that loses its points while a node is split
    #[arg(long, value_enum, default_value_t = Empty::Farthest, value_name = "POLICY", help_heading = "Tree")]
    pub empty: Empty,

    #[command(flatten)]
    pub running: Running,

    #[command(flatten)]
    pub results: TreeResults,

    #[command(flatten)]
    pub printing: Printing,
}

impl Tree {
    /// What the library calls it.
    pub fn builder(&self) -> KMeansTree {
        let mut tree = KMeansTree::new(self.k)
            .init(self.init.init())
            .seed(self.seed)
            .max_iter(self.max_iter)
            .stop(self.stop.stop())
            .empty_cluster(self.empty.into())
            .device(self.running.device);
        if let Some(depth) = self.depth {
            tree = tree.depth(depth);
        }
        if let Some(points) = self.max_leaf_size {
            tree = tree.max_leaf_size(points);
        }
        tree
    }
}

/// Where the results go. Of tables, `.csv` and `.npy` in the names give those formats, other names text.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct TreeResults {
    /// The leaf of each point: .csv, .npy or text by the name
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub labels: Option<PathBuf>,

    /// The row at each place; the points of a node are at places that follow each other: .csv, .npy or text
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub permutation: Option<PathBuf>,

    /// The nodes, level by level: parent, places, children, leaf, inertia: .csv or .json
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub nodes: Option<PathBuf>,

    /// The centroid of each node: .csv, .npy or text
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub centroids: Option<PathBuf>,

    /// Other points, whose leaves are found; - for standard input
    #[arg(long, value_name = "POINTS", value_hint = ValueHint::FilePath, requires = "assigned")]
    pub assign: Option<PathBuf>,

    /// Leaves to find for each of them, nearest first, following as many nodes at once
    #[arg(long, value_name = "WIDTH", default_value_t = 1, value_parser = count, requires = "assign")]
    pub beam: usize,

    /// Where those leaves go: .csv, with distances; .npy or text
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "assign")]
    pub assigned: Option<PathBuf>,
}
