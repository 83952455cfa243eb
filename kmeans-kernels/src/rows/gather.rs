//! Copies rows: a warp per row, so that lanes read neighbours whatever d is.

use crate::device::{self, In, Load, Out, WARP, block_index, block_size, grid_size, lane, thread_index};

/// `gathered`, [count, d], from rows `rows` of `points`.
#[inline(always)]
pub fn gather<P: Load>(points: In<P>, rows: In<u64>, gathered: Out<P::Value>, _n: u64, count: u64, d: u32) {
    let warps = (block_size() / WARP) as u64;
    let mut index = block_index() as u64 * warps + (thread_index() / WARP) as u64;
    while index < count {
        let row = rows.get(index);
        let mut column = lane();
        while column < d {
            gathered.set(index * d as u64 + column as u64, points.get(row * d as u64 + column as u64).load());
            column += WARP;
        }
        index += grid_size() as u64 * warps;
    }
}

device::entries! {
    gather(points: In<T>, rows: In<u64>, gathered: Out<<T as Load>::Value>, n: u64, count: u64, d: u32);
    rows_gather_f32: (f32),
    rows_gather_f64: (f64),
    rows_gather_f16: (half::f16),
    rows_gather_bf16: (half::bf16),
    rows_gather_u8: (u8),
}
