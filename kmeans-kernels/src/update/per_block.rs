//! Partial sums in shared memory, one global addition per block and sum. Rungs: see [`super`].

use super::fixed::{Format, Narrow, Wide};
use crate::device::{
    self, In, Load, Number, Out, Shared, SharedMemory, block_index, block_row, block_size, grid_rows, grid_size,
    sync_block, thread_index,
};
use kmeans_core::launch::{SUM_ROWS, SUM_WORDS, sum_copies, sum_copy_words};

/// Adds every row to the sums of its cluster, [k, d] sums of `words` words.
///
/// A few sums are in shared memory more than once, so that threads which add to the same sum seldom wait for each other.
/// Of many, those that shared memory holds at a time are a window. A block's threads go through its rows once per window;
/// blocks share the rows in x and the windows in y.
#[inline(always)]
pub fn per_block<P: Load, F: Format>(
    points: In<P>,
    labels: In<u32>,
    sums: Out<u64>,
    exponent: i32,
    words: u32,
    n: u64,
    k: u32,
    d: u32,
) {
    let format = F::new(exponent, words);
    let words = format.words();
    let cells = SharedMemory::new().array::<u64>(SUM_WORDS);
    let capacity = SUM_WORDS.checked_div(words).unwrap_or(1);
    let total = k as u64 * d as u64;
    let copies = sum_copies(k, d, words);
    let mut first = block_row() as u64 * capacity as u64;
    while first < total {
        let len = if total - first < capacity as u64 { (total - first) as u32 } else { capacity };
        let window = Window { first, len, pitch: sum_copy_words(len * words) };
        clear(cells, if copies == 1 { len * words } else { copies * window.pitch });
        sync_block();
        let own = thread_index() % copies * window.pitch;
        add_rows(format, points, labels, cells, own, window, n, d);
        sync_block();
        let mut sum = thread_index();
        while sum < len {
            // The copies of a sum have one reader, this thread.
            for copy in 1..copies {
                format.merge(cells, (sum * words) as u64, |word| cells.get(copy * window.pitch + sum * words + word));
            }
            format.merge(sums, (first + sum as u64) * words as u64, |word| cells.get(sum * words + word));
            sum += block_size();
        }
        sync_block();
        first += grid_rows() as u64 * capacity as u64;
    }
}

/// Some consecutive sums.
#[derive(Clone, Copy)]
struct Window {
    first: u64,
    len: u32,
    /// Words from one copy to the next.
    pitch: u32,
}

#[inline(always)]
fn clear(cells: Shared<u64>, words: u32) {
    let mut word = thread_index();
    while word < words {
        cells.set(word, 0);
        word += block_size();
    }
}

/// Adds the block's share of the rows to the window's sums, in the copy that begins at `own`. Neighbouring threads take neighbouring elements.
#[inline(always)]
fn add_rows<P: Load, F: Format>(
    format: F,
    points: In<P>,
    labels: In<u32>,
    cells: Shared<u64>,
    own: u32,
    window: Window,
    n: u64,
    d: u32,
) {
    // Where a thread's next element lies from its last: some rows down, some columns right.
    let down = block_size().checked_div(d).unwrap_or(0);
    let right = block_size() - down * d;
    let start = thread_index().checked_div(d).unwrap_or(0);
    let mut base = block_index() as u64 * SUM_ROWS as u64;
    while base < n {
        let rows = if n - base < SUM_ROWS as u64 { (n - base) as u32 } else { SUM_ROWS };
        let (mut row, mut column) = (start, thread_index() - start * d);
        while row < rows {
            let at = base + row as u64;
            let sum = (labels.get(at) as u64 * d as u64 + column as u64).wrapping_sub(window.first);
            if sum < window.len as u64 {
                format.add(
                    cells,
                    own as u64 + sum * format.words() as u64,
                    points.get(at * d as u64 + column as u64).load().double(),
                );
            }
            row += down;
            column += right;
            if column >= d {
                row += 1;
                column -= d;
            }
        }
        base += grid_size() as u64 * SUM_ROWS as u64;
    }
}

device::entries! {
    per_block(points: In<T>, labels: In<u32>, sums: Out<u64>, exponent: i32, words: u32, n: u64, k: u32, d: u32);
    sum_per_block_narrow_f32: (f32, Narrow),
    sum_per_block_narrow_f64: (f64, Narrow),
    sum_per_block_narrow_f16: (half::f16, Narrow),
    sum_per_block_narrow_bf16: (half::bf16, Narrow),
    sum_per_block_narrow_u8: (u8, Narrow),
    sum_per_block_wide_f32: (f32, Wide),
    sum_per_block_wide_f64: (f64, Wide),
    sum_per_block_wide_f16: (half::f16, Wide),
    sum_per_block_wide_bf16: (half::bf16, Wide),
}
