//! Time per kernel and rung on a GPU, for the three systems whose ladders these are: a Markdown table each, beside the
//! figures of the original, and whole fits.
//!
//! `cargo run --release -p kmeans-benches --bin ladder -- --image tests/data/coffee.png`

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use cudarc::driver::CudaContext;
use image::DynamicImage;
use image::imageops::{FilterType, resize};
use kmeans_benches::data::{Data, patches_of};
use kmeans_benches::shapes::{Points, Shape};
use kmeans_benches::timing::median_ms;
use kmeans_core::fixed::{ExponentRange, FixedPoint, Width};
use kmeans_core::launch::{self, ConstantParts, Geometry, Kernel};
use kmeans_core::reference;
use kmeans_host::kernels::{Arg, Array, Gpu, Stream, read, write};
use kmeans_host::{Device, DevicePoints, EmptyCluster, Init, KMeans, Stop};
use ndarray::Array2;

/// Launches of which the median counts.
const LAUNCHES: usize = 21;
/// Whole fits, likewise.
const FITS: usize = 7;

/// Time per kernel and rung on a GPU.
#[derive(Parser)]
struct Options {
    /// The picture for patches and pixels; scaled to each system's size.
    #[arg(long, default_value = "data/coffee.png")]
    image: PathBuf,
    /// The GPU.
    #[arg(long, default_value_t = 0)]
    device: usize,
}

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let options = Options::parse();
    first_use(options.device)?;
    let gpu = Gpu::open(options.device)?;
    println!("{}, tier {}; medians of {LAUNCHES} launches\n", gpu.name, gpu.tier.name);
    let picture = image::open(&options.image)?.to_rgb8();
    let small = DynamicImage::ImageRgb8(resize(&picture, 256, 256, FilterType::Triangle));
    system_a(&gpu.stream()?, &patches_of(&small.into_rgb32f()), options.device)?;
    system_b(&gpu.stream()?, &resize(&picture, 1920, 1080, FilterType::Triangle), options.device)?;
    system_c(&gpu.stream()?, options.device)
}

/// What the first fit of a process costs, beside the second. With `CUDA_CACHE_DISABLE=1` the driver compiles every kernel;
/// else it may find them in its cache on disk.
fn first_use(device: usize) -> Outcome {
    let begun = Instant::now();
    Gpu::open(device)?;
    let opened = begun.elapsed().as_secs_f64() * 1e3;
    let shape = Shape { tag: "first", n: 10_000, d: 32, k: 20, iters: 10, points: Points::Uniform };
    let points = Data::generate(&shape).points;
    let kmeans = KMeans::new(shape.k).max_iter(shape.iters).device(Device::Cuda(device));
    let fit = || {
        let begun = Instant::now();
        kmeans.fit(&points)?;
        Ok::<_, kmeans_host::Error>(begun.elapsed().as_secs_f64() * 1e3)
    };
    let (first, second) = (fit()?, fit()?);
    let cached = if std::env::var_os("CUDA_CACHE_DISABLE").is_some() { "off" } else { "on" };
    println!(
        "opening the GPU {opened:.1} ms, first fit {first:.1} ms, second {second:.2} ms (the driver's cache {cached})\n"
    );
    Ok(())
}

/// A table of kernels for rounds of one system.
struct Ladder<'a> {
    stream: &'a Stream,
    rounds: usize,
}

impl Ladder<'_> {
    fn heading(&self, title: &str) {
        println!(
            "## {title}\n\n| kernel | ms per launch | ms in {} rounds | the original |\n|---|---|---|---|",
            self.rounds
        );
    }

    /// Times `work` and prints its row.
    fn row(&self, name: &str, original: &str, mut work: impl FnMut() -> Result<(), kmeans_host::Error>) -> Outcome {
        work()?;
        let mut times = Vec::with_capacity(LAUNCHES);
        for _ in 0..LAUNCHES {
            times.push(self.stream.time(&mut work)?);
        }
        times.sort_by(f32::total_cmp);
        let median = times[LAUNCHES / 2];
        println!("| {name} | {median:.4} | {:.3} | {original} |", median * self.rounds as f32);
        Ok(())
    }
}

