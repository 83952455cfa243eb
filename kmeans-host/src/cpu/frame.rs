//! The coordinates that the f32 filter works in: centred, scaled by a power of two, rounded to `f32`.
//!
//! Distances do not change when all points move together, so a centre near the data keeps `f32` accurate for data far
//! from the origin; a power of two keeps squares inside the range of `f32`. Both are fixed for a fit. Whatever they
//! are, the bounds in `filter` hold; they only decide how often `f32` is enough.

use kmeans_core::Scalar;
use kmeans_core::fixed::ExponentRange;
use kmeans_core::scalar::power_of_two;

use crate::points::Points;

/// Rows looked at to choose centre and scale.
const SAMPLE: usize = 1024;

/// y = (x − center) · 2^exponent, rounded to `f32`.
#[derive(Clone)]
pub(crate) struct Frame {
    center: Vec<f64>,
    center_f32: Vec<f32>,
    exponent: i32,
    /// Whether the conversion can be done in `f32` with one rounding.
    in_f32: bool,
}

impl Frame {
    /// A frame for `points`: their sampled mean becomes the origin, the sampled radius about 1.
    pub fn new<T: Scalar>(points: &Points<'_, T>) -> Self {
        let (n, d) = (points.n(), points.d());
        let rows = n.min(SAMPLE);
        let sample = || (0..rows).map(|i| points.row((i as u128 * n as u128 / rows as u128) as usize));
        let mut center = vec![0.0; d];
        for row in sample() {
            for (c, x) in center.iter_mut().zip(row) {
                *c += x.to_f64() / rows as f64;
            }
        }
        if T::DIGITS <= 24 {
            // Rounded to f32, so that x − center is one f32 operation.
            for c in &mut center {
                *c = *c as f32 as f64;
            }
        }
        let mut radius = 0.0_f64;
        for row in sample() {
            for (c, x) in center.iter().zip(row) {
                radius = radius.max((x.to_f64() - c).abs());
            }
        }
        let high =
            if radius > 0.0 { ExponentRange::of(radius).high } else { points.range().high.clamp(-1000, 1000) + 1 };
        // The upper end keeps 2^-1074, where D itself underflows, below what f32 can hold (see `filter`).
        let exponent = (-high).clamp(-1000, 440);
        let in_f32 = T::DIGITS <= 24 && exponent.abs() <= 100;
        Self { center_f32: center.iter().map(|&c| c as f32).collect(), center, exponent, in_f32 }
    }

    /// Converts values of consecutive columns starting at column 0.
    #[inline(always)]
    pub fn convert<T: Scalar>(&self, row: &[T], out: &mut [f32]) {
        if let Some((center, scale)) = self.in_f32() {
            for ((o, x), c) in out.iter_mut().zip(row).zip(center) {
                *o = (x.to_f32() - c) * scale;
            }
        } else {
            let scale = power_of_two(self.exponent);
            for ((o, x), c) in out.iter_mut().zip(row).zip(&self.center) {
                *o = ((x.to_f64() - c) * scale) as f32;
            }
        }
    }

    /// Centre and scale, where conversion is one subtraction and one multiplication in `f32`.
    #[inline(always)]
    pub fn in_f32(&self) -> Option<(&[f32], f32)> {
        self.in_f32.then(|| (&self.center_f32[..], power_of_two(self.exponent) as f32))
    }

    /// A squared distance of the original space, as a distance in this frame.
    pub fn distance(&self, squared: f64) -> f64 {
        squared.sqrt() * power_of_two(self.exponent)
    }
}
