//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use kmeans_host::{Device, Init};

/// Clusters all overlapping patches of an image and draws a picture of the clusters.
///
/// Without options: the 63,504 patches of 5 × 5 pixels of a photograph of 256 × 256 pixels, in 80 clusters, 14
/// iterations from random labels. Ctrl-C ends the fit early and keeps what it has so far.
#[derive(Debug, Parser)]
#[command(name = "patch_clustering", max_term_width = 100)]
pub struct Options {
    /// PNG, JPEG, GIF, BMP, PNM, TIFF or WebP of any size [default: a photograph that comes along]
    pub image: Option<PathBuf>,

    /// Number of clusters
    #[arg(short, long, default_value_t = 80)]
    pub k: usize,

    /// Most iterations; fewer are run if the labels repeat
    #[arg(short, long, default_value_t = 14, value_name = "N")]
    pub iterations: usize,

    /// Iterate until no label changes
    #[arg(long, conflicts_with = "iterations")]
    pub until_converged: bool,

    /// How the first centroids are chosen
    #[arg(long, value_enum, default_value_t = Start::RandomLabels)]
    pub init: Start,

    /// Seed of the random choices
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Side of a patch in pixels
    #[arg(short, long, default_value_t = 5, value_name = "SIDE", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub patch: u32,

    /// Pixels from one patch to the next
    #[arg(long, default_value_t = 1, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..))]
    pub stride: u32,

    /// Take each patch's brightness out and whiten the rest before clustering: the share of the mean variance that is added to
    /// every direction's, such as 0.05
    #[arg(long, value_name = "EPSILON")]
    pub whiten: Option<f64>,

    /// Remove clusters with fewer patches, the smallest first, and iterate anew from the centroids left
    #[arg(long, default_value_t = 0, value_name = "PATCHES")]
    pub min_size: u64,

    /// With --min-size: leave at least this many clusters
    #[arg(long, default_value_t = 1, value_name = "N", requires = "min_size")]
    pub min_clusters: usize,

    /// Where the fit runs: auto, cpu or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: Device,

    /// Threads of the processor [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,

    /// The picture, a PNG
    #[arg(short, long, default_value = "out/patches.png", value_name = "FILE")]
    pub output: PathBuf,

    /// Sample patches per cluster in the picture [default: two rows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=200))]
    pub samples: Option<u32>,
}

/// [`Init`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Start {
    /// The first K patches
    First,
    /// Patches spread evenly over the image
    Even,
    /// K patches drawn at random
    RandomPoints,
    /// Every patch draws a label; the means of equal labels
    RandomLabels,
    /// Patches drawn far from those before
    #[value(name = "k-means++")]
    PlusPlus,
    /// k-means++ in a few rounds, for large K
    #[value(name = "k-means||")]
    Parallel,
}

impl Start {
    /// What the library calls it.
    pub fn init(self) -> Init {
        match self {
            Self::First => Init::FirstK,
            Self::Even => Init::EvenlySpaced,
            Self::RandomPoints => Init::RandomPoints,
            Self::RandomLabels => Init::RandomLabels,
            Self::PlusPlus => Init::KMeansPlusPlus,
            Self::Parallel => Init::KMeansParallel,
        }
    }

    /// For people: "14 iterations from ...".
    pub fn description(self) -> &'static str {
        match self {
            Self::First => "the first patches",
            Self::Even => "evenly spaced patches",
            Self::RandomPoints => "random patches",
            Self::RandomLabels => "random labels",
            Self::PlusPlus => "k-means++",
            Self::Parallel => "k-means||",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn every_start_can_be_named_as_the_field_names_it() {
        let init = |name| Options::try_parse_from(["", "--init", name]).unwrap().init;
        assert_eq!(init("k-means++"), Start::PlusPlus);
        assert_eq!(init("k-means||"), Start::Parallel);
        assert_eq!(init("random-labels"), Start::RandomLabels);
    }
}
