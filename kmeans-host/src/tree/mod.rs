//! K-means trees: clusters within clusters, all nodes of a level at once.
//!
//! A tree cuts points into parts that lie together, so that the next step (density-based clustering, a graph of nearest
//! neighbours, an inverted file) works part by part. It need not converge: a few rounds per node do.
//!
//! ```
//! use kmeans_host::KMeansTree;
//! use ndarray::Array2;
//!
//! let points = Array2::from_shape_fn((2000, 8), |(i, j)| ((i * 37 + j * 101 + i * j) % 211) as f32); // [n, d]
//! let tree = KMeansTree::new(4).depth(3).max_iter(5).seed(7).fit(&points)?;
//! assert_eq!(tree.balance().leaves, 64);
//!
//! let first = &tree.leaves()[0];
//! println!("leaf 0 has {} points, among them row {}", tree.rows(*first).len(), tree.rows(*first)[0]);
//! assert_eq!(tree.assign(&points)?, tree.leaf_labels());
//! # Ok::<(), kmeans_host::Error>(())
//! ```
//!
//! [`kmeans_core::tree`] is the definition, and every engine returns its bits.

mod builder;
mod descent;
mod fitted;
mod grow;
#[cfg(feature = "serde")]
mod saved;
mod statistics;

pub use builder::KMeansTree;
pub use descent::NearestLeaves;
pub use fitted::{FittedTree, Node};
pub use statistics::{Balance, Level};
