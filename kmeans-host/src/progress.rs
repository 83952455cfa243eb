//! What a running fit tells its caller, and what the caller can answer.

use std::fmt;
use std::sync::Arc;

use kmeans_core::settings::Iteration;

/// A report from a running fit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// Starting centroids are being picked.
    Seeding {
        /// The start, from 0 to `n_init` − 1.
        restart: usize,
        /// Centroids (or, for k-means||, rounds) done.
        done: usize,
        /// Centroids (or rounds) to do.
        total: usize,
    },
    /// A round of assignment and update is done.
    Iteration {
        /// The start, from 0 to `n_init` − 1.
        restart: usize,
        /// The round, from 1.
        iteration: usize,
        /// The cap on rounds.
        max_iter: usize,
        /// What the round did.
        record: Iteration,
    },
    /// The nodes of one level of a tree are being split.
    Level {
        /// The level, from 0.
        level: usize,
        /// Its nodes that are being split.
        nodes: usize,
        /// How far that is, in points; a part of a node's rounds counts as the same part of its points. The first report of
        /// a level has 0 and the last one all of them.
        done: usize,
        /// Points in these nodes.
        points: usize,
    },
}

/// The caller's answer to a [`Progress`] report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// End here, make no further start, and return the best model so far, not converged. While the first start is being
    /// seeded there is no model yet: as `Cancel`. A tree is returned with the levels that are done, at least its root.
    Finish,
    /// End with [`Error::Cancelled`](crate::Error::Cancelled).
    Cancel,
}

/// The callback, shared so that a builder can be cloned.
#[derive(Clone)]
pub(crate) struct Observer(pub Arc<dyn Fn(&Progress) -> Control + Send + Sync>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
