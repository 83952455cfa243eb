//! The silhouette coefficient of every point: the points of a cluster lie together, so that distances to neighbours in memory
//! vectorise.

use kmeans_core::launch::{SILHOUETTE_BLOCK as BLOCK, SILHOUETTE_LANES as LANES};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::engine::Grouped;
use crate::select_k::coefficient;

/// The coefficients in the order of `grouped`. Sums are made in an order that the launch contract fixes, so that every instruction
/// set and every GPU gives the same bits.
pub fn silhouettes(arch: Arch, grouped: &Grouped) -> Vec<f64> {
    let Grouped { columns, n, sizes } = grouped;
    let n = *n;
    let d = columns.len().checked_div(n).unwrap_or(0);
    let own: Vec<usize> = sizes.iter().enumerate().flat_map(|(c, &size)| std::iter::repeat_n(c, size)).collect();
    (0..n)
        .into_par_iter()
        .map_init(
            || (vec![0.0; d], vec![0.0; BLOCK]),
            |(point, squares), at| {
                for (j, value) in point.iter_mut().enumerate() {
                    *value = columns[j * n + at];
                }
                if sizes[own[at]] == 1 {
                    return 0.0;
                }
                let (mut a, mut b, mut start) = (0.0, f64::INFINITY, 0);
                for (c, &size) in sizes.iter().enumerate() {
                    let sum = arch.dispatch(Distances { point, columns, n, start, size, squares });
                    if c == own[at] {
                        a = sum / (size - 1) as f64;
                    } else {
                        b = f64::min(b, sum / size as f64);
                    }
                    start += size;
                }
                coefficient(a, b)
            },
        )
        .collect()
}

/// The sum of the distances of a point to `size` neighbours in memory, from `start`.
struct Distances<'a> {
    point: &'a [f64],
    columns: &'a [f64],
    n: usize,
    start: usize,
    size: usize,
    /// Room for a block of squared distances, which stays in the first-level cache.
    squares: &'a mut [f64],
}

impl WithSimd for Distances<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut sum = 0.0;
        for from in (0..self.size).step_by(BLOCK) {
            let len = BLOCK.min(self.size - from);
            let squares = &mut self.squares[..len];
            squares.fill(0.0);
            for (j, &x) in self.point.iter().enumerate() {
                let column = &self.columns[j * self.n + self.start + from..][..len];
                for (square, &y) in squares.iter_mut().zip(column) {
                    *square += (x - y) * (x - y);
                }
            }
            let mut lanes = [0.0; LANES];
            let (whole, rest) = squares.as_chunks::<LANES>();
            for part in whole {
                for (lane, square) in lanes.iter_mut().zip(part) {
                    *lane += square.sqrt();
                }
            }
            for (lane, square) in lanes.iter_mut().zip(rest) {
                *lane += square.sqrt();
            }
            sum += lanes.iter().sum::<f64>();
        }
        sum
    }
}
