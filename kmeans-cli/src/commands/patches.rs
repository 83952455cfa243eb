//! `kmeans patches`: clusters the overlapping squares of an image.

use std::path::Path;
use std::time::Instant;

use image::{DynamicImage, GrayImage, ImageBuffer, RgbImage};
use kmeans_files::Staged;
use kmeans_host::image::{Patches as Grid, Whitening, psnr};
use kmeans_host::{FittedKMeans, MinimumSize};
use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2};
use serde::Serialize;

use super::on_threads;
use crate::args::{Patches, Printing};
use crate::failure::{Done, Failure, print};
use crate::images::{PictureFile, Pixels, montage, name, read};
use crate::interrupt;
use crate::outputs::{Outputs, keep_apart};
use crate::points::notice;
use crate::summary::{csv_row, ending, first_of, plural, rounded};
use crate::watch::Watch;

/// The columns of the CSV row, and most of the JSON's keys.
#[derive(Serialize)]
struct Report {
    file: String,
    width: usize,
    height: usize,
    channels: usize,
    size: usize,
    stride: usize,
    remove_mean: bool,
    /// The share of the mean variance that was added to every variance.
    whiten: Option<f64>,
    n: usize,
    d: usize,
    k: usize,
    init: String,
    #[serde(skip)]
    from: &'static str,
    seed: u64,
    iterations: usize,
    converged: bool,
    interrupted: bool,
    inertia: f64,
    non_empty: usize,
    /// Of the rebuilt image, in dB; none if it is the image itself.
    psnr: Option<f64>,
    engine: String,
    read_seconds: f64,
    fit_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
}

/// What does not fit a row.
#[derive(Serialize)]
struct Details {
    counts: Vec<u64>,
    notices: Vec<String>,
    files: Vec<String>,
}

