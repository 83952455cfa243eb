//! One result as a line of JSON. The peers' programs write the same keys.

use std::fmt;

use serde::Serialize;

/// What was measured, how, and the result.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The library.
    pub peer: &'static str,
    /// The case.
    pub tag: &'static str,
    /// Points.
    #[serde(rename = "N")]
    pub n: usize,
    /// Columns.
    #[serde(rename = "D")]
    pub d: usize,
    /// Clusters.
    #[serde(rename = "K")]
    pub k: usize,
    /// Type of the points' values.
    pub dtype: &'static str,
    /// How the initial centroids were chosen.
    pub init: String,
    /// Iterations run.
    pub iters: usize,
    /// The shortest of all runs, in milliseconds: the whole call, seeding included.
    pub fit_ms: f64,
    /// The median of all runs.
    pub median_ms: f64,
    /// The part of the shortest run until the initial centroids were chosen; absent if they were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_ms: Option<f64>,
    /// Runs.
    pub runs: usize,
    /// Sum of squared distances at the end.
    pub inertia: f64,
    /// What did the work.
    pub engine: String,
    /// Threads at work.
    pub threads: usize,
    /// Peak memory of the process over all runs, less the points. Includes the program itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_mib: Option<f64>,
}

/// One line of JSON.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_line_with_the_peers_keys() {
        let row = Row {
            peer: "kmeans-host",
            tag: "B pixels",
            n: 2_073_600,
            d: 3,
            k: 8,
            dtype: "f32",
            init: "given".into(),
            iters: 20,
            fit_ms: 1.5,
            median_ms: 2.0,
            seed_ms: None,
            runs: 3,
            inertia: 0.25,
            engine: "cpu".into(),
            threads: 2,
            peak_mib: None,
        };
        let json = row.to_string();
        assert!(json.starts_with(r#"{"peer":"kmeans-host","tag":"B pixels","N":2073600,"D":3,"K":8,"#), "{json}");
        assert!(!json.contains('\n') && !json.contains("seed_ms"), "{json}");
    }
}
