//! Fits on a GPU at the shapes of embeddings and image jobs, points already in its memory, and of batches, points in host
//! memory: one JSON object per case, with the keys of the peers' program. Cases `blobs` are whole fits of points in clusters, with and
//! without pruning.
//!
//! `cargo run --release -p kmeans-benches --bin gpu -- --only 1M`

use std::error::Error;

use clap::Parser;
use cudarc::driver::{CudaContext, DeviceRepr};
use kmeans_benches::data::{gaussian_blobs, normal};
use kmeans_benches::timing::median_ms;
use kmeans_core::reference;
use kmeans_host::kernels::{Method, Pruning, with_method, with_pruning};
use kmeans_host::{Device, DevicePoints, Element, EmptyCluster, Init, KMeans, Stop, bf16, f16};
use ndarray::{Array3, ArrayView2, s};
use rayon::prelude::*;
use serde::Serialize;

/// Rounds whose mean is one iteration's time.
const ROUNDS: usize = 10;

/// Fits on a GPU, one JSON object per case.
#[derive(Parser)]
struct Options {
    /// Only cases whose tag contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Only cases whose type is this: f32, f16 or bf16.
    #[arg(long, default_value = "")]
    dtype: String,
    /// Runs of which the median counts.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Rows whose labels are checked with the definition, per case.
    #[arg(long, default_value_t = 2_000)]
    check: usize,
    /// The GPU.
    #[arg(long, default_value_t = 0)]
    device: usize,
}

