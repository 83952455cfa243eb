//! Per block, the sums of its points, in memory of its own: no global atomics.

use kmeans_core::launch::SUM_WORDS;

use crate::device::{
    self, In, Number, Out, SharedMemory, block_index, block_size, grid_size, sync_block, thread_index,
};
use crate::update::fixed::{Format, Narrow, Wide};

/// Writes `partial`, [blocks, k, d] sums of `words` words. Windows of sums as in
/// [`per_block`](crate::update::per_block), one after the other.
#[inline(always)]
pub fn sums<T: Number, F: Format>(
    columns: In<T>,
    labels: In<u32>,
    partial: Out<u64>,
    exponent: i32,
    words: u32,
    n: u64,
    k: u32,
    d: u32,
) {
    let format = F::new(exponent, words);
    let words = format.words();
    let cells = SharedMemory::new().array::<u64>(SUM_WORDS);
    let capacity = SUM_WORDS.checked_div(words).unwrap_or(1) as u64;
    let total = k as u64 * d as u64;
    let mut first = 0;
    while first < total {
        let len = if total - first < capacity { total - first } else { capacity };
        let used = len as u32 * words;
        let mut word = thread_index();
        while word < used {
            cells.set(word, 0);
            word += block_size();
        }
        sync_block();
        let mut row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
        while row < n {
            let cluster = labels.get(row) as u64 * d as u64;
            for column in 0..d as u64 {
                let sum = (cluster + column).wrapping_sub(first);
                if sum < len {
                    format.add(cells, sum * words as u64, columns.get(column * n + row).double());
                }
            }
            row += grid_size() as u64 * block_size() as u64;
        }
        sync_block();
        let mut word = thread_index();
        while word < used {
            let at = (block_index() as u64 * total + first) * words as u64 + word as u64;
            partial.set(at, cells.get(word));
            word += block_size();
        }
        sync_block();
        first += capacity;
    }
}

device::entries! {
    sums(columns: In<T>, labels: In<u32>, partial: Out<u64>, exponent: i32, words: u32, n: u64, k: u32, d: u32);
    transposed_sums_narrow_f32: (f32, Narrow),
    transposed_sums_narrow_f64: (f64, Narrow),
    transposed_sums_narrow_f16: (half::f16, Narrow),
    transposed_sums_narrow_bf16: (half::bf16, Narrow),
    transposed_sums_wide_f32: (f32, Wide),
    transposed_sums_wide_f64: (f64, Wide),
    transposed_sums_wide_f16: (half::f16, Wide),
    transposed_sums_wide_bf16: (half::bf16, Wide),
}
