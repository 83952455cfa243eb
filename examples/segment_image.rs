//! Segments an image by colour and draws it beside the result, with the palette and its shares.
//!
//! ```text
//! cargo run --release --example segment_image -- [IMAGE] [--k 8] [--features lab] [--help]
//! ```

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use image::{DynamicImage, Rgb, RgbImage};
use kmeans_examples::picture::{COUNT, PAPER, SHARE, TEXT, fitted_into, paste, save};
use kmeans_examples::text::{counted, duration, grouped, say};
use kmeans_host::image::{Features, Segmentation, SegmentedImage, decode, open};
use kmeans_host::select_k::Criterion;
use kmeans_host::{Device, Init, KMeans};

/// Segments an image by colour: every pixel gets the colour of its cluster.
#[derive(Debug, Parser)]
#[command(name = "segment_image", max_term_width = 100)]
struct Options {
    /// PNG, JPEG, GIF, BMP, PNM, TIFF or WebP of any size [default: a photograph that comes along]
    image: Option<PathBuf>,

    /// Number of clusters; 0 chooses one from 2 to 12 by the silhouette
    #[arg(short, long, default_value_t = 8)]
    k: usize,

    /// What the distance of two pixels is measured on
    #[arg(short, long, value_enum, default_value_t = Space::Lab)]
    features: Space,

    /// How much position counts, with rgb-xy and lab-xy: at 1 the longer side is as far as black from white
    #[arg(short, long, default_value_t = 0.5)]
    weight: f32,

    /// Most iterations
    #[arg(short, long, default_value_t = 100)]
    iterations: usize,

    /// Seed of the random choices
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Start from evenly spaced pixels in place of k-means++
    #[arg(long)]
    evenly: bool,

    /// Cluster every pixel, also where clustering the distinct colours gives the same bits
    #[arg(long)]
    every_pixel: bool,

    /// Where the work runs: auto, cpu or cuda:N
    #[arg(long, default_value = "auto")]
    device: Device,

    /// The picture, a PNG
    #[arg(short, long, default_value = "out/segments.png", value_name = "FILE")]
    output: PathBuf,
}

/// [`Features`] by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Space {
    Rgb,
    Lab,
    RgbXy,
    LabXy,
}

impl Options {
    fn features(&self) -> Features {
        let weight = self.weight;
        match self.features {
            Space::Rgb => Features::Rgb,
            Space::Lab => Features::Lab,
            Space::RgbXy => Features::RgbXy { weight },
            Space::LabXy => Features::LabXy { weight },
        }
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    let image = match &options.image {
        Some(path) => open(path)?,
        None => decode(include_bytes!("data/astronaut_256.png"))?,
    };
    let init = if options.evenly { Init::EvenlySpaced } else { Init::default() };
    let kmeans =
        KMeans::new(options.k).init(init).max_iter(options.iterations).seed(options.seed).device(options.device);
    let mut segmentation =
        Segmentation::new(options.k).kmeans(kmeans).features(options.features()).every_pixel(options.every_pixel);
    if options.k == 0 {
        segmentation = segmentation.choose_k(2..=12, Criterion::Silhouette);
    }
    let begun = Instant::now();
    let segmented = segmentation.segment_image(&image)?;
    let time = begun.elapsed();

    let pixels = u64::from(image.width()) * u64::from(image.height());
    say(format!("image       {} × {}, {:?}", image.width(), image.height(), image.color()));
    say(format!("engine      {}", segmented.engine));
    match segmented.distinct_colours {
        Some(colours) => say(format!("clustered   {} colours", grouped(colours as u64))),
        None => say(format!("clustered   {} pixels", grouped(pixels))),
    }
    say(format!("iterations  {} in {}", segmented.iterations, duration(time)));
    for (k, swatch) in segmented.palette.iter().enumerate() {
        let [r, g, b] = swatch.colour;
        say(format!(
            "cluster {k:<3} #{r:02x}{g:02x}{b:02x} {:>6.2} %  {}",
            100.0 * swatch.share,
            grouped(swatch.count)
        ));
    }
    for notice in &segmented.notices {
        say(format!("notice      {notice}"));
    }
    save(&draw(&image, &segmented, &options)?, &options.output)?;
    say(format!("picture     {}", options.output.display()));
    Ok(())
}

/// The image beside the result, above the palette with its shares.
fn draw(image: &DynamicImage, segmented: &SegmentedImage, options: &Options) -> Result<RgbImage> {
    const MARGIN: u32 = 24;
    const PANEL: (u32, u32) = (512, 640);
    const STRIP: u32 = 56;
    let panels = [opaque(image), opaque(&segmented.image)].map(|i| fitted_into(&i, PANEL));
    let (width, height) = panels[0].dimensions();
    let right = MARGIN + PANEL.0 + MARGIN;
    let top = MARGIN + TEXT.height() + 8;
    let strip = top + height + 20;
    let total = right + PANEL.0 + MARGIN;
    let mut canvas = RgbImage::from_pixel(total, strip + STRIP + 8 + 2 * SHARE.height() + MARGIN, PAPER);

    let centre = |left: u32| left + (PANEL.0 - width.min(PANEL.0)) / 2;
    TEXT.write(&mut canvas, (MARGIN, MARGIN), &format!("input, {} × {}", image.width(), image.height()));
    let caption = format!(
        "{} by {}",
        counted(segmented.palette.len() as u64, "colour", "colours"),
        format!("{:?}", options.features).to_lowercase()
    );
    TEXT.write(&mut canvas, (right, MARGIN), &caption);
    paste(&mut canvas, &panels[0], (centre(MARGIN), top));
    paste(&mut canvas, &panels[1], (centre(right), top));

    // Largest share first, as wide as it is large.
    let mut order: Vec<usize> = (0..segmented.palette.len()).collect();
    order.sort_by(|&a, &b| segmented.palette[b].share.total_cmp(&segmented.palette[a].share));
    let room = f64::from(total - 2 * MARGIN);
    let mut share = 0.0;
    for k in order {
        let swatch = &segmented.palette[k];
        let from = MARGIN + (room * share).round() as u32;
        share += swatch.share;
        let to = MARGIN + (room * share).round() as u32;
        ensure!(to <= total, "shares add up to more than 1");
        for y in strip..strip + STRIP {
            (from..to).for_each(|x| canvas.put_pixel(x, y, Rgb(swatch.colour)));
        }
        let [r, g, b] = swatch.colour;
        let lines = [(COUNT, format!("{:.1}%", 100.0 * swatch.share)), (SHARE, format!("{r:02x}{g:02x}{b:02x}"))];
        for (i, (pen, text)) in (0..).zip(lines) {
            if pen.width(&text) + 4 <= to - from {
                let below = strip + STRIP + 8 + i * SHARE.height();
                pen.write(&mut canvas, (from, below), &text);
            }
        }
    }
    Ok(canvas)
}

/// RGB with 8 bits; transparency is laid on white.
fn opaque(image: &DynamicImage) -> RgbImage {
    let rgba = image.to_rgba8();
    RgbImage::from_fn(rgba.width(), rgba.height(), |x, y| {
        let [r, g, b, alpha] = rgba.get_pixel(x, y).0.map(u32::from);
        Rgb([r, g, b].map(|c| ((c * alpha + 255 * (255 - alpha) + 127) / 255) as u8))
    })
}
