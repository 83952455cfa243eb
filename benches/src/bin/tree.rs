//! Trees, a whole level at once and node by node: one JSON object per way, with the keys of `peers/tree_flash.py`.
//!
//! `cargo run --release -p kmeans-benches --bin tree -- --n 1000000 --dtype bf16 --device cuda`

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use clap::{Parser, ValueEnum};
use cudarc::driver::{CudaContext, DeviceRepr};
use kmeans_benches::data::normal;
use kmeans_core::tree::child_seed;
use kmeans_host::{
    Control, Device, DevicePoints, Element, FittedTree, Init, KMeans, KMeansTree, Progress, Stop, bf16, f16,
};
use ndarray::{ArrayView2, Axis};
use serde::Serialize;

/// Trees of normal points, a whole level at once and node by node, one JSON object for each.
#[derive(Parser)]
struct Options {
    /// Points.
    #[arg(long, default_value_t = 1_000_000)]
    n: usize,
    /// Columns.
    #[arg(long, default_value_t = 128)]
    d: usize,
    /// Children per node.
    #[arg(long, default_value_t = 8)]
    k: usize,
    /// Levels that are split.
    #[arg(long, default_value_t = 4)]
    depth: usize,
    /// Rounds per node.
    #[arg(long, default_value_t = 5)]
    iters: usize,
    /// Type of the points: f32, f64, f16 or bf16.
    #[arg(long, default_value = "f32")]
    dtype: String,
    /// Start of each node.
    #[arg(long, value_enum, default_value_t = Start::Random)]
    start: Start,
    /// Where: auto, cpu, cuda or cuda:1.
    #[arg(long, default_value = "auto")]
    device: Device,
    /// Runs of which the median counts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Do not go node by node.
    #[arg(long)]
    level_only: bool,
    /// Fit the tree on the processor too, and compare every bit.
    #[arg(long)]
    check: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Start {
    Random,
    PlusPlus,
}

#[derive(Serialize)]
struct Row<'a> {
    peer: &'static str,
    /// "level" or "node".
    way: &'static str,
    #[serde(rename = "N")]
    n: usize,
    #[serde(rename = "D")]
    d: usize,
    #[serde(rename = "K")]
    k: usize,
    depth: usize,
    iters: usize,
    dtype: &'static str,
    /// Milliseconds of each level, points already where they are clustered. Node by node: of the fits alone, without the
    /// reordering between levels.
    level_ms: Vec<f64>,
    /// Their sum.
    tree_ms: f64,
    /// The whole call, with the copy of the points to the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    fit_ms: Option<f64>,
    leaves: usize,
    /// Of the division into leaves.
    inertia: f64,
    /// Whether centroids, permutation and inertia are, to the bit, those of the other way (node by node) or of the processor (level).
    #[serde(skip_serializing_if = "Option::is_none")]
    same: Option<bool>,
    engine: &'a str,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    match options.dtype.as_str() {
        "f32" => run::<f32>(&options),
        "f64" => run::<f64>(&options),
        "f16" => run::<f16>(&options),
        "bf16" => run::<bf16>(&options),
        other => Err(format!("{other:?} is no type: say f32, f64, f16 or bf16").into()),
    }
}

fn run<T: Element + DeviceRepr>(options: &Options) -> Result<(), Box<dyn Error>> {
    let &Options { n, d, k, depth, iters, .. } = options;
    let host = normal::<T>(n * d);
    let points = ArrayView2::from_shape((n, d), &host)?;
    // The first run also compiles kernels and opens the device.
    let _warm = timed(options, points, options.device)?;
    let mut runs = Vec::with_capacity(options.runs);
    for _ in 0..options.runs.max(1) {
        runs.push(timed(options, points, options.device)?);
    }
    let tree = &runs[0].tree;
    let level_ms: Vec<f64> = (0..runs[0].level_ms.len()).map(|l| median(runs.iter().map(|r| r.level_ms[l]))).collect();
    let same = match options.check {
        true => Some(is_same(tree, &timed(options, points, Device::Cpu)?.tree)),
        false => None,
    };
    let row = Row {
        peer: "kmeans-host",
        way: "level",
        n,
        d,
        k,
        depth,
        iters,
        dtype: T::NAME,
        tree_ms: level_ms.iter().sum(),
        level_ms,
        fit_ms: Some(median(runs.iter().map(|r| r.fit_ms))),
        leaves: tree.leaves().len(),
        inertia: tree.inertia(),
        same,
        engine: tree.engine(),
    };
    println!("{}", serde_json::to_string(&row)?);
    if !options.level_only {
        let level_ms = node_by_node(options, points, tree)?;
        let tree_ms = level_ms.iter().sum();
        let same = Some(true);
        println!("{}", serde_json::to_string(&Row { way: "node", level_ms, tree_ms, fit_ms: None, same, ..row })?);
    }
    Ok(())
}

