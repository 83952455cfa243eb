//! Clusters 20,000 embeddings of 128 dimensions in half precision, and sorts new ones into the same clusters:
//! `cargo run --release --example embeddings`.

use kmeans_host::{Control, Error, Init, KMeans, Progress, f16};
use ndarray::Array2;

fn main() -> Result<(), Error> {
    // [n, d] = [20000, 128], 5 MB as f16.
    let points = embeddings(20_000, 0);

    let fitted = KMeans::new(TOPICS)
        .init(Init::KMeansParallel)
        .max_iter(20)
        .seed(1)
        .on_progress(|progress| {
            if let Progress::Iteration { iteration, record, .. } = progress {
                println!("{iteration:>3}  inertia {:.1}  {:>5} labels changed", record.inertia, record.labels_changed);
            }
            Control::Continue
        })
        .fit(&points)?;

    let new = embeddings(1_000, 20_000);
    let labels = fitted.predict(&new)?;
    let per_point = |score: f64, n: usize| -score / n as f64;
    println!("mean squared distance: {:.3} of old", per_point(-fitted.inertia(), points.nrows()));
    println!("                       {:.3} of new", per_point(fitted.score(&new)?, new.nrows()));
    println!("the first new ones are in clusters {}", labels.slice(ndarray::s![..8]));
    Ok(())
}

const TOPICS: usize = 50;

/// Stand-ins for a model's output: every row is its topic's direction and noise. Rows are numbered from `first`.
fn embeddings(n: usize, first: usize) -> Array2<f16> {
    Array2::from_shape_fn((n, 128), |(i, j)| {
        let row = first + i;
        f16::from_f32(random(row * 31 % TOPICS, j) + 0.5 * random(TOPICS + row, j))
    })
}

/// Uniform in -1 to 1, by its place: the steps of the `SplitMix64` generator.
fn random(i: usize, j: usize) -> f32 {
    let mut bits = ((i * 128 + j) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ bits >> 31) >> 40) as f32 / 8_388_608.0 - 1.0
}
