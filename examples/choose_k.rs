//! Scores a range of k on the pixels of an image, or on round groups, and draws the scores.
//!
//! ```text
//! cargo run --release --example choose_k -- [IMAGE] [--to 12] [--by elbow] [--help]
//! ```

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use kmeans_examples::text::say;
use kmeans_host::KMeans;
use kmeans_host::image::open;
use kmeans_host::select_k::{Criterion, SelectK, SilhouetteForm};
use ndarray::Array2;

/// Scores k-means for a range of k: silhouette, Calinski-Harabasz, Davies-Bouldin, inertia.
#[derive(Debug, Parser)]
#[command(name = "choose_k", max_term_width = 100)]
struct Options {
    /// An image, of which up to --pixels evenly spaced pixels are clustered by colour [default: five round groups in the plane]
    image: Option<PathBuf>,

    /// Smallest k
    #[arg(long, default_value_t = 2)]
    from: usize,

    /// Largest k
    #[arg(long, default_value_t = 12)]
    to: usize,

    /// The score that decides
    #[arg(long, value_enum, default_value_t = By::Silhouette)]
    by: By,

    /// Pixels to cluster
    #[arg(long, default_value_t = 10_000)]
    pixels: usize,

    /// The silhouette with distances to centroids: fast for any number of points
    #[arg(long)]
    simplified: bool,

    /// The chart, an SVG
    #[arg(short, long, default_value = "out/choose_k.svg", value_name = "FILE")]
    output: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Silhouette,
    CalinskiHarabasz,
    DaviesBouldin,
    Elbow,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let points = match &options.image {
        Some(path) => pixels(path, options.pixels)?,
        None => groups(),
    };
    let criterion = match options.by {
        By::Silhouette => Criterion::Silhouette,
        By::CalinskiHarabasz => Criterion::CalinskiHarabasz,
        By::DaviesBouldin => Criterion::DaviesBouldin,
        By::Elbow => Criterion::Elbow,
    };
    let form = if options.simplified { SilhouetteForm::Simplified } else { SilhouetteForm::Exact };
    let selection = SelectK::new(options.from..=options.to)
        .kmeans(KMeans::new(options.from).n_init(4).seed(7))
        .criterion(criterion)
        .silhouette(form)
        .fit(&points)?;

    say(format!("{} points of {} columns", points.nrows(), points.ncols()));
    say("  k       inertia  silhouette  Calinski-Harabasz  Davies-Bouldin");
    let score = |value: Option<f64>, digits: usize| value.map_or("-".into(), |v| format!("{v:.digits$}"));
    for s in selection.table() {
        say(format!(
            "{:>3} {:>13.1} {:>11} {:>18} {:>15}{}",
            s.k,
            s.inertia,
            score(s.silhouette, 4),
            score(s.calinski_harabasz, 1),
            score(s.davies_bouldin, 4),
            if s.k == selection.k() { "  <- chosen" } else { "" }
        ));
    }
    if let Some(folder) = options.output.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&options.output, selection.chart())
        .with_context(|| format!("cannot write {}", options.output.display()))?;
    say(format!("chart       {}", options.output.display()));
    Ok(())
}

/// Up to `wanted` evenly spaced pixels, [n, 3].
fn pixels(path: &PathBuf, wanted: usize) -> Result<Array2<f32>> {
    let image = open(path)?.into_rgb8();
    let n = image.width() as usize * image.height() as usize;
    let taken = wanted.clamp(1, n);
    let at = |i: usize, c: usize| f32::from(image.as_raw()[3 * (i * n / taken) + c]);
    Ok(Array2::from_shape_fn((taken, 3), |(i, c)| at(i, c)))
}

/// 1,500 points in five round groups, two of them close together, [n, 2].
fn groups() -> Array2<f32> {
    let centres = [(0.0, 0.0), (9.0, 1.0), (4.0, 8.0), (14.0, 9.0), (11.5, 11.5)];
    // Sums of a few uniform numbers are round enough. The numbers are a fixed sequence (SplitMix64).
    let mut state = 0_u64;
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 40) as f32 / (1 << 24) as f32
    };
    let mut normal = move || (0..6).map(|_| uniform()).sum::<f32>() * 1.4 - 4.2;
    Array2::from_shape_fn((1500, 2), |(i, j)| {
        let (x, y) = centres[i % 5];
        let centre = if j == 0 { x } else { y };
        centre + normal()
    })
}
