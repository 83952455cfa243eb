//! Centroids from sums and counts: the exact mean, rounded once.

use kmeans_core::exact::quotient_by_count;

use crate::device::{self, In, Number, Out, Shared, block_index, block_size, thread_index};
use crate::update::fixed::{Format, Narrow, Wide};

/// A format whose sums fit 128 bits.
pub trait Integer: Format {
    /// The sum, given word by word.
    fn integer(word: impl Fn(u32) -> u64) -> i128;
    /// Writes the sum that starts at word `at`.
    fn store(sum: i128, sums: Out<u64>, at: u64);
    /// Adds each value to the sum that starts at its word in shared memory; a zero may have any.
    fn add_each<const N: usize>(self, sums: Shared<u64>, at: [u32; N], values: [f32; N]);
}

impl Integer for Narrow {
    #[inline(always)]
    fn integer(word: impl Fn(u32) -> u64) -> i128 {
        word(0) as i64 as i128
    }
    #[inline(always)]
    fn store(sum: i128, sums: Out<u64>, at: u64) {
        sums.set(at, sum as u64);
    }
    #[inline(always)]
    fn add_each<const N: usize>(self, sums: Shared<u64>, at: [u32; N], values: [f32; N]) {
        sums.add_each(at, values.map(|value| Narrow::integer(self, value as f64) as u64));
    }
}

impl Integer for Wide {
    #[inline(always)]
    fn integer(word: impl Fn(u32) -> u64) -> i128 {
        ((word(1) as u128) << 64 | word(0) as u128) as i128
    }
    #[inline(always)]
    fn store(sum: i128, sums: Out<u64>, at: u64) {
        sums.set(at, sum as u64);
        sums.set(at + 1, (sum >> 64) as u64);
    }
    // Loops over indices of constant length keep the arrays in registers.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn add_each<const N: usize>(self, sums: Shared<u64>, at: [u32; N], values: [f32; N]) {
        for i in 0..N {
            if values[i] != 0.0 {
                self.add(sums, at[i] as u64, values[i] as f64);
            }
        }
    }
}

/// The centroid of every cluster, one block per cluster; a cluster without points keeps the one it has in `old`.
#[inline(always)]
pub fn divide<T: Number, F: Integer>(
    sums: In<u64>,
    counts: In<u64>,
    old: In<T>,
    centroids: Out<T>,
    exponent: i32,
    d: u32,
) {
    let cluster = block_index() as u64;
    let count = counts.get(cluster);
    let words = F::new(exponent, 0).words() as u64;
    let mut column = thread_index();
    while column < d {
        let at = cluster * d as u64 + column as u64;
        let sum = || F::integer(|word| sums.get(at * words + word as u64));
        let value = if count == 0 { old.get(at) } else { quotient_by_count(sum(), exponent, count) };
        centroids.set(at, value);
        column += block_size();
    }
}

device::entries! {
    divide(sums: In<u64>, counts: In<u64>, old: In<T>, centroids: Out<T>, exponent: i32, d: u32);
    scale_divide_narrow_f32: (f32, Narrow),
    scale_divide_narrow_f64: (f64, Narrow),
    scale_divide_narrow_f16: (half::f16, Narrow),
    scale_divide_narrow_bf16: (half::bf16, Narrow),
    scale_divide_wide_f32: (f32, Wide),
    scale_divide_wide_f64: (f64, Wide),
    scale_divide_wide_f16: (half::f16, Wide),
    scale_divide_wide_bf16: (half::bf16, Wide),
}
