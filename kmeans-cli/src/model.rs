//! Saved models: the centroids and where they come from, as JSON that any language reads.

use std::fs;
use std::path::Path;

use kmeans_files::ElementType;
use kmeans_host::{FittedKMeans, Init, KMeans};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::args::Running;
use crate::failure::Failure;
use crate::points::Real;

const KIND: &str = "kmeans model";
const VERSION: u32 = 1;

/// A model as a file has it. The labels of the points it was fitted on are not part of it.
#[derive(Debug, Deserialize, Serialize)]
pub struct Model {
    /// Says what the file is.
    format: String,
    version: u32,
    /// The type of the points, which new points must have too.
    #[serde(rename = "type")]
    element: String,
    /// The names of the columns, if they had any.
    pub columns: Option<Vec<String>>,
    /// `[k, d]`: every value of the four types is exactly an f64.
    centroids: Vec<Vec<f64>>,
    counts: Vec<u64>,
    inertia: f64,
    iterations: usize,
    converged: bool,
}

impl Model {
    /// The model that a fit found.
    pub fn of<T: Real>(fitted: &FittedKMeans<T>, columns: Option<&[String]>) -> Self {
        Self {
            format: KIND.into(),
            version: VERSION,
            element: T::NAME.into(),
            columns: columns.map(<[String]>::to_vec),
            centroids: fitted.centroids().outer_iter().map(|c| c.iter().map(|v| v.to_f64()).collect()).collect(),
            counts: fitted.counts().to_vec(),
            inertia: fitted.inertia(),
            iterations: fitted.iterations(),
            converged: fitted.converged(),
        }
    }

    /// As text, a centroid per line.
    pub fn to_json(&self) -> String {
        let row = |values: &[f64]| serde_json::to_string(values).expect("centroids are finite");
        let centroids: Vec<String> = self.centroids.iter().map(|c| format!("    {}", row(c))).collect();
        let field = |name: &str, value: serde_json::Value| format!("  \"{name}\": {value},\n");
        let mut text = String::from("{\n");
        text += &field("format", self.format.as_str().into());
        text += &field("version", self.version.into());
        text += &field("type", self.element.as_str().into());
        text += &field("columns", self.columns.clone().into());
        text.extend([format!("  \"centroids\": [\n{}\n  ],\n", centroids.join(",\n"))]);
        text += &field("counts", self.counts.clone().into());
        text += &field("inertia", self.inertia.into());
        text += &field("iterations", self.iterations.into());
        text.extend([format!("  \"converged\": {}\n}}\n", self.converged)]);
        text
    }

    /// Reads a file; its values are checked when they become a model of the library.
    pub fn load(path: &Path) -> Result<Self, Failure> {
        let file = path.display().to_string();
        let failed = |what: String| Failure::Model { file: file.clone(), what };
        let text = fs::read(path).map_err(|error| Failure::Open { file: file.clone(), error })?;
        let model: Self = serde_json::from_slice(&text).map_err(|e| failed(e.to_string()))?;
        if model.format != KIND || model.version != VERSION {
            return Err(failed(format!("its format is {:?}, version {}", model.format, model.version)));
        }
        model.element.parse::<ElementType>().map_err(|e| failed(format!("type {:?}: {e}", model.element)))?;
        let d = model.centroids.first().map_or(0, Vec::len);
        if d == 0 {
            return Err(failed("it has no centroids".into()));
        }
        if let Some(row) = model.centroids.iter().position(|c| c.len() != d) {
            return Err(failed(format!("centroid {row} has {} values, the first has {d}", model.centroids[row].len())));
        }
        if model.columns.as_ref().is_some_and(|c| c.len() != d) {
            return Err(failed(format!("there are names for other than its {d} columns")));
        }
        Ok(model)
    }

    /// The type of its points.
    pub fn element(&self) -> ElementType {
        self.element.parse().expect("it was checked when it was loaded")
    }

    /// The number of its columns.
    pub fn d(&self) -> usize {
        self.centroids[0].len()
    }

    /// The library's model.
    pub fn fitted<T: Real>(&self, path: &Path, running: &Running) -> Result<FittedKMeans<T>, Failure> {
        let (k, d) = (self.centroids.len(), self.d());
        let values: Vec<f64> = self.centroids.concat();
        let exact = Array2::from_shape_vec((k, d), values).expect("the rows are equally long");
        let centroids = exact.mapv(T::from_f64);
        // No iteration: the model whose centroids are these. The points it wants are the centroids themselves.
        KMeans::new(k)
            .init(Init::Centroids(exact))
            .max_iter(0)
            .device(running.device)
            .fit(&centroids)
            .map_err(|e| Failure::Model { file: path.display().to_string(), what: e.to_string() })
    }
}