/// f32 points on the device, with everything that the kernels of a round read and write.
struct Round {
    n: u64,
    k: u32,
    d: u32,
    format: FixedPoint,
    centroids_host: Vec<f32>,
    points: Array<f32>,
    centroids: Array<f32>,
    updated: Array<f32>,
    labels: Array<u32>,
    sums: Array<u64>,
    counts: Array<u64>,
}

impl Round {
    /// Labelled by the rows ⌊i·n/k⌋.
    fn new(stream: &Stream, points: &Array2<f32>, k: usize) -> Result<Self, Box<dyn Error>> {
        let start = Data::evenly_spaced(points.clone(), k).start;
        let centroids_host: Vec<f32> = start.iter().copied().collect();
        let all: Vec<f32> = points.iter().copied().collect();
        let labels = reference::assign(&all, points.ncols(), &centroids_host);
        let range = all.iter().fold(ExponentRange::ZERO, |r, &v| r.union(ExponentRange::of(v as f64)));
        let format = FixedPoint::for_sums(range, points.nrows() as u64);
        Ok(Self {
            n: points.nrows() as u64,
            k: k as u32,
            d: points.ncols() as u32,
            format,
            points: stream.upload(&all)?,
            centroids: stream.upload(&centroids_host)?,
            updated: stream.zeros(start.len())?,
            labels: stream.upload(&labels)?,
            sums: stream.zeros(start.len() * 2)?,
            counts: stream.zeros(k)?,
            centroids_host,
        })
    }

    fn words(&self) -> u32 {
        if self.format.width == Width::I64 { 1 } else { 2 }
    }

    fn sizes(&self) -> [Arg<'static>; 3] {
        [Arg::U64(self.n), Arg::U32(self.k), Arg::U32(self.d)]
    }

    /// Labels in one kernel.
    fn assign(&mut self, stream: &Stream, kernel: &Kernel, geometry: Geometry) -> Result<(), kmeans_host::Error> {
        let [n, k, d] = self.sizes();
        let arguments = [read(&self.points), read(&self.centroids), write(&mut self.labels), n, k, d];
        stream.launch(kernel, "f32", geometry, &arguments)
    }

    /// Sums; `takes_k`: the kernel is told how many clusters there are.
    fn sum(
        &mut self,
        stream: &Stream,
        kernel: &Kernel,
        geometry: Geometry,
        takes_k: bool,
    ) -> Result<(), kmeans_host::Error> {
        let [n, k, d] = self.sizes();
        let words = Arg::U32(self.words());
        let exponent = Arg::I32(self.format.exponent);
        stream.clear(&mut self.sums)?;
        let mut arguments = vec![read(&self.points), read(&self.labels), write(&mut self.sums), exponent, words, n];
        arguments.extend(takes_k.then_some(k));
        arguments.push(d);
        stream.launch(kernel, "f32", geometry, &arguments)
    }

    fn divide(&mut self, stream: &Stream) -> Result<(), kmeans_host::Error> {
        let kernel = if self.words() == 1 { &launch::SCALE_DIVIDE_NARROW } else { &launch::SCALE_DIVIDE_WIDE };
        let arguments = [
            read(&self.sums),
            read(&self.counts),
            read(&self.centroids),
            write(&mut self.updated),
            Arg::I32(self.format.exponent),
            Arg::U32(self.d),
        ];
        stream.launch(kernel, "f32", kernel.blocks(self.k as u64, 0), &arguments)
    }
}

