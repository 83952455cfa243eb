//! One thread per row of up to four columns, which stay in registers; centroids in shared memory; `f32` arithmetic as in
//! [`filtered`](super::filtered), which says why the labels are exact. Rungs: see [`super`].

use kmeans_core::launch::NARROW_VALUES;

use super::filtered::is_certain;
use super::two::Two;
use crate::argmin::Nearest;
use crate::device::{
    self, In, Load, Number, Out, Shared, SharedMemory, block_index, block_size, multiply_add, sync_block, thread_index,
};
use crate::distance::between;

/// Most columns.
const COLUMNS: usize = 4;

/// The label of every row; d ≤ 4. Shared memory holds some centroids at a time.
#[inline(always)]
pub fn narrow<P: Load>(points: In<P>, centroids: In<P::Value>, labels: Out<u32>, n: u64, k: u32, d: u32) {
    let staged = SharedMemory::new().array::<f32>(NARROW_VALUES);
    let capacity = NARROW_VALUES.checked_div(d).unwrap_or(0);
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    let mut x = [0.0_f32; COLUMNS];
    for (j, value) in x.iter_mut().enumerate() {
        if row < n && (j as u32) < d {
            *value = points.get(row * d as u64 + j as u64).load().single();
        }
    }
    let mut two = Two::NONE;
    let mut first = 0;
    while first < k {
        let len = if k - first < capacity { k - first } else { capacity };
        let mut element = thread_index();
        while element < len * d {
            staged.set(element, centroids.get(first as u64 * d as u64 + element as u64).single());
            element += block_size();
        }
        sync_block();
        two = match d {
            1 => offer_all(two, [x[0]], staged, first, len),
            2 => offer_all(two, [x[0], x[1]], staged, first, len),
            3 => offer_all(two, [x[0], x[1], x[2]], staged, first, len),
            _ => offer_all(two, x, staged, first, len),
        };
        sync_block();
        first += capacity;
    }
    if row >= n {
        return;
    }
    let mut label = two.label;
    if !is_certain(two, d) {
        let mut nearest = Nearest::NONE;
        for candidate in 0..k {
            let distance = between(points, row * d as u64, centroids, candidate as u64 * d as u64, d);
            nearest = nearest.offer(candidate, distance);
        }
        label = nearest.label();
    }
    labels.set(row, label);
}

/// Takes `len` centroids of `D` columns into account, the first of which is centroid number `first`.
#[inline(always)]
pub(crate) fn offer_all<const D: usize>(mut two: Two, x: [f32; D], staged: Shared<f32>, first: u32, len: u32) -> Two {
    let (mut c, mut at) = (0, 0);
    while c < len {
        let mut sum = 0.0;
        // Over the array itself, so that the loop unrolls and the array stays in registers.
        for (j, value) in x.iter().enumerate() {
            let difference = value - staged.get(at + j as u32);
            sum = multiply_add(difference, difference, sum);
        }
        two = two.offer(first + c, sum);
        c += 1;
        at += D as u32;
    }
    two
}

device::entries! {
    narrow(points: In<T>, centroids: In<<T as Load>::Value>, labels: Out<u32>, n: u64, k: u32, d: u32);
    assign_narrow_f32: (f32),
    assign_narrow_f16: (half::f16),
    assign_narrow_bf16: (half::bf16),
    assign_narrow_u8: (u8),
}
