//! `kmeans trace`: writes a page in which a fit can be watched, step by step.
//!
//! The page holds the points and [`kmeans_trace::WASM`], the reference's own code. Before it is written, the same source is run here
//! and compared with the library, number by number; the page runs it again and compares with the numbers written into it.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kmeans_core::settings::{EmptyCluster, Settings, Stop};
use kmeans_files::{Points, Staged, Table};
use kmeans_host::{Device, KMeans};
use kmeans_trace::{Run, Start, WASM};
use ndarray::ArrayView2;
use serde::Serialize;

use crate::args::{self, Trace};
use crate::failure::{Done, Failure, print};
use crate::outputs::keep_apart;
use crate::points::Real;
use crate::watch::Watch;

/// Values that a page can hold and step through without trying its reader's patience.
const MOST_VALUES: usize = 2_000_000;
/// Clusters that can be told apart, or nearly.
const MOST_CLUSTERS: usize = 1024;
/// As the classic programs.
const MAX_ITER: usize = 500;

const PAGE: &str = include_str!("../trace/page.html");
const STYLE: &str = include_str!("../trace/page.css");
const SCRIPT: [&str; 4] = [
    include_str!("../trace/module.js"),
    include_str!("../trace/plot.js"),
    include_str!("../trace/chart.js"),
    include_str!("../trace/page.js"),
];

/// What the page is given.
#[derive(Serialize)]
struct Data {
    file: String,
    version: &'static str,
    n: usize,
    d: usize,
    #[serde(rename = "type")]
    element: &'static str,
    columns: Vec<String>,
    /// Base64: row-major, little-endian, in the type above.
    points: String,
    k: usize,
    start: u32,
    seed: String,
    threshold: f64,
    block: u32,
    most_clusters: usize,
    max_iter: usize,
    expected: Expected,
    /// Base64.
    wasm: String,
}

/// The library's own run with the settings that the page begins with.
#[derive(Serialize)]
struct Expected {
    engine: String,
    iterations: usize,
    converged: bool,
    /// Written so that a reader of JSON gets the same f64.
    inertia: Vec<f64>,
    movement: Vec<f64>,
    changed: Vec<u64>,
    result_inertia: f64,
    /// Base64: u32, little-endian.
    labels: String,
    /// `[k, d]`.
    centroids: Vec<f64>,
}

/// Runs the subcommand.
pub fn run(args: &Trace) -> Result<Done, Failure> {
    keep_apart(&[&args.output], &[&args.input.input])?;
    let mut file = Staged::create(&args.output)?;
    let watch = Watch::begin(false, 1);
    let page = args.input.read(&watch).and_then(|mut table| {
        if let Some(rows) = args.rows.filter(|&rows| rows < table.points.dim().0) {
            table.points = table.points.first_rows(rows);
        }
        watch.say("comparing the page's run with the library's".into());
        match &table.points {
            Points::F16(m) => page(args, m.view(), &table),
            Points::Bf16(m) => page(args, m.view(), &table),
            Points::F32(m) => page(args, m.view(), &table),
            Points::F64(m) => page(args, m.view(), &table),
        }
    });
    watch.end();
    let (page, report) = page?;
    file.write_all(page.as_bytes()).map_err(|e| file.failed(e))?;
    file.finish()?;
    print(&format!("{report}wrote {}\n", args.output.display()))?;
    Ok(Done::Whole)
}

