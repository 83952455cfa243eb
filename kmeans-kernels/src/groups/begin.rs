//! What a round adds to, set to zero in the groups that it works on, and as it is in the others.

use crate::device::{self, In, Out, block_index, block_size, thread_index};

/// For groups of a state up to `most`: zeros in `changed` and `moved_again`, and where `sum_words`, those of a group's sums, are not 0, in `sums` and `counts`. `parts` blocks per group.
#[inline(always)]
pub fn begin(
    states: In<u32>,
    changed: Out<u64>,
    moved_again: Out<u64>,
    sums: Out<u64>,
    counts: Out<u64>,
    sum_words: u64,
    most: u32,
    parts: u32,
    k: u32,
) {
    let group = block_index().checked_div(parts).unwrap_or(0);
    let part = block_index() - group * parts;
    if states.get(group as u64) > most {
        return;
    }
    let group = group as u64;
    let first = part as u64 * block_size() as u64 + thread_index() as u64;
    let step = parts as u64 * block_size() as u64;
    if first == 0 {
        changed.set(group, 0);
        moved_again.set(group, 0);
    }
    let clear = |words: Out<u64>, len: u64| {
        let mut word = first;
        while word < len {
            words.set(group * len + word, 0);
            word += step;
        }
    };
    if sum_words > 0 {
        clear(sums, sum_words);
        clear(counts, k as u64);
    }
}

device::entries! {
    begin(states: In<u32>, changed: Out<u64>, moved_again: Out<u64>, sums: Out<u64>, counts: Out<u64>, sum_words: u64,
        most: u32, parts: u32, k: u32);
    groups_begin: (),
}
