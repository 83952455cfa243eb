//! Timing one engine on one job.

use std::time::{Duration, Instant};

use kmeans_core::reference;
use kmeans_core::settings::Settings;
use kmeans_host::{Device, EmptyCluster, Init, KMeans, Stop};
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
    /// Of that, each iteration after the first: what a fit takes longer than one of a single iteration.
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

/// Runs a job once, then `runs` times, and as often with one iteration; the plain reference once in all, since it takes long
/// and has no moods.
pub fn measure(case: &Case, points: &Array2<f32>, contender: &Contender, runs: usize) -> Result<Row, Failure> {
    let Some(device) = contender.device else {
        let timed = run_reference(case, points);
        return Ok(row(case, contender, timed.total, vec![timed], None));
    };
    let first = run(case, points, device, case.max_iter)?.total;
    let (timed, short) = runs_of(case, points, device, runs)?;
    Ok(row(case, contender, first, timed, Some(short)))
}

/// `runs` runs, and the median time of as many that end after one iteration.
pub fn runs_of(
    case: &Case,
    points: &Array2<f32>,
    device: Device,
    runs: usize,
) -> Result<(Vec<Timed>, Duration), Failure> {
    let (mut timed, mut short) = (Vec::new(), Vec::new());
    // In turn, so that what else the machine does falls on both.
    for _ in 0..runs {
        timed.push(run(case, points, device, case.max_iter)?);
        short.push(run(case, points, device, 1)?.total);
    }
    short.sort();
    Ok((timed, short[short.len() / 2]))
}

/// The line of a contender's runs, of which the median counts; `short` is the time of one iteration and all that is fixed. An
/// engine may do many iterations before it reports one, so that reports tell nothing about time.
pub fn row(case: &Case, contender: &Contender, first: Duration, mut timed: Vec<Timed>, short: Option<Duration>) -> Row {
    timed.sort_by_key(|t| t.total);
    let middle = timed.swap_remove(timed.len() / 2);
    let iterations = middle.iterations;
    let others = u32::try_from(iterations.saturating_sub(1)).ok().filter(|&others| others > 0);
    let iteration = short.zip(others).map(|(short, others)| middle.total.saturating_sub(short) / others);
    let fixed = iteration.map(|each| middle.total.saturating_sub(each * iterations as u32));
    Row {
        case: case.name.into(),
        n: case.n,
        d: case.d,
        k: case.k,
        contender: contender.name.clone(),
        engine: middle.engine,
        iterations,
        total_seconds: rounded(middle.total),
        iteration_seconds: iteration.map(rounded),
        fixed_seconds: fixed.map(rounded),
        first_run_seconds: rounded(first),
        result: middle.result,
        on_gpu: OnGpu::default(),
    }
}

/// One run.
pub struct Timed {
    total: Duration,
    engine: String,
    iterations: usize,
    result: String,
}

/// Runs a job on a device, at most `max_iter` iterations, and notes the time.
fn run(case: &Case, points: &Array2<f32>, device: Device, max_iter: usize) -> Result<Timed, Failure> {
    let begun = Instant::now();
    let fitted = case.kmeans(device).max_iter(max_iter).fit(points).map_err(|e| Failure::points(case.name, e))?;
    let total = begun.elapsed();
    let result = fingerprint(fitted.labels().iter().copied(), fitted.centroids().iter().copied(), fitted.iterations());
    Ok(Timed { total, engine: fitted.engine().into(), iterations: fitted.iterations(), result })
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
    Timed { total, engine, iterations: fit.iterations, result }
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
    use crate::bench::cases::CASES;

    #[test]
    fn what_is_fixed_is_told_apart_by_a_fit_of_one_iteration() {
        let contender = Contender { name: "cpu".into(), device: Some(Device::Cpu), one_thread: true };
        let timed = |ms| Timed {
            total: Duration::from_millis(ms),
            engine: String::new(),
            iterations: 11,
            result: String::new(),
        };
        let runs = vec![timed(70), timed(50), timed(60)];
        let row = row(&CASES[0], &contender, Duration::from_secs(1), runs, Some(Duration::from_millis(40)));
        assert_eq!((row.total_seconds, row.iteration_seconds, row.fixed_seconds), (0.06, Some(0.002), Some(0.038)));
    }

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
