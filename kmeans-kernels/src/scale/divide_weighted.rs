//! Centroids from weighted sums and total weights: the exact weighted mean, rounded once.
//!
//! A weight is an `f64`, so neither sum need fit an integer. `kmeans_core::exact::LimbSum` divides the first 128 bits of
//! both, and compares exactly where those cannot decide; it keeps no array of digits.

use crate::device::{self, In, Number, Out, block_index, block_size, thread_index};
use crate::update::stored::Stored;

/// The centroid of every cluster, one block per cluster; a cluster without weight keeps the one it has in `old`.
#[inline(always)]
pub fn divide_weighted<T: Number>(
    sums: In<u64>,
    totals: In<u64>,
    old: In<T>,
    centroids: Out<T>,
    exponent: i32,
    words: u32,
    total_exponent: i32,
    total_words: u32,
    d: u32,
) {
    let cluster = block_index() as u64;
    let total = Stored::new(totals, cluster, total_words).limbs(total_exponent);
    let mut column = thread_index();
    while column < d {
        let at = cluster * d as u64 + column as u64;
        let mean = Stored::new(sums, at, words).limbs(exponent).divide(total);
        centroids.set(at, mean.unwrap_or(old.get(at)));
        column += block_size();
    }
}

device::entries! {
    divide_weighted(
        sums: In<u64>, totals: In<u64>, old: In<T>, centroids: Out<T>, exponent: i32, words: u32, total_exponent: i32,
        total_words: u32, d: u32
    );
    scale_divide_weighted_f32: (f32),
    scale_divide_weighted_f64: (f64),
    scale_divide_weighted_f16: (half::f16),
    scale_divide_weighted_bf16: (half::bf16),
}
