//! Times the exact silhouette coefficient of points in a few round groups.
//!
//! ```text
//! cargo run --release -p kmeans-benches --bin silhouette -- [--n 100000] [--d 32] [--k 10]
//! ```
//!
//! One JSON row. `KMEANS_DEVICE=cpu` and `=cuda:0` choose the device; both print the same coefficient.

use std::error::Error;
use std::time::Instant;

use clap::Parser;
use kmeans_benches::timing::{median, ms};
use kmeans_core::rng::{Purpose, Random};
use kmeans_host::select_k::silhouette;
use ndarray::Array2;
use serde_json::json;

/// Times the exact silhouette coefficient and prints a JSON row.
#[derive(Debug, Parser)]
#[command(name = "silhouette")]
struct Args {
    /// Points
    #[arg(long, default_value_t = 100_000)]
    n: usize,
    /// Columns
    #[arg(long, default_value_t = 32)]
    d: usize,
    /// Groups, which are the clusters
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..))]
    k: u32,
    /// Runs, of which the median is told
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let random = Random::new(1, 0);
    let unit = |i: usize, j: usize| random.below(1 << 24, Purpose::Point, j as u32, i as u64) as f32 / (1 << 24) as f32;
    let labels: Vec<u32> = (0..args.n as u32).map(|i| i % args.k).collect();
    // A corner of a cube per group, and noise around it.
    let points = Array2::from_shape_fn((args.n, args.d), |(i, j)| {
        let corner = labels[i] as usize >> (j % 5) & 1;
        corner as f32 + unit(i, j)
    });
    let mut times = Vec::new();
    let mut score = 0.0;
    for _ in 0..args.runs {
        let begun = Instant::now();
        score = silhouette(&points, &labels)?;
        times.push(begun.elapsed());
    }
    let device = std::env::var("KMEANS_DEVICE").unwrap_or_else(|_| "auto".into());
    let row = json!({
        "case": "silhouette", "n": args.n, "d": args.d, "k": args.k, "device": device, "ms": ms(median(&times)),
        "silhouette": score,
    });
    println!("{row}");
    Ok(())
}
