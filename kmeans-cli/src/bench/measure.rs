//! Timing one engine on one job.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kmeans_core::reference;
use kmeans_core::settings::Settings;
use kmeans_host::{Control, Device, EmptyCluster, FittedKMeans, Init, KMeans, Progress, Stop};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::cases::Case;
use super::gpu::OnGpu;
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
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Row {
    pub case: String,
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
    /// The same for the same labels, centroids and iterations, bit for bit.
    pub result: String,
    /// What a GPU did meanwhile; nothing of processors.
    #[serde(flatten)]
    pub on_gpu: OnGpu,
}

/// Runs a job once, then `runs` times; the plain reference once in all, since it takes long and has no moods.
pub fn measure(case: &Case, points: &Array2<f32>, contender: &Contender, runs: usize) -> Result<Row, Failure> {
    let Some(device) = contender.device else {
        let timed = run_reference(case, points);
        return Ok(row(case, contender, timed.total, vec![timed]));
    };
    let first = run(case, points, device)?.total;
    let timed: Result<Vec<Timed>, Failure> = (0..runs).map(|_| run(case, points, device)).collect();
    Ok(row(case, contender, first, timed?))
}

/// The line of a contender's runs, of which the median counts.
pub fn row(case: &Case, contender: &Contender, first: Duration, mut timed: Vec<Timed>) -> Row {
    timed.sort_by_key(|t| t.total);
    let middle = timed.swap_remove(timed.len() / 2);
    let iterations = middle.iterations;
    let fixed = middle.iteration.map(|each| middle.total.saturating_sub(each * iterations as u32));
    Row {
        case: case.name.into(),
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
        result: middle.result,
        on_gpu: OnGpu::default(),
    }
}

/// One run.
pub struct Timed {
    total: Duration,
    iteration: Option<Duration>,
    engine: String,
    iterations: usize,
    result: String,
}

/// Runs a job on a device and notes the time.
pub fn run(case: &Case, points: &Array2<f32>, device: Device) -> Result<Timed, Failure> {
    let reports: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = Arc::clone(&reports);
    let kmeans = case.kmeans(device).on_progress(move |progress| {
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
    Ok(Timed {
        total,
        iteration,
        engine: fitted.engine().into(),
        iterations: fitted.iterations(),
        result: result_of(&fitted),
    })
}

fn run_reference(case: &Case, points: &Array2<f32>) -> Timed {
    let settings =
        Settings { max_iter: case.max_iter, stop: Stop::LabelsChanged(case.threshold), empty: EmptyCluster::Keep };
    let values: Vec<f32> = points.iter().copied().collect();
    let begun = Instant::now();
    let fit = reference::lloyd(&values, case.d, None, &values[..case.k * case.d], &settings);
    let total = begun.elapsed();
    let fit = fit.expect("no policy of these jobs is an error");
    let engine = "plain reference: the definition, with no tricks".into();
    let result = fingerprint(fit.labels.iter().copied(), fit.centroids.iter().copied(), fit.iterations);
    Timed { total, iteration: None, engine, iterations: fit.iterations, result }
}

impl Case {
    /// The fit of this job.
    pub fn kmeans(&self, device: Device) -> KMeans {
        KMeans::new(self.k)
            .init(Init::FirstK)
            .stop(Stop::LabelsChanged(self.threshold))
            .max_iter(self.max_iter)
            .empty_cluster(EmptyCluster::Keep)
            .device(device)
    }
}

fn result_of(fitted: &FittedKMeans<f32>) -> String {
    fingerprint(fitted.labels().iter().copied(), fitted.centroids().iter().copied(), fitted.iterations())
}

/// A number for labels, the bits of centroids, and iterations, that other results do not have but by a great accident: 64-bit
/// FNV-1a, which is the same on every machine.
fn fingerprint(labels: impl Iterator<Item = u32>, centroids: impl Iterator<Item = f32>, iterations: usize) -> String {
    let words = labels.chain(centroids.map(f32::to_bits)).chain([iterations as u32]);
    let hash = words
        .flat_map(u32::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_result_has_another_fingerprint() {
        let of = |labels: &[u32], centroids: &[f32], iterations| {
            fingerprint(labels.iter().copied(), centroids.iter().copied(), iterations)
        };
        let all = [of(&[0, 1], &[0.5], 3), of(&[1, 0], &[0.5], 3), of(&[0, 1], &[-0.5], 3), of(&[0, 1], &[0.5], 4)];
        assert!((0..all.len()).all(|i| !all[..i].contains(&all[i])));
        // Computed apart, by another program.
        assert_eq!(of(&[1], &[0.5], 3), "edc374bb2f911d8a");
    }
}
