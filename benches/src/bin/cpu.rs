//! Times the CPU engine, one JSON row per case: `cargo run --release -p kmeans-benches --bin cpu -- --help`.
//!
//! Each case runs in a process of its own, so that one case's peak memory is not another's.

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use kmeans_benches::data::{Data, patches};
use kmeans_benches::memory::{MIB, forget_peak, peak};
use kmeans_benches::row::Row;
use kmeans_benches::shapes::{CPU, PHOTO, Shape};
use kmeans_benches::timing::{median, ms};
use kmeans_host::{Control, Device, Element, EmptyCluster, Init, KMeans, Progress, Stop, bf16, f16};

/// The case whose memory is checked, and what a fit of it may take beyond points and labels.
const MEMORY_CASE: &str = "B pixels";
const MEMORY_LIMIT_MIB: f64 = 64.0;

/// Times the CPU engine of kmeans-host and prints one JSON row per case.
///
/// Iterations end when the labels repeat or at the case's cap, and an empty cluster moves to the farthest point: what
/// scikit-learn does with tol=0. `RAYON_NUM_THREADS` sets the number of threads.
#[derive(Clone, Debug, Parser)]
#[command(name = "cpu")]
struct Args {
    /// Read points and initial centroids from the .npy files in this folder (see --save and peers/cpu.py) instead of
    /// generating them
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Cluster the 5×5 patches of this image (case "photo") instead of the five shapes
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    image: Option<PathBuf>,
    /// Write the points and initial centroids to .npy files in this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Only the cases whose name contains this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Runs per case
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Cap on iterations, instead of the case's own; with 0 a fit is seeding and one assignment
    #[arg(long, value_name = "N")]
    iters: Option<usize>,
    /// How the initial centroids are chosen; if not given, rows are timed up to there as well (`seed_ms`)
    #[arg(long, value_enum, default_value_t = Start::Given)]
    init: Start,
    /// Type of the points' values
    #[arg(long, value_enum, default_value_t = Dtype::F32)]
    dtype: Dtype,
    /// Write the rows to this file too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Check that one fit of "B pixels" needs at most 64 MiB beyond its points and labels, and fail if it needs more
    #[arg(long, conflicts_with_all = ["image", "only", "json"])]
    memory: bool,
    /// Run this case in this process: how the program calls itself
    #[arg(long, hide = true)]
    case: Option<String>,
}

