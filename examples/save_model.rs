//! Saves a fitted model as JSON and loads it again (feature `serde`): `cargo run --release --example save_model`.

use std::fs;

use anyhow::Result;
use kmeans_host::{FittedKMeans, KMeans};
use ndarray::Array2;

fn main() -> Result<()> {
    let points = Array2::from_shape_fn((1000, 3), |(i, j)| ((i * 37 + j * 101) % 211) as f32);
    let fitted = KMeans::new(8).seed(3).fit(&points)?;

    fs::create_dir_all("out")?;
    fs::write("out/model.json", serde_json::to_string(&fitted)?)?;

    // What is read is checked: a damaged file is an error here, not a wrong label later.
    let loaded: FittedKMeans<f32> = serde_json::from_str(&fs::read_to_string("out/model.json")?)?;
    assert_eq!(loaded, fitted, "every bit survives");

    println!("out/model.json: {} centroids, inertia {}", loaded.centroids().nrows(), loaded.inertia());
    println!("a new point is in cluster {}", loaded.predict(&ndarray::array![[10.0, 100.0, 200.0]])?[0]);
    Ok(())
}