fn system_a(stream: &Stream, patches: &Array2<f32>, device: usize) -> Outcome {
    let k = 80;
    let ladder = Ladder { stream, rounds: 14 };
    let mut round = Round::new(stream, patches, k)?;
    let (n, k, d) = (round.n, round.k, round.d);
    ladder.heading("A: 63,504 patches of 75 values, K = 80 (original: GTX 980, 14 rounds)");

    let mut labels = stream.zeros::<u32>(n as usize)?;
    ladder.row("labels: random", "", || {
        let arguments = [write(&mut labels), Arg::U64(1), Arg::U32(0), Arg::U64(n), Arg::U32(k)];
        stream.launch(&launch::LABELS_RANDOM, "f32", launch::LABELS_RANDOM.thread_each(n), &arguments)
    })?;

    let narrow = round.words() == 1;
    let (element, block) = if narrow {
        (&launch::SUM_PER_ELEMENT_NARROW, &launch::SUM_PER_BLOCK_NARROW)
    } else {
        (&launch::SUM_PER_ELEMENT_WIDE, &launch::SUM_PER_BLOCK_WIDE)
    };
    let words = round.words();
    if narrow {
        let sample = &launch::SUM_PER_SAMPLE_NARROW;
        ladder.row("sum: per sample", "14.142", || round.sum(stream, sample, sample.thread_each(n), false))?;
    }
    ladder.row("sum: per element", "6.686", || round.sum(stream, element, launch::sum_per_element(n, d), false))?;
    ladder.row("sum: per block, then global", "", || {
        round.sum(stream, block, launch::sum_per_block(n, k, d, words), true)
    })?;

    let mut counts = stream.zeros::<u64>(k as usize)?;
    ladder.row("count: global", "0.733", || {
        stream.clear(&mut counts)?;
        let arguments = [read(&round.labels), write(&mut counts), Arg::U64(n)];
        stream.launch(&launch::COUNT_GLOBAL, "", launch::COUNT_GLOBAL.thread_each(n), &arguments)
    })?;
    ladder.row("count: histogram per block", "0.0614", || {
        stream.clear(&mut counts)?;
        let arguments = [read(&round.labels), write(&mut counts), Arg::U64(n), Arg::U32(k)];
        stream.launch(&launch::COUNT_HISTOGRAM, "", launch::count_histogram(n, k), &arguments)
    })?;
    round.counts = counts;
    ladder.row("scale: exact quotient", "", || round.divide(stream))?;

    let mut distances = stream.zeros::<f64>(n as usize * k as usize)?;
    let whole = [Arg::U64(0), Arg::U64(n), Arg::U32(k), Arg::U32(d)];
    let [first, rows, k_, d_] = whole;
    for (name, kernel, original) in [
        ("distance: direct", &launch::DISTANCE_DIRECT, "183.562"),
        ("distance: tiled", &launch::DISTANCE_TILED, "25.213"),
        ("distance: tiled, coalesced", &launch::DISTANCE_COALESCED, "24.173"),
    ] {
        ladder.row(name, original, || {
            let arguments = [read(&round.points), read(&round.centroids), write(&mut distances), first, rows, k_, d_];
            stream.launch(kernel, "f32", launch::distance(n, k, 4), &arguments)
        })?;
    }
    let kernel = &launch::DISTANCE_CONSTANT;
    ladder.row("distance: constant memory", "243.298", || {
        for part in ConstantParts::new(k, d, 4) {
            let at = part.cluster as usize * d as usize + part.column as usize;
            let len = (part.clusters * part.columns) as usize;
            stream.set_constants(kernel, "f32", &round.centroids_host[at..at + len])?;
            let part = [part.cluster, part.clusters, part.column, part.columns].map(Arg::U32);
            let [cluster, clusters, column, columns] = part;
            let arguments =
                [read(&round.points), write(&mut distances), first, rows, k_, d_, cluster, clusters, column, columns];
            stream.launch(kernel, "f32", kernel.thread_each(n), &arguments)?;
        }
        Ok(())
    })?;
    for (name, kernel, geometry, original) in [
        ("argmin: serial", &launch::ARGMIN_SERIAL, launch::ARGMIN_SERIAL.thread_each(n), "12.725"),
        ("argmin: 16-thread tree", &launch::ARGMIN_TREE, launch::argmin_tree(n), "1.887"),
        ("argmin: warp shuffle", &launch::ARGMIN_SHUFFLE, launch::argmin_shuffle(n), ""),
    ] {
        ladder.row(name, original, || {
            let arguments = [read(&distances), write(&mut labels), first, rows, k_];
            stream.launch(kernel, "", geometry, &arguments)
        })?;
    }
    assign_rungs(&ladder, &mut round)?;
    fits("A", patches, k as usize, 14, &Init::RandomLabels, "32.184", device)
}

