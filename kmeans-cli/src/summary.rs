//! What a fit tells on standard output: for people, as JSON, or as a CSV row.

use std::time::Duration;

use kmeans_files::Table;
use kmeans_host::FittedKMeans;
use serde::Serialize;

use crate::args::Printing;
use crate::points::Real;

/// The columns of the CSV row, and most of the JSON's keys.
#[derive(Debug, Serialize)]
pub struct Summary {
    file: String,
    format: &'static str,
    n: usize,
    d: usize,
    #[serde(rename = "type")]
    element: &'static str,
    k: usize,
    init: String,
    #[serde(skip)]
    from: String,
    seed: u64,
    iterations: usize,
    converged: bool,
    interrupted: bool,
    inertia: f64,
    non_empty: usize,
    engine: String,
    read_seconds: f64,
    fit_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
}

/// What does not fit a row.
#[derive(Debug, Serialize)]
struct Details {
    counts: Vec<u64>,
    history: Vec<Round>,
    notices: Vec<String>,
    files: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Round {
    inertia: f64,
    movement: f64,
    labels_changed: u64,
}

/// What a summary is made of, beside the result.
pub struct About<'a> {
    pub file: String,
    pub table: &'a Table,
    pub init: String,
    pub from: String,
    pub seed: u64,
    pub interrupted: bool,
    pub read: Duration,
    pub fit: Duration,
    pub files: Vec<String>,
}

impl Summary {
    /// The summary of a fit.
    pub fn of<T: Real>(fitted: &FittedKMeans<T>, about: About<'_>) -> Self {
        let (n, d) = about.table.points.dim();
        let counts = fitted.counts();
        let history = fitted.history().iter();
        Self {
            file: about.file,
            format: about.table.format.name(),
            n,
            d,
            element: T::NAME,
            k: counts.len(),
            init: about.init,
            from: about.from,
            seed: about.seed,
            iterations: fitted.iterations(),
            converged: fitted.converged(),
            interrupted: about.interrupted,
            inertia: fitted.inertia(),
            non_empty: counts.iter().filter(|c| **c > 0).count(),
            engine: fitted.engine().into(),
            read_seconds: rounded(about.read),
            fit_seconds: rounded(about.fit),
            details: Some(Details {
                counts: counts.to_vec(),
                history: history
                    .map(|i| Round { inertia: i.inertia, movement: i.movement, labels_changed: i.labels_changed })
                    .collect(),
                notices: fitted.notices().iter().map(ToString::to_string).collect(),
                files: about.files,
            }),
        }
    }

    /// As the command line asks for it.
    pub fn text(mut self, printing: &Printing) -> String {
        if printing.json {
            return serde_json::to_string_pretty(&self).expect("a summary is plain data") + "\n";
        }
        if printing.csv {
            self.details = None;
            return csv_row(&serde_json::to_value(&self).expect("a summary is plain data"));
        }
        self.for_people()
    }

    fn for_people(&self) -> String {
        let Self { file, n, d, element, k, iterations, inertia, .. } = self;
        let end = ending(self.converged, self.interrupted);
        let mut text = format!(
            "{file}: {} of {}, {element}\n{} from {}: {end} after {}, inertia {inertia}\n",
            plural(*n, "point"),
            plural(*d, "column"),
            plural(*k, "cluster"),
            self.from,
            plural(*iterations, "iteration"),
        );
        if let Some(details) = &self.details {
            text.extend([format!("points per cluster: {}\n", first_of(&details.counts))]);
            if !details.files.is_empty() {
                text.extend([format!("wrote {}\n", details.files.join(", "))]);
            }
        }
        text
    }
}

/// How a fit ended, for people.
pub fn ending(converged: bool, interrupted: bool) -> &'static str {
    match (converged, interrupted) {
        (true, _) => "converged",
        (false, true) => "interrupted",
        (false, false) => "not converged",
    }
}

/// "1 point", "2 points".
pub fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The first counts, for people.
pub fn first_of(counts: &[u64]) -> String {
    let shown: Vec<String> = counts.iter().take(20).map(u64::to_string).collect();
    shown.join(" ") + if counts.len() > 20 { " …" } else { "" }
}

/// The values of an object, in order, as one CSV row.
pub fn csv_row(object: &serde_json::Value) -> String {
    let fields: Vec<String> = object
        .as_object()
        .into_iter()
        .flat_map(serde_json::Map::values)
        .map(|value| match value {
            serde_json::Value::String(text) if text.contains([',', '"', '\n', '\r']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect();
    fields.join(",") + "\n"
}

/// Seconds to the microsecond: more digits are noise.
pub fn rounded(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e6
}
