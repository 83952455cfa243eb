//! `kmeans score`: how well a saved model fits the points of a file.

use kmeans_files::Points;
use ndarray::ArrayView2;
use serde::Serialize;

use super::on_threads;
use super::predict::read_for;
use crate::args::Score;
use crate::failure::{Done, Failure, print};
use crate::model::Model;
use crate::points::Real;
use crate::summary::csv_row;
use crate::watch::Watch;

/// What is printed.
#[derive(Serialize)]
struct Report {
    file: String,
    n: usize,
    k: usize,
    inertia: f64,
    mean_squared_distance: f64,
    score: f64,
}

/// Runs the subcommand.
pub fn run(args: &Score) -> Result<Done, Failure> {
    let model = Model::load(&args.model)?;
    let report = on_threads(args.running.threads, || {
        let watch = Watch::begin(args.running.quiet, 1);
        let table = read_for(&model, &args.input, &watch);
        watch.say("measuring distances".into());
        let report = table.and_then(|table| match &table.points {
            Points::F16(m) => report(&model, args, m.view()),
            Points::Bf16(m) => report(&model, args, m.view()),
            Points::F32(m) => report(&model, args, m.view()),
            Points::F64(m) => report(&model, args, m.view()),
        });
        watch.end();
        report
    })??;
    let value = serde_json::to_value(&report).expect("a report is plain data");
    let text = if args.printing.json {
        serde_json::to_string_pretty(&value).expect("a report is plain data") + "\n"
    } else if args.printing.csv {
        csv_row(&value)
    } else {
        let Report { file, n, k, inertia, mean_squared_distance, score } = report;
        format!(
            "{file}: {n} points, {k} clusters\n\
             inertia {inertia}, mean squared distance {mean_squared_distance}\n\
             score {score} (minus the inertia: larger is better)\n"
        )
    };
    print(&text)?;
    Ok(Done::Whole)
}

fn report<T: Real>(model: &Model, args: &Score, points: ArrayView2<'_, T>) -> Result<Report, Failure> {
    let fitted = model.fitted::<T>(&args.model, &args.running)?;
    let file = args.input.name();
    let score = fitted.score(&points).map_err(|e| Failure::points(&file, e))?;
    let n = points.nrows();
    let inertia = 0.0 - score;
    Ok(Report { file, n, k: fitted.counts().len(), inertia, mean_squared_distance: inertia / n as f64, score })
}
