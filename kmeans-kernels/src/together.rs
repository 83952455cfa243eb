//! What the threads of a warp or a block bring together: sums, maxima, and sums of those before each.

use crate::device::{Shared, WARP, block_size, lane, shuffle_down, shuffle_xor, sync_block, thread_index};

/// The wrapping sum of all lanes' values, in every lane.
#[inline(always)]
pub fn sum_lanes(mut value: u64) -> u64 {
    let mut mask = WARP / 2;
    while mask > 0 {
        value = value.wrapping_add(shuffle_xor(value, mask));
        mask /= 2;
    }
    value
}

/// The largest of all lanes' values, in every lane.
#[inline(always)]
pub fn largest_lane(mut value: u64) -> u64 {
    let mut mask = WARP / 2;
    while mask > 0 {
        value = value.max(shuffle_xor(value, mask));
        mask /= 2;
    }
    value
}

/// The sum of the values of the block's threads before this one, and of all. `per_warp` has an element per warp, and may
/// be used again at once.
#[inline(always)]
pub fn sum_before(value: u64, per_warp: Shared<u64>) -> (u64, u64) {
    // Shuffles reach down: sum the lanes from this one on, and take that from the whole.
    let mut from_here = value;
    let mut reach = 1;
    while reach < WARP {
        let other = shuffle_down(from_here, reach);
        if lane() + reach < WARP {
            from_here = from_here.wrapping_add(other);
        }
        reach *= 2;
    }
    let warp = thread_index() / WARP;
    if lane() == 0 {
        per_warp.set(warp, from_here);
    }
    sync_block();
    let (mut up_to_here, mut total) = (0_u64, 0_u64);
    for other in 0..block_size() / WARP {
        let sum = per_warp.get(other);
        total = total.wrapping_add(sum);
        if other <= warp {
            up_to_here = up_to_here.wrapping_add(sum);
        }
    }
    sync_block();
    (up_to_here.wrapping_sub(from_here), total)
}
