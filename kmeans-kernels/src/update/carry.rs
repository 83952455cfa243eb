//! Carries limbs, so that sums of more than 2³¹ points fit: between two carries a limb takes at most 2³¹ additions of less
//! than 2³² each.

use crate::device::{self, Out, block_index, block_size, thread_index};

/// Moves what exceeds 32 bits in each limb to the next one, in each of `count` sums; the last limb keeps the sign
/// (`kmeans_core::exact::carry`). One thread per sum.
#[inline(always)]
pub fn carry(sums: Out<u64>, words: u32, count: u64) {
    let sum = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if sum >= count {
        return;
    }
    let (mut at, mut carried) = (sum * words as u64, 0_i64);
    for _ in 1..words {
        let value = sums.get(at) as i64 + carried;
        sums.set(at, value as u64 & 0xffff_ffff);
        carried = value >> 32;
        at += 1;
    }
    sums.set(at, (sums.get(at) as i64 + carried) as u64);
}

device::entries! {
    carry(sums: Out<u64>, words: u32, count: u64);
    limbs_carry: (),
}
