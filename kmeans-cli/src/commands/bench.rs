//! `kmeans bench`: times the engines on this machine, on the jobs of the classic parallel k-means programs.
//!
//! All engines do the same work: the same start, the same iterations, the same labels, which is checked. Time is told in
//! parts: what each iteration takes, and what is fixed however many there are (checks, copies to and from a device, the final labels); of
//! a GPU, each kernel and copy.

use kmeans_host::Device;
use serde::Serialize;

use super::on_threads;
use crate::args::Bench;
use crate::bench::cases::{CASES, Case};
use crate::bench::measure::{Contender, Row, measure};
use crate::bench::{chart, choose, gpu, table};
use crate::failure::{Done, Failure, print};
use crate::svg::ChartFile;
use crate::watch::Watch;

/// Runs the subcommand.
pub fn run(args: &Bench) -> Result<Done, Failure> {
    if args.choose {
        return choose(args);
    }
    let cases: Vec<&Case> = CASES.iter().filter(|case| case.name.contains(&args.only)).collect();
    if cases.is_empty() {
        let known: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        return Err(no_case(&args.only, &known.join("; ")));
    }
    let file = args.chart.as_deref().map(ChartFile::create).transpose()?;
    let watch = Watch::begin(args.running.quiet, 1);
    let measured = match args.running.device {
        Device::Auto => measure_all(args, &cases, &watch),
        device => measure_one(args, &cases, device, &watch).map(|rows| (rows, Vec::new())),
    };
    watch.end();
    let (rows, missing) = measured?;
    if let Some(file) = file {
        file.write(&chart::svg(&rows)?)?;
    }
    let text = if args.printing.json {
        for fault in &missing {
            eprintln!("notice: not measured: {fault}");
        }
        json(&rows)
    } else if args.printing.csv {
        table::csv(&rows)
    } else {
        table::for_people(&rows, &missing)
    };
    print(&text)?;
    Ok(Done::Whole)
}

fn json<T: Serialize>(rows: &[T]) -> String {
    serde_json::to_string_pretty(rows).expect("rows are plain data") + "\n"
}

fn no_case(only: &str, known: &str) -> Failure {
    Failure::usage(format!("no case contains {only:?}"), format!("there are: {known}"))
}

/// Everything there is, and what could not be measured.
fn measure_all(args: &Bench, cases: &[&Case], watch: &Watch) -> Result<(Vec<Row>, Vec<String>), Failure> {
    let (mut on_gpus, mut missing) = (Vec::new(), Vec::new());
    let gpus = Device::gpus();
    if gpus.is_empty() {
        missing.push("GPUs: there is no NVIDIA GPU that a driver knows of".into());
    }
    for found in gpus {
        match found {
            Ok(found) => {
                let (rows, faults) =
                    gpu::measure_tiers(&found, &args.only, args.runs.into(), args.running.threads, watch);
                on_gpus.extend(rows);
                missing.extend(faults);
            }
            Err(error) => missing.push(error.to_string()),
        }
    }
    let contender = |name: &str, device, one_thread| Contender { name: name.into(), device, one_thread };
    let before = [
        contender("reference, 1 thread", None, true),
        contender("cpu, 1 thread", Some(Device::Cpu), true),
        contender("cpu, all threads", Some(Device::Cpu), false),
    ];
    let auto = contender("auto", Some(Device::Auto), false);
    let mut rows = Vec::new();
    for case in cases {
        let points = case.points();
        let time = |contender: &Contender| {
            watch.say(format!("{}: {}", case.name, contender.name));
            let threads = if contender.one_thread { Some(1) } else { args.running.threads };
            on_threads(threads, || measure(case, &points, contender, args.runs.into()))?
        };
        let mut of_case = before.iter().map(time).collect::<Result<Vec<Row>, Failure>>()?;
        of_case.extend(on_gpus.iter().filter(|row| row.case == case.name).cloned());
        of_case.push(time(&auto)?);
        agree(&of_case)?;
        rows.extend(of_case);
    }
    Ok((rows, missing))
}

/// One device alone; of a GPU, with the class of kernels that it takes or that the environment says.
fn measure_one(args: &Bench, cases: &[&Case], device: Device, watch: &Watch) -> Result<Vec<Row>, Failure> {
    let runs = args.runs.into();
    if let Device::Cuda(index) = device {
        return on_threads(args.running.threads, || gpu::measure(cases, index, runs, watch))?;
    }
    let contender = Contender { name: device.to_string(), device: Some(device), one_thread: false };
    let time = |case: &&Case| on_threads(args.running.threads, || measure(case, &case.points(), &contender, runs))?;
    cases.iter().map(time).collect()
}

/// Makes sure that all rows of a case have the same result.
fn agree(rows: &[Row]) -> Result<(), Failure> {
    match rows.iter().find(|row| row.result != rows[0].result) {
        None => Ok(()),
        Some(row) => Err(Failure::Bug(format!("{} gives another result for {}", row.contender, row.case))),
    }
}

/// Times a grid of sizes on the processor and a GPU, and tells what `Device::Auto` takes and should take.
fn choose(args: &Bench) -> Result<Done, Failure> {
    let mut sizes = choose::sizes(&args.only);
    if sizes.is_empty() {
        return Err(no_case(&args.only, "names such as \"100000 × 3, K = 16\""));
    }
    // A GPU that was asked for must be there; else the first that can be used.
    let gpu = match args.running.device {
        Device::Cuda(index) => Some(index),
        Device::Cpu => None,
        _ => Device::gpus().into_iter().flatten().next().map(|gpu| gpu.index),
    };
    let watch = Watch::begin(args.running.quiet, 1);
    let runs = usize::from(args.runs);
    let measured =
        on_threads(args.running.threads, || sizes.iter_mut().try_for_each(|size| size.measure(gpu, runs, &watch)));
    watch.end();
    measured??;
    let text = if args.printing.json {
        json(&sizes)
    } else if args.printing.csv {
        choose::csv(&sizes)
    } else {
        choose::for_people(&sizes, runs)
    };
    print(&text)?;
    Ok(Done::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::table::tests::rows;

    #[test]
    fn another_result_is_a_bug() {
        let mut rows = rows();
        assert!(agree(&rows).is_ok());
        rows[3].result = "1".into();
        assert!(agree(&rows).unwrap_err().to_string().contains("cuda:0, hopper gives another result"));
    }
}
