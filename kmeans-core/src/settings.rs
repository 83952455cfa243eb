//! What a caller chooses about a fit: when it stops and what happens to a cluster that loses its points.

/// When the iterations end. Repeating labels and the iteration cap always end them; this adds one more rule.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stop {
    /// Only when the labels repeat, or at the cap.
    LabelsRepeat,
    /// When the sum of squared centroid movement is at most this factor times the mean variance of the columns, as
    /// scikit-learn's `tol`.
    RelativeTolerance(f64),
    /// When the sum of squared centroid movement, Σₖ D(new cₖ, old cₖ), is less than this.
    Movement(f64),
    /// When the share of points whose label changed is less than this (0.001: one in a thousand).
    LabelsChanged(f64),
}

impl Stop {
    /// The number the rule compares with, if it has one: it must be finite and not negative.
    pub fn parameter(self) -> Option<f64> {
        match self {
            Stop::LabelsRepeat => None,
            Stop::RelativeTolerance(v) | Stop::Movement(v) | Stop::LabelsChanged(v) => Some(v),
        }
    }
}

/// What happens when a cluster has no points (or only points of weight zero) after an assignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmptyCluster {
    /// Its centroid stays where it was.
    Keep,
    /// It takes over the point that is farthest from its own centroid (the default, as in scikit-learn).
    ///
    /// Empty clusters are served in index order, points in order of falling D to their centroid, lowest row first among
    /// equals. A point moves only if its weight is positive, its D is positive and its cluster keeps another point of
    /// positive weight, so that moves end even on duplicated points; a cluster that finds no point keeps its centroid.
    #[default]
    Farthest,
    /// The fit ends with an error that names the cluster.
    Error,
}

/// Everything that steers Lloyd's iterations once the starting centroids are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Most rounds of assignment and update.
    pub max_iter: usize,
    /// The stop rule beside repeating labels and the cap.
    pub stop: Stop,
    /// The policy for empty clusters.
    pub empty: EmptyCluster,
}

impl Default for Settings {
    /// 300 iterations, relative tolerance 1e-4, empty clusters move to the farthest points.
    fn default() -> Self {
        Self { max_iter: 300, stop: Stop::RelativeTolerance(1e-4), empty: EmptyCluster::default() }
    }
}

/// One round of assignment and update.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Iteration {
    /// Σᵢ wᵢ·|xᵢ − c|² to the centroids that this round's labels were decided by.
    pub inertia: f64,
    /// Sum over clusters of the squared movement of the centroid in this round's update.
    pub movement: f64,
    /// Points whose label differs from the round before (all of them in the first).
    pub labels_changed: u64,
}
