//! Centroids from sums in limbs and counts: as [`divide`](super::divide), for sums that no integer holds. The first 128 bits
//! of a sum decide, and whether anything is set below them.

use crate::device::{self, In, Number, Out, block_index, block_size, thread_index};
use crate::update::stored::Stored;

/// The centroid of every cluster, one block per cluster; a cluster without points keeps the one it has in `old`. The sums
/// need not be carried.
#[inline(always)]
pub fn divide_limbs<T: Number>(
    sums: In<u64>,
    counts: In<u64>,
    old: In<T>,
    centroids: Out<T>,
    exponent: i32,
    words: u32,
    d: u32,
) {
    let cluster = block_index() as u64;
    let count = counts.get(cluster);
    let mut column = thread_index();
    while column < d {
        let at = cluster * d as u64 + column as u64;
        let value =
            if count == 0 { old.get(at) } else { Stored::new(sums, at, words).limbs(exponent).divide_by_count(count) };
        centroids.set(at, value);
        column += block_size();
    }
}

device::entries! {
    divide_limbs(sums: In<u64>, counts: In<u64>, old: In<T>, centroids: Out<T>, exponent: i32, words: u32, d: u32);
    scale_divide_limbs_f32: (f32),
    scale_divide_limbs_f64: (f64),
    scale_divide_limbs_f16: (half::f16),
    scale_divide_limbs_bf16: (half::bf16),
}
