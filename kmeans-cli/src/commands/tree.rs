//! `kmeans tree`: clusters within clusters, and the leaves of other points.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kmeans_files::{Layout, Points, Staged, Table, write_centroids, write_columns};
use kmeans_host::tree::{Balance, FittedTree, Level, NearestLeaves};
use ndarray::{Array2, ArrayView2};
use serde::Serialize;

use super::on_threads;
use super::predict::{in_type, is_decimal};
use crate::args::{Input, Printing, Tree};
use crate::failure::{Done, Failure, print};
use crate::interrupt;
use crate::outputs::keep_apart;
use crate::points::{Real, notice};
use crate::summary::{csv_row, plural, rounded};
use crate::watch::{Ended, Watch};

/// The columns of the CSV row, and most of the JSON's keys.
#[derive(Serialize)]
struct Report {
    file: String,
    n: usize,
    d: usize,
    #[serde(rename = "type")]
    element: &'static str,
    k: usize,
    depth: Option<usize>,
    max_leaf_size: Option<usize>,
    init: String,
    seed: u64,
    nodes: usize,
    leaves: usize,
    levels: usize,
    smallest_leaf: usize,
    largest_leaf: usize,
    inertia: f64,
    interrupted: bool,
    engine: String,
    read_seconds: f64,
    fit_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
}

/// What does not fit a row.
#[derive(Serialize)]
struct Details {
    median_leaf: f64,
    mean_leaf: f64,
    standard_deviation: f64,
    levels: Vec<LevelReport>,
    notices: Vec<String>,
    files: Vec<String>,
    #[serde(skip)]
    balance: Balance,
    #[serde(skip)]
    from: &'static str,
}

#[derive(Serialize)]
struct LevelReport {
    level: usize,
    nodes: usize,
    leaves: usize,
    points: usize,
    inertia: f64,
}

/// Runs the subcommand.
pub fn run(args: &Tree) -> Result<Done, Failure> {
    if args.depth.is_none() && args.max_leaf_size.is_none() {
        return Err(Failure::usage(
            "nothing says where the tree ends",
            "give --depth, the most splits above a leaf, or --max-leaf-size, or both",
        ));
    }
    let files = Files::create(args)?;
    let begun = Instant::now();
    let (table, others) = on_threads(args.running.threads, || {
        let watch = Watch::begin(args.running.quiet, 1);
        let tables = read(args, &watch);
        watch.end();
        tables
    })??;
    let read = begun.elapsed();
    match (&table.points, others.as_ref().map(|others| &others.points)) {
        (Points::F16(m), None) => grow(args, m.view(), None, read, files, &table),
        (Points::Bf16(m), None) => grow(args, m.view(), None, read, files, &table),
        (Points::F32(m), None) => grow(args, m.view(), None, read, files, &table),
        (Points::F64(m), None) => grow(args, m.view(), None, read, files, &table),
        (Points::F16(m), Some(Points::F16(o))) => grow(args, m.view(), Some(o.view()), read, files, &table),
        (Points::Bf16(m), Some(Points::Bf16(o))) => grow(args, m.view(), Some(o.view()), read, files, &table),
        (Points::F32(m), Some(Points::F32(o))) => grow(args, m.view(), Some(o.view()), read, files, &table),
        (Points::F64(m), Some(Points::F64(o))) => grow(args, m.view(), Some(o.view()), read, files, &table),
        _ => unreachable!("the other points were read in the type of the first"),
    }
}

/// The points, and the other points whose leaves are to be found: in the type of the first, and their columns where both have names.
fn read(args: &Tree, watch: &Watch) -> Result<(Table, Option<Table>), Failure> {
    let table = args.input.read(watch)?;
    let Some(file) = &args.results.assign else { return Ok((table, None)) };
    let input = Input { input: file.clone(), format: None, ..args.input.clone() };
    let element = table.points.element();
    // Decimal numbers take the type at once.
    let own = if is_decimal(&input) { Some(element) } else { None };
    let mut others = input.read_as(watch, own, table.columns.clone())?;
    others.points = in_type(others.points, Some(element), &input.name());
    let (expected, found) = (table.points.dim().1, others.points.dim().1);
    if expected != found {
        return Err(Failure::points(&input.name(), kmeans_host::Error::DimensionMismatch { expected, found }));
    }
    Ok((table, Some(others)))
}