/// Runs the subcommand.
pub fn run(args: &Patches) -> Result<Done, Failure> {
    let file = name(&args.image);
    let files = Files::create(args)?;
    let begun = Instant::now();
    let watch = Watch::begin(args.running.quiet, 1);
    watch.say(format!("reading {file}"));
    let image = read(&args.image).map(Pixels::of);
    watch.end();
    let image = image?;
    let read = begun.elapsed();
    let mut notices = Vec::new();
    if image.has_alpha() {
        notices.push("transparency is left out: the colours beneath are clustered".to_string());
    }
    let (image, white) = image.colours();
    let failed = |e| Failure::points(&file, e);
    let grid = Grid::new(image.dim(), args.size, args.stride).map_err(failed)?;
    let mut patches = grid.extract(&image).map_err(failed)?;
    let means = args.remove_mean.then(|| Grid::remove_means(&mut patches));
    let whitening = on_threads(args.running.threads, || {
        let whitening = args.whiten.map(|share| Whitening::new(&patches, share)).transpose()?;
        if let Some(whitening) = &whitening {
            patches = whitening.apply(&patches)?;
        }
        Ok(whitening)
    })?;
    let whitening = whitening.map_err(failed)?;

    let watch = Watch::begin(args.running.quiet, args.method.n_init);
    let following = watch.clone();
    let kmeans = args.method.kmeans(args.k, args.running.device);
    let kmeans = kmeans.on_progress(move |progress| following.report(progress));
    let fitting = interrupt::Fitting::begin();
    let fitted = on_threads(args.running.threads, || match args.min_patches {
        None => kmeans.fit(&patches),
        Some(least) => MinimumSize::new(least).clusters(args.min_clusters).fit(&kmeans, &patches),
    })?;
    let ended = watch.end();
    let fitted = fitted.map_err(failed)?;
    let centroids = match &whitening {
        Some(whitening) => whitening.invert(&fitted.centroids()).map_err(failed)?,
        None => fitted.centroids().to_owned(),
    };
    let means = means.as_ref().map(|means| means.view());
    let rebuilt = Rebuilt::of(&image, white, &grid, centroids.view(), fitted.labels(), means).map_err(failed)?;
    if rebuilt.uncovered > 0 {
        notices.push(format!(
            "{} no patch: they are black in the rebuilt image, and not part of its PSNR",
            if rebuilt.uncovered == 1 {
                "1 pixel lies under".into()
            } else {
                format!("{} pixels lie under", rebuilt.uncovered)
            }
        ));
    }
    notices.extend(fitted.notices().iter().map(ToString::to_string));
    for text in &notices {
        notice(text);
    }
    let names = files.write(args, &fitted, centroids.view(), &rebuilt, white)?;
    drop(fitting);
    let counts = fitted.counts().to_vec();
    let (height, width, channels) = image.dim();
    let report = Report {
        file,
        width,
        height,
        channels,
        size: args.size,
        stride: args.stride,
        remove_mean: args.remove_mean,
        whiten: args.whiten,
        n: grid.len(),
        d: grid.values(),
        k: counts.len(),
        init: args.method.init.name(),
        from: args.method.init.description(),
        seed: args.method.seed,
        iterations: fitted.iterations(),
        converged: fitted.converged(),
        interrupted: ended.interrupted,
        inertia: fitted.inertia(),
        non_empty: counts.iter().filter(|&&count| count > 0).count(),
        psnr: Some(rebuilt.psnr).filter(|psnr| psnr.is_finite()),
        engine: fitted.engine().into(),
        read_seconds: rounded(read),
        fit_seconds: rounded(ended.took),
        details: Some(Details { counts, notices, files: names }),
    };
    if !(args.running.quiet || args.printing.json || args.printing.csv) {
        let Report { read_seconds, fit_seconds, engine, .. } = &report;
        eprintln!("read in {read_seconds:.3} s, fitted in {fit_seconds:.3} s on {engine}");
    }
    print(&report.text(&args.printing))?;
    Ok(if ended.interrupted { Done::Interrupted } else { Done::Whole })
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
        let Self { file, width, height, channels, size, stride, n, d, k, from, iterations, inertia, .. } = &self;
        let mut lines = vec![format!(
            "{file}: {width} × {height} pixels of {}\n\
             {} of {size} × {size} pixels, {stride} apart{}{}: {}\n\
             {} from {from}: {} after {}, inertia {inertia}",
            plural(*channels, "channel"),
            if *n == 1 { "1 patch".into() } else { format!("{n} patches") },
            if self.remove_mean { ", without their mean" } else { "" },
            if self.whiten.is_some() { ", whitened" } else { "" },
            plural(*d, "value"),
            plural(*k, "cluster"),
            ending(self.converged, self.interrupted),
            plural(*iterations, "iteration"),
        )];
        lines.push(format!("patches per cluster: {}", first_of(&details.counts)));
        lines.push(match self.psnr {
            Some(psnr) => format!("rebuilt from the centroids: PSNR {psnr:.2} dB"),
            None => "rebuilt from the centroids: the image itself".into(),
        });
        if !details.files.is_empty() {
            lines.push(format!("wrote {}", details.files.join(", ")));
        }
        lines.join("\n") + "\n"
    }
}

/// The image made of centroids.
struct Rebuilt {
    /// `[h, w, c]`, integers.
    image: Array3<f32>,
    psnr: f64,
    /// Pixels that no patch covers.
    uncovered: usize,
}

impl Rebuilt {
    fn of(
        image: &Array3<f32>,
        white: f32,
        grid: &Grid,
        centroids: ArrayView2<'_, f32>,
        labels: ArrayView1<'_, u32>,
        means: Option<ArrayView1<'_, f32>>,
    ) -> Result<Self, kmeans_host::Error> {
        let rebuilt = grid.reconstruct(&centroids, labels, means)?;
        let rebuilt = rebuilt.mapv(|value| value.round().clamp(0.0, white));
        // Patches of ones cover with ones.
        let ones = Array2::from_elem((1, grid.values()), 1.0);
        let cover = grid.reconstruct(&ones, Array1::zeros(grid.len()).view(), None)?;
        let uncovered = cover.iter().filter(|&&cover| cover == 0.0).count();
        // Where nothing is rebuilt there is no error, and nothing to share it among.
        let mut compared = rebuilt.clone();
        ndarray::Zip::from(&mut compared).and(&cover).and(image).for_each(|value, &cover, &original| {
            if cover == 0.0 {
                *value = original;
            }
        });
        let share = (image.len() - uncovered) as f64 / image.len() as f64;
        let psnr = psnr(image, &compared, white.into())? + 10.0 * share.log10();
        Ok(Self { image: rebuilt, psnr, uncovered: uncovered / image.dim().2 })
    }

