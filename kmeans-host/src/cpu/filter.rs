//! Lower bounds in `f32` on the distance to every centroid: cheap, and never above the truth.
//!
//! With Y and Z the exact centred and scaled point and centroid, |Y − Z|² = |Y|² + 2·S where S = |Z|²/2 − Y·Z. For a
//! fixed point the nearest centroid has the smallest S. From the rounded y and z, with fused multiply-adds,
//!
//! ```text
//! low(k) = ((L_k − y₁z₁) − … − y_d z_d) − ρ·g_k,   L_k = |z|²/2 − e_k,   ρ ≥ |y|
//! ```
//!
//! where ρ·g_k + e_k bounds every error made on the way (docs/exactness.md has the derivation), so that low(k) ≤ S and
//! S ≤ low(k) + 2·(ρ·g_k + e_k). If the second lowest low is above the upper bound of the lowest, the label is decided.
//! The term ρ·g_k is one more coordinate of the product: (y, ρ)·(z, g).

use kmeans_core::Scalar;

use super::frame::Frame;

/// Unit roundoff of `f32`.
const U: f64 = 1.0 / (1 << 24) as f64;
/// Centroids beyond this norm (in a frame where the data are about 1) get a constant lower bound instead.
const FAR_CENTROID: f64 = (1_u64 << 50) as f64;
/// Their constant: S ≥ |Z|(|Z|/2 − |Y|) ≥ 2^98 while |Y| ≤ [`FAR_POINT`].
const FAR_LOW: f32 = (1_u128 << 97) as f32;
/// Points beyond this norm are settled by D.
pub(crate) const FAR_POINT: f32 = (1_u64 << 40) as f32;
/// The lower bound of a column that stands for no centroid: never the lowest.
const PADDING: f32 = f32::MAX;

/// The centroids as the filter reads them: in groups of `width` side by side, each group holding for every coordinate
/// (the last one is g) the *negated* values of its centroids.
pub(crate) struct Panels {
    pub k: usize,
    pub d: usize,
    /// L_k, padded to a multiple of the width.
    pub start: Vec<f32>,
    /// [groups][d + 1][width].
    pub values: Vec<f32>,
    /// g_k.
    pub slope: Vec<f32>,
    /// e_k; infinite for a far centroid.
    pub offset: Vec<f32>,
    /// |Z| bounded from above, and z itself, `[k, d]`: for tightening upper bounds.
    norm: Vec<f32>,
    rows: Vec<f32>,
    row_slope: f64,
}

impl Panels {
    /// For `centroids`, `[k, d]`, in groups of `width`; `fused` says that multiply-adds round once.
    pub fn new<T: Scalar>(frame: &Frame, centroids: &[T], d: usize, width: usize, fused: bool) -> Self {
        let k = centroids.len() / d;
        let padded = k.next_multiple_of(width);
        let mut panels = Self {
            k,
            d,
            start: vec![PADDING; padded],
            values: vec![0.0; padded * (d + 1)],
            slope: vec![0.0; k],
            offset: vec![0.0; k],
            norm: vec![0.0; k],
            rows: vec![0.0; k * d],
            // D is rounded too: at most (d + 2)·2^-53 relative, |Y − Z|² ≤ 2|Y|² + 2|Z|², here the part with |Y|².
            row_slope: (d + 3) as f64 * f64::EPSILON * 4.0,
        };
        // Roundings from L_k to low(k): d + 1 products, and their additions where those are not fused.
        let steps = if fused { d + 2 } else { 2 * d + 4 } as f64;
        let gamma = steps * U / (1.0 - steps * U);
        let alpha = 1.05 * (gamma + 2.1 * U);
        let beta = 1.05 * (0.6 * gamma + 1.1 * U) + (d + 3) as f64 * f64::EPSILON * 4.0;
        // Results below the normal range of f32: each loses at most 2^-149, d + 2 times, times a factor of |y| or |z|.
        let tiny = (d + 4) as f64 * 2.0_f64.powi(-146);
        for (c, (centroid, z)) in centroids.chunks_exact(d).zip(panels.rows.chunks_exact_mut(d)).enumerate() {
            frame.convert(centroid, z);
            let square: f64 = z.iter().map(|&v| v as f64 * v as f64).sum();
            let norm = square.sqrt() * (1.0 + 1e-9);
            panels.norm[c] = up(norm);
            if !(norm <= FAR_CENTROID) {
                panels.start[c] = FAR_LOW;
                panels.offset[c] = f32::INFINITY;
                continue;
            }
            let offset = beta * square + tiny * (1.0 + norm);
            panels.offset[c] = up(offset);
            panels.slope[c] = up(alpha * norm + tiny);
            panels.start[c] = down(square / 2.0 - panels.offset[c] as f64);
            let slope = panels.slope[c];
            let group = &mut panels.values[c / width * (d + 1) * width..];
            for (j, &v) in z.iter().chain([&slope]).enumerate() {
                group[j * width + c % width] = -v;
            }
        }
        panels
    }

    /// Floats per row that [`row`](Self::row) fills: d coordinates and ρ.
    pub fn stride(&self) -> usize {
        self.d + 1
    }

