//! `kmeans segment`: clusters the pixels of images.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Instant;

use image::{DynamicImage, GrayImage, ImageBuffer, Luma};
use kmeans_files::{Staged, write_label_image};
use kmeans_host::Notice;
use kmeans_host::image::{Segmentation, SegmentedImage};
use ndarray::ArrayView2;
use serde::Serialize;

use super::on_threads;
use crate::args::{Printing, Segment};
use crate::failure::{Done, Failure, print};
use crate::images::{Entry, PaletteFile, PictureFile, Swatches, beside, expand, name, read};
use crate::interrupt;
use crate::outputs::keep_apart;
use crate::points::notice;
use crate::summary::{csv_row, ending, plural, rounded};
use crate::watch::Watch;

/// Colours of the palette that the summary for people shows.
const SHOWN: usize = 40;

/// The columns of the CSV row, and most of the JSON's keys.
#[derive(Serialize)]
struct Report {
    file: String,
    width: u32,
    height: u32,
    /// Channels and bits, as the file has them.
    pixels: String,
    k: usize,
    features: String,
    init: String,
    #[serde(skip)]
    from: &'static str,
    seed: u64,
    iterations: usize,
    converged: bool,
    interrupted: bool,
    inertia: f64,
    /// The distinct colours, where these were clustered.
    distinct_colours: Option<usize>,
    engine: String,
    read_seconds: f64,
    fit_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
}

/// What does not fit a row.
#[derive(Serialize)]
struct Details {
    palette: Swatches,
    notices: Vec<String>,
    files: Vec<String>,
}

/// Runs the subcommand.
pub fn run(args: &Segment) -> Result<Done, Failure> {
    let images = expand(&args.images)?;
    let results = &args.results;
    let patterns = || results.output.iter().chain(&results.palette).chain(&results.labels);
    patterns().try_for_each(|pattern| pattern.check(images.len()))?;
    let outputs: Vec<_> = images.iter().flat_map(|image| patterns().map(move |pattern| pattern.of(image))).collect();
    let outputs: Vec<&Path> = outputs.iter().map(AsRef::as_ref).collect();
    keep_apart(&outputs, &images.iter().map(AsRef::as_ref).collect::<Vec<_>>())?;
    let segmentation = Segmentation::new(args.k)
        .features(args.pixels.features()?)
        .alpha(args.pixels.alpha.into())
        .every_pixel(args.every_pixel);
    for (number, path) in images.iter().enumerate() {
        let which = if images.len() > 1 { format!("image {}/{} · ", number + 1, images.len()) } else { String::new() };
        if segment(args, &segmentation, path, which)? == Done::Interrupted {
            return Ok(Done::Interrupted);
        }
    }
    Ok(Done::Whole)
}

/// Segments one image, writes its files, prints its summary.
fn segment(args: &Segment, segmentation: &Segmentation, path: &Path, which: String) -> Result<Done, Failure> {
    let file = name(path);
    let files = Files::create(args, path)?;
    let begun = Instant::now();
    let watch = Watch::begin(args.running.quiet, 1);
    watch.say(format!("{which}reading {file}"));
    let image = read(path);
    watch.end();
    let image = image?;
    let read = begun.elapsed();
    let watch = Watch::begin(args.running.quiet, args.method.n_init);
    watch.say(format!("{which}finding colours"));
    let following = watch.clone();
    let kmeans = args.method.kmeans(args.k, args.running.device);
    let kmeans = kmeans.on_progress(move |progress| following.report_as(&which, progress));
    let segmentation = segmentation.clone().kmeans(kmeans);
    let fitting = interrupt::Fitting::begin();
    let segmented = on_threads(args.running.threads, || segmentation.segment_image(&image))?;
    let ended = watch.end();
    let segmented = segmented.map_err(|e| Failure::points(&file, e))?;
    for text in &segmented.notices {
        notice(&text.to_string());
    }
    let palette = Swatches::of(&segmented.palette);
    let files = files.write(&image, &segmented, &palette)?;
    drop(fitting);
    let report = Report {
        file,
        width: image.width(),
        height: image.height(),
        pixels: format!("{:?}", image.color()).to_lowercase(),
        k: segmented.palette.len(),
        features: args.pixels.features.name(),
        init: args.method.init.name(),
        from: args.method.init.description(),
        seed: args.method.seed,
        iterations: segmented.iterations,
        converged: !segmented.notices.iter().any(|n| matches!(n, Notice::NotConverged { .. })),
        interrupted: ended.interrupted,
        inertia: segmented.inertia,
        distinct_colours: segmented.distinct_colours,
        engine: segmented.engine,
        read_seconds: rounded(read),
        fit_seconds: rounded(ended.took),
        details: Some(Details { palette, notices: segmented.notices.iter().map(ToString::to_string).collect(), files }),
    };
    if !(args.running.quiet || args.printing.json || args.printing.csv) {
        report.tell_times();
    }
    print(&report.text(&args.printing))?;
    Ok(if ended.interrupted { Done::Interrupted } else { Done::Whole })
}

