//! One thread per point; the points of one cluster after the other go through shared memory.
//!
//! A point's sums of distances are made in the order that the CPU engine makes them in, whatever the grid: per cluster in
//! blocks of [`SILHOUETTE_BLOCK`] points, of which point i goes to partial sum i mod [`SILHOUETTE_LANES`]. Every operation is
//! IEEE's, in `f64`, so the coefficients have the same bits.

use kmeans_core::launch::{
    SILHOUETTE_BLOCK, SILHOUETTE_COLUMNS, SILHOUETTE_GROUP, SILHOUETTE_LANES, SILHOUETTE_VALUES,
};

use crate::device::{
    self, In, Out, Shared, SharedMemory, block_index, block_size, square_root_double, sync_block, thread_index,
};

/// Points whose distances are in registers.
const GROUP: usize = SILHOUETTE_GROUP as usize;

/// Writes `silhouettes`, `[rows]`: (b − a) / max(a, b) of points `first` to `first + rows`, where a is the mean distance to the
/// other points of the own cluster and b the smallest mean distance to the points of another; 0 for a point alone.
#[inline(always)]
pub fn samples(columns: In<f64>, ends: In<u64>, silhouettes: Out<f64>, first: u64, rows: u64, n: u64, k: u32, d: u32) {
    let place = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    // Threads without a point take another's, since all meet at barriers.
    let row = first + if place < rows { place } else { 0 };
    let points = Points { columns, n, d, tile: SharedMemory::new().array::<f64>(SILHOUETTE_VALUES) };
    let (mut a, mut b, mut alone, mut start) = (0.0, f64::INFINITY, false, 0);
    for cluster in 0..k {
        let end = ends.get(cluster as u64);
        let sum = points.sum_of_distances(row, start, end);
        if row >= start && row < end {
            alone = end - start == 1;
            a = sum / (end - start - 1) as f64;
        } else {
            b = f64::min(b, sum / (end - start) as f64);
        }
        start = end;
    }
    if place < rows {
        let larger = f64::max(a, b);
        let coefficient = if alone || larger == 0.0 { 0.0 } else { (b - a) / larger };
        silhouettes.set(place, coefficient);
    }
}

/// Points column by column, and memory for some of them.
#[derive(Clone, Copy)]
struct Points<'a> {
    columns: In<'a, f64>,
    n: u64,
    d: u32,
    tile: Shared<'a, f64>,
}

impl Points<'_> {
    /// The sum of the distances of point `row` to points `start` to `end`. All threads of the block take part, for the same
    /// `start` and `end`.
    #[inline(always)]
    fn sum_of_distances(self, row: u64, start: u64, end: u64) -> f64 {
        let Self { columns, n, d, tile } = self;
        let most = if d < SILHOUETTE_COLUMNS { d } else { SILHOUETTE_COLUMNS };
        // Several groups at a time only where a tile has all their columns.
        let capacity = (SILHOUETTE_VALUES / SILHOUETTE_GROUP).checked_div(most).unwrap_or(1) * SILHOUETTE_GROUP;
        let (mut sum, mut lanes) = (0.0, [0.0; SILHOUETTE_LANES]);
        let mut from = start;
        while from < end {
            let len = if end - from < capacity as u64 { (end - from) as u32 } else { capacity };
            let mut squares = [0.0; GROUP];
            let mut column = 0;
            while column < d {
                let width = if d - column < most { d - column } else { most };
                self.load(from, len, capacity, column, width);
                sync_block();
                let mut group = 0;
                while group < len {
                    for j in 0..width {
                        let x = columns.get((column + j) as u64 * n + row);
                        for (i, square) in squares.iter_mut().enumerate() {
                            let difference = x - tile.get(j * capacity + group + i as u32);
                            *square += difference * difference;
                        }
                    }
                    if column + width == d {
                        let done = from - start + group as u64;
                        if done > 0 && done.is_multiple_of(SILHOUETTE_BLOCK as u64) {
                            sum += total(lanes);
                            lanes = [0.0; SILHOUETTE_LANES];
                        }
                        for (i, square) in squares.iter().enumerate() {
                            if group + (i as u32) < len {
                                lanes[i % SILHOUETTE_LANES] += square_root_double(*square);
                            }
                        }
                        squares = [0.0; GROUP];
                    }
                    group += SILHOUETTE_GROUP;
                }
                sync_block();
                column += width;
            }
            from += len as u64;
        }
        sum + total(lanes)
    }

    /// Loads `width` columns from `column` on of `len` points from `from` on, and zeros up to the end of a group.
    #[inline(always)]
    fn load(self, from: u64, len: u32, capacity: u32, column: u32, width: u32) {
        let padded = len.next_multiple_of(SILHOUETTE_GROUP);
        let mut index = thread_index();
        while index < padded * width {
            let j = index.checked_div(padded).unwrap_or(0);
            let i = index - j * padded;
            let value = if i < len { self.columns.get((column + j) as u64 * self.n + from + i as u64) } else { 0.0 };
            self.tile.set(j * capacity + i, value);
            index += block_size();
        }
    }
}

/// The partial sums in their order.
#[inline(always)]
fn total(lanes: [f64; SILHOUETTE_LANES]) -> f64 {
    let mut sum = 0.0;
    // Over the array itself, so that it stays in registers.
    for lane in &lanes {
        sum += *lane;
    }
    sum
}

device::entries! {
    samples(columns: In<f64>, ends: In<u64>, silhouettes: Out<f64>, first: u64, rows: u64, n: u64, k: u32, d: u32);
    silhouette: (),
}
