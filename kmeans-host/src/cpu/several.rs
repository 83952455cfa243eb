//! D from one row to several centroids at once: a lane for each centroid, so that every lane adds in index order.

use kmeans_core::Scalar;
use pulp::{Arch, WithSimd};

/// Centroids side by side.
pub(crate) const LANES: usize = 8;

/// Centroids in groups of eight, coordinates across.
pub(crate) struct Several {
    k: usize,
    /// `[groups][d][LANES]`
    values: Vec<[f64; LANES]>,
    d: usize,
}

impl Several {
    /// For `centroids`, each of `d` coordinates.
    pub fn new<'a, T: Scalar>(centroids: impl ExactSizeIterator<Item = &'a [T]>, d: usize) -> Self {
        let k = centroids.len();
        let mut values = vec![[0.0; LANES]; k.div_ceil(LANES) * d];
        for (c, centroid) in centroids.enumerate() {
            for (j, v) in centroid.iter().enumerate() {
                values[c / LANES * d + j][c % LANES] = v.to_f64();
            }
        }
        Self { k, values, d }
    }

    /// Calls `each` with the index of every row of `rows` and D to each centroid.
    pub fn distances<T: Scalar>(&self, arch: Arch, rows: &[T], each: impl FnMut(usize, &[f64])) {
        arch.dispatch(Distances { several: self, rows, each });
    }
}

struct Distances<'a, T, F> {
    several: &'a Several,
    rows: &'a [T],
    each: F,
}

impl<T: Scalar, F: FnMut(usize, &[f64])> WithSimd for Distances<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { several, rows, mut each } = self;
        let d = several.d;
        let mut out = vec![[0.0; LANES]; several.k.div_ceil(LANES)];
        for (i, row) in rows.chunks_exact(d).enumerate() {
            for (sums, group) in out.iter_mut().zip(several.values.chunks_exact(d)) {
                let mut sum = [0.0; LANES];
                for (x, c) in row.iter().zip(group) {
                    let x = x.to_f64();
                    for (s, c) in sum.iter_mut().zip(c) {
                        let difference = x - c;
                        *s += difference * difference;
                    }
                }
                *sums = sum;
            }
            each(i, &out.as_flattened()[..several.k]);
        }
    }
}
