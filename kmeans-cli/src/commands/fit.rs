//! `kmeans fit`: clusters the points of a file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kmeans_files::{ElementType, Options, Points, Table};
use kmeans_host::{FittedKMeans, Init, KMeans};
use ndarray::{Array1, ArrayView2};

use super::on_threads;
use crate::args::{Fit, Printing, Running};
use crate::failure::{Done, Failure, print};
use crate::interrupt;
use crate::outputs::Outputs;
use crate::points::{Real, notice};
use crate::summary::{About, Summary};
use crate::watch::Watch;

/// Runs the subcommand.
pub fn run(args: &Fit) -> Result<Done, Failure> {
    let layout = args.results.layout.layout();
    let prefix = match &args.results.output {
        Some(prefix) => prefix.clone(),
        None if args.input.is_stdin() && layout.is_some() => {
            return Err(Failure::usage(
                "the points come from standard input, so that there is no name for the results",
                "give one with --output, or --as none for no files",
            ));
        }
        None => args.input.input.clone(),
    };
    let c = &args.clusters;
    let inputs = [Some(&args.input.input), c.centroids.as_ref(), c.weights.as_ref()];
    let inputs: Vec<&Path> = inputs.into_iter().flatten().map(PathBuf::as_path).collect();
    let begun = Instant::now();
    let (given, table, weights) = on_threads(args.running.threads, || {
        let watch = Watch::begin(args.running.quiet, 1);
        let table = args.input.read(&watch);
        watch.end();
        let table = table?;
        let given = args.clusters.centroids.as_deref().map(start).transpose()?;
        let weights = args.clusters.weights.as_deref().map(weights).transpose()?;
        Ok::<_, Failure>((given, table, weights))
    })??;
    let mut kmeans = c.method.kmeans(c.k, args.running.device);
    if let Some(centroids) = given {
        kmeans = kmeans.init(centroids);
    }
    let job = Job {
        file: args.input.name(),
        init: c.centroids.as_ref().map_or_else(|| c.method.init.name(), |_| "centroids".into()),
        from: c
            .centroids
            .as_ref()
            .map_or_else(|| c.method.init.description().into(), |file| file.display().to_string()),
        kmeans,
        starts: c.method.n_init,
        seed: c.method.seed,
        outputs: Outputs::prepare(&prefix, layout, args.results.model.as_deref(), &inputs)?,
        weights,
        read: begun.elapsed(),
    };
    job.run(&table, &args.running, &args.printing)
}

/// The first centroids in a file.
fn start(file: &Path) -> Result<Init, Failure> {
    Ok(Init::Centroids(matrix(file)?.view().to_owned()))
}

/// The weights in a file.
fn weights(file: &Path) -> Result<Array1<f64>, Failure> {
    let weights = matrix(file)?;
    let view = weights.view();
    if view.ncols() != 1 {
        return Err(Failure::usage(
            format!("{}: weights must be one column, but there are {}", file.display(), view.ncols()),
            "write one weight per line",
        ));
    }
    Ok(view.column(0).to_owned())
}

/// A small file as f64.
fn matrix(file: &Path) -> Result<kmeans_files::Matrix<f64>, Failure> {
    let table = kmeans_files::read(file, &Options::default())?;
    match table.points.into_element(ElementType::F64) {
        Points::F64(matrix) => Ok(matrix),
        _ => unreachable!("just converted"),
    }
}

/// A fit with everything that it needs.
pub struct Job {
    /// How messages call the input.
    pub file: String,
    /// How the summary calls the start, for programs and for people.
    pub init: String,
    pub from: String,
    pub kmeans: KMeans,
    pub starts: usize,
    pub seed: u64,
    pub outputs: Outputs,
    pub weights: Option<Array1<f64>>,
    /// How long reading took.
    pub read: Duration,
}

impl Job {
    /// Fits, writes the files, prints the summary.
    pub fn run(self, table: &Table, running: &Running, printing: &Printing) -> Result<Done, Failure> {
        match &table.points {
            Points::F16(m) => self.run_on(m.view(), table, running, printing),
            Points::Bf16(m) => self.run_on(m.view(), table, running, printing),
            Points::F32(m) => self.run_on(m.view(), table, running, printing),
            Points::F64(m) => self.run_on(m.view(), table, running, printing),
        }
    }

    fn run_on<T: Real>(
        self,
        points: ArrayView2<'_, T>,
        table: &Table,
        running: &Running,
        printing: &Printing,
    ) -> Result<Done, Failure> {
        let watch = Watch::begin(running.quiet, self.starts);
        watch.say("checking the points".into());
        let following = watch.clone();
        let kmeans = self.kmeans.on_progress(move |progress| following.report(progress));
        let weights = self.weights;
        let fitting = interrupt::Fitting::begin();
        let fitted: Result<FittedKMeans<T>, _> = on_threads(running.threads, || match &weights {
            None => kmeans.fit(&points),
            Some(weights) => kmeans.fit_weighted(&points, weights),
        })?;
        let ended = watch.end();
        let fitted = fitted.map_err(|e| Failure::points(&self.file, e))?;
        for text in fitted.notices() {
            notice(&text.to_string());
        }
        // Ctrl-C now does not stop the writing: it is too late to ask for less. The second one does.
        let files = self.outputs.write(&fitted, table.columns.as_deref())?;
        drop(fitting);
        let about = About {
            file: self.file,
            table,
            init: self.init,
            from: self.from,
            seed: self.seed,
            interrupted: ended.interrupted,
            read: self.read,
            fit: ended.took,
            files,
        };
        // What differs from machine to machine and from run to run stays off standard output.
        if !(running.quiet || printing.json || printing.csv) {
            let (read, fit) = (about.read.as_secs_f64(), ended.took.as_secs_f64());
            eprintln!("read in {read:.3} s, fitted in {fit:.3} s on {}", fitted.engine());
        }
        print(&Summary::of(&fitted, about).text(printing))?;
        Ok(if ended.interrupted { Done::Interrupted } else { Done::Whole })
    }
}