/// The kernels that find labels without a matrix of distances.
fn assign_rungs(ladder: &Ladder<'_>, round: &mut Round) -> Outcome {
    let (stream, n) = (ladder.stream, round.n);
    if round.d <= launch::NARROW_COLUMNS {
        let geometry = launch::assign_narrow(n, round.k, round.d);
        ladder.row("assign: rows in registers, f32", "", || round.assign(stream, &launch::ASSIGN_NARROW, geometry))?;
    }
    for (name, kernel, geometry) in [
        ("assign: direct", &launch::ASSIGN_DIRECT, launch::ASSIGN_DIRECT.thread_each(n)),
        ("assign: tiled", &launch::ASSIGN_TILED, launch::assign_tiled(n, 4)),
        ("assign: filtered in f32", &launch::ASSIGN_FILTERED, launch::assign_filtered(n)),
    ] {
        ladder.row(name, "", || round.assign(stream, kernel, geometry))?;
    }
    Ok(())
}

fn system_b(stream: &Stream, picture: &image::RgbImage, device: usize) -> Outcome {
    let k = 8_u32;
    let n = picture.pixels().len() as u64;
    let ladder = Ladder { stream, rounds: 20 };
    let points = Array2::from_shape_vec((n as usize, 3), picture.as_raw().iter().map(|&v| v as f32).collect())?;
    let mut round = Round::new(stream, &points, k as usize)?;
    ladder.heading("B: 1920 × 1080 RGB, K = 8 (original: 3,584 cores, 20 rounds)");
    let pixels = stream.upload(picture.as_raw())?;
    let mut labels = stream.zeros::<u32>(n as usize)?;
    ladder.row("pixels: assign, centroids in shared memory", "", || {
        let arguments = [read(&pixels), read(&round.centroids), write(&mut labels), Arg::U64(n), Arg::U32(k)];
        stream.launch(&launch::PIXEL_ASSIGN, "", launch::pixel_assign(n, k), &arguments)
    })?;
    let (mut sums, mut counts) = (stream.zeros::<u64>(3 * k as usize)?, stream.zeros::<u64>(k as usize)?);
    ladder.row("pixels: sums and counts per block", "", || {
        stream.clear(&mut sums)?;
        stream.clear(&mut counts)?;
        let arguments = [read(&pixels), read(&labels), write(&mut sums), write(&mut counts), Arg::U64(n), Arg::U32(k)];
        stream.launch(&launch::PIXEL_SUMS, "", launch::pixel_sums(n, k), &arguments)
    })?;
    let mut recoloured = stream.zeros::<u8>(3 * n as usize)?;
    ladder.row("pixels: recolour (once)", "", || {
        let arguments = [read(&labels), read(&round.centroids), write(&mut recoloured), Arg::U64(n)];
        stream.launch(&launch::PIXEL_RECOLOUR, "", launch::PIXEL_RECOLOUR.thread_each(n), &arguments)
    })?;
    let (d, words) = (round.d, round.words());
    ladder.row("f32: sums per block", "", || {
        round.sum(stream, &launch::SUM_PER_BLOCK_NARROW, launch::sum_per_block(n, k, d, words), true)
    })?;
    assign_rungs(&ladder, &mut round)?;
    fits("B", &points, k as usize, 20, &Init::EvenlySpaced, "86 (502 plain, 192 with shared memory)", device)
}

