//! `kmeans select-k`: scores a range of K and chooses one.

use std::path::Path;
use std::time::{Duration, Instant};

use kmeans_files::{Matrix, Points};
use kmeans_host::image::Segmentation;
use kmeans_host::select_k::{Scores, SelectK as Select, Selection, SilhouetteForm};
use ndarray::{Array2, ArrayView2};
use serde::Serialize;

use super::on_threads;
use crate::args::{Input, Printing, SelectK};
use crate::failure::{Done, Failure, print};
use crate::images::{Pixels, is_image, read};
use crate::interrupt;
use crate::outputs::keep_apart;
use crate::points::{Real, notice};
use crate::summary::{csv_row, plural, rounded};
use crate::svg::ChartFile;
use crate::watch::{Ended, Watch};

/// The largest K that is tried unasked.
const TO: usize = 10;
/// With more points than this, an exact silhouette takes long: it is computed for some that are drawn.
const MOST_EXACT: usize = 20_000;
const DRAWN: usize = 10_000;

/// What is printed.
#[derive(Serialize)]
struct Report {
    file: String,
    n: usize,
    d: usize,
    #[serde(rename = "type")]
    element: &'static str,
    by: String,
    silhouette: String,
    init: String,
    seed: u64,
    /// The choice.
    k: usize,
    interrupted: bool,
    engine: String,
    read_seconds: f64,
    fit_seconds: f64,
    table: Vec<Line>,
    files: Vec<String>,
    #[serde(skip)]
    next: String,
}

/// The scores of one K.
#[derive(Serialize)]
struct Line {
    k: usize,
    non_empty: usize,
    inertia: f64,
    silhouette: Option<f64>,
    calinski_harabasz: Option<f64>,
    davies_bouldin: Option<f64>,
    chosen: bool,
}

/// Runs the subcommand.
pub fn run(args: &SelectK) -> Result<Done, Failure> {
    if let Some(chart) = &args.chart {
        keep_apart(&[chart], &[&args.input.input])?;
    }
    let chart = args.chart.as_deref().map(ChartFile::create).transpose()?;
    let begun = Instant::now();
    let watch = Watch::begin(args.running.quiet, 1);
    let points = on_threads(args.running.threads, || points(args, &watch));
    watch.end();
    let points = points??;
    let read = begun.elapsed();
    match &points {
        Points::F16(m) => select(args, m.view(), read, chart),
        Points::Bf16(m) => select(args, m.view(), read, chart),
        Points::F32(m) => select(args, m.view(), read, chart),
        Points::F64(m) => select(args, m.view(), read, chart),
    }
}

/// The points of the file, or features of pixels of the image.
fn points(args: &SelectK, watch: &Watch) -> Result<Points, Failure> {
    if !holds_image(&args.input) {
        return Ok(args.input.read(watch)?.points);
    }
    watch.say(format!("reading {}", args.input.name()));
    let image = read(&args.input.input)?;
    let segmentation = Segmentation::new(1).features(args.of_pixel.features()?).alpha(args.of_pixel.alpha.into());
    let sample: Result<Array2<f32>, _> = match Pixels::of(image) {
        Pixels::U8(pixels) => segmentation.sample(&pixels, args.pixels),
        Pixels::U16(pixels) => segmentation.sample(&pixels, args.pixels),
        Pixels::F32(pixels) => segmentation.sample(&pixels, args.pixels),
    };
    let sample = sample.map_err(|e| Failure::points(&args.input.name(), e))?;
    Ok(Points::F32(Matrix::Owned(sample)))
}

fn holds_image(input: &Input) -> bool {
    input.format.is_none() && is_image(Path::new(&input.input))
}

fn select<T: Real>(
    args: &SelectK,
    points: ArrayView2<'_, T>,
    read: Duration,
    chart: Option<ChartFile>,
) -> Result<Done, Failure> {
    let (n, d) = points.dim();
    let to = args.to.unwrap_or_else(|| TO.min(n.saturating_sub(1)).max(args.from));
    let form =
        args.silhouette.unwrap_or(if n > MOST_EXACT { SilhouetteForm::Sampled(DRAWN) } else { SilhouetteForm::Exact });
    let watch = Watch::begin(args.running.quiet, args.method.n_init);
    let following = watch.clone();
    let select = Select::new(args.from..=to)
        .kmeans(args.method.kmeans(args.from, args.running.device))
        .criterion(args.by.into())
        .silhouette(form)
        .on_progress(move |k, progress| following.report_as(&format!("K = {k} of {to} · "), progress));
    let fitting = interrupt::Fitting::begin();
    let selection = on_threads(args.running.threads, || select.fit(&points))?;
    let ended = watch.end();
    let selection = selection.map_err(|e| Failure::points(&args.input.name(), e))?;
    for text in selection.fitted().notices() {
        notice(&text.to_string());
    }
    let files = chart.map(|file| file.write(&selection.chart())).transpose()?;
    drop(fitting);
    let report = report::<T>(args, (n, d), &selection, form, (read, &ended), files.into_iter().collect());
    print(&report.text(&args.printing))?;
    Ok(if ended.interrupted { Done::Interrupted } else { Done::Whole })
}

