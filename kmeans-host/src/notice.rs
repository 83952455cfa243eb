//! What a caller should know about a result that is right but may surprise.

use std::fmt;

/// Something about a fit worth telling, though it is no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Notice {
    /// The cap ended the iterations before a stop rule did.
    NotConverged {
        /// Iterations run.
        iterations: usize,
    },
    /// Some clusters have no points, as when there are fewer distinct points than clusters.
    EmptyClusters {
        /// Clusters asked for.
        k: usize,
        /// Clusters that have points.
        non_empty: usize,
    },
    /// An image has fewer distinct colours (or pixels) than clusters were asked for: each got a cluster of its own.
    FewerColours {
        /// Clusters asked for.
        k: usize,
        /// Colours found.
        found: usize,
    },
    /// Some leaves of a tree hold more points than was asked for: equal points, fewer than k points, or the depth reached.
    OverfullLeaves {
        /// Most points per leaf asked for.
        max_leaf_size: usize,
        /// Leaves that have more.
        leaves: usize,
        /// Points of the largest.
        largest: usize,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConverged { iterations } => {
                let s = if *iterations == 1 { "" } else { "s" };
                write!(f, "ended after {iterations} iteration{s}, before a stop rule was met: allow more to converge")
            }
            Self::EmptyClusters { k, non_empty } => {
                write!(f, "{non_empty} of {k} clusters have points: there may be fewer than {k} distinct points")
            }
            Self::FewerColours { k, found } => {
                let s = if *found == 1 { "" } else { "s" };
                write!(
                    f,
                    "{k} clusters were asked for but the image has {found} colour{s}: each is a cluster of its own"
                )
            }
            Self::OverfullLeaves { max_leaf_size, leaves, largest } => {
                let (s, have) = if *leaves == 1 { ("f", "has") } else { ("ves", "have") };
                write!(
                    f,
                    "{leaves} lea{s} {have} more than {max_leaf_size} points, up to {largest}: nodes of equal points, of fewer \
                     points than k, or at the last level are not split"
                )
            }
        }
    }
}
