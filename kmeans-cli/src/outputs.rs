//! The files that a fit leaves: made ready before the work begins, put in their places together at the end.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use kmeans_files::{Layout, Staged, write_centroids, write_labels};
use kmeans_host::FittedKMeans;
use ndarray::ArrayView2;

use crate::failure::Failure;
use crate::model::Saved;
use crate::points::Real;

/// Output files that can be written.
pub struct Outputs {
    results: Option<(Layout, Staged, Staged)>,
    model: Option<Staged>,
}

impl Outputs {
    /// Makes sure, before hours of work, that the files can be written.
    pub fn prepare(
        prefix: &Path,
        layout: Option<Layout>,
        model: Option<&Path>,
        inputs: &[&Path],
    ) -> Result<Self, Failure> {
        let names = layout.map(|layout| {
            let (centroids, labels) = match layout {
                Layout::Text => (".cluster_centres", ".membership"),
                Layout::Csv => (".centroids.csv", ".labels.csv"),
                Layout::Npy => (".centroids.npy", ".labels.npy"),
            };
            (layout, with_end(prefix, centroids), with_end(prefix, labels))
        });
        let results = names.as_ref().map(|(_, centroids, labels)| [centroids.as_path(), labels]);
        let all: Vec<&Path> = results.iter().flatten().copied().chain(model).collect();
        keep_apart(&all, inputs)?;
        let results = match &names {
            None => None,
            Some((layout, centroids, labels)) => Some((*layout, Staged::create(centroids)?, Staged::create(labels)?)),
        };
        Ok(Self { results, model: model.map(Staged::create).transpose()? })
    }

    /// Writes all files; their names.
    pub fn write<T: Real>(self, fitted: &FittedKMeans<T>, columns: Option<&[String]>) -> Result<Vec<String>, Failure> {
        let (files, names) = self.stage(fitted, fitted.centroids(), columns)?;
        Staged::finish_all(files)?;
        Ok(names)
    }

    /// Writes all files, which [`Staged::finish_all`] puts in their places, and their names; `centroids` to a file of their own, in
    /// units of the input, which the model's need not be in.
    pub fn stage<T: Real>(
        self,
        fitted: &FittedKMeans<T>,
        centroids: ArrayView2<'_, T>,
        columns: Option<&[String]>,
    ) -> Result<(Vec<Staged>, Vec<String>), Failure> {
        let mut files = Vec::new();
        if let Some((layout, mut for_centroids, mut for_labels)) = self.results {
            write_centroids(&mut for_centroids, layout, centroids, columns).map_err(|e| for_centroids.failed(e))?;
            write_labels(&mut for_labels, layout, fitted.labels()).map_err(|e| for_labels.failed(e))?;
            files.extend([for_centroids, for_labels]);
        }
        if let Some(mut file) = self.model {
            let text = Saved::of(fitted, columns).to_json();
            file.write_all(text.as_bytes()).map_err(|e| file.failed(e))?;
            files.push(file);
        }
        let names = files.iter().map(|f| f.name().to_string()).collect();
        Ok((files, names))
    }
}

/// Makes sure that no output would take the place of an input or of another output.
pub fn keep_apart(outputs: &[&Path], inputs: &[&Path]) -> Result<(), Failure> {
    for (number, output) in outputs.iter().enumerate() {
        if let Some(other) = inputs.iter().chain(&outputs[..number]).find(|other| is_same(output, other)) {
            return Err(Failure::usage(
                format!("{} would be written over {}", output.display(), other.display()),
                "choose another name for the output",
            ));
        }
    }
    Ok(())
}

/// Whether two names are of one file, which need not be there yet.
fn is_same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        fs::canonicalize(path).ok().or_else(|| {
            let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
            Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
        })
    };
    place(a).is_some_and(|a| place(b) == Some(a))
}

fn with_end(prefix: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(prefix);
    name.push(end);
    name.into()
}
