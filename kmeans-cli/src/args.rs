//! The command line.

mod clusters;
mod images;
mod input;
mod numbers;
mod select_k;
mod tree;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use kmeans_files::Layout;
use kmeans_host::Device;

pub use clusters::{Clusters, Empty, Method, Start};
pub use images::{Patches, Segment};
pub use input::{HeaderArg, Input};
use numbers::{count, not_negative, share};
pub use select_k::SelectK;
pub use tree::Tree;

/// Exact k-means on files: fast, and the same bits on every machine
///
/// The classic form is understood too: kmeans K D N THRESHOLD FILE [--csv]
#[derive(Debug, Parser)]
#[command(name = "kmeans", version, term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 a file, the points or a device are not as needed; 2 the command line is wrong;
130 ended by Ctrl-C (a fit then writes its best result so far). Output files are written whole or
not at all.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Cluster the points of a file
    Fit(Box<Fit>),
    /// Label the points of a file with the clusters of a saved model
    Predict(Predict),
    /// Tell how well a saved model fits the points of a file
    Score(Score),
    /// Cluster the pixels of images
    Segment(Box<Segment>),
    /// Cluster the patches of an image, overlapping squares of its pixels
    Patches(Box<Patches>),
    /// Score a range of K and choose one
    SelectK(Box<SelectK>),
    /// Cluster the points of a file into clusters within clusters
    Tree(Box<Tree>),
    /// Time the engines on this machine and compare them
    Bench(Bench),
    /// Write a page in which a fit can be watched, step by step
    Trace(Trace),
    /// Write points to try things with
    Generate(Generate),
    /// List what a fit can run on
    Devices(Devices),
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page
    Manual(Manual),
}

/// Where and how much.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running")]
pub struct Running {
    /// Where it runs: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: Device,

    /// Threads of the processor [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// What is printed on standard output.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct Printing {
    /// Print the summary as JSON
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,

    /// Print the summary as one CSV row
    #[arg(long)]
    pub csv: bool,
}

#[derive(Debug, Args)]
pub struct Fit {
    #[command(flatten)]
    pub input: Input,

    #[command(flatten)]
    pub clusters: Clusters,

    #[command(flatten)]
    pub running: Running,

    #[command(flatten)]
    pub results: Results,

    #[command(flatten)]
    pub printing: Printing,
}

/// Where the results go.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct Results {
    /// Beginning of the output files' names [default: the input file's name]
    #[arg(short, long, value_name = "PREFIX", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// text: PREFIX.cluster_centres and PREFIX.membership; csv, npy: PREFIX.centroids.* and PREFIX.labels.*; none: no files
    #[arg(long = "as", value_enum, default_value_t = OutputFormat::Text, value_name = "FORMAT")]
    pub layout: OutputFormat,

    /// Save the model, for predict and score, to this file (JSON)
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub model: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct Predict {
    /// A model that `kmeans fit --model` saved, or a file of centroids, one per row, in any input format
    #[arg(value_hint = ValueHint::FilePath)]
    pub model: PathBuf,

    #[command(flatten)]
    pub input: Input,

    /// Where the labels go; .csv and .npy give those formats, other names text [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub running: Running,
}

#[derive(Args, Debug)]
pub struct Score {
    /// A model that `kmeans fit --model` saved, or a file of centroids, one per row, in any input format
    #[arg(value_hint = ValueHint::FilePath)]
    pub model: PathBuf,

    #[command(flatten)]
    pub input: Input,

    #[command(flatten)]
    pub printing: Printing,

    #[command(flatten)]
    pub running: Running,
}

/// Cluster as the classic parallel k-means programs do: first K points, at most 500 iterations
///
/// Writes FILE.cluster_centres and FILE.membership. `kmeans help` lists everything else this program does.
#[derive(Debug, Parser)]
#[command(name = "kmeans", version, term_width = 100, override_usage = "kmeans K D N THRESHOLD FILE [--csv]")]
pub struct Classic {
    /// Number of clusters
    #[arg(value_name = "K")]
    pub k: usize,

    /// Columns; with one more in the file, its first is an index
    #[arg(value_name = "D")]
    pub d: usize,

    /// Points; the file may have more
    #[arg(value_name = "N")]
    pub n: usize,

    /// Stop when a smaller share of the points than this changes cluster
    #[arg(value_name = "THRESHOLD", value_parser = not_negative)]
    pub threshold: f64,

    /// Points as text, one per line, or any other input format
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,

