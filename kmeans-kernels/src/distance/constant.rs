//! Centroids from constant memory, which is fast where a whole warp reads one address. Rungs: see [`super`].
//!
//! It holds 64 KiB, so the host fills it with one part of the centroids after the other and launches once per part
//! (`kmeans_core::launch::ConstantParts`). A part is some whole centroids, or some columns of a single one.

use super::add_square;
use crate::device::{self, Constants, In, Number, Out, block_index, block_size, thread_index};

/// Goes on with D of every row of the chunk to the centroids of a part, one thread per row.
///
/// Constant memory holds [`clusters`, `columns`] elements of the centroids, from cluster `cluster` and column `column`
/// on. Parts come in the order of their columns.
#[inline(always)]
pub fn constant<T: Number>(
    points: In<T>,
    distances: Out<f64>,
    first: u64,
    rows: u64,
    k: u32,
    d: u32,
    cluster: u32,
    clusters: u32,
    column: u32,
    columns: u32,
) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row >= rows {
        return;
    }
    let centroids = Constants::<T>::new();
    let x = (first + row) * d as u64 + column as u64;
    for c in 0..clusters {
        let at = row * k as u64 + (cluster + c) as u64;
        let mut sum = if column == 0 { 0.0 } else { distances.get(at) };
        for j in 0..columns {
            sum = add_square(sum, points.get(x + j as u64), centroids.get(c * columns + j));
        }
        distances.set(at, sum);
    }
}

device::entries! {
    constant(points: In<T>, distances: Out<f64>, first: u64, rows: u64, k: u32, d: u32, cluster: u32, clusters: u32,
        column: u32, columns: u32);
    distance_constant_f32: (f32),
    distance_constant_f64: (f64),
    distance_constant_f16: (half::f16),
    distance_constant_bf16: (half::bf16),
}
