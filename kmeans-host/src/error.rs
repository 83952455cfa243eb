//! What can be wrong with a request, said so that the caller knows what to change.

use thiserror::Error;

/// Why a fit or a prediction was not made.
///
/// Every variant names what was found, where, and what to do about it.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// k is 0.
    #[error("k is 0: ask for at least one cluster")]
    ZeroClusters,
    /// k does not fit the label type.
    #[error("k = {k} does not fit the labels, which are u32: ask for at most {max} clusters", max = u32::MAX)]
    TooManyClusters {
        /// The k asked for.
        k: usize,
    },
    /// One of the problems of [`fit_batch`](crate::KMeans::fit_batch) cannot be fitted.
    #[error("problem {problem} of the batch: {error}")]
    Problem {
        /// Its index.
        problem: usize,
        /// What is wrong with it; rows and clusters count within the problem.
        error: Box<Error>,
    },
    /// There are fewer points than clusters.
    #[error("{} cannot form k = {k} clusters: lower k or add points", counted(.n, "point"))]
    TooFewPoints {
        /// Rows of the input.
        n: usize,
        /// Clusters asked for.
        k: usize,
    },
    /// The input has no rows.
    #[error("the input has no rows: [n, d] with n = 0")]
    NoPoints,
    /// The input has no columns.
    #[error("the points have no columns: [n, d] with d = 0")]
    NoColumns,
    /// A value is NaN or infinite.
    #[error("the value at row {row}, column {column} is {value}: every value must be finite; drop or impute that row")]
    NonFinite {
        /// Row of the first such value.
        row: usize,
        /// Its column.
        column: usize,
        /// The value.
        value: f64,
    },
    /// Values so large that squared distances, or their sum, leave the range of `f64`.
    #[error(
        "the value at row {row}, column {column} is {value:e}: squared distances would leave the range of f64; scale \
         the data so that no magnitude exceeds {limit:e}"
    )]
    ValuesTooLarge {
        /// Row of the largest value.
        row: usize,
        /// Its column.
        column: usize,
        /// The value.
        value: f64,
        /// The largest magnitude allowed for this number of rows and columns and these weights.
        limit: f64,
    },
    /// All values so small that squared distances vanish.
    #[error(
        "the largest magnitude is {largest:e}: squared distances would fall below the range of f64; scale the data so \
         that the largest magnitude is at least {limit:e}"
    )]
    ValuesTooSmall {
        /// The largest magnitude found.
        largest: f64,
        /// The smallest one allowed.
        limit: f64,
    },
    /// New points have another number of columns than the model.
    #[error("the points have {} but the model was fitted on {expected}", counted(.found, "column"))]
    DimensionMismatch {
        /// Columns of the model.
        expected: usize,
        /// Columns of the points.
        found: usize,
    },
    /// The number of weights is not the number of points.
    #[error("{} for {}: give one weight per row", counted(.found, "sample weight"), counted(.expected, "point"))]
    WeightCount {
        /// Rows of the input.
        expected: usize,
        /// Weights given.
        found: usize,
    },
    /// A weight is negative, NaN or infinite.
    #[error("the sample weight at index {index} is {value}: weights must be finite and not negative")]
    BadWeight {
        /// Index of the first such weight.
        index: usize,
        /// The weight.
        value: f64,
    },
    /// All weights are zero.
    #[error("all sample weights are zero: at least one must be positive")]
    ZeroWeights,
    /// Given initial centroids have the wrong shape.
    #[error(
        "the initial centroids are [{found_k}, {found_d}] but [k, d] = [{k}, {d}] is needed: one row per cluster, one \
         column per column of the points"
    )]
    InitShape {
        /// Clusters asked for.
        k: usize,
        /// Columns of the points.
        d: usize,
        /// Rows given.
        found_k: usize,
        /// Columns given.
        found_d: usize,
    },
    /// A given initial centroid is NaN or infinite, too large for the element type of the points, or too large to square.
    #[error(
        "the initial centroid at row {row}, column {column} is {value}, which is not a finite value of the points' type, \
         or so large that squared distances would leave the range of f64"
    )]
    InitNotFinite {
        /// Row of the first such value.
        row: usize,
        /// Its column.
        column: usize,
        /// The value.
        value: f64,
    },
    /// The number that a stop rule compares with is negative, NaN or infinite.
    #[error("the stop rule's number is {value}: it must be finite and not negative")]
    BadStop {
        /// The number.
        value: f64,
    },
    /// The number of restarts is 0.
    #[error("n_init is 0: ask for at least one start")]
    ZeroRestarts,
    /// A cluster lost its points and the policy was `EmptyCluster::Error`.
    #[error(
        "cluster {cluster} has no points after assignment {iteration}: choose another start, a smaller k, or a policy \
         other than EmptyCluster::Error"
    )]
    EmptyCluster {
        /// The cluster.
        cluster: usize,
        /// The round, from 1.
        iteration: usize,
    },
    /// A text names no device.
    #[error("{text:?} names no device: say auto, cpu, cuda or cuda:1")]
    UnknownDevice {
        /// The text.
        text: String,
    },
    /// The device asked for is not there.
    #[error("CUDA device {index} cannot be used: {reason}; use Device::Auto or Device::Cpu to run on the processor")]
    NoDevice {
        /// The device's index.
        index: usize,
        /// What is missing.
        reason: String,
    },
    /// Points in device memory are not as many values as their shape says.
    #[error("[n, d] = [{n}, {d}] points need n·d values but the device slice has {found}")]
    DeviceShape {
        /// Rows said.
        n: usize,
        /// Columns said.
        d: usize,
        /// Values of the slice.
        found: usize,
    },
    /// The device has too little free memory for the points and what the work on them takes.
    #[error(
        "CUDA device {index} has {free} bytes free but {needed} are needed: free memory there, use fewer points, or \
         run on the processor with Device::Cpu"
    )]
    DeviceMemory {
        /// The device's index.
        index: usize,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The driver reported an error while the device was at work.
    #[error("CUDA device {index} failed: {reason}; if it happens again, run on the processor with Device::Cpu")]
    DeviceFailed {
        /// The device's index.
        index: usize,
        /// What the driver says.
        reason: String,
    },
    /// The progress callback cancelled the fit.
    #[error("cancelled by the progress callback after {iterations} iterations")]
    Cancelled {
        /// Rounds completed in the start that was running; for a tree, levels completed.
        iterations: usize,
    },
    /// An image is not `[h, w, c]` with pixels and 1 to 4 channels.
    #[error(
        "the image is [h, w, c] = [{height}, {width}, {channels}]: it needs at least one pixel, and 1 (grey), 2 (grey and \
         alpha), 3 (RGB) or 4 (RGBA) channels"
    )]
    ImageShape {
        /// Rows of pixels.
        height: usize,
        /// Columns of pixels.
        width: usize,
        /// Channels.
        channels: usize,
    },
    /// A channel of a pixel is NaN or infinite.
    #[error("channel {channel} of the pixel at x = {x}, y = {y} is {value}: every value must be finite")]
    PixelNotFinite {
        /// Column of the first such pixel.
        x: usize,
        /// Its row.
        y: usize,
        /// Its channel.
        channel: usize,
        /// The value.
        value: f32,
    },
    /// All pixels are fully transparent, and pixels weigh as their alpha says.
    #[error("every pixel is fully transparent: use Alpha::Carry to cluster the colours beneath")]
    Transparent,
    /// Rows that do not vary in every direction, or a regularisation that is not a share.
    #[error(
        "the rows cannot be whitened with epsilon = {epsilon}: give a finite epsilon above 0, such as 0.01, and rows that are not \
         all the same"
    )]
    NotWhitenable {
        /// The share of the mean variance asked for.
        epsilon: f64,
    },
    /// The weight of positions is not a positive number.
    #[error("the spatial weight is {weight}: it must be finite and positive; use Rgb or Lab to leave positions out")]
    BadSpatialWeight {
        /// The weight.
        weight: f32,
    },
    /// Patches that are empty, or larger than the image.
    #[error(
        "patches of {side} × {side} pixels, one every {stride}, do not fit an image of [h, w, c] = [{height}, {width}, \
         {channels}]: side and stride must be at least 1, the side at most the smaller of h and w"
    )]
    PatchSize {
        /// Pixels per side of a patch.
        side: usize,
        /// Pixels from one patch to the next.
        stride: usize,
        /// Rows of pixels.
        height: usize,
        /// Columns of pixels.
        width: usize,
        /// Channels.
        channels: usize,
    },
    /// Two things that must have the same shape have not.
    #[error("{what} is {found:?} but {expected:?} is needed")]
    Shape {
        /// What has the wrong shape.
        what: &'static str,
        /// The shape needed.
        expected: Vec<usize>,
        /// The shape found.
        found: Vec<usize>,
    },
    /// An image file cannot be read.
    #[error("the image {what} cannot be read: {reason}")]
    ImageFile {
        /// The file.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A range of k has nothing to choose from.
    #[error(
        "there is no k between {from} and {to} that can be scored: ask for 1 ≤ from ≤ to, and fewer clusters than points"
    )]
    EmptyKRange {
        /// The smallest k asked for.
        from: usize,
        /// The largest.
        to: usize,
    },
    /// A score compares clusters, but there is nothing to compare.
    #[error(
        "{clusters} clusters have points, of {n} points: this score needs at least 2 clusters, and fewer than there are points"
    )]
    NotScorable {
        /// Clusters that have points.
        clusters: usize,
        /// Points.
        n: usize,
    },
    /// A label is not below the number of clusters.
    #[error("the label at index {index} is {label}, but there are {k} clusters")]
    LabelTooLarge {
        /// Index of the first such label.
        index: usize,
        /// The label.
        label: u32,
        /// Clusters.
        k: usize,
    },
    /// The number of children per node of a tree is out of range.
    #[error("k = {k} children per node: a tree needs 2 to 1,024")]
    Branching {
        /// The k asked for.
        k: usize,
    },
    /// Nothing says when nodes of a tree are small enough.
    #[error("the tree has neither a depth nor a maximum leaf size: set one of them, or both")]
    EndlessTree,
    /// The maximum size of a tree's leaves is 0.
    #[error("the maximum leaf size is 0: a leaf has at least one point")]
    ZeroLeafSize,
    /// Nodes of a tree cannot start this way.
    #[error(
        "nodes of a tree cannot start from {init}: use FirstK, EvenlySpaced, RandomPoints, RandomLabels or KMeansPlusPlus"
    )]
    TreeInit {
        /// The name of the way asked for.
        init: &'static str,
    },
    /// A tree came out with more leaves than leaf labels can number.
    #[error("the tree has {leaves} leaves, which u32 labels cannot number: allow larger leaves, or fewer levels")]
    TooManyLeaves {
        /// Leaves found.
        leaves: usize,
    },
    /// The width of a beam is 0.
    #[error("the beam's width is 0: keep at least one node")]
    ZeroBeam,
}

/// How many there are of something, in words; messages have their fields by reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn counted(number: &usize, what: &str) -> String {
    format!("{number} {what}{}", if *number == 1 { "" } else { "s" })
}
