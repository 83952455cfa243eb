//! The command line.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use kmeans_files::{Columns, ElementType, Format, Header, IndexColumn, Layout};
use kmeans_host::{Device, EmptyCluster, Init, Stop};

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
Exit codes: 0 done; 1 a file, the points or a device are not as needed; 2 the command line is wrong; 130 ended by Ctrl-C (a fit then \
writes its best result so far). Output files are written whole or not at all.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Cluster the points of a file
    Fit(Box<Fit>),
    /// Label the points of a file with the clusters of a saved model
    Predict(Predict),
    /// Tell how well a saved model fits the points of a file
    Score(Score),
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

/// A file of points.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub struct Input {
    /// The points: text, CSV, .npy, .fvecs, .bvecs, .ivecs or Parquet; - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,

    /// Format of the file [default: by its name, else by its content]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<InputFormat>,

    /// Columns to use, by number from 1, range or name, such as 2,4-6,width [default: all]
    #[arg(long, value_name = "COLUMNS")]
    pub columns: Option<Columns>,

    /// The first column of text or CSV is an index: leave it out
    #[arg(long, conflicts_with = "columns")]
    pub index_column: bool,

    /// Whether CSV begins with the names of its columns; auto: if its first row has no number
    #[arg(long, value_enum, value_name = "WHETHER", default_value_t = HeaderArg::Auto)]
    pub header: HeaderArg,

    /// What separates the fields of CSV: one character, or tab [default: , or ; as the first line has it]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<u8>,

    /// Type to compute with [default: the file's own; f64 for decimal numbers]
    #[arg(long = "type", value_name = "TYPE", value_parser = element())]
    pub element: Option<ElementType>,

    /// Read the file into memory instead of mapping it; needed if another program may change it meanwhile
    #[arg(long)]
    pub no_map: bool,
}

impl Input {
    /// Whether the first column is an index.
    pub fn index(&self) -> IndexColumn {
        if self.index_column { IndexColumn::Yes } else { IndexColumn::No }
    }
}

/// Where and how much.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running")]
pub struct Running {
    /// Where it runs: auto, cpu or cuda:N
    #[arg(long, default_value = "auto", value_parser = device)]
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

/// What to fit.
#[derive(Args, Debug)]
#[command(next_help_heading = "Clusters")]
pub struct Clusters {
    /// Number of clusters
    #[arg(short, long, value_name = "K")]
    pub k: usize,

    /// How the first centroids are chosen
    #[arg(long, value_enum, default_value_t = Start::PlusPlus, value_name = "START")]
    pub init: Start,

    /// A file with the first centroids, one per row, in any input format
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["init", "n_init"])]
    pub centroids: Option<PathBuf>,

    /// A file with a weight per point, in one column, in any input format
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub weights: Option<PathBuf>,

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
        match self {
            Self { tol: Some(share), .. } => Stop::RelativeTolerance(share),
            Self { movement: Some(movement), .. } => Stop::Movement(movement),
            Self { changed: Some(share), .. } => Stop::LabelsChanged(share),
            Self { until_repeat: true, .. } => Stop::LabelsRepeat,
            Self { .. } => Stop::RelativeTolerance(1e-4),
        }
    }
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
    /// A model that `kmeans fit --model` saved
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
    /// A model that `kmeans fit --model` saved
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
pub struct Bench {
    /// Only the cases whose name contains this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,

    /// Runs per case and engine, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub runs: u16,

    /// Threads of the processor [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Write a chart of the one-dimensional cases to this file
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,

    /// Print the table as JSON
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,

    /// Print the table as CSV
    #[arg(long)]
    pub csv: bool,
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

/// [`Format`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    Text,
    Csv,
    Npy,
    Fvecs,
    Bvecs,
    Ivecs,
    Parquet,
}

impl From<InputFormat> for Format {
    fn from(format: InputFormat) -> Self {
        match format {
            InputFormat::Text => Self::Text,
            InputFormat::Csv => Self::Csv,
            InputFormat::Npy => Self::Npy,
            InputFormat::Fvecs => Self::Fvecs,
            InputFormat::Bvecs => Self::Bvecs,
            InputFormat::Ivecs => Self::Ivecs,
            InputFormat::Parquet => Self::Parquet,
        }
    }
}

/// [`Header`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HeaderArg {
    Auto,
    Yes,
    No,
}

impl From<HeaderArg> for Header {
    fn from(header: HeaderArg) -> Self {
        match header {
            HeaderArg::Auto => Self::Auto,
            HeaderArg::Yes => Self::Yes,
            HeaderArg::No => Self::No,
        }
    }
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

fn device(text: &str) -> Result<Device, String> {
    match text {
        "auto" => Ok(Device::Auto),
        "cpu" => Ok(Device::Cpu),
        _ => match text.strip_prefix("cuda:").map(str::parse) {
            Some(Ok(index)) => Ok(Device::Cuda(index)),
            _ => Err("use auto, cpu or cuda:N, such as cuda:0".into()),
        },
    }
}

fn element() -> impl TypedValueParser<Value = ElementType> {
    PossibleValuesParser::new(["f16", "bf16", "f32", "f64"]).try_map(|name| name.parse())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if text == "tab" || text == "\\t" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] => Err("a quote or a line end separates no fields".into()),
        [byte] => Ok(*byte),
        _ => Err("give one ASCII character, or tab".into()),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("give a number that is not negative".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    not_negative(text).ok().filter(|&value| value <= 1.0).ok_or_else(|| "give a number from 0 to 1".into())
}

/// A number of rows or columns of points that are made in memory.
fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(value @ 1..=10_000_000_000) => Ok(value),
        _ => Err("give a number from 1 to 10000000000".into()),
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
            "bench --only C --svg c.svg --json",
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

    #[test]
    fn devices_have_names() {
        assert_eq!(device("auto"), Ok(Device::Auto));
        assert_eq!(device("cpu"), Ok(Device::Cpu));
        assert_eq!(device("cuda:3"), Ok(Device::Cuda(3)));
        assert!(["", "gpu", "cuda", "cuda:", "cuda:-1"].iter().all(|text| device(text).is_err()));
    }

    #[test]
    fn delimiters_are_one_byte() {
        assert_eq!(delimiter("tab"), Ok(b'\t'));
        assert_eq!(delimiter("|"), Ok(b'|'));
        assert!(["", "ab", "\"", "\n", "é"].iter().all(|text| delimiter(text).is_err()));
    }
}
