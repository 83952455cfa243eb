//! Rung 1

use crate::device::{self, In, Number, Out, block_index, block_size, thread_index};

/// One thread per row
#[inline(always)]
pub fn direct<T: Number>(points: In<T>, centroids: In<T>, labels: Out<u32>, n: u64, k: u32, d: u32) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row >= n {
        return;
    }
    let x = row * d as u64;
    let (mut label, mut least) = (0, f64::INFINITY);
    for candidate in 0..k {
        let c = candidate as u64 * d as u64;
        let mut sum = 0.0;
        for column in 0..d as u64 {
            let difference = points.get(x + column).to_f64() - centroids.get(c + column).to_f64();
            sum += difference * difference;
        }
        if sum < least {
            (label, least) = (candidate, sum);
        }
    }
    labels.set(row, label);
}

device::entries! {
    direct(points: In<T>, centroids: In<T>, labels: Out<u32>, n: u64, k: u32, d: u32);
    assign_direct_f32: (f32),
    assign_direct_f64: (f64),
    assign_direct_f16: (half::f16),
    assign_direct_bf16: (half::bf16),
}
