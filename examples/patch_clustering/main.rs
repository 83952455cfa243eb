//! K-means on the overlapping patches of an image, with a picture of the clusters as the result.
//!
//! ```text
//! cargo run --release --example patch_clustering -- [IMAGE] [--k 80] [--help]
//! ```
//!
//! The work is four steps: read the image (`photo`), cut it into patches (the library), cluster them (here), draw the
//! picture (`montage`).

mod clusters;
mod layout;
mod montage;
mod options;
mod patches;
mod photo;
mod report;
mod watch;
mod whiten;

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use kmeans_examples::picture::save;
use kmeans_host::image::Patches;
use kmeans_host::{Error, FittedKMeans, KMeans, MinimumSize, Stop};
use ndarray::Array2;

use montage::Montage;
use options::Options;
use patches::{as_array, from_array};
use photo::Photo;
use report::Stages;
use watch::{Times, Watch};

/// More iterations than any image needs until its labels repeat.
const UNTIL_CONVERGED: usize = 100_000;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // What failed and why; deeper causes are repeated by the errors of `image`.
            let texts: Vec<String> = error.chain().take(2).map(ToString::to_string).collect();
            eprintln!("error: {}", texts.join(": "));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    prepare(options)?;
    let mut stages = Stages::default();

    let photo = stages.timed("load", || Photo::load(options.image.as_deref()))?;
    let pixels = as_array(&photo.pixels);
    let grid = Patches::new(pixels.dim(), options.patch as usize, options.stride as usize)?;
    let patches = stages.timed("patches", || grid.extract(&pixels))?;
    report::image(&photo);
    report::patches(&patches, options.patch);

    let whitened = stages.timed("whiten", || whiten::whitened(&patches, options.whiten))?;
    let rows = whitened.as_ref().map_or(&patches, |(rows, _)| rows);
    let (fitted, times) = stages.timed("fit", || fit(options, rows))?;
    report::fit(&fitted, &times, options.init.description(), options.whiten.is_some());

    let mut centroids = fitted.centroids().to_owned();
    let mut means = None;
    if let Some((_, taken)) = &whitened {
        centroids = taken.centroids(&fitted)?;
        means = Some(taken.means().view());
    }
    let rebuilt = stages.timed("rebuild", || grid.reconstruct(&centroids, fitted.labels(), means))?;
    let rebuilt = from_array(&rebuilt);
    if let Some((_, taken)) = &whitened {
        centroids = taken.bright(centroids, &fitted);
    }
    let montage = Montage {
        photo: &photo,
        rebuilt: &rebuilt,
        patches: &patches,
        rows,
        centroids: &centroids,
        side: options.patch,
        fitted: &fitted,
        start: options.init.description(),
        samples: options.samples,
    };
    let picture = stages.timed("montage", || montage.draw());
    stages.timed("save", || save(&picture, &options.output))?;
    report::picture(&picture, &options.output);
    stages.tell(&times);
    Ok(())
}

/// Finds out before the work whether its result could be kept.
fn prepare(options: &Options) -> Result<()> {
    if let Some(image) = &options.image
        && let (Ok(image), Ok(output)) = (fs::canonicalize(image), fs::canonicalize(&options.output))
    {
        ensure!(image != output, "the picture would overwrite the image: choose another --output");
    }
    if let Some(folder) = options.output.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    }
    Ok(())
}

/// The part that a program of your own needs.
fn fit(options: &Options, patches: &Array2<f32>) -> Result<(FittedKMeans<f32>, Times)> {
    // 0 threads: as many as there are cores.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads.unwrap_or(0)).build()?;
    let watch = Watch::begin()?;
    let observer = watch.clone();
    let model = KMeans::new(options.k)
        .init(options.init.init())
        .max_iter(if options.until_converged { UNTIL_CONVERGED } else { options.iterations })
        .stop(Stop::LabelsRepeat)
        .seed(options.seed)
        .device(options.device)
        .on_progress(move |progress| observer.report(progress));
    // With a minimum of 0 this is one fit.
    let minimum = MinimumSize::new(options.min_size).clusters(options.min_clusters);
    let fitted = pool.install(|| minimum.fit(&model, patches));
    let times = watch.end();
    match fitted {
        Err(Error::Cancelled { .. }) => bail!("interrupted before there were centroids"),
        fitted => Ok((fitted?, times)),
    }
}