/// How the initial centroids are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Start {
    /// The saved ones, or rows ⌊i·n/k⌋
    Given,
    /// k different rows
    RandomPoints,
    /// Greedy k-means++
    #[value(name = "k-means++")]
    PlusPlus,
    /// k-means||
    #[value(name = "k-means||")]
    Parallel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Dtype {
    F32,
    F64,
    F16,
    Bf16,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<ExitCode, Box<dyn Error>> {
    if let Some(tag) = &args.case {
        println!("{}", measure_case(args, tag)?);
        return Ok(ExitCode::SUCCESS);
    }
    if args.memory {
        return check_memory();
    }
    let tags: Vec<&str> = match args.image {
        Some(_) => vec![PHOTO],
        None => CPU.iter().map(|s| s.tag).filter(|tag| tag.contains(&args.only)).collect(),
    };
    if tags.is_empty() {
        return Err(format!("no case contains {:?}: there are {:?}", args.only, CPU.map(|s| s.tag)).into());
    }
    let mut json = args.json.as_ref().map(File::create).transpose()?;
    for tag in tags {
        let row = in_child(env::args().skip(1), tag)?;
        println!("{row}");
        if let Some(file) = &mut json {
            writeln!(file, "{row}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The row that a new process with these arguments prints for the case `tag`.
fn in_child(args: impl Iterator<Item = String>, tag: &str) -> Result<String, Box<dyn Error>> {
    let output =
        Command::new(env::current_exe()?).args(args).args(["--case", tag]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("case {tag:?} failed: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

fn check_memory() -> Result<ExitCode, Box<dyn Error>> {
    let row = in_child(["--runs", "1"].map(str::to_owned).into_iter(), MEMORY_CASE)?;
    let row: serde_json::Value = serde_json::from_str(&row)?;
    let number = |key: &str| row[key].as_f64().ok_or(format!("the row has no {key}: is this Linux?"));
    let (points, labels) = (number("N")? * number("D")? * 4.0 / MIB, number("N")? * 4.0 / MIB);
    let beyond = number("peak_mib")? - labels;
    println!(
        "{MEMORY_CASE}: peak {:.1} MiB = points {points:.1} + labels {labels:.1} + {beyond:.1} MiB (at most {MEMORY_LIMIT_MIB})",
        points + labels + beyond,
    );
    Ok(if beyond <= MEMORY_LIMIT_MIB { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure_case(args: &Args, tag: &str) -> Result<Row, Box<dyn Error>> {
    let (shape, data) = if let Some(path) = &args.image {
        let points = patches(path)?;
        let shape = Shape::photo(points.nrows(), points.ncols());
        (shape, Data::evenly_spaced(points, shape.k))
    } else {
        let shape = *CPU.iter().find(|s| s.tag == tag).ok_or("no such case")?;
        let data = match &args.data {
            Some(dir) => Data::read(dir, &shape)?,
            None => Data::generate(&shape),
        };
        (shape, data)
    };
    if let Some(dir) = &args.save {
        data.write(dir, &shape)?;
    }
    measure_as(args, shape, data)
}

/// [`measure`] with the type asked for.
fn measure_as(args: &Args, shape: Shape, data: Data) -> Result<Row, Box<dyn Error>> {
    match args.dtype {
        Dtype::F32 => measure::<f32>(args, shape, data),
        Dtype::F64 => measure::<f64>(args, shape, data),
        Dtype::F16 => measure::<f16>(args, shape, data),
        Dtype::Bf16 => measure::<bf16>(args, shape, data),
    }
}

fn measure<T: Element>(args: &Args, shape: Shape, data: Data) -> Result<Row, Box<dyn Error>> {
    let Data { points, start } = data;
    let points = points.mapv_into_any(|v| T::from_f64(v.into()));
    let settings = KMeans::new(shape.k)
        .init(match args.init {
            Start::Given => Init::centroids(&start),
            Start::RandomPoints => Init::RandomPoints,
            Start::PlusPlus => Init::KMeansPlusPlus,
            Start::Parallel => Init::KMeansParallel,
        })
        .max_iter(args.iters.unwrap_or(shape.iters))
        .stop(Stop::LabelsRepeat)
        .empty_cluster(EmptyCluster::Farthest)
        .device(Device::Cpu);

    forget_peak();
    let mut times = Vec::new();
    let mut best_seeding = None;
    let mut fitted = None;
    for _ in 0..args.runs {
        // One model at a time, as in a program that fits once.
        drop(fitted.take());
        let begun = Instant::now();
        let seeded = Arc::new(AtomicU64::new(0));
        let run = if args.init == Start::Given { settings.clone() } else { note_seeding(&settings, &seeded, begun) };
        fitted = Some(run.fit(&points)?);
        let time = begun.elapsed();
        if times.iter().all(|&t| time < t) {
            best_seeding = Some(seeded.load(Ordering::Relaxed)).filter(|&nanos| nanos > 0).map(Duration::from_nanos);
        }
        times.push(time);
    }
    let peak = peak();
    let fitted = fitted.ok_or("no runs")?;
    Ok(Row {
        peer: "kmeans-host",
        tag: shape.tag,
        n: shape.n,
        d: shape.d,
        k: shape.k,
        dtype: T::NAME,
        init: args.init.to_possible_value().expect("no variant is skipped").get_name().to_owned(),
        iters: fitted.iterations(),
        fit_ms: ms(times.iter().copied().min().ok_or("no runs")?),
        median_ms: ms(median(&times)),
        seed_ms: best_seeding.map(ms),
        runs: times.len(),
        inertia: fitted.inertia(),
        engine: fitted.engine().to_owned(),
        threads: rayon::current_num_threads(),
        peak_mib: peak.map(|bytes| (bytes as f64 - size_of_val(points.as_slice().expect("row-major")) as f64) / MIB),
    })
}

/// `settings`, and in `seeded` the nanoseconds since `begun` at which the engine last reported on its seeding.
fn note_seeding(settings: &KMeans, seeded: &Arc<AtomicU64>, begun: Instant) -> KMeans {
    let seeded = Arc::clone(seeded);
    settings.clone().on_progress(move |progress| {
        if matches!(progress, Progress::Seeding { .. }) {
            seeded.store(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        Control::Continue
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_type_and_start_gives_a_row() {
        let shape = Shape { n: 400, d: 3, k: 5, ..CPU[3] };
        for dtype in ["f32", "f64", "f16", "bf16"] {
            for init in ["given", "random-points", "k-means++", "k-means||"] {
                let args = Args::parse_from(["cpu", "--dtype", dtype, "--init", init, "--runs", "2"]);
                let row = measure_as(&args, shape, Data::generate(&shape)).unwrap();
                assert_eq!((row.dtype, row.init.as_str(), row.runs), (dtype, init, 2));
                assert!(row.inertia > 0.0 && row.fit_ms <= row.median_ms);
            }
        }
    }
}
