//! The options that say what to fit.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use kmeans_host::{Device, EmptyCluster, Init, KMeans, Stop};

use super::numbers::not_negative;

/// What to fit.
#[derive(Args, Debug)]
#[command(next_help_heading = "Clusters")]
pub struct Clusters {
    /// Number of clusters
    #[arg(short, long, value_name = "K")]
    pub k: usize,

    /// A file with the first centroids, one per row, in any input format
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["init", "n_init"])]
    pub centroids: Option<PathBuf>,

    /// A file with a weight per point, in one column, in any input format
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub weights: Option<PathBuf>,

    #[command(flatten)]
    pub method: Method,
}

/// How to fit.
#[derive(Args, Debug)]
#[command(next_help_heading = "Clusters")]
pub struct Method {
    /// How the first centroids are chosen
    #[arg(long, value_enum, default_value_t = Start::PlusPlus, value_name = "START")]
    pub init: Start,

    /// Number of starts, of which the best is kept
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub n_init: usize,

    /// Seed of the random draws
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Most iterations
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub max_iter: usize,

    #[command(flatten)]
    pub stop: StopRule,

    /// What happens to a cluster that loses its points
    #[arg(long, value_enum, default_value_t = Empty::Farthest, value_name = "POLICY")]
    pub empty: Empty,
}

impl Method {
    /// What the library calls it, with this many clusters on this device.
    pub fn kmeans(&self, k: usize, device: Device) -> KMeans {
        KMeans::new(k)
            .init(self.init.init())
            .n_init(self.n_init)
            .seed(self.seed)
            .max_iter(self.max_iter)
            .stop(self.stop.stop())
            .empty_cluster(self.empty.into())
            .device(device)
    }
}

/// When the iterations end. Repeating labels always end them.
#[derive(Args, Clone, Copy, Debug)]
#[group(multiple = false)]
pub struct StopRule {
    /// Stop when the squared movement of the centroids is at most this share of the mean variance [default: 1e-4]
    #[arg(long, value_name = "SHARE", value_parser = not_negative)]
    pub tol: Option<f64>,

    /// Stop when the squared movement of the centroids is less than this
    #[arg(long, value_name = "MOVEMENT", value_parser = not_negative)]
    pub movement: Option<f64>,

    /// Stop when a smaller share of the points than this changes cluster
    #[arg(long, value_name = "SHARE", value_parser = not_negative)]
    pub changed: Option<f64>,

    /// Stop only when no point changes cluster
    #[arg(long)]
    pub until_repeat: bool,
}

impl StopRule {
    /// What the library calls it.
    pub fn stop(self) -> Stop {
        self.given().unwrap_or(Stop::RelativeTolerance(1e-4))
    }

    /// The same, if the command line says any.
    fn given(self) -> Option<Stop> {
        match self {
            Self { tol: Some(share), .. } => Some(Stop::RelativeTolerance(share)),
            Self { movement: Some(movement), .. } => Some(Stop::Movement(movement)),
            Self { changed: Some(share), .. } => Some(Stop::LabelsChanged(share)),
            Self { until_repeat: true, .. } => Some(Stop::LabelsRepeat),
            Self { .. } => None,
        }
    }
}

/// When the iterations of a node end. Repeating labels always end them, and nothing else unless it is asked for.
#[derive(Args, Clone, Copy, Debug)]
#[group(multiple = false)]
#[command(next_help_heading = "Tree")]
pub struct TreeStop {
    /// Stop when the squared movement of the centroids is at most this share of the mean variance
    #[arg(long, value_name = "SHARE", value_parser = not_negative)]
    pub tol: Option<f64>,

    /// Stop when the squared movement of the centroids is less than this
    #[arg(long, value_name = "MOVEMENT", value_parser = not_negative)]
    pub movement: Option<f64>,

    /// Stop when a smaller share of the node's points than this changes cluster
    #[arg(long, value_name = "SHARE", value_parser = not_negative)]
    pub changed: Option<f64>,
}

impl TreeStop {
    /// What the library calls it.
    pub fn stop(self) -> Stop {
        let Self { tol, movement, changed } = self;
        let rule = StopRule { tol, movement, changed, until_repeat: false };
        rule.given().unwrap_or(Stop::LabelsRepeat)
    }
}

/// [`Init`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Start {
    /// The first K points
    First,
    /// Points spread evenly over the file
    Even,
    /// K points drawn at random
    RandomPoints,
    /// Every point draws a label; the means of equal labels
    RandomLabels,
    /// Points drawn far from those before
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

    /// For people: "from ...".
    pub fn description(self) -> &'static str {
        match self {
            Self::First => "the first points",
            Self::Even => "evenly spaced points",
            Self::RandomPoints => "random points",
            Self::RandomLabels => "random labels",
            Self::PlusPlus => "k-means++",
            Self::Parallel => "k-means||",
        }
    }

    /// As it is written on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
    }
}

/// [`EmptyCluster`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Empty {
    /// It takes over the point that is farthest from its centroid
    Farthest,
    /// Its centroid stays where it was
    Keep,
    /// The fit fails
    Error,
}

impl From<Empty> for EmptyCluster {
    fn from(empty: Empty) -> Self {
        match empty {
            Empty::Farthest => Self::Farthest,
            Empty::Keep => Self::Keep,
            Empty::Error => Self::Error,
        }
    }
}
