//! Sums kept from the round before: only points that changed cluster are taken from one sum and added to the other, a warp
//! per point. Integers come out the same whichever way they were summed, and late rounds move few points.

use super::fixed::{Format, Narrow, Wide};
use crate::device::{self, In, Load, Number, Out, WARP, block_index, block_size, grid_size, lane, thread_index};

/// Moves the first `count[0]` of `rows` from the sums and counts of the clusters in `before` to those in `labels`. `sums`
/// is [k, d] sums of `words` words, `counts` is `[k]`.
#[inline(always)]
pub fn moved<P: Load, F: Format>(
    points: In<P>,
    labels: In<u32>,
    before: In<u32>,
    rows: In<u32>,
    count: In<u64>,
    sums: Out<u64>,
    counts: Out<u64>,
    exponent: i32,
    words: u32,
    d: u32,
) {
    let format = F::new(exponent, words);
    let count = count.get(0);
    let warps = grid_size() as u64 * (block_size() / WARP) as u64;
    let mut place = block_index() as u64 * (block_size() / WARP) as u64 + (thread_index() / WARP) as u64;
    while place < count {
        let row = rows.get(place) as u64;
        let (from, to) = (before.get(row) as u64, labels.get(row) as u64);
        let mut column = lane();
        while column < d {
            let value = points.get(row * d as u64 + column as u64).load().double();
            format.add(sums, (from * d as u64 + column as u64) * format.words() as u64, -value);
            format.add(sums, (to * d as u64 + column as u64) * format.words() as u64, value);
            column += WARP;
        }
        if lane() == 0 {
            // Wrapping addition takes one away.
            counts.add(from, u64::MAX);
            counts.add(to, 1);
        }
        place += warps;
    }
}

device::entries! {
    moved(points: In<T>, labels: In<u32>, before: In<u32>, rows: In<u32>, count: In<u64>, sums: Out<u64>,
        counts: Out<u64>, exponent: i32, words: u32, d: u32);
    sum_moved_narrow_f32: (f32, Narrow),
    sum_moved_narrow_f64: (f64, Narrow),
    sum_moved_narrow_f16: (half::f16, Narrow),
    sum_moved_narrow_bf16: (half::bf16, Narrow),
    sum_moved_narrow_u8: (u8, Narrow),
    sum_moved_wide_f32: (f32, Wide),
    sum_moved_wide_f64: (f64, Wide),
    sum_moved_wide_f16: (half::f16, Wide),
    sum_moved_wide_bf16: (half::bf16, Wide),
}
