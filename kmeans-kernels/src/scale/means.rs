//! Centroids from sums and counts: the exact mean, rounded once, and how far it is from the one before.

use kmeans_core::exact::quotient_by_count;
use kmeans_core::launch::{MEANS_CLUSTERS, MEANS_COLUMNS};

use crate::device::{self, In, Number, Out, Shared, SharedMemory, WARP, block_index, lane, sync_block, thread_index};
use crate::distance::add_square;
use crate::update::fixed::{Format, Limbs, Narrow, Wide};
use crate::update::stored::Stored;

/// A format whose sums can be divided by a count.
pub trait Quotient: Format {
    /// Columns that a lane divides at a time, for as many loads under way.
    const TOGETHER: u32;
    /// Sum number `index`, of `words` words in units of 2^`exponent`, over `count`, rounded once.
    fn mean<T: Number>(sums: In<u64>, index: u64, exponent: i32, words: u32, count: u64) -> T;
}

impl Quotient for Narrow {
    const TOGETHER: u32 = MEANS_COLUMNS / WARP;
    #[inline(always)]
    fn mean<T: Number>(sums: In<u64>, index: u64, exponent: i32, _: u32, count: u64) -> T {
        quotient_by_count(sums.get(index) as i64 as i128, exponent, count)
    }
}

impl Quotient for Wide {
    const TOGETHER: u32 = MEANS_COLUMNS / WARP;
    #[inline(always)]
    fn mean<T: Number>(sums: In<u64>, index: u64, exponent: i32, _: u32, count: u64) -> T {
        let sum = (sums.get(2 * index + 1) as u128) << 64 | sums.get(2 * index) as u128;
        quotient_by_count(sum as i128, exponent, count)
    }
}

impl Quotient for Limbs {
    const TOGETHER: u32 = 1;
    #[inline(always)]
    fn mean<T: Number>(sums: In<u64>, index: u64, exponent: i32, words: u32, count: u64) -> T {
        Stored::new(sums, index, words).limbs(exponent).divide_by_count(count)
    }
}

/// Words from one cluster's squares to the next, of 8 bytes: odd, so that threads which add them up meet in no bank.
const PITCH: u32 = MEANS_COLUMNS + 1;

/// The cluster of this thread's warp.
#[inline(always)]
pub(crate) fn own_cluster() -> u64 {
    block_index() as u64 * MEANS_CLUSTERS as u64 + (thread_index() / WARP) as u64
}

/// Calls `square` with every column of the warp's cluster, `together` of a lane at a time, and adds up what it returns in the order of
/// the columns, as D does. The sum of cluster i of the block, a warp each, is for thread i.
#[inline(always)]
pub(crate) fn add_columns(d: u32, together: u32, square: impl Fn(u32) -> f64) -> f64 {
    let squares = SharedMemory::new().array::<f64>(MEANS_CLUSTERS * PITCH);
    let (mut sum, mut first) = (0.0, 0);
    while first < d {
        for i in 0..together {
            let column = lane() + i * WARP;
            let value = if first + column < d { square(first + column) } else { 0.0 };
            squares.set(thread_index() / WARP * PITCH + column, value);
        }
        sync_block();
        if thread_index() < MEANS_CLUSTERS {
            // Beyond the last column there are zeros.
            sum = add_in_order(sum, squares, thread_index() * PITCH, together * WARP);
        }
        sync_block();
        first += together * WARP;
    }
    sum
}

/// Adds `len` numbers one after the other. Eight are loaded at a time, or each addition would wait for a load.
// Loops over indices keep the array in registers.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
pub(crate) fn add_in_order(mut sum: f64, numbers: Shared<f64>, first: u32, len: u32) -> f64 {
    let mut place = 0;
    while place + 8 <= len {
        let mut some = [0.0; 8];
        for i in 0..8 {
            some[i] = numbers.get(first + place + i as u32);
        }
        for i in 0..8 {
            sum += some[i];
        }
        place += 8;
    }
    while place < len {
        sum += numbers.get(first + place);
        place += 1;
    }
    sum
}

/// The centroid of every cluster, a warp each, and D to the one in `old` in `moved`, `[k]`; a cluster without points keeps the one it has in
/// `old`, and is counted in `empty[0]`.
#[inline(always)]
pub fn means<T: Number, F: Quotient>(
    sums: In<u64>,
    counts: In<u64>,
    old: In<T>,
    centroids: Out<T>,
    moved: Out<f64>,
    empty: Out<u32>,
    exponent: i32,
    words: u32,
    k: u32,
    d: u32,
) {
    let cluster = own_cluster();
    let exists = cluster < k as u64;
    let count = if exists { counts.get(cluster) } else { 0 };
    if exists && count == 0 && lane() == 0 {
        empty.add(0, 1);
    }
    let distance = add_columns(d, F::TOGETHER, |column| {
        if !exists {
            return 0.0;
        }
        let at = cluster * d as u64 + column as u64;
        let before = old.get(at);
        let mean = if count == 0 { before } else { F::mean(sums, at, exponent, words, count) };
        centroids.set(at, mean);
        add_square(0.0, mean, before)
    });
    let own = block_index() as u64 * MEANS_CLUSTERS as u64 + thread_index() as u64;
    if thread_index() < MEANS_CLUSTERS && own < k as u64 {
        moved.set(own, distance);
    }
}

device::entries! {
    means(sums: In<u64>, counts: In<u64>, old: In<T>, centroids: Out<T>, moved: Out<f64>, empty: Out<u32>, exponent: i32,
        words: u32, k: u32, d: u32);
    scale_means_narrow_f32: (f32, Narrow),
    scale_means_narrow_f64: (f64, Narrow),
    scale_means_narrow_f16: (half::f16, Narrow),
    scale_means_narrow_bf16: (half::bf16, Narrow),
    scale_means_wide_f32: (f32, Wide),
    scale_means_wide_f64: (f64, Wide),
    scale_means_wide_f16: (half::f16, Wide),
    scale_means_wide_bf16: (half::bf16, Wide),
    scale_means_limbs_f32: (f32, Limbs),
    scale_means_limbs_f64: (f64, Limbs),
    scale_means_limbs_f16: (half::f16, Limbs),
    scale_means_limbs_bf16: (half::bf16, Limbs),
}
