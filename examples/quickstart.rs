//! The library in ten lines: `cargo run --release --example quickstart`.

use kmeans_host::{Error, KMeans};
use ndarray::array;

fn main() -> Result<(), Error> {
    // Six points in the plane, [n, d] = [6, 2]: three near (1, 1), three near (8, 9).
    let points = array![[1.0_f32, 1.2], [0.8, 0.9], [1.1, 1.0], [8.0, 9.1], [8.3, 8.8], [7.9, 9.0]];

    let fitted = KMeans::new(2).seed(7).fit(&points)?;

    println!("labels     {}", fitted.labels());
    println!("counts     {}", fitted.counts());
    println!("centroids\n{:.2}", fitted.centroids());
    println!("inertia    {:.3} after {} iterations", fitted.inertia(), fitted.iterations());
    println!("(2, 2) is in cluster {}", fitted.predict(&array![[2.0, 2.0]])?[0]);
    Ok(())
}