impl Report {
    /// What differs from machine to machine and from run to run stays off standard output.
    fn tell_times(&self) {
        let clustered = match self.distinct_colours {
            Some(colours) => format!("{colours} distinct colours"),
            None => "every pixel".into(),
        };
        let Self { read_seconds, fit_seconds, engine, .. } = self;
        eprintln!("read in {read_seconds:.3} s, clustered {clustered} in {fit_seconds:.3} s on {engine}");
    }

    /// As the command line asks for it.
    fn text(mut self, printing: &Printing) -> String {
        if printing.json {
            return serde_json::to_string_pretty(&self).expect("a report is plain data") + "\n";
        }
        let Some(details) = self.details.take() else { unreachable!("they are taken once") };
        if printing.csv {
            return csv_row(&serde_json::to_value(&self).expect("a report is plain data"));
        }
        let Self { file, width, height, pixels, k, features, from, iterations, inertia, .. } = &self;
        let (clusters, rounds) = (plural(*k, "cluster"), plural(*iterations, "iteration"));
        let end = ending(self.converged, self.interrupted);
        let mut lines = vec![format!(
            "{file}: {width} × {height} pixels, {pixels}\n\
             {clusters} by {features} from {from}: {end} after {rounds}, inertia {inertia}"
        )];
        for entry in details.palette.0.iter().take(SHOWN) {
            let Entry { label, colour, count, share, .. } = entry;
            lines.push(format!("{label:>5}  {colour}  {:>6.2} %  {}", 100.0 * share, plural(*count as usize, "pixel")));
        }
        if details.palette.0.len() > SHOWN {
            lines.push(format!("    … and {} more", details.palette.0.len() - SHOWN));
        }
        if !details.files.is_empty() {
            lines.push(format!("wrote {}", details.files.join(", ")));
        }
        lines.join("\n") + "\n"
    }
}

/// The files of one image.
struct Files {
    picture: Option<(PictureFile, bool)>,
    palettes: Vec<PaletteFile>,
    labels: Option<LabelFile>,
}

/// A file of labels, in the format that its name says.
enum LabelFile {
    Npy(Staged),
    Png(PictureFile),
}

impl Files {
    /// Makes sure, before the work, that the files can be written.
    fn create(args: &Segment, image: &Path) -> Result<Self, Failure> {
        let results = &args.results;
        let picture = results.output.as_ref().map(|pattern| PictureFile::create(&pattern.of(image))).transpose()?;
        let labels =
            results.labels.as_ref().map(|pattern| LabelFile::create(&pattern.of(image), args.k)).transpose()?;
        let palettes = results.palette.iter().map(|pattern| PaletteFile::create(&pattern.of(image)));
        Ok(Self {
            picture: picture.map(|file| (file, results.side_by_side)),
            palettes: palettes.collect::<Result<_, _>>()?,
            labels,
        })
    }

    /// Writes all files; their names.
    fn write(
        self,
        image: &DynamicImage,
        segmented: &SegmentedImage,
        palette: &Swatches,
    ) -> Result<Vec<String>, Failure> {
        let mut files = Vec::new();
        if let Some((file, side_by_side)) = self.picture {
            files.push(if side_by_side {
                file.write(&beside(image, &segmented.image, palette).into())?
            } else {
                file.write(&segmented.image)?
            });
        }
        for file in self.palettes {
            files.push(file.write(palette)?);
        }
        if let Some(file) = self.labels {
            files.push(file.write(segmented.labels.view())?);
        }
        let names = files.iter().map(|f| f.name().to_string()).collect();
        Staged::finish_all(files)?;
        Ok(names)
    }
}

impl LabelFile {
    /// Makes sure that the name is one of these formats, which can hold k labels, and that the file can be written.
    fn create(path: &Path, k: usize) -> Result<Self, Failure> {
        match path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase).as_deref() {
            Some("npy") => Ok(Self::Npy(Staged::create(path)?)),
            Some("png") if k <= 1 << 16 => Ok(Self::Png(PictureFile::create(path)?)),
            Some("png") => Err(Failure::usage(
                format!("{}: a PNG holds labels of up to 65536 clusters, not {k}", path.display()),
                "an .npy file holds them all",
            )),
            _ => Err(Failure::usage(
                format!("{}: the name of a file of labels ends in .npy or .png", path.display()),
                "choose such a name",
            )),
        }
    }

    /// Writes the labels, `[h, w]`; as grey values of 8 bits where these are enough.
    fn write(self, labels: ArrayView2<'_, u32>) -> Result<Staged, Failure> {
        let file = match self {
            Self::Png(file) => file,
            Self::Npy(mut staged) => {
                write_label_image(&mut staged, labels).map_err(|e| staged.failed(e))?;
                return Ok(staged);
            }
        };
        let (height, width) = labels.dim();
        let (width, height) = (width as u32, height as u32);
        let at = |x: u32, y: u32| labels[[y as usize, x as usize]];
        let image: DynamicImage = if labels.iter().all(|&label| label < 256) {
            GrayImage::from_fn(width, height, |x, y| Luma([at(x, y) as u8])).into()
        } else {
            ImageBuffer::from_fn(width, height, |x, y| Luma([at(x, y) as u16])).into()
        };
        file.write(&image)
    }
}
