//! What a GPU does for a job: kernels and copies one by one, and what is paid once.
//!
//! Each class of kernels is measured in a process of its own, since a GPU is opened once per process, for one class. So the cost of
//! opening it is measured, too, and a GPU that fails takes nothing else along.

use std::process::{Command, Stdio};
use std::time::Instant;

use kmeans_host::kernels::{Gpu, Profile, Step, TIER_VARIABLE, tiers};
use kmeans_host::{Device, DeviceInfo};
use serde::{Deserialize, Serialize};

use super::cases::Case;
use super::measure::{Contender, Row, row, runs_of};
use crate::failure::Failure;
use crate::watch::Watch;

/// The part of a row that only GPUs have. Times of steps are between events on the device, in a run of their own.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct OnGpu {
    /// The class of kernels.
    pub tier: Option<String>,
    /// Opening the GPU, once per process.
    pub open_seconds: Option<f64>,
    /// Loading modules in the first run, once per process.
    pub load_seconds: Option<f64>,
    /// Kernels, all together.
    pub kernels_seconds: Option<f64>,
    /// Copies from the host to the device.
    pub to_device_seconds: Option<f64>,
    pub to_device_bytes: Option<u64>,
    /// Copies from the device to the host.
    pub to_host_seconds: Option<f64>,
    pub to_host_bytes: Option<u64>,
    /// Copies within the device, and setting to zero.
    pub other_seconds: Option<f64>,
    /// What each step's time is too long by, at least: an event after another.
    pub empty_seconds: Option<f64>,
    /// Each kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<KernelTime>,
}

/// All launches of one kernel in a fit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct KernelTime {
    pub kernel: String,
    pub launches: u64,
    pub seconds: f64,
}

impl OnGpu {
    fn of(tier: &str, open: f64, first: &Profile, later: &Profile) -> Self {
        let seconds = |profile: &Profile, is: &dyn Fn(&Step) -> bool| {
            let steps = profile.tallies.iter().filter(|tally| is(&tally.step));
            // The sum of no numbers is -0.
            Some((steps.map(|tally| tally.milliseconds).sum::<f64>() + 0.0) / 1e3)
        };
        let bytes = |step: Step| {
            Some(later.tallies.iter().filter(|tally| tally.step == step).map(|tally| tally.bytes).sum::<u64>())
        };
        let kernels = later.tallies.iter().filter_map(|tally| match &tally.step {
            Step::Kernel(name) => {
                Some(KernelTime { kernel: name.clone(), launches: tally.times, seconds: tally.milliseconds / 1e3 })
            }
            _ => None,
        });
        Self {
            tier: Some(tier.into()),
            open_seconds: Some(open),
            load_seconds: seconds(first, &|step| *step == Step::Load),
            kernels_seconds: seconds(later, &|step| matches!(step, Step::Kernel(_))),
            to_device_seconds: seconds(later, &|step| *step == Step::ToDevice),
            to_device_bytes: bytes(Step::ToDevice),
            to_host_seconds: seconds(later, &|step| *step == Step::ToHost),
            to_host_bytes: bytes(Step::ToHost),
            other_seconds: seconds(later, &|step| matches!(step, Step::Copy | Step::Clear)),
            empty_seconds: Some(later.empty_milliseconds / 1e3),
            kernels: kernels.collect(),
        }
    }
}

/// Runs jobs on a GPU that was not opened before in this process: the first run, `runs` timed ones, and one whose steps
/// are timed.
pub fn measure(cases: &[&Case], index: usize, runs: usize, watch: &Watch) -> Result<Vec<Row>, Failure> {
    let device = Device::Cuda(index);
    let failed = |e| Failure::points("bench", e);
    let begun = Instant::now();
    let gpu = Gpu::open(index).map_err(failed)?;
    let open = begun.elapsed().as_secs_f64();
    let tier = gpu.tier.name;
    let contender = Contender { name: name(index, tier), device: Some(device), one_thread: false };
    let mut rows = Vec::new();
    for case in cases {
        watch.say(format!("{}: {}", case.name, contender.name));
        let points = case.points();
        let profiled = || {
            let begun = Instant::now();
            let ((), profile) = gpu.profile(|| case.kmeans(device).fit(&points).map(drop))?;
            Ok::<_, kmeans_host::Error>((begun.elapsed(), profile))
        };
        // Loads are few and long: that the events around the steps of the first run take time, too, cannot be seen.
        let (first, loading) = profiled().map_err(failed)?;
        let (timed, short) = runs_of(case, &points, device, runs)?;
        let (_, later) = profiled().map_err(failed)?;
        rows.push(Row {
            on_gpu: OnGpu::of(tier, open, &loading, &later),
            ..row(case, &contender, first, timed, Some(short))
        });
    }
    Ok(rows)
}