/// Fits the tree, writes the files, prints the summary.
fn grow<T: Real>(
    args: &Tree,
    points: ArrayView2<'_, T>,
    others: Option<ArrayView2<'_, T>>,
    read: Duration,
    files: Files,
    table: &Table,
) -> Result<Done, Failure> {
    let watch = Watch::begin(args.running.quiet, 1);
    watch.say("checking the points".into());
    let following = watch.clone();
    let builder = args.builder().on_progress(move |progress| following.report(progress));
    let fitting = interrupt::Fitting::begin();
    let grown = on_threads(args.running.threads, || {
        let tree = builder.fit(&points).map_err(|e| Failure::points(&args.input.name(), e))?;
        let near = others.map(|others| tree.nearest_leaves(&others, args.results.beam)).transpose();
        let name = args.results.assign.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        Ok::<_, Failure>((tree, near.map_err(|e| Failure::points(&name, e))?))
    })?;
    let ended = watch.end();
    let (tree, near) = grown?;
    for text in tree.notices() {
        notice(&text.to_string());
    }
    let files = files.write(&tree, near.as_ref(), table.columns.as_deref())?;
    drop(fitting);
    let report = report(args, points.dim(), &tree, read, &ended, files);
    if !(args.running.quiet || args.printing.json || args.printing.csv) {
        let Report { read_seconds, fit_seconds, engine, .. } = &report;
        eprintln!("read in {read_seconds:.3} s, fitted in {fit_seconds:.3} s on {engine}");
    }
    print(&report.text(&args.printing))?;
    Ok(if ended.interrupted { Done::Interrupted } else { Done::Whole })
}

fn report<T: Real>(
    args: &Tree,
    (n, d): (usize, usize),
    tree: &FittedTree<T>,
    read: Duration,
    ended: &Ended,
    files: Vec<String>,
) -> Report {
    let (balance, levels) = (tree.balance(), tree.levels());
    let level = |l: &Level| LevelReport {
        level: l.level,
        nodes: l.nodes,
        leaves: l.leaves,
        points: l.points,
        inertia: l.inertia,
    };
    Report {
        file: args.input.name(),
        n,
        d,
        element: T::NAME,
        k: args.k,
        depth: args.depth,
        max_leaf_size: args.max_leaf_size,
        init: args.init.name(),
        seed: args.seed,
        nodes: tree.nodes().len(),
        leaves: balance.leaves,
        levels: levels.len(),
        smallest_leaf: balance.smallest,
        largest_leaf: balance.largest,
        inertia: tree.inertia(),
        interrupted: ended.interrupted,
        engine: tree.engine().into(),
        read_seconds: rounded(read),
        fit_seconds: rounded(ended.took),
        details: Some(Details {
            median_leaf: balance.median,
            mean_leaf: balance.mean,
            standard_deviation: balance.standard_deviation,
            levels: levels.iter().map(level).collect(),
            notices: tree.notices().iter().map(ToString::to_string).collect(),
            files,
            balance,
            from: args.init.description(),
        }),
    }
}

impl Report {
    /// As the command line asks for it.
    fn text(mut self, printing: &Printing) -> String {
        if printing.json {
            return serde_json::to_string_pretty(&self).expect("a report is plain data") + "\n";
        }
        let Some(details) = self.details.take() else { unreachable!("they are taken once") };
        if printing.csv {
            return csv_row(&serde_json::to_value(&self).expect("a report is plain data"));
        }
        let Self { file, n, d, element, k, nodes, levels, inertia, .. } = &self;
        let mut lines = vec![
            format!("{file}: {} of {}, {element}", plural(*n, "point"), plural(*d, "column")),
            format!(
                "nodes split in {k} from {}: {} on {}, inertia {inertia}{}",
                details.from,
                plural(*nodes, "node"),
                plural(*levels, "level"),
                if self.interrupted { ", interrupted" } else { "" },
            ),
            details.balance.to_string(),
            format!("{:>5}  {:>9}  {:>9}  {:>11}  inertia", "level", "nodes", "leaves", "points"),
        ];
        for LevelReport { level, nodes, leaves, points, inertia } in &details.levels {
            lines.push(format!("{level:>5}  {nodes:>9}  {leaves:>9}  {points:>11}  {inertia}"));
        }
        if !details.files.is_empty() {
            lines.push(format!("wrote {}", details.files.join(", ")));
        }
        lines.join("\n") + "\n"
    }
}

/// A node, as the file of nodes has it.
#[derive(Serialize)]
struct NodeLine {
    node: usize,
    parent: Option<usize>,
    level: usize,
    /// Its places in the permutation: the first, and how many.
    first_place: usize,
    points: usize,
    /// Its children: the first, and how many.
    first_child: Option<usize>,
    children: usize,
    /// Its number among the leaves.
    leaf: Option<usize>,
    inertia: f64,
    iterations: usize,
    converged: bool,
}

/// The files that it leaves.
struct Files {
    labels: Option<(Layout, Staged)>,
    permutation: Option<(Layout, Staged)>,
    /// Whether it is JSON.
    nodes: Option<(bool, Staged)>,
    centroids: Option<(Layout, Staged)>,
    assigned: Option<(Layout, Staged)>,
}