/// A fit and its times.
struct Timed<T> {
    tree: FittedTree<T>,
    level_ms: Vec<f64>,
    fit_ms: f64,
}

fn timed<T: Element>(options: &Options, points: ArrayView2<'_, T>, device: Device) -> Result<Timed<T>, Box<dyn Error>> {
    let level_ms = Arc::new(Mutex::new(Vec::new()));
    let (ends, begun) = (Arc::clone(&level_ms), Mutex::new(Instant::now()));
    let tree = KMeansTree::new(options.k)
        .depth(options.depth)
        .max_iter(options.iters)
        .init(init(options))
        .device(device)
        .on_progress(move |progress| {
            let mut begun = begun.lock().expect("no panic while locked");
            match progress {
                Progress::Level { done: 0, .. } => *begun = Instant::now(),
                Progress::Level { done, points, .. } if done == points => {
                    ends.lock().expect("no panic while locked").push(begun.elapsed().as_secs_f64() * 1e3);
                }
                _ => {}
            }
            Control::Continue
        });
    let start = Instant::now();
    let tree = tree.fit(&points)?;
    let fit_ms = start.elapsed().as_secs_f64() * 1e3;
    let level_ms = level_ms.lock().expect("no panic while locked").clone();
    Ok(Timed { tree, level_ms, fit_ms })
}

fn init(options: &Options) -> Init {
    match options.start {
        Start::Random => Init::RandomPoints,
        Start::PlusPlus => Init::KMeansPlusPlus,
    }
}

/// Milliseconds per level of one fit per node of `tree`, each of which must find the node's children.
fn node_by_node<T: Element + DeviceRepr>(
    options: &Options,
    points: ArrayView2<'_, T>,
    tree: &FittedTree<T>,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut seeds = vec![0_u64; tree.nodes().len()];
    let mut level_ms = Vec::new();
    let on_gpu = tree.engine().starts_with("cuda");
    for (index, node) in tree.nodes().iter().enumerate() {
        if node.iterations == 0 {
            continue;
        }
        level_ms.resize(level_ms.len().max(node.level + 1), 0.0);
        let kmeans = KMeans::new(options.k)
            .max_iter(options.iters)
            .init(init(options))
            .stop(Stop::LabelsRepeat)
            .seed(seeds[index])
            .device(if on_gpu { options.device } else { Device::Cpu });
        // A node is split while its rows ascend.
        let mut rows = tree.rows(index).to_vec();
        rows.sort_unstable();
        let own = points.select(Axis(0), &rows);
        let fitted = if on_gpu {
            let index = if let Device::Cuda(index) = options.device { index } else { 0 };
            let stream = CudaContext::new(index)?.default_stream();
            let slice = stream.clone_htod(own.as_slice().ok_or("rows are packed")?)?;
            stream.synchronize()?;
            let points = DevicePoints::new(&slice, own.dim())?;
            let begun = Instant::now();
            let fitted = kmeans.fit_on_device(&points)?.into_host()?;
            level_ms[node.level] += begun.elapsed().as_secs_f64() * 1e3;
            fitted
        } else {
            let begun = Instant::now();
            let fitted = kmeans.fit(&own)?;
            level_ms[node.level] += begun.elapsed().as_secs_f64() * 1e3;
            fitted
        };
        let mut child = node.children.start;
        for (label, &count) in fitted.counts().iter().enumerate().filter(|&(_, &count)| count > 0) {
            let (ours, theirs) = (tree.centroids(), fitted.centroids());
            let same =
                |child: usize| tree.nodes()[child].count() as u64 == count && ours.row(child) == theirs.row(label);
            if node.is_leaf() || !same(child) {
                return Err(format!("cluster {label} of node {index} is another one in the tree").into());
            }
            seeds[child] = child_seed(seeds[index], label);
            child += 1;
        }
    }
    Ok(level_ms)
}

fn is_same<T: Element>(a: &FittedTree<T>, b: &FittedTree<T>) -> bool {
    a.nodes() == b.nodes() && a.centroids() == b.centroids() && a.permutation() == b.permutation()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
