//! The files that a fit leaves: made ready before the work begins, put in their places together at the end.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use kmeans_files::{Layout, Staged, write_centroids, write_labels};
use kmeans_host::FittedKMeans;

use crate::failure::Failure;
use crate::model::Model;
use crate::points::Real;

/// Output files that can be written.
pub struct Outputs {
    results: Option<(Layout, Staged, Staged)>,
    model: Option<Staged>,
}

impl Outputs {
    /// Makes sure, before hours of work, that the files can be written.
    pub fn prepare(prefix: &Path, layout: Option<Layout>, model: Option<&Path>) -> Result<Self, Failure> {
        let create = |end: &str| Staged::create(&with_end(prefix, end));
        let results = match layout {
            None => None,
            Some(layout) => {
                let (centroids, labels) = match layout {
                    Layout::Text => (".cluster_centres", ".membership"),
                    Layout::Csv => (".centroids.csv", ".labels.csv"),
                    Layout::Npy => (".centroids.npy", ".labels.npy"),
                };
                Some((layout, create(centroids)?, create(labels)?))
            }
        };
        Ok(Self { results, model: model.map(Staged::create).transpose()? })
    }

    /// Writes all files; their names.
    pub fn write<T: Real>(self, fitted: &FittedKMeans<T>, columns: Option<&[String]>) -> Result<Vec<String>, Failure> {
        let mut files = Vec::new();
        if let Some((layout, mut centroids, mut labels)) = self.results {
            write_centroids(&mut centroids, layout, fitted.centroids(), columns).map_err(|e| centroids.failed(e))?;
            write_labels(&mut labels, layout, fitted.labels()).map_err(|e| labels.failed(e))?;
            files.extend([centroids, labels]);
        }
        if let Some(mut file) = self.model {
            let text = Model::of(fitted, columns).to_json();
            file.write_all(text.as_bytes()).map_err(|e| file.failed(e))?;
            files.push(file);
        }
        let names = files.iter().map(|f| f.name().to_string()).collect();
        Staged::finish_all(files)?;
        Ok(names)
    }
}

fn with_end(prefix: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(prefix);
    name.push(end);
    name.into()
}
