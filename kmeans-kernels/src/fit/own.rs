//! What the rows of a block add to sums and counts, in shared memory.

use super::Log;
use crate::device::{Number, Shared, block_size, thread_index};
use crate::scale::divide::Integer;

/// What a block's rows add to sums and counts, as often as shared memory allows: neighbouring threads add to different
/// copies, so that they seldom wait for each other.
#[derive(Clone, Copy)]
pub(super) struct Own<'a, F> {
    pub format: F,
    pub cells: Shared<'a, u64>,
    /// This thread's copy.
    pub start: u32,
    pub copies: u32,
    /// Words from one copy to the next.
    pub pitch: u32,
}

impl<F: Integer> Own<'_, F> {
    #[inline(always)]
    pub fn clear(self, words: u32) {
        let mut word = thread_index();
        while word < words {
            self.cells.set(word, 0);
            word += block_size();
        }
    }

    /// Adds `value` to the sum of a cluster and a column, `d` columns each.
    #[inline(always)]
    pub fn add(self, label: u32, column: u32, d: u32, value: f64) {
        self.format.add(self.cells, (self.start + (label * d + column) * self.format.words()) as u64, value);
    }

    /// Adds `one` to the count of a cluster, of k.
    #[inline(always)]
    pub fn count(self, label: u32, k: u32, d: u32, one: u64) {
        self.cells.add(self.start + k * d * self.format.words() + label, one);
    }

    /// Adds what the block has to slot `slot` of the log.
    #[inline(always)]
    pub fn flush<T: Number>(self, log: Log<T>, slot: u64) {
        let (words, values) = (self.format.words(), log.k * log.d);
        let mut sum = thread_index();
        while sum < values {
            // The copies of a sum have one reader, this thread.
            for copy in 1..self.copies {
                let word = |word| self.cells.get(copy * self.pitch + sum * words + word);
                self.format.merge(self.cells, (sum * words) as u64, word);
            }
            let at = (slot * values as u64 + sum as u64) * words as u64;
            self.format.merge(log.sums, at, |word| self.cells.get(sum * words + word));
            sum += block_size();
        }
        let mut cluster = thread_index();
        while cluster < log.k {
            let mut count = 0_u64;
            for copy in 0..self.copies {
                count = count.wrapping_add(self.cells.get(copy * self.pitch + values * words + cluster));
            }
            if count != 0 {
                log.gained.add(slot * log.k as u64 + cluster as u64, count);
            }
            cluster += block_size();
        }
    }
}
