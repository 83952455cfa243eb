//! Copies rows: a warp per row, so that lanes read neighbours whatever d is.

use crate::device::{self, In, Number, Out, WARP, block_index, block_size, grid_size, lane, thread_index};

/// `gathered`, [count, d], from rows `rows` of `points`.
#[inline(always)]
pub fn gather<T: Number>(points: In<T>, rows: In<u64>, gathered: Out<T>, _n: u64, count: u64, d: u32) {
    let warps = (block_size() / WARP) as u64;
    let mut index = block_index() as u64 * warps + (thread_index() / WARP) as u64;
    while index < count {
        let row = rows.get(index);
        let mut column = lane();
        while column < d {
            gathered.set(index * d as u64 + column as u64, points.get(row * d as u64 + column as u64));
            column += WARP;
        }
        index += grid_size() as u64 * warps;
    }
}

device::entries! {
    gather(points: In<T>, rows: In<u64>, gathered: Out<T>, n: u64, count: u64, d: u32);
    rows_gather_f32: (f32),
    rows_gather_f64: (f64),
    rows_gather_f16: (half::f16),
    rows_gather_bf16: (half::bf16),
}
