//! Distances of a chunk of rows to all centroids, as a matrix: the first half of an unfused assignment.
//!
//! | rung | what it adds |
//! |---|---|
//! | [`direct`] | one thread per row and centroid, both read from global memory |
//! | [`constant`] | centroids from constant memory, as much of them at a time as it holds |
//! | [`tiled`] | both operands staged in shared memory, 16 rows against 16 centroids |
//! | [`coalesced`] | neighbouring threads load neighbouring elements of both operands |
//!
//! The matrix is [rows, k] for `rows` rows from row `first` on, so that it need not hold all rows at once. [`argmin`]
//! takes the labels from it. [`assign`] needs no matrix.
//!
//! [`own`] computes each row's D to the centroid of its own label.
//!
//! [`argmin`]: crate::argmin
//! [`assign`]: crate::assign

pub mod coalesced;
pub mod constant;
pub mod direct;
pub mod own;
pub mod tiled;

use kmeans_core::Scalar;

use crate::device::{In, Load, Number, Shared};

/// Rows, centroids and columns of a tile.
pub(crate) const SIDE: u32 = 16;

/// D by its definition, between the row at `x` and the centroid at `c`: differences, squares and the sum in `f64`, in
/// the order of the columns, each rounded (`kmeans_core::distance`).
#[inline(always)]
pub(crate) fn between<P: Load>(points: In<P>, x: u64, centroids: In<P::Value>, c: u64, d: u32) -> f64 {
    let mut sum = 0.0;
    for column in 0..d as u64 {
        sum = add_square(sum, points.get(x + column).load(), centroids.get(c + column));
    }
    sum
}

/// The same, reading 16 bytes at a time where rows allow it. Both matrices begin at multiples of 16 bytes.
#[inline(always)]
pub(crate) fn between_rows<T: Number>(points: In<T>, x: u64, centroids: In<T>, c: u64, d: u32) -> f64 {
    let each = 16 / T::SIZE;
    if !d.is_multiple_of(each) {
        return between(points, x, centroids, c, d);
    }
    let mut sum = 0.0;
    let mut column = 0;
    // Several at a time are on their way.
    while column + 4 * each <= d {
        let load = |matrix: In<T>, start: u64| [0, 1, 2, 3].map(|i| matrix.get16(start + (column + i * each) as u64));
        let (xs, cs) = (load(points, x), load(centroids, c));
        for j in 0..4 {
            for i in 0..each {
                sum = add_square(sum, element::<T>(xs[j], i), element::<T>(cs[j], i));
            }
        }
        column += 4 * each;
    }
    while column < d {
        let (xs, cs) = (points.get16(x + column as u64), centroids.get16(c + column as u64));
        for i in 0..each {
            sum = add_square(sum, element::<T>(xs, i), element::<T>(cs, i));
        }
        column += each;
    }
    sum
}

/// Element `i` of 16 bytes.
#[inline(always)]
pub(crate) fn element<T: Number>(words: [u32; 4], i: u32) -> T {
    let i = i as usize;
    T::from_raw(match T::SIZE {
        2 => (words[i / 2] >> (16 * (i % 2))) as u16 as u64,
        4 => words[i] as u64,
        _ => (words[i * 2 + 1] as u64) << 32 | words[i * 2] as u64,
    })
}

/// One step of D.
#[inline(always)]
pub(crate) fn add_square<T: Number>(sum: f64, x: T, c: T) -> f64 {
    let difference = x.double() - c.double();
    sum + difference * difference
}

/// Goes on with D over the columns of a tile: row `x` of the tile of points, `c` of the tile of centroids.
#[inline(always)]
pub(crate) fn add_tile<T: Number>(
    mut sum: f64,
    points: Shared<T>,
    x: u32,
    centroids: Shared<T>,
    c: u32,
    strides: (u32, u32),
) -> f64 {
    for column in 0..SIDE {
        // Columns beyond d are zeros in both tiles, and adding zero changes no sum.
        sum = add_square(sum, points.get(x + column * strides.0), centroids.get(c + column * strides.1));
    }
    sum
}

/// Element (row, column) of a matrix with `rows` rows and `d` columns, zero beyond them.
#[inline(always)]
pub(crate) fn or_zero<P: Load>(matrix: In<P>, row: u64, rows: u64, column: u32, d: u32) -> P::Value {
    if row < rows && column < d { matrix.get(row * d as u64 + column as u64).load() } else { P::Value::ZERO }
}
