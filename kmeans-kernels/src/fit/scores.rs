//! Scores of short rows in `f32`: |c − μ|²/2 − (x − μ)·(c − μ), a multiply-add per column, which order the centroids of a row as distances do.
//!
//! # Why the labels are exact
//! Let X = x − μ and C_k = c_k − μ, u = 2⁻²⁴. In real arithmetic S_k = |C_k|²/2 − X·C_k is half of |x − c_k|² − |X|². Here x' and c'
//! are X and C_k with each column rounded once (a byte less an integer is not), b = fl(|c'|²/2), and s the chain b − x'_1·c'_1 − … of d fused
//! multiply-adds. With m ≥ |c'_kj| for all k and j, h = d·m²/2 ≥ |c'|²/2 and t ≥ Σ|x'_j|, so that Σ|x'_j·c'_kj| ≤ tm:
//! - rounding c' changes |C|²/2 by at most 2.02u·h, and rounding c' and x' changes X·C by at most 2.01u·tm;
//! - b errs by 1.01u·h, each of d steps by at most 1.01u·(h + tm);
//! - what is too small to be a normal number costs at most (d + 2)·2⁻¹⁴⁹.
//!
//! So |s − S| ≤ E = u((3.03 + 1.01d)·h + (2.01 + 1.01d)·tm) + (d + 2)·2⁻¹⁴⁹. D errs by at most (d + 3)·2⁻⁵³ of itself, and D ≤ 2|X|² + 2|C|²: half of both
//! errors is below 13·2⁻⁵³·(t² + 2h). The threshold is rounded once, u·(h + tm) at most. A centroid whose score is above the least by more than
//!
//! > M = u(2.1d + 8)·(h + tm) + 2⁻⁴⁹·t² + 2⁻¹⁴⁰
//!
//! is farther than it by D. Nothing overflows while 2dm² and 4t² do not, since then h + tm is below the largest `f32`; they are steps of M, which
//! is infinite or no number if they do, and then nothing is certain. Any μ gives right labels: it decides how many rows are left open.

use crate::device::multiply_add;

/// More than one, for the rounding of M itself.
const MORE: f32 = 1.0 + 1.0 / 1024.0;

/// M, by the size t of a row.
#[derive(Clone, Copy)]
pub(super) struct Margin {
    fixed: f32,
    per_size: f32,
}

impl Margin {
    /// Of (2t)².
    const PER_SQUARE: f32 = MORE / (1_u64 << 51) as f32;

    /// For centroids of d columns up to `largest`, m.
    #[inline(always)]
    pub fn new(largest: f32, d: u32) -> Self {
        let unit = MORE * (2.1 * d as f32 + 8.0) * (f32::EPSILON / 2.0);
        // 2⁻¹⁴⁰.
        let tiny = MORE * f32::from_bits(1 << 9);
        let squares = 2.0 * d as f32 * largest * largest;
        Self { fixed: 0.25 * unit * squares + tiny, per_size: unit * largest }
    }

    /// Of a row, t = `size`.
    #[inline(always)]
    pub fn of(self, size: f32) -> f32 {
        let squares = (size + size) * (size + size);
        multiply_add(squares, Self::PER_SQUARE, multiply_add(size, self.per_size, self.fixed))
    }
}

/// The least two scores of a row so far, and whose the least is.
#[derive(Clone, Copy)]
pub(super) struct Least {
    pub label: u32,
    best: f32,
    second: f32,
}

impl Least {
    /// No centroid yet.
    pub const NONE: Self = Self { label: 0, best: f32::INFINITY, second: f32::INFINITY };

    /// Takes a centroid into account. A score that is no number leaves no trace: then the margin is no number either, or infinite.
    #[inline(always)]
    pub fn offer(&mut self, label: u32, score: f32) {
        self.second = self.second.min(self.best.max(score));
        self.label = if score < self.best { label } else { self.label };
        self.best = self.best.min(score);
    }

    /// Whether the least belongs to the label by D, if scores err by no more than `margin` allows.
    #[inline(always)]
    pub fn is_certain(self, margin: f32) -> bool {
        self.second > self.best + margin
    }
}

#[cfg(test)]
mod tests {
    use kmeans_core::rng::{Purpose, Random};

    use super::*;

    /// Half of |x − c|² − |x − μ|², in `f64`, and the score in `f32`.
    fn both(x: &[f32], c: &[f32], centre: &[f32]) -> (f64, f32, f32, f32) {
        let (mut truth, mut square, mut size, mut largest) = (0.0, 0.0, 0.0, 0.0_f32);
        for ((&x, &c), &m) in x.iter().zip(c).zip(centre) {
            let (far, near) = (c as f64 - m as f64, x as f64 - m as f64);
            truth += far * (0.5 * far - near);
            square += ((c - m) as f64).powi(2);
            size += (x - m).abs();
            largest = largest.max((c - m).abs());
        }
        let mut score = (0.5 * square) as f32;
        for ((&x, &c), &m) in x.iter().zip(c).zip(centre) {
            score = (-(x - m)).mul_add(c - m, score);
        }
        (truth, score, size, largest)
    }

    #[test]
    fn scores_err_by_less_than_half_the_margin() {
        let random = Random::new(5, 0);
        let mut closest = 0.0_f64;
        for i in 0..200_000_u64 {
            let d = i as usize % 4 + 1;
            let spread = random.below(3, Purpose::Point, 0, i) as i32;
            let draw = |j: u32| {
                let value = random.below(1 << 24, Purpose::Point, 1 + j, i) as f64 / (1 << 23) as f64 - 1.0;
                let exponent = (random.below(41, Purpose::Point, 20 + j, i) as i32 - 20) * spread;
                (value * 2.0_f64.powi(exponent)) as f32
            };
            let values: Vec<f32> = (0..12).map(draw).collect();
            let (truth, score, size, largest) = both(&values[..d], &values[4..4 + d], &values[8..8 + d]);
            let margin = Margin::new(largest, d as u32).of(size) as f64;
            closest = closest.max((score as f64 - truth).abs() / margin);
        }
        assert!(closest < 0.5, "{closest}");
        // Nor is it far more than needed.
        assert!(closest > 0.05, "{closest}");
    }

    #[test]
    fn nothing_is_certain_where_scores_may_overflow() {
        for (largest, size) in [(2e19, 1.0), (1.0, 2e19), (1.5e19, 1.0), (f32::INFINITY, 0.0), (1.0, f32::INFINITY)] {
            let mut least = Least::NONE;
            least.offer(0, f32::NEG_INFINITY);
            least.offer(1, 1.0);
            assert!(!least.is_certain(Margin::new(largest, 3).of(size)), "{largest} {size}");
        }
        let mut only = Least::NONE;
        only.offer(0, 5.0);
        assert!(only.is_certain(Margin::new(1e10, 3).of(1e10)));
    }
}