/// The page, and what to tell about it.
fn page<T: Real>(args: &Trace, points: ArrayView2<'_, T>, table: &Table) -> Result<(String, String), Failure> {
    let (n, d) = points.dim();
    if n * d > MOST_VALUES {
        return Err(Failure::usage(
            format!("{}: {n} × {d} values are more than a page can show, which is {MOST_VALUES}", args.input.name()),
            format!("--rows {} takes the first points only", MOST_VALUES / d),
        ));
    }
    if args.k > MOST_CLUSTERS {
        return Err(Failure::usage(
            format!("K = {} is more than a page can show, which is {MOST_CLUSTERS}", args.k),
            "`kmeans fit` has no such limit",
        ));
    }
    let expected = checked_run(args, points)?;
    let mut bytes = Vec::with_capacity(points.len() * size_of::<T>());
    points.iter().for_each(|value| value.bytes(&mut bytes));
    let names = table.columns.clone().unwrap_or_else(|| (0..d).map(|column| format!("x{column}")).collect());
    let report = format!(
        "{}: the page's run and the library's ({}) are the same: {} iterations, every inertia, all {n} labels\n",
        args.input.name(),
        expected.engine,
        expected.iterations,
    );
    let data = Data {
        file: args
            .input
            .input
            .file_name()
            .map_or_else(|| args.input.name(), |name| name.to_string_lossy().into_owned()),
        version: env!("CARGO_PKG_VERSION"),
        n,
        d,
        element: T::NAME,
        columns: names,
        points: STANDARD.encode(bytes),
        k: args.k,
        start: start(args.init) as u32,
        seed: args.seed.to_string(),
        threshold: args.threshold,
        block: args.block,
        most_clusters: MOST_CLUSTERS.min(n),
        max_iter: MAX_ITER,
        expected,
        wasm: STANDARD.encode(WASM),
    };
    // A file's name may be "</script>".
    let json = serde_json::to_string(&data).expect("the data is plain").replace('<', "\\u003c");
    Ok((assemble(&data.file, &json), report))
}

/// The library's run, if the page's source gives the same, bit for bit.
fn checked_run<T: Real>(args: &Trace, points: ArrayView2<'_, T>) -> Result<Expected, Failure> {
    let settings =
        Settings { max_iter: MAX_ITER, stop: Stop::LabelsChanged(args.threshold), empty: EmptyCluster::Keep };
    let fitted = KMeans::new(args.k)
        .init(args.init.init())
        .seed(args.seed)
        .max_iter(MAX_ITER)
        .stop(settings.stop)
        .empty_cluster(settings.empty)
        .device(Device::Cpu)
        .fit(&points)
        .map_err(|e| Failure::points(&args.input.name(), e))?;
    let values: Vec<T> = points.iter().copied().collect();
    let mut run = Run::new(values, points.ncols(), args.k, start(args.init), args.seed, settings);
    while run.step() {}
    let (labels, inertia) = run.result();
    let history: Vec<_> = run.rounds().iter().map(|round| round.record).collect();
    let same = history == fitted.history()
        && run.centroids().iter().eq(fitted.centroids().iter())
        && labels.iter().eq(fitted.labels().iter())
        && inertia == fitted.inertia()
        && run.converged() == fitted.converged();
    if !same {
        return Err(Failure::Bug("the page's run and the library's differ".into()));
    }
    Ok(Expected {
        engine: fitted.engine().into(),
        iterations: fitted.iterations(),
        converged: fitted.converged(),
        inertia: history.iter().map(|r| r.inertia).collect(),
        movement: history.iter().map(|r| r.movement).collect(),
        changed: history.iter().map(|r| r.labels_changed).collect(),
        result_inertia: inertia,
        labels: STANDARD.encode(labels.iter().flat_map(|label| label.to_le_bytes()).collect::<Vec<u8>>()),
        centroids: fitted.centroids().iter().map(|c| c.to_f64()).collect(),
    })
}

fn start(start: args::Start) -> Start {
    match start {
        args::Start::First => Start::FirstK,
        args::Start::Even => Start::EvenlySpaced,
        args::Start::RandomPoints => Start::RandomPoints,
        args::Start::RandomLabels => Start::RandomLabels,
        args::Start::PlusPlus => Start::PlusPlus,
        args::Start::Parallel => Start::Parallel,
    }
}

/// Everything in one page, which needs nothing from anywhere.
fn assemble(file: &str, json: &str) -> String {
    let title: String = file.chars().map(|c| if "<>&\"".contains(c) { ' ' } else { c }).collect();
    let script = SCRIPT.concat();
    let mut page = String::with_capacity(PAGE.len() + STYLE.len() + script.len() + json.len());
    let mut rest = PAGE;
    for (mark, text) in
        [("{{title}}", title.as_str()), ("{{style}}", STYLE), ("{{data}}", json), ("{{script}}", &script)]
    {
        let (before, after) = rest.split_once(mark).expect("the page has each mark once, in this order");
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page.push_str(rest);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_and_needs_no_network() {
        let page = assemble("a <b>.txt", "{\"x\":1}");
        assert!(page.contains("<title>a  b .txt"));
        assert!(page.contains("{\"x\":1}"));
        for sign in ["{{", "src=", "href=", "http:", "https:", "@import", "url("] {
            assert!(!page.contains(sign), "{sign}");
        }
    }
}
