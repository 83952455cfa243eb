//! New centroids, in place of the old ones, and how far each moved.

use kmeans_core::exact::quotient_by_count;
use kmeans_core::launch::RUNNING;

use crate::device::{self, In, Number, Out, SharedMemory, block_index, block_size, sync_block, thread_index};
use crate::distance::add_square;
use crate::scale::divide::Integer;
use crate::update::fixed::{Format, Limbs, Narrow, Wide};
use crate::update::stored::Stored;

/// A format whose sums can be divided by a count.
pub trait Quotient: Format {
    /// Sum number `index`, of `words` words in units of 2^`exponent`, over `count`, rounded once.
    fn mean<T: Number>(sums: In<u64>, index: u64, exponent: i32, words: u32, count: u64) -> T;
}

impl Quotient for Narrow {
    #[inline(always)]
    fn mean<T: Number>(sums: In<u64>, index: u64, exponent: i32, _: u32, count: u64) -> T {
        quotient_by_count(<Self as Integer>::integer(|_| sums.get(index)), exponent, count)
    }
}

impl Quotient for Wide {
    #[inline(always)]
    fn mean<T: Number>(sums: In<u64>, index: u64, exponent: i32, _: u32, count: u64) -> T {
        quotient_by_count(<Self as Integer>::integer(|word| sums.get(2 * index + word as u64)), exponent, count)
    }
}

impl Quotient for Limbs {
    #[inline(always)]
    fn mean<T: Number>(sums: In<u64>, index: u64, exponent: i32, words: u32, count: u64) -> T {
        Stored::new(sums, index, words).limbs(exponent).divide_by_count(count)
    }
}

/// The centroid of every cluster of the groups that run, and D to the one before in `moved`, `[groups, k]`; a cluster without
/// points keeps its centroid. Nothing is done for groups whose labels repeat, which those of the first round do not. A block
/// per cluster.
#[inline(always)]
pub fn update<T: Number, F: Quotient>(
    sums: In<u64>,
    counts: In<u64>,
    states: In<u32>,
    changed: In<u64>,
    centroids: Out<T>,
    moved: Out<f64>,
    exponent: i32,
    words: u32,
    first: u32,
    k: u32,
    d: u32,
) {
    let cluster = block_index() as u64;
    let group = block_index().checked_div(k).unwrap_or(0) as u64;
    if states.get(group) != RUNNING || (first == 0 && changed.get(group) == 0) {
        return;
    }
    let count = counts.get(cluster);
    let squares = SharedMemory::new().array::<f64>(block_size());
    let mut movement = 0.0;
    let mut start = 0;
    while start < d && count > 0 {
        let column = start + thread_index();
        let mut square = 0.0;
        if column < d {
            let at = cluster * d as u64 + column as u64;
            let mean: T = F::mean(sums, at, exponent, words, count);
            square = add_square(0.0, mean, centroids.get(at));
            centroids.set(at, mean);
        }
        squares.set(thread_index(), square);
        sync_block();
        if thread_index() == 0 {
            // D adds in the order of the columns, so no tree; beyond the last column there are zeros.
            for j in 0..block_size() {
                movement += squares.get(j);
            }
        }
        sync_block();
        start += block_size();
    }
    if thread_index() == 0 {
        moved.set(cluster, movement);
    }
}

device::entries! {
    update(sums: In<u64>, counts: In<u64>, states: In<u32>, changed: In<u64>, centroids: Out<T>, moved: Out<f64>,
        exponent: i32, words: u32, first: u32, k: u32, d: u32);
    groups_update_narrow_f32: (f32, Narrow),
    groups_update_narrow_f64: (f64, Narrow),
    groups_update_narrow_f16: (half::f16, Narrow),
    groups_update_narrow_bf16: (half::bf16, Narrow),
    groups_update_wide_f32: (f32, Wide),
    groups_update_wide_f64: (f64, Wide),
    groups_update_wide_f16: (half::f16, Wide),
    groups_update_wide_bf16: (half::bf16, Wide),
    groups_update_limbs_f32: (f32, Limbs),
    groups_update_limbs_f64: (f64, Limbs),
    groups_update_limbs_f16: (half::f16, Limbs),
    groups_update_limbs_bf16: (half::bf16, Limbs),
}