    /// Writes one point's coordinates and ρ; returns whether the filter applies, that is, whether the point is not so
    /// far out that it must be settled by D (its coordinates are then zero).
    #[inline(always)]
    pub fn row<T: Scalar>(&self, frame: &Frame, point: &[T], out: &mut [f32]) -> bool {
        let (y, rho) = out.split_at_mut(self.d);
        frame.convert(point, y);
        rho[0] = self.rho(square_norm(y));
        let near = rho[0] <= FAR_POINT;
        if !near {
            out.fill(0.0);
        }
        near
    }

    /// ρ ≥ |y| from the `f32` sum of squares of d numbers, summed in any order.
    #[inline(always)]
    pub fn rho(&self, square: f32) -> f32 {
        let d = self.d as f32;
        // (1 + (d + 4)·u)² covers the sum's rounding; the constant covers squares that underflow.
        (square * (1.0 + (d + 8.0) * 1.3e-7) + d * 1e-37).sqrt() * (1.0 + 2.5e-7)
    }

    /// The upper bound on S for centroid `k` whose lower bound came out as `low`, plus the row's own margin.
    #[inline(always)]
    pub fn upper(&self, k: usize, low: f32, rho: f32) -> f64 {
        let (rho, slope, offset) = (rho as f64, self.slope[k] as f64, self.offset[k] as f64);
        low as f64 + 2.000_001 * (rho * slope + offset) + self.row_slope * rho * rho
    }

    /// Bounds on |Y|² from ρ.
    #[inline(always)]
    fn square_bounds(&self, rho: f32) -> (f64, f64) {
        let square = rho as f64 * rho as f64;
        // ρ was rounded up from a sum of relative error (d + 4)·2^-24; then y against Y.
        let slack = (self.d as f64 + 20.0) * 4.0 * U;
        (square * (1.0 - slack) - self.d as f64 * 2e-37, square * (1.0 + slack) + 1e-37)
    }

    /// An upper bound on |Y − Z| from an upper bound on S.
    #[inline(always)]
    pub fn distance_above(&self, rho: f32, upper: f64) -> f32 {
        up((self.square_bounds(rho).1 + 2.0 * upper).max(0.0).sqrt() * (1.0 + 1e-12))
    }

    /// A lower bound on |Y − Z| from a lower bound on S.
    #[inline(always)]
    pub fn distance_below(&self, rho: f32, low: f32) -> f32 {
        down((self.square_bounds(rho).0 + 2.0 * low as f64).max(0.0).sqrt() * (1.0 - 1e-12)).max(0.0)
    }

    /// An upper bound on |Y − Z_k| by direct differences, tighter than one from S.
    #[inline(always)]
    pub fn distance_direct(&self, y: &[f32], k: usize) -> f32 {
        let z = &self.rows[k * self.d..][..self.d];
        let mut sums = [0.0_f32; 16];
        let ((y_chunks, y_rest), (z_chunks, z_rest)) = (y[..self.d].as_chunks::<16>(), z.as_chunks::<16>());
        for (y, z) in y_chunks.iter().zip(z_chunks) {
            for ((s, a), b) in sums.iter_mut().zip(y).zip(z) {
                *s += (a - b) * (a - b);
            }
        }
        for ((s, a), b) in sums.iter_mut().zip(y_rest).zip(z_rest) {
            *s += (a - b) * (a - b);
        }
        let square = across(sums) as f64 * (1.0 + (self.d as f64 + 20.0) * U) + self.d as f64 * 1e-44;
        let rounding = 2.1 * U * (y[self.d] as f64 + self.norm[k] as f64) + self.d as f64 * 1e-44;
        if self.offset[k].is_finite() { up(square.sqrt() * (1.0 + 1e-9) + rounding) } else { f32::INFINITY }
    }

    /// z of centroid `k`.
    pub fn centroid(&self, k: usize) -> &[f32] {
        &self.rows[k * self.d..][..self.d]
    }
}

/// The sum of squares, in an order that vectorises.
#[inline(always)]
fn square_norm(y: &[f32]) -> f32 {
    let (chunks, rest) = y.as_chunks::<16>();
    let mut sums = [0.0_f32; 16];
    for chunk in chunks {
        for (s, v) in sums.iter_mut().zip(chunk) {
            *s += v * v;
        }
    }
    for (s, v) in sums.iter_mut().zip(rest) {
        *s += v * v;
    }
    across(sums)
}

/// The sum of 16 numbers as a tree, so that the additions do not wait for each other.
#[inline(always)]
fn across(mut sums: [f32; 16]) -> f32 {
    for half in [8, 4, 2, 1] {
        let (low, high) = sums.split_at_mut(half);
        for (a, b) in low.iter_mut().zip(high) {
            *a += *b;
        }
    }
    sums[0]
}

/// The smallest `f32` above `value` or equal to it.
#[inline(always)]
pub(crate) fn up(value: f64) -> f32 {
    let rounded = value as f32;
    if (rounded as f64) < value { rounded.next_up() } else { rounded }
}

/// The largest `f32` below `value` or equal to it.
#[inline(always)]
pub(crate) fn down(value: f64) -> f32 {
    let rounded = value as f32;
    if rounded as f64 > value { rounded.next_down() } else { rounded }
}