    /// Print the summary as one CSV row
    #[arg(long)]
    pub csv: bool,
}

#[derive(Args, Debug)]
#[command(mut_arg("device", |arg| arg.help("What is timed: cpu, cuda, cuda:N, or auto for everything there is")))]
pub struct Bench {
    /// Only the cases whose name contains this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,

    /// Runs per case and engine, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub runs: u16,

    /// Time fits of many sizes on the processor and a GPU instead, and tell which of the two auto takes for each
    #[arg(long, conflicts_with = "chart")]
    pub choose: bool,

    #[command(flatten)]
    pub running: Running,

    /// Write a chart to this file: .svg or .png
    #[arg(long, alias = "svg", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub chart: Option<PathBuf>,

    #[command(flatten)]
    pub printing: Printing,
}

#[derive(Args, Debug)]
pub struct Trace {
    #[command(flatten)]
    pub input: Input,

    /// The page
    #[arg(short, long, value_name = "FILE.html", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: PathBuf,

    /// Use only the first points
    #[arg(long, value_name = "N", help_heading = "Input", value_parser = count)]
    pub rows: Option<usize>,

    /// Number of clusters that the page begins with
    #[arg(short, long, value_name = "K", default_value_t = 4, help_heading = "Clusters")]
    pub k: usize,

    /// How the page begins: the first centroids
    #[arg(long, value_enum, default_value_t = Start::First, value_name = "START", help_heading = "Clusters")]
    pub init: Start,

    /// How the page begins: stop when a smaller share of the points than this changes cluster
    #[arg(long, value_name = "SHARE", default_value_t = 0.001, value_parser = share, help_heading = "Clusters")]
    pub threshold: f64,

    /// How the page begins: points per block
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Clusters")]
    pub block: u32,

    /// Seed of the random draws
    #[arg(long, default_value_t = 0, help_heading = "Clusters")]
    pub seed: u64,
}

#[derive(Args, Debug)]
pub struct Generate {
    /// Where the points go: .csv, .npy or text by the file's name; - for standard output
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Number of points
    #[arg(short, value_name = "N", default_value_t = 100_000, value_parser = count)]
    pub n: usize,

    /// Columns
    #[arg(short, value_name = "D", default_value_t = 3, value_parser = count)]
    pub d: usize,

    /// Gaussian blobs that the points come from; 0 for a uniform cloud
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub blobs: usize,

    /// Standard deviation of a blob; their centres lie in a cube of side 10
    #[arg(long, value_name = "SIGMA", default_value_t = 0.5, value_parser = not_negative)]
    pub spread: f64,

    /// Lead each line of text or CSV by an index
    #[arg(long)]
    pub index_column: bool,

    /// Seed of the random draws
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

#[derive(Args, Debug)]
pub struct Devices {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub struct Manual {
    /// The page of a subcommand
    pub subcommand: Option<String>,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    Text,
    Csv,
    Npy,
    None,
}

impl OutputFormat {
    /// The layout of the files, if there are any.
    pub fn layout(self) -> Option<Layout> {
        match self {
            Self::Text => Some(Layout::Text),
            Self::Csv => Some(Layout::Csv),
            Self::Npy => Some(Layout::Npy),
            Self::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        Classic::command().debug_assert();
    }

    #[test]
    fn every_subcommand_parses() {
        for line in [
            "fit x -k 3 --format csv --as npy --csv",
            "predict m x --format npy -o y",
            "score m x --json",
            "segment a.png b.png -k 3 --features lab-xy --spatial-weight 2 -o {}.out.png --labels {}.npy --palette {}.json",
            "patches a.png --size 7 --stride 2 --remove-mean --reconstruct r.png --montage m.png --min-patches 5",
            "select-k x --from 2 --to 9 --by elbow --silhouette simplified --chart c.png --csv",
            "tree x -k 4 --depth 3 --max-leaf-size 9 --labels l.npy --nodes n.csv --assign y --beam 2 --assigned a.csv",
            "bench --only C --chart c.svg --json",
            "bench --choose --device cuda:1 --csv -q",
            "trace x -o y --rows 5",
            "generate x -n 5 -d 2",
            "devices --json",
            "completions bash",
            "manual fit",
        ] {
            let words = std::iter::once("kmeans").chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_ok(), "{line}");
        }
        assert!(Classic::try_parse_from("kmeans 4 3 99968 0.001 points_3d.txt --csv".split(' ')).is_ok());
    }
}
