//! `kmeans K D N THRESHOLD FILE [--csv]`: the command line of the classic parallel k-means programs.

use std::time::Instant;

use kmeans_files::{IndexColumn, Layout, Options};
use kmeans_host::{Device, EmptyCluster, Init, KMeans, Stop};

use super::fit::Job;
use crate::args::{Classic, Printing, Running, Start};
use crate::failure::{Done, Failure};
use crate::outputs::Outputs;
use crate::points::notice;

/// The classic programs' cap.
const MAX_ITER: usize = 500;

/// Runs the classic form.
pub fn run(args: &Classic) -> Result<Done, Failure> {
    let file = args.input.display().to_string();
    let begun = Instant::now();
    let options = Options { index: IndexColumn::IfMoreThan(args.d), ..Options::default() };
    let mut table = kmeans_files::read(&args.input, &options)?;
    let (n, d) = table.points.dim();
    if d != args.d {
        return Err(Failure::usage(
            format!("{file}: D = {} is asked for, but the file has {d} columns", args.d),
            "D counts the columns without the index; `kmeans fit --columns` chooses some of them",
        ));
    }
    if n < args.n {
        return Err(Failure::usage(
            format!("{file}: N = {} is asked for, but the file has {n} points", args.n),
            format!("give at most {n}"),
        ));
    }
    if n > args.n {
        notice(&format!("{file}: the first {} of {n} points are clustered, as N asks", args.n));
        table.points = table.points.first_rows(args.n);
    }
    let kmeans = KMeans::new(args.k)
        .init(Init::FirstK)
        .max_iter(MAX_ITER)
        .stop(Stop::LabelsChanged(args.threshold))
        .empty_cluster(EmptyCluster::Keep);
    let job = Job {
        init: Start::First.name(),
        from: Start::First.description().into(),
        kmeans,
        starts: 1,
        seed: 0,
        outputs: Outputs::prepare(&args.input, Some(Layout::Text), None, &[&args.input])?,
        weights: None,
        read: begun.elapsed(),
        file,
    };
    let running = Running { device: Device::Auto, threads: None, quiet: false };
    job.run(&table, &running, &Printing { json: false, csv: args.csv })
}
