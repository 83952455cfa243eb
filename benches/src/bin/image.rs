//! Times the segmentation of an image, from bytes in host memory to labels and image in host memory.
//!
//! ```text
//! cargo run --release -p kmeans-benches --bin image -- IMAGE [--k 8,16] [--iterations 20] [--device cpu] [--video 640x480]
//! ```
//!
//! One JSON row per number of clusters and way of clustering. The start is evenly spaced pixels and iterations end at the cap or when the labels
//! repeat, so that `peers/image.py` can do the same work; but for "rgb, defaults", which has the library's start and stop rule. `ms` is the whole call, `rounds_ms` the time between the ends of its first and last
//! rounds, scaled to all of them: on a GPU the kernels and what the host decides, without transfers.

use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use clap::Parser;
use kmeans_benches::row::{median, ms};
use kmeans_host::image::{Features, Segmentation, Video, open, psnr};
use kmeans_host::{Control, Device, EmptyCluster, Init, KMeans, Progress, Stop};
use ndarray::Array3;
use serde_json::json;

/// Times the segmentation of an image and prints JSON rows.
#[derive(Debug, Parser)]
#[command(name = "image")]
struct Args {
    /// PNG or JPEG
    image: PathBuf,
    /// Clusters, one or more numbers
    #[arg(long, default_values_t = [8], value_delimiter = ',')]
    k: Vec<usize>,
    /// The only way of clustering to time, such as "rgb"
    #[arg(long, value_name = "CASE")]
    only: Option<String>,
    /// Cap on iterations
    #[arg(long, default_value_t = 20)]
    iterations: usize,
    /// Runs, of which the median is told
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Where the work runs
    #[arg(long, default_value = "auto")]
    device: Device,
    /// Also 120 frames of this size, WIDTHxHEIGHT, that pan over the image, in 4 clusters
    #[arg(long, value_name = "SIZE")]
    video: Option<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let image = open(&args.image)?.into_rgb8();
    let (width, height) = (image.width() as usize, image.height() as usize);
    let image = Array3::from_shape_vec((height, width, 3), image.into_raw())?;
    for &k in &args.k {
        segment(&image, k, &args)?;
    }
    if let Some(size) = &args.video {
        let (w, h) = size.split_once('x').ok_or("a size is WIDTHxHEIGHT")?;
        video(&image, (w.parse()?, h.parse()?), &args)?;
    }
    Ok(())
}

/// Times every way of clustering.
fn segment(image: &Array3<u8>, k: usize, args: &Args) -> Result<(), Box<dyn Error>> {
    let (height, width, _) = image.dim();
    let ends: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let round_ends = ends.clone();
    let defaults = KMeans::new(k).device(args.device).on_progress(move |progress| {
        if let Progress::Iteration { .. } = progress {
            round_ends.lock().expect("nobody panics").push(Instant::now());
        }
        Control::Continue
    });
    let kmeans = defaults
        .clone()
        .init(Init::EvenlySpaced)
        .max_iter(args.iterations)
        .stop(Stop::LabelsRepeat)
        .empty_cluster(EmptyCluster::Keep);
    for (name, kmeans, features, every_pixel) in [
        ("rgb", &kmeans, Features::Rgb, false),
        ("rgb, every pixel", &kmeans, Features::Rgb, true),
        ("lab", &kmeans, Features::Lab, false),
        ("rgbxy", &kmeans, Features::RgbXy { weight: 0.5 }, false),
        ("rgb, defaults", &defaults, Features::Rgb, false),
    ] {
        if args.only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let segmentation = Segmentation::new(k).kmeans(kmeans.clone()).features(features).every_pixel(every_pixel);
        let (mut times, mut rounds) = (Vec::new(), Vec::new());
        let mut last = None;
        for _ in 0..args.runs {
            ends.lock().expect("nobody panics").clear();
            let begun = Instant::now();
            let segmented = segmentation.segment(image)?;
            let quantized = segmented.quantized();
            times.push(begun.elapsed());
            let ends = ends.lock().expect("nobody panics");
            if let [first, .., last] = ends[..] {
                rounds.push((last - first) * ends.len() as u32 / (ends.len() as u32 - 1));
            }
            last = Some((segmented, quantized));
        }
        let (segmented, quantized) = last.ok_or("no run")?;
        let row = json!({
            "case": name, "width": width, "height": height, "k": k, "engine": segmented.engine(),
            "iterations": segmented.iterations(), "colours": segmented.distinct_colours(),
            "ms": ms(median(&times)), "rounds_ms": (!rounds.is_empty()).then(|| ms(median(&rounds))),
            "inertia": segmented.inertia(), "psnr": psnr(image, &quantized, 255.0)?,
        });
        println!("{row}");
    }
    Ok(())
}

/// Frames per second, transfers and images included.
fn video(image: &Array3<u8>, (width, height): (usize, usize), args: &Args) -> Result<(), Box<dyn Error>> {
    const FRAMES: usize = 120;
    let (whole_height, whole_width, _) = image.dim();
    let room = (whole_height.checked_sub(height), whole_width.checked_sub(width));
    let (Some(down), Some(right)) = room else { return Err("the frames are larger than the image".into()) };
    let frames: Vec<Array3<u8>> = (0..FRAMES)
        .map(|i| {
            let (y, x) = ((2 * i).min(down), (3 * i).min(right));
            image.slice(ndarray::s![y..y + height, x..x + width, ..]).to_owned()
        })
        .collect();
    let kmeans = KMeans::new(4).init(Init::EvenlySpaced).max_iter(20).device(args.device);
    let mut video = Video::new(Segmentation::new(4).kmeans(kmeans));
    let mut iterations = 0;
    let begun = Instant::now();
    for frame in &frames {
        let segmented = video.segment(frame)?;
        iterations += segmented.iterations();
        std::hint::black_box(segmented.quantized());
    }
    let seconds = begun.elapsed().as_secs_f64();
    let row = json!({
        "case": "video", "width": width, "height": height, "k": 4, "frames": FRAMES,
        "iterations_per_frame": iterations as f64 / FRAMES as f64, "frames_per_second": FRAMES as f64 / seconds,
    });
    println!("{row}");
    Ok(())
}
