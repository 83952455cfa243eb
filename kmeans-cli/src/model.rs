//! Saved models: the centroids and where they come from, as JSON that any language reads.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use kmeans_files::{ElementType, Format, IndexColumn, Options, Points};
use kmeans_host::FittedKMeans;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::args::Running;
use crate::failure::Failure;
use crate::points::Real;

const KIND: &str = "kmeans model";
const VERSION: u32 = 1;

/// A model that was saved, or centroids in a table of any input format.
pub enum Model {
    Saved(Saved),
    Given(Given),
}

/// Centroids in a table, one per row.
pub struct Given {
    path: PathBuf,
    options: Options,
    /// Decimal numbers have no type of their own.
    element: Option<ElementType>,
    columns: Option<Vec<String>>,
    d: usize,
}

/// A model as a file has it. The labels of the points it was fitted on are not part of it.
#[derive(Debug, Deserialize, Serialize)]
pub struct Saved {
    /// Says what the file is.
    format: String,
    version: u32,
    /// The type of the points, which new points must have too.
    #[serde(rename = "type")]
    element: String,
    /// The names of the columns, if they had any.
    columns: Option<Vec<String>>,
    /// `[k, d]`: every value of the four types is exactly an f64.
    centroids: Vec<Vec<f64>>,
    counts: Vec<u64>,
    inertia: f64,
    iterations: usize,
    converged: bool,
}

impl Model {
    /// Reads a file; its values are checked when they become a model of the library.
    pub fn load(path: &Path) -> Result<Self, Failure> {
        let file = path.display().to_string();
        let mut start = [0; 64];
        let read = File::open(path).and_then(|mut file| file.read(&mut start));
        let read = read.map_err(|error| Failure::Open { file, error })?;
        match start[..read].trim_ascii_start().first() {
            Some(b'{') => Ok(Self::Saved(Saved::load(path)?)),
            _ => Ok(Self::Given(Given::load(path)?)),
        }
    }

    /// The type of its points, if it says one.
    pub fn element(&self) -> Option<ElementType> {
        match self {
            Self::Saved(saved) => Some(saved.element.parse().expect("it was checked when it was loaded")),
            Self::Given(given) => given.element,
        }
    }

    /// The names of its columns, if they have any.
    pub fn columns(&self) -> Option<&[String]> {
        match self {
            Self::Saved(saved) => saved.columns.as_deref(),
            Self::Given(given) => given.columns.as_deref(),
        }
    }

    /// The number of its columns.
    pub fn d(&self) -> usize {
        match self {
            Self::Saved(saved) => saved.centroids[0].len(),
            Self::Given(given) => given.d,
        }
    }

    /// The library's model.
    pub fn fitted<T: Real>(&self, path: &Path, running: &Running) -> Result<FittedKMeans<T>, Failure> {
        let centroids: Array2<T> = match self {
            Self::Saved(saved) => {
                let shape = (saved.centroids.len(), self.d());
                let exact = Array2::from_shape_vec(shape, saved.centroids.concat());
                exact.expect("the rows are equally long").mapv(T::from_f64)
            }
            Self::Given(given) => given.read(T::NAME)?,
        };
        let file = path.display().to_string();
        FittedKMeans::from_centroids(&centroids, running.device)
            .map_err(|e| Failure::Model { file, what: e.to_string() })
    }
}

impl Given {
    /// As `fit` writes centroids: led by an index in `.cluster_centres`, and in CSV under the heading `cluster`. Any other
    /// table has nothing but coordinates.
    fn load(path: &Path) -> Result<Self, Failure> {
        let mut options = Options::default();
        if path.extension().is_some_and(|end| end == "cluster_centres") {
            options.index = IndexColumn::Yes;
        }
        let mut table = kmeans_files::read(path, &options)?;
        let indexed = table.columns.as_ref().is_some_and(|names| names.len() > 1 && names[0] == "cluster");
        if indexed {
            let rest = format!("2-{}", table.points.dim().1).parse();
            options.columns = Some(rest.expect("a range of columns"));
            table = kmeans_files::read(path, &options)?;
        }
        let is_decimal = matches!(table.format, Format::Text | Format::Csv);
        let element = (!is_decimal).then(|| table.points.element());
        Ok(Self { path: path.into(), options, element, d: table.points.dim().1, columns: table.columns })
    }

    /// The centroids in a type, each value rounded once.
    fn read<T: Real>(&self, element: &str) -> Result<Array2<T>, Failure> {
        let mut options = self.options.clone();
        if self.element.is_none() {
            options.element = Some(element.parse().expect("the name of a type"));
        }
        let points = kmeans_files::read(&self.path, &options)?.points;
        Ok(match &points {
            Points::F16(m) => m.view().mapv(|v| T::from_f64(v.to_f64())),
            Points::Bf16(m) => m.view().mapv(|v| T::from_f64(v.to_f64())),
            Points::F32(m) => m.view().mapv(|v| T::from_f64(v.into())),
            Points::F64(m) => m.view().mapv(T::from_f64),
        })
    }
}

impl Saved {
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

    fn load(path: &Path) -> Result<Self, Failure> {
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
}
