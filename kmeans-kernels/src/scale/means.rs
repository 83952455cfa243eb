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
    /// A sum that was read, or what is needed to read it.
    type Sum<'a>: Copy;
    /// Sum number `index`, of `words` words.
    fn read(sums: In<'_, u64>, index: u64, words: u32) -> Self::Sum<'_>;
    /// A sum in units of 2^`exponent` over `count`, rounded once.
    fn mean<T: Number>(sum: Self::Sum<'_>, exponent: i32, count: u64) -> T;
}

impl Quotient for Narrow {
    const TOGETHER: u32 = MEANS_COLUMNS / WARP;
    type Sum<'a> = i64;
    #[inline(always)]
    fn read(sums: In<u64>, index: u64, _: u32) -> i64 {
        sums.get(index) as i64
    }
    #[inline(always)]
    fn mean<T: Number>(sum: i64, exponent: i32, count: u64) -> T {
        quotient_by_count(sum as i128, exponent, count)
    }
}

impl Quotient for Wide {
    const TOGETHER: u32 = MEANS_COLUMNS / WARP;
    type Sum<'a> = i128;
    #[inline(always)]
    fn read(sums: In<u64>, index: u64, _: u32) -> i128 {
        ((sums.get(2 * index + 1) as u128) << 64 | sums.get(2 * index) as u128) as i128
    }
    #[inline(always)]
    fn mean<T: Number>(sum: i128, exponent: i32, count: u64) -> T {
        quotient_by_count(sum, exponent, count)
    }
}

impl Quotient for Limbs {
    const TOGETHER: u32 = 1;
    type Sum<'a> = Stored<'a>;
    #[inline(always)]
    fn read(sums: In<'_, u64>, index: u64, words: u32) -> Stored<'_> {
        Stored::new(sums, index, words)
    }
    #[inline(always)]
    fn mean<T: Number>(sum: Stored<'_>, exponent: i32, count: u64) -> T {
        sum.limbs(exponent).divide_by_count(count)
    }
}

/// Words from one cluster's squares to the next, of 8 bytes: odd, so that threads which add them up meet in no bank.
const PITCH: u32 = MEANS_COLUMNS + 1;

/// Columns of a lane at a time, but for limbs.
const TOGETHER: usize = (MEANS_COLUMNS / WARP) as usize;

/// The cluster of this thread's warp.
#[inline(always)]
pub(crate) fn own_cluster() -> u64 {
    block_index() as u64 * MEANS_CLUSTERS as u64 + (thread_index() / WARP) as u64
}

/// Calls `read` with each of the first `own` columns of the warp's cluster, `together` of a lane before the first of them is used,
/// then `square` with the column and what was read, and adds up what that returns in the order of the columns, as D does. The
/// sum of cluster i of the block, a warp each, is for thread i. `own` is `d`, or 0 for a warp without work, which goes along
/// for the barriers.
#[inline(always)]
pub(crate) fn add_columns<V: Copy>(
    d: u32,
    own: u32,
    together: u32,
    read: impl Fn(u32) -> V,
    square: impl Fn(u32, V) -> f64,
) -> f64 {
    // Known where this is compiled.
    if together == 1 { add_some::<V, 1>(d, own, read, square) } else { add_some::<V, TOGETHER>(d, own, read, square) }
}

/// The same, N at a time.
// Loops over indices keep arrays in registers.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn add_some<V: Copy, const N: usize>(d: u32, own: u32, read: impl Fn(u32) -> V, square: impl Fn(u32, V) -> f64) -> f64 {
    let squares = SharedMemory::new().array::<f64>(MEANS_CLUSTERS * PITCH);
    let (mut sum, mut first) = (0.0, 0);
    while first < d {
        let column = |i: usize| first + lane() + i as u32 * WARP;
        // All loads begin before anything is decided by one of them.
        let mut some = [None; N];
        for i in 0..N {
            if column(i) < own {
                some[i] = Some(read(column(i)));
            }
        }
        for i in 0..N {
            let value = if let Some(read) = some[i] { square(column(i), read) } else { 0.0 };
            squares.set(thread_index() / WARP * PITCH + lane() + i as u32 * WARP, value);
        }
        sync_block();
        if thread_index() < MEANS_CLUSTERS {
            // Beyond the last column there are zeros.
            sum = add_in_order(sum, squares, thread_index() * PITCH, N as u32 * WARP);
        }
        sync_block();
        first += N as u32 * WARP;
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
    let start = cluster * d as u64;
    let read = |column: u32| {
        let at = start + column as u64;
        (F::read(sums, at, words), old.get(at))
    };
    let own = if exists { d } else { 0 };
    let distance = add_columns(d, own, F::TOGETHER, read, |column, (sum, before)| {
        let mean = if count == 0 { before } else { F::mean(sum, exponent, count) };
        centroids.set(start + column as u64, mean);
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
