//! DBSCAN part by part: a k-means tree cuts the points into leaves, leaves are clustered on their own, clusters that meet at
//! borders are merged. The labels are those of plain DBSCAN.
//!
//! ```text
//! cargo run --release --example tree_dbscan -- [FILE.npy] [--eps 21.3] [--min-points 5] [--check] [--help]
//! ```

mod dbscan;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Parser;
use kmeans_examples::text::{counted, duration, grouped, percent, say};
use kmeans_examples::vectors;
use kmeans_host::KMeansTree;

use crate::dbscan::{NOISE, Settings, over_leaves, plain};

/// DBSCAN over the leaves of a k-means tree.
#[derive(Debug, Parser)]
#[command(name = "tree_dbscan", max_term_width = 100)]
struct Options {
    /// Points, [n, d] of f32 [default: 1,797 handwritten digits]
    file: Option<PathBuf>,

    /// The distance within which points are neighbours
    #[arg(long, default_value_t = 21.3)]
    eps: f64,

    /// Neighbours that make a core point, itself among them
    #[arg(long, default_value_t = 5)]
    min_points: usize,

    /// Children per node of the tree
    #[arg(long, default_value_t = 8)]
    k: usize,

    /// Points per leaf
    #[arg(long, default_value_t = 100)]
    leaf: usize,

    /// 5×5 patches of a photograph instead of digits
    #[arg(long, conflicts_with = "file")]
    patches: bool,

    /// Compare with plain DBSCAN, which compares every point with every other
    #[arg(long)]
    check: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    ensure!(options.eps > 0.0 && options.eps.is_finite(), "eps is {}: it must be positive", options.eps);
    let points = match &options.file {
        Some(path) => vectors::read(path)?,
        None if options.patches => vectors::patches()?,
        None => vectors::digits()?,
    };
    let settings = Settings { eps: options.eps, min_points: options.min_points };

    let begun = Instant::now();
    let tree = KMeansTree::new(options.k).max_leaf_size(options.leaf).max_iter(5).fit(&points)?;
    let partition = begun.elapsed();
    let begun = Instant::now();
    let found = over_leaves(&tree, points.view(), settings);
    let clustering = begun.elapsed();

    say(format!("tree        {tree}"));
    let clusters = found.labels.iter().max().map_or(0, |&label| (label + 1) as u64);
    let noise = found.labels.iter().filter(|&&label| label == NOISE).count() as u64;
    let core = found.core.iter().filter(|&&core| core).count() as u64;
    let n = points.nrows() as u64;
    say(format!(
        "clusters    {}; {} core points, {} noise",
        counted(clusters, "cluster", "clusters"),
        grouped(core),
        percent(noise, n)
    ));
    say(format!(
        "compared    {} of all pairs of leaves, {} of all pairs of points to find core points",
        percent(found.leaf_pairs.0 as u64, found.leaf_pairs.1 as u64),
        percent(found.point_pairs.0, found.point_pairs.1)
    ));
    say(format!("time        {} for the tree, {} for DBSCAN", duration(partition), duration(clustering)));
    if options.check {
        let begun = Instant::now();
        let expected = plain(points.view(), settings);
        let time = begun.elapsed();
        ensure!(found.labels == expected, "plain DBSCAN has other labels");
        let ratio = time.as_secs_f64() / (partition + clustering).as_secs_f64();
        say(format!("plain       the same labels in {}: {ratio:.1} times as long", duration(time)));
    }
    Ok(())
}