/// A case: tag, n, k, d.
type Shape = (&'static str, usize, usize, usize);

const SINGLE: [Shape; 9] = [
    ("A patches", 63_504, 80, 75),
    ("B pixels", 2_073_600, 8, 3),
    ("C points", 100_000, 100, 1),
    ("small", 65_536, 1024, 128),
    ("1M", 1 << 20, 1024, 128),
    ("1M-4K", 1 << 20, 4096, 128),
    ("8M", 8_000_000, 1024, 128),
    ("embed", 1 << 20, 1000, 768),
    ("1M-64K", 1 << 20, 65_536, 128),
];
const HALF: [Shape; 7] = [
    ("small", 65_536, 1024, 128),
    ("1M-256", 1 << 20, 256, 64),
    ("1M", 1 << 20, 1024, 128),
    ("1M-4K", 1 << 20, 4096, 128),
    ("512K-16K", 1 << 19, 16_384, 128),
    ("8M", 8_000_000, 1024, 128),
    ("embed", 1 << 20, 1000, 768),
];

/// Problems of equal size in one call: tag, b, n, k, d.
const BATCHES: [(&str, usize, usize, usize, usize); 1] = [("batch", 32, 65_536, 1024, 128)];
/// Rounds whose mean is one iteration's time in a batch, whose points come from the host each time: so many that this is small
/// beside them.
const BATCH_ROUNDS: usize = 30;

/// Whole fits of points in clusters.
const CLUSTERED: [Shape; 4] = [
    ("blobs", 1 << 20, 1024, 128),
    ("blobs-16K", 1 << 20, 16_384, 128),
    ("blobs-64", 1 << 20, 256, 64),
    ("blobs-embed", 1 << 18, 1000, 768),
];
/// Their rounds at most.
const CLUSTERED_ROUNDS: usize = 40;
/// How far the middles of clusters are apart, beside the spread of one.
const SPREADS: [f64; 2] = [1.0, 4.0];

/// Rows, and (k, d) around where one way of finding labels overtakes another.
const METHOD_ROWS: [usize; 2] = [1 << 16, 1 << 20];
const METHOD_SHAPES: [(usize, usize); 14] = [
    (4, 8),
    (16, 8),
    (32, 8),
    (64, 8),
    (128, 8),
    (2, 32),
    (8, 32),
    (16, 32),
    (64, 32),
    (2, 128),
    (4, 128),
    (16, 128),
    (80, 75),
    (128, 128),
];

/// An iteration by each way of finding labels; none where there is no such way.
#[derive(Serialize)]
struct Methods {
    peer: &'static str,
    tag: &'static str,
    #[serde(rename = "N")]
    n: usize,
    #[serde(rename = "K")]
    k: usize,
    #[serde(rename = "D")]
    d: usize,
    dtype: &'static str,
    rounds_ms: Option<f64>,
    stream_ms: Option<f64>,
    filtered_ms: Option<f64>,
    shared_ms: f64,
    direct_ms: f64,
}

/// A whole fit, from its start to its last labels, points and labels on the device.
#[derive(Serialize)]
struct Clustered {
    peer: &'static str,
    tag: &'static str,
    #[serde(rename = "N")]
    n: usize,
    #[serde(rename = "K")]
    k: usize,
    #[serde(rename = "D")]
    d: usize,
    dtype: &'static str,
    spread: f64,
    iterations: usize,
    /// Pruning where it is thought to save time.
    automatic_ms: f64,
    never_ms: f64,
    always_ms: f64,
    /// Whether all three gave the same bits.
    same: bool,
}

#[derive(Serialize)]
struct Row {
    peer: &'static str,
    tag: &'static str,
    /// Problems.
    #[serde(rename = "B")]
    b: usize,
    #[serde(rename = "N")]
    n: usize,
    #[serde(rename = "K")]
    k: usize,
    #[serde(rename = "D")]
    d: usize,
    dtype: &'static str,
    /// Assignment, update, movement, stop test and inertia: a tenth of what ten more rounds take.
    iteration_ms: f64,
    /// One round and the labels of its centroids, with everything that is done once per fit.
    one_round_ms: f64,
    /// Share of the checked labels that are not the definition's.
    wrong: f64,
    checked: usize,
    engine: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    for shape in SINGLE {
        run::<f32>(shape, &options)?;
    }
    for shape in HALF {
        run::<bf16>(shape, &options)?;
        run::<f16>(shape, &options)?;
    }
    for n in METHOD_ROWS {
        for (k, d) in METHOD_SHAPES {
            run_methods::<f32>((n, k, d), &options)?;
            run_methods::<f16>((n, k, d), &options)?;
            run_methods::<f64>((n, k, d), &options)?;
        }
    }
    for shape in CLUSTERED {
        for spread in SPREADS {
            run_clustered::<f32>(shape, spread, &options)?;
            run_clustered::<bf16>(shape, spread, &options)?;
        }
    }
    for shape in BATCHES {
        run_batch::<f16>(shape, &options)?;
        run_batch::<bf16>(shape, &options)?;
        run_batch::<f32>(shape, &options)?;
    }
    Ok(())
}

/// A fit of points in as many clusters as are asked for, from evenly spaced rows.
fn run_clustered<T: Element + DeviceRepr>(
    (tag, n, k, d): Shape,
    spread: f64,
    options: &Options,
) -> Result<(), Box<dyn Error>> {
    if !tag.contains(&options.only) || !T::NAME.contains(&options.dtype) {
        return Ok(());
    }
    let host = gaussian_blobs::<T>(n, d, k, spread);
    let stream = CudaContext::new(options.device)?.default_stream();
    let slice = stream.clone_htod(&host)?;
    let points = DevicePoints::new(&slice, (n, d))?;
    let kmeans = KMeans::new(k)
        .init(Init::EvenlySpaced)
        .stop(Stop::LabelsRepeat)
        .empty_cluster(EmptyCluster::Keep)
        .max_iter(CLUSTERED_ROUNDS);
    let measure = |pruning| -> Result<_, Box<dyn Error>> {
        with_pruning(pruning, || {
            let fitted = kmeans.fit_on_device(&points)?.into_host()?;
            Ok((median_ms(options.runs, || kmeans.fit_on_device(&points).map(drop))?, fitted))
        })
    };
    let (automatic_ms, fitted) = measure(Pruning::Automatic)?;
    let (never_ms, expected) = measure(Pruning::Never)?;
    let (always_ms, always) = measure(Pruning::Always)?;
    let same = [&fitted, &always].iter().all(|found| {
        found.labels() == expected.labels()
            && found.centroids() == expected.centroids()
            && found.history() == expected.history()
            && found.inertia().to_bits() == expected.inertia().to_bits()
    });
    let (peer, iterations) = ("kmeans-host", fitted.iterations());
    let row =
        Clustered { peer, tag, n, k, d, dtype: T::NAME, spread, iterations, automatic_ms, never_ms, always_ms, same };
    println!("{}", serde_json::to_string(&row)?);
    Ok(())
}

/// Whole fits of a few rounds by every way of finding labels.
fn run_methods<T: Element + DeviceRepr>(
    (n, k, d): (usize, usize, usize),
    options: &Options,
) -> Result<(), Box<dyn Error>> {
    let tag = "methods";
    // Only if asked for by name.
    if options.only != tag || !T::NAME.contains(&options.dtype) {
        return Ok(());
    }
    let host = normal::<T>(n * d);
    let stream = CudaContext::new(options.device)?.default_stream();
    let slice = stream.clone_htod(&host)?;
    let points = DevicePoints::new(&slice, (n, d))?;
    let kmeans = KMeans::new(k).init(Init::EvenlySpaced).stop(Stop::LabelsRepeat).empty_cluster(EmptyCluster::Keep);
    let measure = |method: Method| -> Result<f64, Box<dyn Error>> {
        with_method(method, || {
            let rounds = |rounds: usize| {
                let kmeans = kmeans.clone().max_iter(rounds);
                median_ms(options.runs, || kmeans.fit_on_device(&points).map(drop))
            };
            Ok((rounds(1 + ROUNDS)? - rounds(1)?) / ROUNDS as f64)
        })
    };
    let is_narrow = T::NAME != "f64";
    let row = Methods {
        peer: "kmeans-host",
        tag,
        n,
        k,
        d,
        dtype: T::NAME,
        rounds_ms: (T::NAME == "f32").then(|| measure(Method::Rounds)).transpose()?,
        stream_ms: is_narrow.then(|| measure(Method::Stream)).transpose()?,
        filtered_ms: is_narrow.then(|| measure(Method::Filtered)).transpose()?,
        shared_ms: measure(Method::Shared)?,
        direct_ms: measure(Method::Direct)?,
    };
    println!("{}", serde_json::to_string(&row)?);
    Ok(())
}

/// A batch, from host memory to labels in host memory.
fn run_batch<T: Element>(
    (tag, b, n, k, d): (&'static str, usize, usize, usize, usize),
    options: &Options,
) -> Result<(), Box<dyn Error>> {
    if !tag.contains(&options.only) || !T::NAME.contains(&options.dtype) {
        return Ok(());
    }
    let points = Array3::from_shape_vec((b, n, d), normal::<T>(b * n * d))?;
    let kmeans = KMeans::new(k)
        .init(Init::EvenlySpaced)
        .stop(Stop::LabelsRepeat)
        .empty_cluster(EmptyCluster::Keep)
        .device(Device::Cuda(options.device));
    let rounds = |rounds: usize| {
        let kmeans = kmeans.clone().max_iter(rounds);
        median_ms(options.runs, || kmeans.fit_batch(&points).map(drop))
    };
    let one_round_ms = rounds(1)?;
    let iteration_ms = (rounds(1 + BATCH_ROUNDS)? - one_round_ms) / BATCH_ROUNDS as f64;
    let fits = kmeans.clone().max_iter(3).fit_batch(&points)?;
    let checked = options.check.clamp(1, b * n);
    let centroids: Vec<Vec<T>> = fits.iter().map(|fit| fit.centroids().iter().copied().collect()).collect();
    let wrong = (0..checked)
        .into_par_iter()
        .map(|i| i * (b * n / checked))
        .filter(|i| {
            let (problem, row) = (i / n, i % n);
            let x = points.slice(s![problem, row, ..]).to_vec();
            reference::assign(&x, d, &centroids[problem])[0] != fits[problem].labels()[row]
        })
        .count();
    let wrong = wrong as f64 / checked as f64;
    let (peer, engine) = ("kmeans-host", fits[0].engine().to_string());
    let row = Row { peer, tag, b, n, k, d, dtype: T::NAME, iteration_ms, one_round_ms, wrong, checked, engine };
    println!("{}", serde_json::to_string(&row)?);
    Ok(())
}

fn run<T: Element + DeviceRepr>((tag, n, k, d): Shape, options: &Options) -> Result<(), Box<dyn Error>> {
    if !tag.contains(&options.only) || !T::NAME.contains(&options.dtype) {
        return Ok(());
    }
    let host = normal::<T>(n * d);
    let stream = CudaContext::new(options.device)?.default_stream();
    let slice = stream.clone_htod(&host)?;
    let points = DevicePoints::new(&slice, (n, d))?;
    let kmeans = KMeans::new(k).init(Init::EvenlySpaced).stop(Stop::LabelsRepeat).empty_cluster(EmptyCluster::Keep);
    let rounds = |rounds: usize| {
        let kmeans = kmeans.clone().max_iter(rounds);
        median_ms(options.runs, || kmeans.fit_on_device(&points).map(drop))
    };
    let one_round_ms = rounds(1)?;
    let iteration_ms = (rounds(1 + ROUNDS)? - one_round_ms) / ROUNDS as f64;
    let fitted = kmeans.clone().max_iter(3).fit_on_device(&points)?.into_host()?;
    let checked = options.check.clamp(1, n);
    let centroids: Vec<T> = fitted.centroids().iter().copied().collect();
    let rows = ArrayView2::from_shape((n, d), &host)?;
    let wrong = (0..checked)
        .into_par_iter()
        .map(|i| i * (n / checked))
        .filter(|&i| reference::assign(&rows.row(i).to_vec(), d, &centroids)[0] != fitted.labels()[i])
        .count();
    let wrong = wrong as f64 / checked as f64;
    let (peer, engine) = ("kmeans-host", fitted.engine().to_string());
    let row = Row { peer, tag, b: 1, n, k, d, dtype: T::NAME, iteration_ms, one_round_ms, wrong, checked, engine };
    println!("{}", serde_json::to_string(&row)?);
    Ok(())
}
