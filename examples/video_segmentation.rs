//! Segments the frames of a video, each from the centroids of the one before, and prints frames per second.
//!
//! ```text
//! cargo run --release --example video_segmentation -- [FOLDER] [--k 4] [--help]
//! ```
//!
//! The frames are the PNG and JPEG files of a folder in the order of their names, as `ffmpeg -i film.mp4 frames/%05d.png` makes
//! them. Without a folder: a pan over a photograph.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use image::imageops::{self, FilterType};
use image::{RgbImage, load_from_memory};
use kmeans_examples::picture::{PAPER, TEXT, fitted_into, paste, save};
use kmeans_examples::text::{duration, say};
use kmeans_host::image::{Segmentation, Video, open};
use kmeans_host::{Device, Init, KMeans};
use ndarray::{Array3, ArrayView3};

/// Segments the frames of a video: every pixel gets the colour of its cluster, and clusters keep their label.
#[derive(Debug, Parser)]
#[command(name = "video_segmentation", max_term_width = 100)]
struct Options {
    /// A folder of PNG or JPEG frames of one size [default: 60 frames of 640 × 480 that pan over a photograph]
    folder: Option<PathBuf>,

    /// Number of clusters
    #[arg(short, long, default_value_t = 4)]
    k: usize,

    /// Most iterations per frame
    #[arg(short, long, default_value_t = 20)]
    iterations: usize,

    /// Where the work runs: auto, cpu or cuda:N
    #[arg(long, default_value = "auto")]
    device: Device,

    /// Write each segmented frame as a PNG to this folder
    #[arg(long, value_name = "FOLDER")]
    frames: Option<PathBuf>,

    /// A picture of some frames, a PNG
    #[arg(short, long, default_value = "out/video.png", value_name = "FILE")]
    output: PathBuf,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let files = match &options.folder {
        Some(folder) => files_of(folder)?,
        None => Vec::new(),
    };
    let photo = load_from_memory(include_bytes!("data/astronaut_256.png"))?.into_rgb8();
    let photo = imageops::resize(&photo, 960, 960, FilterType::CatmullRom);
    let count = if options.folder.is_some() { files.len() } else { 60 };
    let frame = |i: usize| -> Result<RgbImage> {
        match files.get(i) {
            Some(path) => Ok(open(path)?.into_rgb8()),
            None => Ok(imageops::crop_imm(&photo, 5 * i as u32, 8 * i as u32, 640, 480).to_image()),
        }
    };

    let kmeans = KMeans::new(options.k).init(Init::EvenlySpaced).max_iter(options.iterations).device(options.device);
    let mut video = Video::new(Segmentation::new(options.k).kmeans(kmeans));
    let (mut time, mut iterations, mut size) = (Duration::ZERO, 0, (0, 0));
    let begun = Instant::now();
    // One thread reads ahead and one writes behind, a few frames each, while this one segments.
    let shown = thread::scope(|scope| -> Result<_> {
        let (to_segment, frames) = sync_channel(AHEAD);
        let (to_write, segmented_frames) = sync_channel(AHEAD);
        // Nobody receives once a frame has failed.
        scope.spawn(move || (0..count).try_for_each(|i| to_segment.send(frame(i))));
        let writer = scope.spawn(|| write(segmented_frames, count, options.frames.as_deref()));
        for (i, image) in frames.iter().enumerate() {
            let image = image?;
            let view = ArrayView3::from_shape((image.height() as usize, image.width() as usize, 3), image.as_raw())?;
            let begun = Instant::now();
            let segmented = video.segment(&view).with_context(|| format!("frame {i}"))?;
            let quantized = segmented.quantized();
            time += begun.elapsed();
            iterations += segmented.iterations();
            size = image.dimensions();
            if i == 0 {
                say(format!("engine      {}", segmented.engine()));
            }
            if to_write.send((i, image, quantized)).is_err() {
                break;
            }
        }
        drop(to_write);
        writer.join().expect("the writer does not panic")
    })?;
    say(format!("frames      {count} of {} × {}, K = {}", size.0, size.1, options.k));
    say(format!("iterations  {:.1} per frame", iterations as f64 / count as f64));
    say(format!(
        "time        {} per frame, {:.1} frames per second",
        duration(time / count as u32),
        count as f64 / time.as_secs_f64()
    ));
    let all = count as f64 / begun.elapsed().as_secs_f64();
    say(format!("            {all:.1} frames per second with reading and writing, at the same time"));
    save(&sheet(&shown), &options.output)?;
    say(format!("picture     {}", options.output.display()));
    Ok(())
}

/// Frames on their way from thread to thread.
const AHEAD: usize = 4;

/// A frame's number, the frame and its result.
type Shown = (usize, RgbImage, RgbImage);

/// Saves segmented frames to `folder`, if there is one, and returns four of `count` frames to show.
fn write(frames: Receiver<(usize, RgbImage, Array3<u8>)>, count: usize, folder: Option<&Path>) -> Result<Vec<Shown>> {
    let mut shown = Vec::new();
    for (i, image, quantized) in frames {
        let result = to_image(quantized);
        if let Some(folder) = folder {
            save(&result, &folder.join(format!("{i:05}.png")))?;
        }
        if i % count.div_ceil(4) == 0 {
            shown.push((i, image, result));
        }
    }
    Ok(shown)
}

/// The frames of a folder, by name.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        if extension == "png" || extension == "jpg" || extension == "jpeg" {
            files.push(path);
        }
    }
    files.sort();
    ensure!(!files.is_empty(), "{} has no PNG or JPEG files", folder.display());
    Ok(files)
}

fn to_image(samples: Array3<u8>) -> RgbImage {
    let (height, width, _) = samples.dim();
    RgbImage::from_fn(width as u32, height as u32, |x, y| {
        image::Rgb([0, 1, 2].map(|c| samples[[y as usize, x as usize, c]]))
    })
}

/// Some frames, each above its result.
fn sheet(frames: &[Shown]) -> RgbImage {
    const CELL: (u32, u32) = (256, 256);
    const GAP: u32 = 16;
    let top = GAP + TEXT.height() + 6;
    let height = frames.iter().map(|(_, image, _)| fitted_into(image, CELL).height()).max().unwrap_or(0);
    let width = frames.len() as u32 * (CELL.0 + GAP) + GAP;
    let mut canvas = RgbImage::from_pixel(width, top + 2 * (height + GAP), PAPER);
    for (column, (i, image, result)) in (0..).zip(frames) {
        let left = GAP + column * (CELL.0 + GAP);
        TEXT.write(&mut canvas, (left, GAP), &format!("frame {i}"));
        paste(&mut canvas, &fitted_into(image, CELL), (left, top));
        paste(&mut canvas, &fitted_into(result, CELL), (left, top + height + GAP));
    }
    canvas
}