/// How tables call a GPU with a class of kernels.
fn name(index: usize, tier: &str) -> String {
    format!("{}, {tier}", Device::Cuda(index))
}

/// The rows of each class of kernels that a GPU can run, each measured by this program in a process of its own; and what
/// went wrong.
pub fn measure_tiers(
    gpu: &DeviceInfo,
    only: &str,
    runs: usize,
    threads: Option<u16>,
    watch: &Watch,
) -> (Vec<Row>, Vec<String>) {
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for tier in tiers(gpu.compute_capability) {
        let name = name(gpu.index, tier);
        watch.say(name.clone());
        match measure_apart(gpu.index, tier, only, runs, threads) {
            Ok(measured) => rows.extend(measured),
            Err(fault) => faults.push(format!("{name}: {fault}")),
        }
    }
    (rows, faults)
}

fn measure_apart(index: usize, tier: &str, only: &str, runs: usize, threads: Option<u16>) -> Result<Vec<Row>, String> {
    let program = std::env::current_exe().map_err(|e| format!("this program cannot be found: {e}"))?;
    let mut command = Command::new(program);
    command.args(arguments(index, only, runs, threads)).env(TIER_VARIABLE, tier).stdin(Stdio::null());
    let output = command.output().map_err(|e| format!("it cannot be started: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, said.trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("its answer cannot be read: {e}"))
}

/// The command line of the process that measures one GPU.
fn arguments(index: usize, only: &str, runs: usize, threads: Option<u16>) -> Vec<String> {
    let device = Device::Cuda(index);
    let mut arguments: Vec<String> = ["bench", "--json", "--quiet"].map(String::from).into();
    arguments.extend([format!("--device={device}"), format!("--runs={runs}"), format!("--only={only}")]);
    arguments.extend(threads.map(|threads| format!("--threads={threads}")));
    arguments
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use kmeans_host::kernels::Tally;

    use super::*;
    use crate::args::{Cli, Command};

    fn tally(step: Step, times: u64, milliseconds: f64, bytes: u64) -> Tally {
        Tally { step, times, milliseconds, bytes }
    }

    #[test]
    fn a_profile_is_divided_into_what_is_paid_once_kernels_and_copies() {
        let first = Profile { tallies: vec![tally(Step::Load, 3, 20.0, 0)], empty_milliseconds: 0.0 };
        let later = Profile {
            tallies: vec![
                tally(Step::ToDevice, 2, 4.0, 800),
                tally(Step::Kernel("assign".into()), 5, 1.5, 0),
                tally(Step::Clear, 9, 0.25, 10),
                tally(Step::Kernel("sums".into()), 5, 0.5, 0),
                tally(Step::ToHost, 6, 3.0, 40),
            ],
            empty_milliseconds: 0.002,
        };
        let parts = OnGpu::of("hopper", 0.3, &first, &later);
        assert_eq!((parts.load_seconds, parts.kernels_seconds), (Some(0.02), Some(0.002)));
        assert_eq!((parts.to_device_seconds, parts.to_device_bytes), (Some(0.004), Some(800)));
        assert_eq!((parts.to_host_bytes, parts.other_seconds), (Some(40), Some(0.000_25)));
        let assign = KernelTime { kernel: "assign".into(), launches: 5, seconds: 0.0015 };
        assert_eq!(parts.kernels[0], assign);
    }

    #[test]
    fn this_program_understands_what_it_asks_itself() {
        let line = std::iter::once("kmeans".to_string()).chain(arguments(1, "3-D, K = 4", 7, Some(2)));
        let Command::Bench(args) = Cli::try_parse_from(line).unwrap().command else { panic!("another subcommand") };
        assert_eq!((args.running.device, args.only.as_str(), args.runs), (Device::Cuda(1), "3-D, K = 4", 7));
        assert!(args.printing.json && args.running.quiet && args.running.threads == Some(2));
    }

    #[test]
    fn a_process_without_a_gpu_says_what_is_missing() {
        if Device::gpus().is_empty() {
            let watch = Watch::begin(true, 1);
            let fault = measure(&[], 0, 1, &watch).unwrap_err().to_string();
            assert!(fault.contains("CUDA device 0 cannot be used"), "{fault}");
        }
    }
}
