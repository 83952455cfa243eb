//! The jobs that are timed: those of the classic parallel k-means programs, on points made here.

use ndarray::Array2;

use crate::commands::generate;

/// A job.
pub struct Case {
    /// As `--only` finds it.
    pub name: &'static str,
    pub n: usize,
    pub d: usize,
    pub k: usize,
    /// Ends when a smaller share of the points changes cluster.
    pub threshold: f64,
    pub max_iter: usize,
}

/// The classic table, and the classic example.
pub const CASES: [Case; 5] =
    [line(2, "1-D, K = 2"), line(20, "1-D, K = 20"), line(50, "1-D, K = 50"), line(100, "1-D, K = 100"), SPACE];

const SPACE: Case = Case { name: "3-D, K = 4", n: 99_968, d: 3, k: 4, threshold: 0.001, max_iter: 31 };

/// 100,000 points on a line.
const fn line(k: usize, name: &'static str) -> Case {
    Case { name, n: 100_000, d: 1, k, threshold: 0.001, max_iter: 31 }
}

impl Case {
    /// The points: a uniform cloud, so that there is work in every iteration.
    pub fn points(&self) -> Array2<f32> {
        generate::points(self.n, self.d, 0, 0.0, 1)
    }
}