fn report<T: Real>(
    args: &SelectK,
    (n, d): (usize, usize),
    selection: &Selection<T>,
    form: SilhouetteForm,
    (read, ended): (Duration, &Ended),
    files: Vec<String>,
) -> Report {
    let file = args.input.name();
    let k = selection.k();
    let line = |s: &Scores| Line {
        k: s.k,
        non_empty: s.non_empty,
        inertia: s.inertia,
        silhouette: s.silhouette,
        calinski_harabasz: s.calinski_harabasz,
        davies_bouldin: s.davies_bouldin,
        chosen: s.k == k,
    };
    let command = match (holds_image(&args.input), args.of_pixel.features.name().as_str()) {
        (false, _) if args.input.is_described() => format!("kmeans fit {file} -k {k}, with the same options of input"),
        (false, _) => format!("kmeans fit {file} -k {k}"),
        (true, "rgb") => format!("kmeans segment {file} -k {k}"),
        (true, space) => format!("kmeans segment {file} -k {k} --features {space}"),
    };
    Report {
        next: command,
        file,
        n,
        d,
        element: T::NAME,
        by: args.by.name(),
        silhouette: match form {
            SilhouetteForm::Simplified => "simplified".into(),
            SilhouetteForm::Sampled(points) if points < n => format!("of {points} points"),
            _ => "exact".into(),
        },
        init: args.method.init.name(),
        seed: args.method.seed,
        k,
        interrupted: ended.interrupted,
        engine: selection.fitted().engine().into(),
        read_seconds: rounded(read),
        fit_seconds: rounded(ended.took),
        table: selection.table().iter().map(line).collect(),
        files,
    }
}

impl Report {
    /// As the command line asks for it.
    fn text(&self, printing: &Printing) -> String {
        if printing.json {
            return serde_json::to_string_pretty(self).expect("a report is plain data") + "\n";
        }
        if printing.csv {
            let header = "k,non_empty,inertia,silhouette,calinski_harabasz,davies_bouldin,chosen\n".to_string();
            let lines = self.table.iter().map(|line| serde_json::to_value(line).expect("a line is plain data"));
            return lines.fold(header, |text, line| text + &csv_row(&line).replace("null", ""));
        }
        let Self { file, n, d, element, .. } = self;
        let mut lines = vec![format!(
            "{file}: {} of {}, {element}\n    K  {:>14}  {:>10}  {:>17}  {:>14}",
            plural(*n, "point"),
            plural(*d, "column"),
            "inertia",
            "silhouette",
            "Calinski-Harabasz",
            "Davies-Bouldin",
        )];
        for line in &self.table {
            let score = |score: Option<f64>, digits: usize| score.map_or("–".into(), |v| format!("{v:.digits$}"));
            lines.push(format!(
                "{:>5}  {:>14}  {:>10}  {:>17}  {:>14}{}",
                line.k,
                inertia(line.inertia),
                score(line.silhouette, 4),
                score(line.calinski_harabasz, 1),
                score(line.davies_bouldin, 4),
                if line.chosen { "  <- chosen" } else { "" },
            ));
        }
        let end = if self.interrupted { ", of those done before it was interrupted" } else { "" };
        let by = match (self.by.as_str(), self.silhouette.as_str()) {
            ("silhouette", form) => format!("silhouette ({form})"),
            (by, _) => by.into(),
        };
        lines.push(format!("K = {} by {by}{end}", self.k));
        if !self.files.is_empty() {
            lines.push(format!("wrote {}", self.files.join(", ")));
        }
        lines.push(format!("next: {}\n", self.next));
        lines.join("\n")
    }
}

/// With as many digits as tell values of a table apart.
fn inertia(value: f64) -> String {
    if (1e-3..1e10).contains(&value) || value == 0.0 { format!("{value:.4}") } else { format!("{value:.6e}") }
}