    /// As a picture with 8 or 16 bits per channel, as the image had.
    fn picture(&self, white: f32) -> DynamicImage {
        let (height, width, channels) = self.image.dim();
        let (width, height) = (width as u32, height as u32);
        let eight = || self.image.iter().map(|&v| (v * (255.0 / white)).round() as u8).collect();
        let sixteen = || self.image.iter().map(|&v| v as u16).collect();
        let whole = "h·w·c samples";
        match (white > 255.0, channels) {
            (false, 1) => GrayImage::from_raw(width, height, eight()).expect(whole).into(),
            (false, _) => RgbImage::from_raw(width, height, eight()).expect(whole).into(),
            (true, 1) => ImageBuffer::<image::Luma<u16>, _>::from_raw(width, height, sixteen()).expect(whole).into(),
            (true, _) => ImageBuffer::<image::Rgb<u16>, _>::from_raw(width, height, sixteen()).expect(whole).into(),
        }
    }
}

/// The files that it leaves.
struct Files {
    outputs: Outputs,
    reconstruct: Option<PictureFile>,
    montage: Option<PictureFile>,
}

impl Files {
    /// Makes sure, before the work, that the files can be written.
    fn create(args: &Patches) -> Result<Self, Failure> {
        let results = &args.results;
        let layout = results.layout.layout();
        let prefix = match &results.output {
            Some(prefix) => prefix,
            None if args.image.as_os_str() == "-" && layout.is_some() => {
                return Err(Failure::usage(
                    "the image comes from standard input, so that there is no name for the results",
                    "give one with --output",
                ));
            }
            None => &args.image,
        };
        let pictures: Vec<&Path> =
            [&results.reconstruct, &results.montage].into_iter().flatten().map(AsRef::as_ref).collect();
        keep_apart(&pictures, &[&args.image])?;
        let mut others = pictures;
        others.push(&args.image);
        let outputs = Outputs::prepare(prefix, layout, results.model.as_deref(), &others)?;
        Ok(Self {
            outputs,
            reconstruct: results.reconstruct.as_deref().map(PictureFile::create).transpose()?,
            montage: results.montage.as_deref().map(PictureFile::create).transpose()?,
        })
    }

    /// Writes all files; their names. `centroids` are patches of the image.
    fn write(
        self,
        args: &Patches,
        fitted: &FittedKMeans<f32>,
        centroids: ArrayView2<'_, f32>,
        rebuilt: &Rebuilt,
        white: f32,
    ) -> Result<Vec<String>, Failure> {
        let mut files = Vec::new();
        if let Some(file) = self.reconstruct {
            files.push(file.write(&rebuilt.picture(white))?);
        }
        if let Some(file) = self.montage {
            let mut order: Vec<usize> = (0..fitted.counts().len()).collect();
            order.sort_by_key(|&cluster| std::cmp::Reverse(fitted.counts()[cluster]));
            // What is left without the mean is as often dark as bright.
            let black = if args.remove_mean { -white / 2.0 } else { 0.0 };
            files.push(file.write(&montage(centroids, &order, args.size, black, black + white).into())?);
        }
        let mut names: Vec<String> = files.iter().map(|f| f.name().to_string()).collect();
        let (results, written) = self.outputs.stage(fitted, centroids, None)?;
        names.extend(written);
        files.extend(results);
        Staged::finish_all(files)?;
        Ok(names)
    }
}