impl Files {
    /// Makes sure, before the work, that the files can be written.
    fn create(args: &Tree) -> Result<Self, Failure> {
        let r = &args.results;
        let outputs: Vec<&Path> = [&r.labels, &r.permutation, &r.nodes, &r.centroids, &r.assigned]
            .into_iter()
            .flatten()
            .map(AsRef::as_ref)
            .collect();
        let inputs: Vec<&Path> =
            [Some(&args.input.input), r.assign.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
        if inputs.iter().filter(|input| input.as_os_str() == "-").count() > 1 {
            return Err(Failure::usage(
                "standard input cannot be both the points and those whose leaves are found",
                "name a file for one of them",
            ));
        }
        keep_apart(&outputs, &inputs)?;
        let table = |path: &Option<PathBuf>| {
            path.as_deref().map(|path| Ok::<_, Failure>((Layout::of_path(path), Staged::create(path)?))).transpose()
        };
        let nodes = |path: &Path| match path.extension().and_then(OsStr::to_str) {
            Some("json") => Ok((true, Staged::create(path)?)),
            Some("csv") => Ok((false, Staged::create(path)?)),
            _ => Err(Failure::usage(
                format!("{}: the name of a file of nodes ends in .json or .csv", path.display()),
                "choose such a name",
            )),
        };
        Ok(Self {
            labels: table(&r.labels)?,
            permutation: table(&r.permutation)?,
            nodes: r.nodes.as_deref().map(nodes).transpose()?,
            centroids: table(&r.centroids)?,
            assigned: table(&r.assigned)?,
        })
    }

    /// Writes all files; their names.
    fn write<T: Real>(
        self,
        tree: &FittedTree<T>,
        near: Option<&NearestLeaves>,
        columns: Option<&[String]>,
    ) -> Result<Vec<String>, Failure> {
        let mut files = Vec::new();
        if let Some((layout, mut file)) = self.labels {
            let labels = tree.leaf_labels().insert_axis(ndarray::Axis(1));
            write_columns(&mut file, layout, "point", &["leaf".into()], labels).map_err(|e| file.failed(e))?;
            files.push(file);
        }
        if let Some((layout, mut file)) = self.permutation {
            let rows: Vec<u64> = tree.permutation().iter().map(|&row| row as u64).collect();
            let rows = Array2::from_shape_vec((rows.len(), 1), rows).expect("one column");
            write_columns(&mut file, layout, "place", &["row".into()], rows.view()).map_err(|e| file.failed(e))?;
            files.push(file);
        }
        if let Some((is_json, mut file)) = self.nodes {
            file.write_all(nodes(tree, is_json).as_bytes()).map_err(|e| file.failed(e))?;
            files.push(file);
        }
        if let Some((layout, mut file)) = self.centroids {
            write_centroids(&mut file, layout, tree.centroids(), columns).map_err(|e| file.failed(e))?;
            files.push(file);
        }
        if let (Some((layout, mut file)), Some(near)) = (self.assigned, near) {
            write_leaves(&mut file, layout, near).map_err(|e| file.failed(e))?;
            files.push(file);
        }
        let names = files.iter().map(|f| f.name().to_string()).collect();
        Staged::finish_all(files)?;
        Ok(names)
    }
}

/// All nodes, level by level: a JSON array with a node per line, or CSV.
fn nodes<T: Real>(tree: &FittedTree<T>, is_json: bool) -> String {
    let mut leaf = vec![None; tree.nodes().len()];
    for (number, &node) in tree.leaves().iter().enumerate() {
        leaf[node] = Some(number);
    }
    let lines = tree.nodes().iter().enumerate().map(|(index, node)| {
        let line = NodeLine {
            node: index,
            parent: node.parent,
            level: node.level,
            first_place: node.places.start,
            points: node.count(),
            first_child: (!node.is_leaf()).then_some(node.children.start),
            children: node.children.len(),
            leaf: leaf[index],
            inertia: node.inertia,
            iterations: node.iterations,
            converged: node.converged,
        };
        serde_json::to_value(line).expect("a node is plain data")
    });
    if is_json {
        let lines: Vec<String> = lines.map(|line| format!("  {line}")).collect();
        return format!("[\n{}\n]\n", lines.join(",\n"));
    }
    let header = "node,parent,level,first_place,points,first_child,children,leaf,inertia,iterations,converged\n";
    lines.fold(header.into(), |text, line| text + &csv_row(&line).replace("null", ""))
}

/// The leaves found for other points; in CSV one per line, with its distance.
fn write_leaves(file: &mut Staged, layout: Layout, near: &NearestLeaves) -> std::io::Result<()> {
    if layout != Layout::Csv {
        return write_columns(file, layout, "point", &[], near.leaves.view());
    }
    writeln!(file, "point,rank,leaf,distance")?;
    for ((point, rank), leaf) in near.leaves.indexed_iter() {
        writeln!(file, "{point},{rank},{leaf},{}", near.distances[[point, rank]])?;
    }
    Ok(())
}
