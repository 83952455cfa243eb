//! The pass over all rows of a round that prunes: 20 bytes of labels and bounds a row, and the row itself only where the
//! bounds leave it open.

use super::{Bounds, above};
use crate::device::{
    self, In, Number, Out, SharedMemory, block_index, block_size, lane, shuffle_xor, sync_block, thread_index,
};
use crate::distance::element;
use crate::together::sum_before;

use kmeans_core::launch::PRUNE_ROWS;

/// Lanes that measure a row's distance together.
const TEAM: u32 = 8;
/// No label.
const NO_LABEL: u32 = u32::MAX;

/// Moves the bounds along with the centroids, gives the rows that they decide the label they had (`known`), and lists the others:
/// the first `count[0]` of `list`, of which the host has set the count to zero. `others` is `u32::MAX` for all rows: nothing is open
/// yet. A row per thread.
#[inline(always)]
pub fn rows<T: Number>(
    points: In<T>,
    centroids: In<T>,
    known: In<u32>,
    moved: In<f32>,
    farthest: In<u32>,
    upper: Out<f32>,
    lower: Out<f32>,
    labels: Out<u32>,
    others: Out<u32>,
    list: Out<u32>,
    count: Out<u32>,
    scale: f32,
    n: u64,
    d: u32,
) {
    let mut shared = SharedMemory::new();
    let per_warp = shared.array::<u64>(block_size() / 32);
    // The rows whose distance may decide; for each row whether it is open, and its lower bound.
    let waiting = shared.array::<u32>(PRUNE_ROWS.block);
    let open = shared.array::<u32>(PRUNE_ROWS.block);
    let lowers = shared.array::<f32>(PRUNE_ROWS.block);
    let places = shared.array::<u32>(2);
    let first = block_index() as u64 * block_size() as u64;
    let (thread, row) = (thread_index(), first + thread_index() as u64);
    if thread == 0 {
        places.set(0, 0);
    }
    sync_block();
    open.set(thread, 0);
    if row < n {
        let label = known.get(row);
        let bounds = Bounds { upper: upper.get(row), lower: lower.get(row) };
        let bounds = bounds.moved(moved.get(label as u64), f32::from_bits(farthest.get(0)));
        labels.set(row, label);
        others.set(row, NO_LABEL);
        lower.set(row, bounds.lower);
        if bounds.decide() {
            upper.set(row, bounds.upper);
        } else {
            open.set(thread, 1);
            lowers.set(thread, bounds.lower);
            if bounds.can_decide() {
                waiting.set(places.fetch_add(0, 1), thread);
            } else {
                upper.set(row, bounds.upper);
            }
        }
    }
    sync_block();
    let measured = places.get(0);
    let mut i = thread / TEAM;
    // All lanes of a warp go round together, since they meet at the shuffles.
    while i - lane() / TEAM < measured {
        let place = if i < measured { waiting.get(i) } else { 0 };
        let row = first + place as u64;
        let mut squared = 0.0;
        if i < measured {
            squared = part_of_square(points, row * d as u64, centroids, known.get(row) as u64 * d as u64, d);
        }
        let mut mask = TEAM / 2;
        while mask > 0 {
            squared += shuffle_xor(squared, mask);
            mask /= 2;
        }
        if i < measured && lane().is_multiple_of(TEAM) {
            // As in `moved`.
            let bounds = Bounds {
                upper: above(squared * (1.0 + 1e-6) * (scale as f64 * scale as f64)),
                lower: lowers.get(place),
            };
            upper.set(row, bounds.upper);
            if bounds.decide() {
                open.set(place, 0);
            }
        }
        i += block_size() / TEAM;
    }
    sync_block();
    let is_open = open.get(thread);
    let (before, total) = sum_before(is_open as u64, per_warp);
    if thread == 0 && total > 0 {
        places.set(1, count.fetch_add(0, total as u32));
    }
    sync_block();
    if is_open != 0 {
        list.set(places.get(1) as u64 + before, row as u32);
    }
}

/// The lane's part of |x − c|², which lanes of a team have together.
#[inline(always)]
fn part_of_square<T: Number>(points: In<T>, x: u64, centroids: In<T>, c: u64, d: u32) -> f64 {
    let each = 16 / T::SIZE;
    let mut sum = 0.0;
    let mut add = |x: T, c: T| {
        let difference = x.double() - c.double();
        sum += difference * difference;
    };
    if d.is_multiple_of(each) {
        let mut column = lane() % TEAM * each;
        while column < d {
            let (xs, cs) = (points.get16(x + column as u64), centroids.get16(c + column as u64));
            for i in 0..each {
                add(element::<T>(xs, i), element::<T>(cs, i));
            }
            column += TEAM * each;
        }
    } else {
        let mut column = lane() % TEAM;
        while column < d {
            add(points.get(x + column as u64), centroids.get(c + column as u64));
            column += TEAM;
        }
    }
    sum
}

device::entries! {
    rows(points: In<T>, centroids: In<T>, known: In<u32>, moved: In<f32>, farthest: In<u32>, upper: Out<f32>,
        lower: Out<f32>, labels: Out<u32>, others: Out<u32>, list: Out<u32>, count: Out<u32>, scale: f32, n: u64, d: u32);
    prune_rows_f32: (f32),
    prune_rows_f16: (half::f16),
    prune_rows_bf16: (half::bf16),
}
