//! Times the segmentation of an image, from bytes in host memory to labels and image in host memory.
//!
//! ```text
//! cargo run --release -p kmeans-benches --bin image -- IMAGE [--k 8,16] [--iterations 20] [--device cpu] [--video 640x480]
//! ```
//!
//! One JSON row per number of clusters and way of clustering. The start is evenly spaced pixels and iterations end at the cap or when the labels
//! repeat, so that `peers/image.py` can do the same work; but for "rgb, defaults", which has the library's start and stop rule. `ms` is the whole call.
//!
//! `on_gpu` is one more call (with `--video`, one more frame), each of its steps between two events on the device: kernels, of which those
//! of the rounds; copies from the host and to the host; copies within the device and clearing; and how many steps there were.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use kmeans_benches::timing::{median, ms};
use kmeans_host::image::{Features, Segmentation, Video, open, psnr};
use kmeans_host::kernels::{Gpu, Profile, Step};
use kmeans_host::{Device, EmptyCluster, Init, KMeans, Stop};
use ndarray::Array3;
use serde::Serialize;
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
    let defaults = KMeans::new(k).device(args.device);
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
        let mut times = Vec::new();
        let mut last = None;
        let call = || {
            let segmented = segmentation.segment(image)?;
            let quantized = segmented.quantized();
            Ok::<_, kmeans_host::Error>((segmented, quantized))
        };
        for _ in 0..args.runs {
            let begun = Instant::now();
            let done = call()?;
            times.push(begun.elapsed());
            last = Some(done);
        }
        let (segmented, quantized) = last.ok_or("no run")?;
        let row = json!({
            "case": name, "width": width, "height": height, "k": k, "engine": segmented.engine(),
            "iterations": segmented.iterations(), "colours": segmented.distinct_colours(),
            "ms": ms(median(&times)), "on_gpu": OnGpu::of(segmented.engine(), || call().map(drop))?,
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
    let engine = video.segment(&frames[FRAMES - 2])?.engine().to_string();
    let row = json!({
        "case": "video", "width": width, "height": height, "k": 4, "engine": engine, "frames": FRAMES,
        "iterations_per_frame": iterations as f64 / FRAMES as f64, "frames_per_second": FRAMES as f64 / seconds,
        "on_gpu": OnGpu::of(&engine, || video.segment(&frames[FRAMES - 1]).map(drop))?,
    });
    println!("{row}");
    Ok(())
}

/// Milliseconds of the steps of a piece of work, between events on the device.
#[derive(Serialize)]
struct OnGpu {
    kernels_ms: f64,
    rounds_ms: f64,
    to_device_ms: f64,
    to_host_ms: f64,
    other_ms: f64,
    steps: u64,
    /// Between two events with nothing between them: what each step's time is too long by, at least.
    empty_ms: f64,
}

impl OnGpu {
    /// Of `work`, if `engine` is what a GPU's engine calls itself.
    fn of(
        engine: &str,
        work: impl FnOnce() -> Result<(), kmeans_host::Error>,
    ) -> Result<Option<Self>, kmeans_host::Error> {
        let device = engine.split(' ').next().and_then(|name| name.parse().ok());
        let Some(Device::Cuda(index)) = device else { return Ok(None) };
        let ((), Profile { tallies, empty_milliseconds }) = Gpu::open(index)?.profile(work)?;
        // The sum of no numbers is -0.
        let ms = |is: &dyn Fn(&Step) -> bool| {
            tallies.iter().filter(|t| is(&t.step)).map(|t| t.milliseconds).sum::<f64>() + 0.0
        };
        Ok(Some(Self {
            kernels_ms: ms(&|step| matches!(step, Step::Kernel(_))),
            rounds_ms: ms(&|step| matches!(step, Step::Kernel(name) if name.starts_with("fit_"))),
            to_device_ms: ms(&|step| *step == Step::ToDevice),
            to_host_ms: ms(&|step| *step == Step::ToHost),
            other_ms: ms(&|step| matches!(step, Step::Copy | Step::Clear)),
            steps: tallies.iter().map(|t| t.times).sum(),
            empty_ms: empty_milliseconds,
        }))
    }
}
