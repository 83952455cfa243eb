//! Approximate nearest neighbours: a k-means tree as an inverted file. Each query looks into the leaves that a beam down the tree
//! finds, and nowhere else; a wider beam finds more of the true neighbours and takes longer.
//!
//! ```text
//! cargo run --release --example tree_knn -- [FILE.npy] [--neighbours 10] [--leaf 200] [--help]
//! ```

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Parser;
use kmeans_examples::text::{duration, grouped, say};
use kmeans_examples::vectors;
use kmeans_host::{FittedTree, KMeansTree};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;

/// Nearest neighbours through the leaves of a k-means tree: recall and queries per second by the width of the beam.
#[derive(Debug, Parser)]
#[command(name = "tree_knn", max_term_width = 100)]
struct Options {
    /// Points, [n, d] of f32 [default: 63,504 patches of 5×5 pixels of a photograph]
    file: Option<PathBuf>,

    /// Neighbours per query
    #[arg(long, default_value_t = 10)]
    neighbours: usize,

    /// Children per node of the tree
    #[arg(long, default_value_t = 8)]
    k: usize,

    /// Points per leaf
    #[arg(long, default_value_t = 200)]
    leaf: usize,

    /// Every so many rows one is held out and asked for
    #[arg(long, default_value_t = 32)]
    every: usize,
}

/// Finds neighbours in leaves.
struct Index<'a> {
    tree: &'a FittedTree<f32>,
    /// `[n, d]`, leaf by leaf.
    points: Array2<f32>,
}

/// D and row, nearest first, the lowest row among equals.
type Found = Vec<(f64, usize)>;

impl<'a> Index<'a> {
    fn new(tree: &'a FittedTree<f32>, points: ArrayView2<'_, f32>) -> Self {
        Self { tree, points: points.select(Axis(0), tree.permutation()) }
    }

    /// The nearest points to each query in the leaves of a beam of `width`, and the points looked at.
    fn search(&self, queries: &Array2<f32>, neighbours: usize, width: usize) -> Result<(Vec<Found>, usize)> {
        let near = self.tree.nearest_leaves(queries, width)?;
        let answers: Vec<(Found, usize)> = (0..queries.nrows())
            .into_par_iter()
            .map(|i| {
                let places = || near.leaves.row(i).into_iter().flat_map(|&leaf| self.places(leaf));
                let rows = places().map(|place| (self.tree.permutation()[place], self.points.row(place)));
                (nearest(queries.row(i), rows, neighbours), places().count())
            })
            .collect();
        let seen = answers.iter().map(|answer| answer.1).sum();
        Ok((answers.into_iter().map(|answer| answer.0).collect(), seen))
    }

    fn places(&self, leaf: u32) -> std::ops::Range<usize> {
        self.tree.nodes()[self.tree.leaves()[leaf as usize]].places.clone()
    }
}

/// The `count` nearest of some rows.
fn nearest<'a>(
    query: ArrayView1<'_, f32>,
    rows: impl Iterator<Item = (usize, ArrayView1<'a, f32>)>,
    count: usize,
) -> Found {
    let query = query.to_vec();
    let mut best: Found = Vec::with_capacity(count + 1);
    for (row, x) in rows {
        let found = (squared(&query, x.to_slice().expect("rows are packed")), row);
        if best.len() < count || found < *best.last().expect("at least one") {
            let at = best.partition_point(|other| *other < found);
            best.insert(at, found);
            best.truncate(count);
        }
    }
    best
}

/// The squared Euclidean distance, in `f64`.
fn squared(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks(8).zip(b.chunks(8)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += (f64::from(*a) - f64::from(*b)).powi(2);
        }
    }
    sums.iter().sum()
}

/// The share of the true neighbours that were found.
fn recall(found: &[Found], truth: &[Found]) -> f64 {
    let hits: usize = found
        .iter()
        .zip(truth)
        .map(|(found, truth)| truth.iter().filter(|(_, row)| found.iter().any(|(_, other)| other == row)).count())
        .sum();
    hits as f64 / truth.iter().map(Vec::len).sum::<usize>() as f64
}

fn timed<R>(work: impl FnOnce() -> Result<R>) -> Result<(R, Duration)> {
    let begun = Instant::now();
    let result = work()?;
    Ok((result, begun.elapsed()))
}

fn main() -> Result<()> {
    let options = Options::parse();
    ensure!(options.every > 1, "hold out at most every second row");
    ensure!(options.neighbours > 0, "ask for at least one neighbour");
    let all = match &options.file {
        Some(path) => vectors::read(path)?,
        None => vectors::patches()?,
    };
    let (held, kept): (Vec<usize>, Vec<usize>) = (0..all.nrows()).partition(|i| i % options.every == 0);
    let (queries, points) = (all.select(Axis(0), &held), all.select(Axis(0), &kept));

    let build = || Ok(KMeansTree::new(options.k).max_leaf_size(options.leaf).max_iter(5).fit(&points)?);
    let (tree, time) = timed(build)?;
    say(format!("tree        {tree}; {}", duration(time)));
    let (truth, brute) = timed(|| {
        let answer = |i| nearest(queries.row(i), points.rows().into_iter().enumerate(), options.neighbours);
        Ok((0..queries.nrows()).into_par_iter().map(answer).collect::<Vec<Found>>())
    })?;
    let per_second = |time: Duration| queries.nrows() as f64 / time.as_secs_f64();
    let n = grouped(queries.nrows() as u64);
    say(format!("brute force {n} queries, {:.0} a second", per_second(brute)));
    say(format!("beam  recall@{:<3} points looked at  queries a second  times brute force", options.neighbours));
    let index = Index::new(&tree, points.view());
    for width in [1, 2, 4, 8, 16, 32, 64].into_iter().filter(|&width| width <= tree.leaves().len()) {
        let ((found, seen), time) = timed(|| index.search(&queries, options.neighbours, width))?;
        say(format!(
            "{width:>4} {:>11.4} {:>17.3}% {:>17.0} {:>18.1}",
            recall(&found, &truth),
            100.0 * seen as f64 / (queries.nrows() * points.nrows()) as f64,
            per_second(time),
            brute.as_secs_f64() / time.as_secs_f64()
        ));
    }
    Ok(())
}