fn system_c(stream: &Stream, device: usize) -> Outcome {
    let cases = [
        (2, 100_000, 1, "160 (sequential 60)"),
        (20, 100_000, 1, "190 (sequential 390)"),
        (50, 100_000, 1, "330 (sequential 1,020)"),
        (100, 100_000, 1, "370 (sequential 1,930)"),
        (4, 99_968, 3, ""),
    ];
    for (k, n, d, original) in cases {
        let shape = Shape { tag: "C", n, d, k, iters: 31, points: Points::Uniform };
        let points = Data::generate(&shape).points;
        let ladder = Ladder { stream, rounds: 31 };
        let mut round = Round::new(stream, &points, k)?;
        ladder.heading(&format!("C: {n} points of {d} columns, K = {k} (original: whole program, ms)"));
        let (n, k, d) = (round.n, round.k, round.d);
        let mut columns = stream.zeros::<f32>(n as usize * d as usize)?;
        ladder.row("transpose (once)", "", || {
            let arguments = [read(&round.points), write(&mut columns), Arg::U64(n), Arg::U32(d)];
            let geometry = launch::transposed_transpose(n, d, 4);
            stream.launch(&launch::TRANSPOSED_TRANSPOSE, "f32", geometry, &arguments)
        })?;
        let geometry = launch::transposed_assign(n);
        let mut changed = stream.zeros::<u64>(geometry.grid[0] as usize)?;
        let mut total = stream.zeros::<u64>(1)?;
        ladder.row("by columns: nearest, changes per block", "", || {
            let labels = write(&mut round.labels);
            let sizes = [Arg::U64(n), Arg::U32(k), Arg::U32(d)];
            let [n_, k_, d_] = sizes;
            let arguments = [read(&columns), read(&round.centroids), labels, write(&mut changed), n_, k_, d_];
            stream.launch(&launch::TRANSPOSED_ASSIGN, "f32", geometry, &arguments)
        })?;
        let blocks = geometry.grid[0] as u64;
        ladder.row("by columns: changes of all blocks", "", || {
            let arguments = [read(&changed), write(&mut total), Arg::U64(blocks)];
            let kernel = &launch::TRANSPOSED_REDUCE_CHANGES;
            stream.launch(kernel, "", kernel.blocks(1, 256), &arguments)
        })?;
        let words = round.words();
        let (sums, reduce) = if words == 1 {
            (&launch::TRANSPOSED_SUMS_NARROW, &launch::TRANSPOSED_REDUCE_SUMS_NARROW)
        } else {
            (&launch::TRANSPOSED_SUMS_WIDE, &launch::TRANSPOSED_REDUCE_SUMS_WIDE)
        };
        let geometry = launch::transposed_sums(n, k, d, words);
        let mut partial = stream.zeros::<u64>(geometry.grid[0] as usize * (k * d * words) as usize)?;
        ladder.row("by columns: sums per block", "", || {
            let exponent = Arg::I32(round.format.exponent);
            let sizes = [Arg::U32(words), Arg::U64(n), Arg::U32(k), Arg::U32(d)];
            let [words_, n_, k_, d_] = sizes;
            let arguments = [read(&columns), read(&round.labels), write(&mut partial), exponent, words_, n_, k_, d_];
            stream.launch(sums, "f32", geometry, &arguments)
        })?;
        ladder.row("by columns: sums of all blocks", "", || {
            let blocks = Arg::U32(geometry.grid[0]);
            let arguments = [read(&partial), write(&mut round.sums), blocks, Arg::U32(k), Arg::U32(d)];
            stream.launch(reduce, "", reduce.blocks(k as u64, 0), &arguments)
        })?;
        assign_rungs(&ladder, &mut round)?;
        fits("C", &points, k as usize, 31, &Init::FirstK, original, device)?;
    }
    Ok(())
}

/// Whole fits: points on the device, and points in host memory.
fn fits(
    name: &str,
    points: &Array2<f32>,
    k: usize,
    rounds: usize,
    init: &Init,
    original: &str,
    device: usize,
) -> Outcome {
    let kmeans = KMeans::new(k)
        .init(init.clone())
        .max_iter(rounds)
        .stop(Stop::LabelsRepeat)
        .empty_cluster(EmptyCluster::Keep)
        .device(Device::Cuda(device));
    let stream = CudaContext::new(device)?.default_stream();
    let slice = stream.clone_htod(points.as_slice().ok_or("points are packed")?)?;
    let on_device = DevicePoints::new(&slice, points.dim())?;
    let done = kmeans.fit_on_device(&on_device)?.iterations();
    let resident = median_ms(FITS, || kmeans.fit_on_device(&on_device).map(drop))?;
    let whole = median_ms(FITS, || kmeans.fit(points).map(drop))?;
    let on_cpu = kmeans.clone().device(Device::Cpu);
    let cpu = median_ms(FITS, || on_cpu.fit(points).map(drop))?;
    println!(
        "\nWhole fit {name}, {done} rounds and a last assignment: {resident:.3} ms with the points on the device, {whole:.3} ms from"
    );
    println!("host memory to labels in host memory, {cpu:.3} ms on the processor; the original: {original} ms.\n");
    Ok(())
}
