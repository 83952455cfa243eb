//! Loading a saved model (feature `serde`): what is read is checked before it can predict.

use kmeans_core::settings::Iteration;
use ndarray::{Array1, Array2};
use serde::Deserialize;

use crate::fitted::unusable;
use crate::{Device, Element, FittedKMeans};

/// The fields of a [`FittedKMeans`] as a file gives them.
#[derive(Deserialize)]
pub(crate) struct Unchecked<T> {
    centroids: Array2<T>,
    labels: Array1<u32>,
    counts: Array1<u64>,
    inertia: f64,
    converged: bool,
    history: Vec<Iteration>,
    device: Device,
    engine: String,
}

impl<T: Element> TryFrom<Unchecked<T>> for FittedKMeans<T> {
    type Error = String;

    fn try_from(saved: Unchecked<T>) -> Result<Self, String> {
        let (k, d) = saved.centroids.dim();
        if k == 0 || d == 0 {
            return Err(format!("a saved model needs centroids, but these are [{k}, {d}]"));
        }
        if let Some(((row, column), value)) = unusable(saved.centroids.view()) {
            return Err(format!(
                "the saved centroid at row {row}, column {column} is {value}, which is not finite, or too large to square"
            ));
        }
        if saved.counts.len() != k {
            return Err(format!("the saved model has {k} centroids but {} counts", saved.counts.len()));
        }
        let mut counts = vec![0_u64; k];
        for (row, &label) in saved.labels.iter().enumerate() {
            match counts.get_mut(label as usize) {
                Some(count) => *count += 1,
                None => return Err(format!("the saved label of point {row} is {label}, but there are {k} clusters")),
            }
        }
        if counts != saved.counts.to_vec() {
            return Err("the saved counts are not those of the saved labels".into());
        }
        Ok(Self {
            // Row-major, as a fit leaves it, whatever order the file was written in.
            centroids: saved.centroids.as_standard_layout().into_owned(),
            labels: saved.labels,
            counts: saved.counts,
            inertia: saved.inertia,
            converged: saved.converged,
            history: saved.history,
            device: saved.device,
            engine: saved.engine,
        })
    }
}
