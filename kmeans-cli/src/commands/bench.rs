//! `kmeans bench`: times the engines on this machine, on the jobs of the classic parallel k-means programs.
//!
//! All engines do the same work: the same start, the same iterations, the same labels, which is checked. Time is told in
//! parts: what each iteration takes, and what is fixed however many there are (checks, copies to and from a device, the final labels).

use std::io::Write;

use kmeans_files::Staged;
use kmeans_host::Device;

use super::on_threads;
use crate::args::Bench;
use crate::bench::cases::{CASES, Case};
use crate::bench::chart;
use crate::bench::measure::{Contender, Row, measure};
use crate::bench::table;
use crate::failure::{Done, Failure, print};
use crate::watch::Watch;

/// Runs the subcommand.
pub fn run(args: &Bench) -> Result<Done, Failure> {
    let cases: Vec<&Case> = CASES.iter().filter(|case| case.name.contains(&args.only)).collect();
    if cases.is_empty() {
        let known: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        return Err(Failure::usage(
            format!("no case contains {:?}", args.only),
            format!("there are: {}", known.join("; ")),
        ));
    }
    let mut svg = args.svg.as_deref().map(Staged::create).transpose()?;
    let watch = Watch::begin(false, 1);
    let rows = measure_all(args, &cases, &watch);
    watch.end();
    let rows = rows?;
    if let Some(file) = &mut svg {
        file.write_all(chart::svg(&rows)?.as_bytes()).map_err(|e| file.failed(e))?;
    }
    svg.map_or(Ok(()), Staged::finish)?;
    let text = if args.json {
        serde_json::to_string_pretty(&rows).expect("rows are plain data") + "\n"
    } else if args.csv {
        table::csv(&rows)
    } else {
        table::for_people(&rows)
    };
    print(&text)?;
    Ok(Done::Whole)
}

fn measure_all(args: &Bench, cases: &[&Case], watch: &Watch) -> Result<Vec<Row>, Failure> {
    let contenders = contenders();
    let mut rows = Vec::new();
    for case in cases {
        let points = case.points();
        let mut expected = None;
        for contender in &contenders {
            watch.say(format!("{}: {}", case.name, contender.name));
            let threads = if contender.one_thread { Some(1) } else { args.threads };
            let (row, outcome) = on_threads(threads, || measure(case, &points, contender, args.runs.into()))??;
            if *expected.get_or_insert_with(|| outcome.clone()) != outcome {
                return Err(Failure::Bug(format!("{} gives another result for {}", contender.name, case.name)));
            }
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Everything that can be timed here.
fn contenders() -> Vec<Contender> {
    let mut contenders = vec![
        Contender { name: "reference, 1 thread".into(), device: None, one_thread: true },
        Contender { name: "cpu, 1 thread".into(), device: Some(Device::Cpu), one_thread: true },
        Contender { name: "cpu, all threads".into(), device: Some(Device::Cpu), one_thread: false },
    ];
    for gpu in Device::gpus().into_iter().flatten() {
        let device = Device::Cuda(gpu.index);
        contenders.push(Contender { name: format!("{device}, {}", gpu.name), device: Some(device), one_thread: false });
    }
    contenders.push(Contender { name: "auto".into(), device: Some(Device::Auto), one_thread: false });
    contenders
}
