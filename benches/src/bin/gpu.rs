//! Fits on a GPU at the shapes of embeddings and image jobs, points already in its memory: one JSON object per case, with the
//! keys of the peers' program.
//!
//! `cargo run --release -p kmeans-benches --bin gpu -- --only 1M`

use std::error::Error;
use std::time::Instant;

use clap::Parser;
use cudarc::driver::{CudaContext, DeviceRepr};
use kmeans_benches::data::normal;
use kmeans_core::reference;
use kmeans_host::{DevicePoints, Element, EmptyCluster, Init, KMeans, Stop, bf16, f16};
use ndarray::ArrayView2;
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
    /// Multiplications of the definition to check labels with, per case.
    #[arg(long, default_value_t = 2e10)]
    check: f64,
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

#[derive(Serialize)]
struct Row {
    peer: &'static str,
    tag: &'static str,
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
    let median = |rounds: usize| -> Result<f64, Box<dyn Error>> {
        let kmeans = kmeans.clone().max_iter(rounds);
        kmeans.fit_on_device(&points)?;
        let mut times = Vec::with_capacity(options.runs);
        for _ in 0..options.runs {
            let begun = Instant::now();
            kmeans.fit_on_device(&points)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    };
    let one_round_ms = median(1)?;
    let iteration_ms = (median(1 + ROUNDS)? - one_round_ms) / ROUNDS as f64;
    let fitted = kmeans.clone().max_iter(3).fit_on_device(&points)?.into_host()?;
    let checked = ((options.check / (k as f64 * d as f64)) as usize).clamp(100, n);
    let centroids: Vec<T> = fitted.centroids().iter().copied().collect();
    let rows = ArrayView2::from_shape((n, d), &host)?;
    let wrong = (0..checked)
        .into_par_iter()
        .map(|i| i * (n / checked))
        .filter(|&i| reference::assign(&rows.row(i).to_vec(), d, &centroids)[0] != fitted.labels()[i])
        .count();
    let wrong = wrong as f64 / checked as f64;
    let (peer, engine) = ("kmeans-host", fitted.engine().to_string());
    let row = Row { peer, tag, n, k, d, dtype: T::NAME, iteration_ms, one_round_ms, wrong, checked, engine };
    println!("{}", serde_json::to_string(&row)?);
    Ok(())
}
