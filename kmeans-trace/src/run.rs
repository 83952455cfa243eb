//! The rounds of a fit, made one by one. Of each, the centroids and the numbers are kept; its labels are found again when asked for,
//! since those of all rounds of a long fit would not fit into a page's memory.

use alloc::vec::Vec;

use kmeans_core::rng::{Purpose, Random};
use kmeans_core::settings::{EmptyCluster, Iteration, Settings, Stop};
use kmeans_core::{Scalar, distance, reference, seeding};

/// How the first centroids are chosen. The numbers are what the page sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Start {
    /// The first k rows.
    FirstK = 0,
    /// Rows ⌊i·n/k⌋.
    EvenlySpaced = 1,
    /// k different rows, drawn uniformly.
    RandomPoints = 2,
    /// The means of random labels.
    RandomLabels = 3,
    /// Greedy k-means++.
    PlusPlus = 4,
    /// k-means||.
    Parallel = 5,
}

impl Start {
    /// The start with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::FirstK, Self::EvenlySpaced, Self::RandomPoints, Self::RandomLabels, Self::PlusPlus, Self::Parallel]
            .into_iter()
            .find(|&start| start as u32 == number)
    }

    /// The starting centroids, `[k, d]`.
    fn centroids<T: Scalar>(self, points: &[T], d: usize, k: usize, seed: u64) -> Vec<T> {
        let n = points.len() / d;
        let random = Random::new(seed, 0);
        let rows = match self {
            Self::FirstK => (0..k).collect(),
            Self::EvenlySpaced => seeding::evenly_spaced(n, k),
            Self::RandomPoints => seeding::random_rows(n, k, &random),
            Self::RandomLabels => return reference::random_label_start(points, d, None, k, &random),
            Self::PlusPlus => seeding::plus_plus(points, d, None, k, seeding::trials(k), &random, Purpose::PlusPlus),
            Self::Parallel => seeding::parallel(points, d, None, k, &random),
        };
        rows.into_iter().flat_map(|row| points[row * d..][..d].iter().copied()).collect()
    }
}

/// What a round of assignment and update did.
#[derive(Clone, Debug, PartialEq)]
pub struct Round<T> {
    /// The centroids that the labels were decided by, `[k, d]`.
    pub centroids: Vec<T>,
    /// The numbers of the round.
    pub record: Iteration,
}

/// A fit that is made round by round.
#[derive(Clone, Debug)]
pub struct Run<T> {
    points: Vec<T>,
    d: usize,
    settings: Settings,
    /// What [`Stop::RelativeTolerance`] compares the movement with.
    threshold: f64,
    centroids: Vec<T>,
    /// Of the last round; none before the first.
    labels: Vec<u32>,
    rounds: Vec<Round<T>>,
    converged: bool,
}

impl<T: Scalar> Run<T> {
    /// A fit of `points`, `[n, d]` row-major, that has made no round yet. 1 ≤ `k` ≤ n, 1 ≤ `d`.
    pub fn new(points: Vec<T>, d: usize, k: usize, start: Start, seed: u64, settings: Settings) -> Self {
        let centroids = start.centroids(&points, d, k, seed);
        let threshold = match settings.stop {
            Stop::RelativeTolerance(tolerance) => tolerance * reference::mean_variance(&points, d),
            _ => 0.0,
        };
        Self { points, d, settings, threshold, centroids, labels: Vec::new(), rounds: Vec::new(), converged: false }
    }

