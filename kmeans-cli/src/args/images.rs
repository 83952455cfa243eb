//! The options of subcommands that work on images.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use kmeans_host::image::{Alpha, Features};

use super::{Method, Printing, Running, numbers};
use super::{OutputFormat, numbers::positive};
use crate::failure::Failure;
use crate::images::Pattern;

#[derive(Args, Debug)]
pub struct Segment {
    /// PNG or JPEG files; a pattern such as "*.png" where the shell leaves it as it is; - for standard input
    #[arg(value_name = "IMAGE", required = true, value_hint = ValueHint::FilePath)]
    pub images: Vec<PathBuf>,

    /// Number of clusters
    #[arg(short, long, value_name = "K", default_value_t = 8, help_heading = "Clusters")]
    pub k: usize,

    #[command(flatten)]
    pub pixels: Pixels,

    /// Cluster every pixel, also where the distinct colours give the same bits in less time
    #[arg(long, help_heading = "Clusters")]
    pub every_pixel: bool,

    #[command(flatten)]
    pub method: Method,

    #[command(flatten)]
    pub running: Running,

    #[command(flatten)]
    pub results: SegmentResults,

    #[command(flatten)]
    pub printing: Printing,
}

/// What of a pixel is clustered.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Clusters")]
pub struct Pixels {
    /// What the distance of two pixels is measured on
    #[arg(long, value_enum, default_value_t = Space::Rgb, value_name = "SPACE")]
    pub features: Space,

    /// How much position counts, with rgb-xy and lab-xy: at 1 the longer side is as far as black from white [default: 0.5]
    #[arg(long, value_name = "WEIGHT", value_parser = positive)]
    pub spatial_weight: Option<f32>,

    /// What transparency means
    #[arg(long, value_enum, default_value_t = AlphaArg::Weight, value_name = "MEANING")]
    pub alpha: AlphaArg,
}

impl Pixels {
    /// What the library calls it.
    pub fn features(self) -> Result<Features, Failure> {
        let weight = self.spatial_weight.unwrap_or(0.5);
        match (self.features, self.spatial_weight) {
            (Space::Rgb | Space::Lab, Some(_)) => Err(Failure::usage(
                "--spatial-weight has no meaning for features without position",
                "choose --features rgb-xy or lab-xy, or leave it out",
            )),
            (Space::Rgb, None) => Ok(Features::Rgb),
            (Space::Lab, None) => Ok(Features::Lab),
            (Space::RgbXy, _) => Ok(Features::RgbXy { weight }),
            (Space::LabXy, _) => Ok(Features::LabXy { weight }),
        }
    }
}

/// [`Features`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Space {
    /// Red, green and blue, or grey, as the file has them
    Rgb,
    /// CIELAB: colours that look alike are near
    Lab,
    /// Colour and position: compact areas
    #[value(alias = "rgbxy")]
    RgbXy,
    /// CIELAB and position
    #[value(alias = "labxy")]
    LabXy,
}

impl Space {
    /// As it is written on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
    }
}

/// [`Alpha`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AlphaArg {
    /// A pixel weighs as much as it is opaque
    Weight,
    /// Every pixel weighs the same
    Carry,
}

impl From<AlphaArg> for Alpha {
    fn from(alpha: AlphaArg) -> Self {
        match alpha {
            AlphaArg::Weight => Self::Weight,
            AlphaArg::Carry => Self::Carry,
        }
    }
}

/// Where the results go. In each name {} stands for the image's name without its end.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct SegmentResults {
    /// The image in the colours of its clusters: .png or .jpg. With several images, {} in this and the other names stands for
    /// each one's: "out/{}.png"
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<Pattern>,

    /// Show the image, the result and the palette in that picture
    #[arg(long, requires = "output")]
    pub side_by_side: bool,

    /// The palette: .json or .csv for its colours and shares, .png for a strip of them. May be given more than once
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub palette: Vec<Pattern>,

    /// The cluster of each pixel: .npy for [h, w] u32, .png for grey values
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub labels: Option<Pattern>,
}

#[derive(Args, Debug)]
pub struct Patches {
    /// A PNG or JPEG file; - for standard input
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,

    /// Number of clusters
    #[arg(short, long, value_name = "K", default_value_t = 80, help_heading = "Clusters")]
    pub k: usize,

    /// Side of a patch, in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 5, value_parser = numbers::count, help_heading = "Patches")]
    pub size: usize,

    /// Pixels from one patch to the next
    #[arg(long, value_name = "PIXELS", default_value_t = 1, value_parser = numbers::count, help_heading = "Patches")]
    pub stride: usize,

    /// Subtract from each patch its mean: clusters are then of structure, whatever its brightness
    #[arg(long, help_heading = "Patches")]
    pub remove_mean: bool,

    /// Whiten the patches, so that no two of their values are correlated and all vary alike: clusters are then of edges. To every
    /// variance this share of their mean is added, such as 0.1, or noise would count as much as edges
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = numbers::share,
        conflicts_with = "model",
        help_heading = "Patches"
    )]
    pub whiten: Option<f64>,

    /// Remove clusters with fewer patches than this, the smallest first
    #[arg(long, value_name = "N", help_heading = "Clusters")]
    pub min_patches: Option<u64>,

    /// Leave this many clusters, though they be small
    #[arg(long, value_name = "N", default_value_t = 1, requires = "min_patches", help_heading = "Clusters")]
    pub min_clusters: usize,

    #[command(flatten)]
    pub method: Method,

    #[command(flatten)]
    pub running: Running,

    #[command(flatten)]
    pub results: PatchResults,

    #[command(flatten)]
    pub printing: Printing,
}

/// Where the results go.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct PatchResults {
    /// The image rebuilt from the centroids of its patches: .png or .jpg
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub reconstruct: Option<PathBuf>,

    /// A picture of the centroids, the largest cluster first: .png or .jpg
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub montage: Option<PathBuf>,

    /// Beginning of the names of the files of centroids and labels [default: the image's name]
    #[arg(short, long, value_name = "PREFIX", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// text: PREFIX.cluster_centres and PREFIX.membership; csv, npy: PREFIX.centroids.* and PREFIX.labels.*; none: no files
    #[arg(long = "as", value_enum, default_value_t = OutputFormat::None, value_name = "FORMAT")]
    pub layout: OutputFormat,

    /// Save the model, for predict and score, to this file (JSON)
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub model: Option<PathBuf>,
}
