//! Choosing the number of clusters: a range of k, scored.
//!
//! ```
//! use kmeans_host::select_k::SelectK;
//! use ndarray::Array2;
//!
//! // Three groups of 40 points.
//! let points = Array2::from_shape_fn((120, 2), |(i, j)| ((i % 3) * 50 + (i * 7 + j * 3) % 5) as f32);
//! let selection = SelectK::new(2..=6).fit(&points)?;
//! assert_eq!(selection.k(), 3);
//! for scores in selection.table() {
//!     println!("{} {:.1} {:?}", scores.k, scores.inertia, scores.silhouette);
//! }
//! let svg: String = selection.chart();
//! assert!(svg.starts_with("<svg"));
//! # Ok::<(), kmeans_host::Error>(())
//! ```
//!
//! The scores are functions too: [`silhouette`], [`simplified_silhouette`], [`sampled_silhouette`], [`calinski_harabasz`],
//! [`davies_bouldin`], [`knee`]. They compute in `f64` whatever the points' type, and give the same bits for
//! any number of threads. Clusters without points do not count. They agree with scikit-learn's functions of these names.

mod chart;
mod knee;
mod scores;
mod selection;
mod silhouette;

pub use knee::knee;
pub use scores::{calinski_harabasz, davies_bouldin};
pub use selection::{Criterion, Scores, SelectK, Selection, SilhouetteForm};
pub(crate) use silhouette::coefficient;
pub use silhouette::{sampled_silhouette, silhouette, silhouette_samples, simplified_silhouette};