    /// Makes the next round; false if the fit has ended. Line by line what [`reference::lloyd`] does in its loop, without weights.
    pub fn step(&mut self) -> bool {
        if self.converged || self.rounds.len() >= self.settings.max_iter {
            return false;
        }
        let (points, d) = (&self.points[..], self.d);
        let mut labels = reference::assign(points, d, &self.centroids);
        let inertia = reference::inertia(points, d, None, &self.centroids, &labels);
        if self.labels == labels {
            let record = Iteration { inertia, movement: 0.0, labels_changed: 0 };
            self.rounds.push(Round { centroids: self.centroids.clone(), record });
            self.converged = true;
            return true;
        }
        if reference::fill_empty_clusters(points, d, None, &self.centroids, &mut labels, self.settings.empty).is_err() {
            // The policy is an error: the page offers none such.
            debug_assert_eq!(self.settings.empty, EmptyCluster::Error);
            return false;
        }
        let updated = reference::update(points, d, None, &self.centroids, &labels);
        let pairs = updated.chunks_exact(d).zip(self.centroids.chunks_exact(d));
        let movement = pairs.map(|(new, old)| distance(new, old)).sum();
        let labels_changed = if self.labels.is_empty() {
            labels.len() as u64
        } else {
            self.labels.iter().zip(&labels).filter(|(a, b)| a != b).count() as u64
        };
        self.converged = match self.settings.stop {
            Stop::RelativeTolerance(_) => movement <= self.threshold,
            Stop::Movement(limit) => movement < limit,
            Stop::LabelsChanged(share) => (labels_changed as f64) < share * labels.len() as f64,
            _ => false,
        };
        let record = Iteration { inertia, movement, labels_changed };
        let centroids = core::mem::replace(&mut self.centroids, updated);
        self.rounds.push(Round { centroids, record });
        self.labels = labels;
        true
    }

    /// The rounds made.
    pub fn rounds(&self) -> &[Round<T>] {
        &self.rounds
    }

    /// The label that each point got in a round, from 0; the round must have been made.
    pub fn labels(&self, round: usize) -> Vec<u32> {
        let centroids = &self.rounds[round].centroids;
        if round + 1 == self.rounds.len() {
            return self.labels.clone();
        }
        let mut labels = reference::assign(&self.points, self.d, centroids);
        let filled =
            reference::fill_empty_clusters(&self.points, self.d, None, centroids, &mut labels, self.settings.empty);
        debug_assert!(filled.is_ok(), "the round would not have been made");
        labels
    }

    /// The centroids after the last round, `[k, d]`.
    pub fn centroids(&self) -> &[T] {
        &self.centroids
    }

    /// The labels that belong to [`centroids`](Self::centroids), and their inertia: the result, if the fit ended here.
    pub fn result(&self) -> (Vec<u32>, f64) {
        let labels = reference::assign(&self.points, self.d, &self.centroids);
        let inertia = reference::inertia(&self.points, self.d, None, &self.centroids, &labels);
        (labels, inertia)
    }

    /// Whether a stop rule has ended it.
    pub fn converged(&self) -> bool {
        self.converged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTS: [Start; 6] = [
        Start::FirstK,
        Start::EvenlySpaced,
        Start::RandomPoints,
        Start::RandomLabels,
        Start::PlusPlus,
        Start::Parallel,
    ];

    fn points(n: usize, d: usize) -> Vec<f32> {
        let random = Random::new(3, 0);
        (0..n * d).map(|i| (random.below(1000, Purpose::Point, 0, i as u64) as f32).sqrt()).collect()
    }

    #[test]
    fn rounds_are_those_of_the_reference() {
        let stops = [Stop::LabelsRepeat, Stop::RelativeTolerance(1e-3), Stop::Movement(0.5), Stop::LabelsChanged(0.02)];
        for (n, d, k) in [(1, 1, 1), (60, 1, 7), (200, 3, 5), (50, 2, 50)] {
            let points = points(n, d);
            for start in STARTS {
                for stop in stops {
                    for empty in [EmptyCluster::Keep, EmptyCluster::Farthest] {
                        for max_iter in [1, 3, 300] {
                            let settings = Settings { max_iter, stop, empty };
                            let first = start.centroids(&points, d, k, 5);
                            let expected = reference::lloyd(&points, d, None, &first, &settings).unwrap();
                            let mut run = Run::new(points.clone(), d, k, start, 5, settings);
                            let mut seen = Vec::new();
                            while run.step() {
                                seen.push(run.labels(run.rounds().len() - 1));
                            }
                            for (round, labels) in seen.iter().enumerate() {
                                assert_eq!(&run.labels(round), labels);
                            }
                            let history: Vec<Iteration> = run.rounds().iter().map(|r| r.record).collect();
                            assert_eq!(history, expected.history);
                            assert_eq!(run.centroids(), expected.centroids);
                            assert_eq!(run.result(), (expected.labels, expected.inertia));
                            assert_eq!(run.converged(), expected.converged);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn starts_have_their_numbers() {
        for start in STARTS {
            assert_eq!(Start::from_number(start as u32), Some(start));
        }
        assert_eq!(Start::from_number(6), None);
    }
}
