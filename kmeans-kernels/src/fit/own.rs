//! What the rows of a block add to sums and counts, in shared memory.

use crate::device::{Out, Shared, block_size, lane, shuffle_xor, thread_index};
use crate::scale::divide::Integer;

/// Lanes that add up the copies of a sum.
const LANES: u32 = 4;

/// What a block's rows add to sums and counts, as often as shared memory allows: neighbouring threads add to different
/// copies, so that they seldom wait for each other. A copy has the sums of all clusters, then their counts.
#[derive(Clone, Copy)]
pub(super) struct Own<'a, F> {
    pub format: F,
    pub cells: Shared<'a, u64>,
    /// This thread's copy.
    pub start: u32,
    /// A power of two, up to the lanes of a warp.
    pub copies: u32,
    /// Words from one copy to the next.
    pub pitch: u32,
}

impl<F: Integer> Own<'_, F> {
    #[inline(always)]
    pub fn clear(self) {
        let mut word = thread_index();
        while word < self.copies * self.pitch {
            self.cells.set(word, 0);
            word += block_size();
        }
    }

    /// Moves a value of each of `N` columns, `d` in all, to a cluster, and from another if there is one. Columns from d on are zeros.
    // Loops over indices of constant length keep the arrays in registers.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    pub fn move_each<const N: usize>(self, to: u32, from: Option<u32>, columns: [u32; N], d: u32, values: [f32; N]) {
        let at = |label: u32| columns.map(|column| self.start + (label * d + column) * self.format.words());
        self.format.add_each(self.cells, at(to), values);
        if let Some(from) = from {
            self.format.add_each(self.cells, at(from), values.map(|value| -value));
        }
    }

    /// Adds `one` to the count of a cluster, of k.
    #[inline(always)]
    pub fn count(self, label: u32, k: u32, d: u32, one: u64) {
        self.cells.add(self.start + k * d * self.format.words() + label, one);
    }

    /// Adds what the block has, of k clusters and d columns, to `gained` from word `first` on. A few lanes share the copies of a sum.
    #[inline(always)]
    pub fn flush(self, gained: Out<u64>, first: u64, k: u32, d: u32) {
        let (words, sums) = (self.format.words(), k * d);
        let lanes = if self.copies < LANES { self.copies } else { LANES };
        let mut item = thread_index() / lanes;
        // The warp's first: its lanes stay together to add up.
        while item - lane() / lanes < sums + k {
            let at = if item < sums { item * words } else { sums * (words - 1) + item };
            let (mut total, mut copy) = (0_i128, thread_index() % lanes);
            while item < sums + k && copy < self.copies {
                let place = copy * self.pitch + at;
                let is_sum = item < sums;
                let one = F::integer(|word| if word == 0 || is_sum { self.cells.get(place + word) } else { 0 });
                total = total.wrapping_add(one);
                copy += lanes;
            }
            let mut mask = lanes / 2;
            while mask > 0 {
                let low = shuffle_xor(total as u64, mask) as i128;
                let high = if words > 1 { shuffle_xor((total >> 64) as u64, mask) as i128 } else { 0 };
                total = total.wrapping_add(high << 64 | low);
                mask /= 2;
            }
            let is_first = lane().is_multiple_of(lanes);
            if is_first && item < sums {
                self.format.merge(gained, first + at as u64, |word| (total >> (64 * word)) as u64);
            } else if is_first && item < sums + k && total as u64 != 0 {
                gained.add(first + at as u64, total as u64);
            }
            item += block_size() / lanes;
        }
    }
}
