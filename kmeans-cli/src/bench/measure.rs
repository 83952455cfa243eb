//! Timing one engine on one job.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kmeans_core::reference;
use kmeans_core::settings::Settings;
use kmeans_host::{Control, Device, EmptyCluster, Init, KMeans, Progress, Stop};
use ndarray::Array2;
use serde::Serialize;

use super::cases::Case;
use crate::failure::Failure;
use crate::summary::rounded;

/// What can be timed.
pub struct Contender {
    pub name: String,
    /// None: the plain reference.
    pub device: Option<Device>,
    pub one_thread: bool,
}

/// A line of the table. Seconds, medians over the runs.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub case: &'static str,
    pub n: usize,
    pub d: usize,
    pub k: usize,
    pub contender: String,
    /// What did the work.
    pub engine: String,
    pub iterations: usize,
    /// The whole fit.
    pub total_seconds: f64,
    /// Of that, each iteration after the first; nothing where a fit does not tell.
    pub iteration_seconds: Option<f64>,
    /// Of that, what is not iterations.
    pub fixed_seconds: Option<f64>,
    /// The first run, which pays for what later ones find ready.
    pub first_run_seconds: f64,
}

/// What all contenders must agree on: labels, centroids' bits, iterations.
pub type Outcome = (Vec<u32>, Vec<u32>, usize);

/// Runs a job `runs` times; the plain reference once, since it takes long and has no moods.
pub fn measure(
    case: &Case,
    points: &Array2<f32>,
    contender: &Contender,
    runs: usize,
) -> Result<(Row, Outcome), Failure> {
    let runs = if contender.device.is_none() { 1 } else { runs };
    let mut timed: Vec<Timed> = Vec::new();
    for _ in 0..runs {
        timed.push(match contender.device {
            Some(device) => run(case, points, device)?,
            None => run_reference(case, points),
        });
    }
    let first = timed[0].total;
    let outcome = timed[0].outcome.clone();
    timed.sort_by_key(|t| t.total);
    let middle = timed.swap_remove(timed.len() / 2);
    let iterations = outcome.2;
    let fixed = middle.iteration.map(|each| middle.total.saturating_sub(each * iterations as u32));
    let row = Row {
        case: case.name,
        n: case.n,
        d: case.d,
        k: case.k,
        contender: contender.name.clone(),
        engine: middle.engine,
        iterations,
        total_seconds: rounded(middle.total),
        iteration_seconds: middle.iteration.map(rounded),
        fixed_seconds: fixed.map(rounded),
        first_run_seconds: rounded(first),
    };
    Ok((row, outcome))
}

struct Timed {
    total: Duration,
    iteration: Option<Duration>,
    engine: String,
    outcome: Outcome,
}

fn run(case: &Case, points: &Array2<f32>, device: Device) -> Result<Timed, Failure> {
    let reports: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = Arc::clone(&reports);
    let kmeans = KMeans::new(case.k)
        .init(Init::FirstK)
        .stop(Stop::LabelsChanged(case.threshold))
        .max_iter(case.max_iter)
        .empty_cluster(EmptyCluster::Keep)
        .device(device)
        .on_progress(move |progress| {
            if matches!(progress, Progress::Iteration { .. }) {
                noted.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
            }
            Control::Continue
        });
    let begun = Instant::now();
    let fitted = kmeans.fit(points).map_err(|e| Failure::points(case.name, e))?;
    let total = begun.elapsed();
    let reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
    let iteration = match reports[..] {
        [first, .., last] => Some((last - first) / (reports.len() - 1) as u32),
        _ => None,
    };
    let bits = fitted.centroids().iter().map(|c| c.to_bits()).collect();
    let outcome = (fitted.labels().to_vec(), bits, fitted.iterations());
    Ok(Timed { total, iteration, engine: fitted.engine().into(), outcome })
}

fn run_reference(case: &Case, points: &Array2<f32>) -> Timed {
    let settings =
        Settings { max_iter: case.max_iter, stop: Stop::LabelsChanged(case.threshold), empty: EmptyCluster::Keep };
    let values: Vec<f32> = points.iter().copied().collect();
    let begun = Instant::now();
    let fit = reference::lloyd(&values, case.d, None, &values[..case.k * case.d], &settings);
    let total = begun.elapsed();
    let fit = fit.expect("no policy of these jobs is an error");
    let bits = fit.centroids.iter().map(|c| c.to_bits()).collect();
    let engine = "plain reference: the definition, with no tricks".into();
    Timed { total, iteration: None, engine, outcome: (fit.labels, bits, fit.iterations) }
}
