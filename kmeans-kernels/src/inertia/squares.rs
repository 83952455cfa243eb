//! The weighted squares of all values: what the inertia owes to the points alone, once per fit.
//!
//! Where the host knows that a thread's share fits 128 bits, as for most data without weights, it stays in registers;
//! otherwise limbs of the thread's own take it.

use kmeans_core::fixed::{FixedPoint, Width};
use kmeans_core::scalar::decode;

use super::{Few, Many, add_warp};
use crate::device::{
    self, In, Load, Number, Out, ScratchMemory, block_index, block_size, grid_size, lane, thread_index,
};
use crate::together::sum_lanes;
use crate::update::fixed::{Format, Limbs};

/// Whether the square of a value of `T` has at most 53 bits, and so is an `f64`.
#[inline(always)]
fn squares_are_doubles<T: Number>() -> bool {
    T::DIGITS <= 24
}

/// Adds Σ w·x² to `limbs`; the weights are 1 where `weighted` is 0. `narrow`: no weights, and a thread's share fits an
/// `i128` in units of 2^`exponent`.
#[inline(always)]
pub fn squares<P: Load, M: ScratchMemory>(
    points: In<P>,
    weights: In<f64>,
    limbs: Out<u64>,
    exponent: i32,
    words: u32,
    weighted: u32,
    narrow: u32,
    n: u64,
    d: u32,
) {
    let len = n * d as u64;
    let threads = grid_size() as u64 * block_size() as u64;
    let first = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if narrow != 0 {
        let format = FixedPoint { exponent, width: Width::I128 };
        let (mut total, mut index) = (0_i128, first);
        while index < len {
            let x = points.get(index).load().double();
            total +=
                if squares_are_doubles::<P::Value>() { format.to_i128(x * x) } else { format.product_to_i128(x, x) };
            index += threads;
        }
        for limb in 0..4 {
            let sum = sum_lanes((total >> (32 * limb)) as u32 as u64);
            if lane() == 0 && sum != 0 {
                limbs.add(limb, sum);
            }
        }
        return;
    }
    let memory = M::new();
    let own = memory.zeros(words);
    let format = Limbs::new(exponent, words);
    // The row goes along, since a division per value would cost more than the rest.
    let (rows, columns) = (threads.checked_div(d as u64).unwrap_or(0), threads.checked_rem(d as u64).unwrap_or(0));
    let (mut row, mut column) = (first.checked_div(d as u64).unwrap_or(0), first.checked_rem(d as u64).unwrap_or(0));
    let mut index = first;
    while index < len {
        let x = points.get(index).load().double();
        let (weight, scale) = if weighted != 0 { decode(weights.get(row)) } else { (1, 0) };
        if squares_are_doubles::<P::Value>() {
            let (square, e) = decode(x * x);
            format.add_integer(own, 0, square as i128 * weight as i128, e + scale);
        } else {
            // 106 bits times 53 bits is more than an i128 holds: take the square in two parts.
            let (x, e) = decode(x);
            let square = x as i128 * x as i128;
            let (high, low) = (square >> 53, square & ((1 << 53) - 1));
            format.add_integer(own, 0, low * weight as i128, 2 * e + scale);
            format.add_integer(own, 0, high * weight as i128, 2 * e + scale + 53);
        }
        index += threads;
        (row, column) = (row + rows, column + columns);
        if column >= d as u64 {
            (row, column) = (row + 1, column - d as u64);
        }
    }
    add_warp(own, limbs, 0, words);
}

device::entries! {
    squares(points: In<T>, weights: In<f64>, limbs: Out<u64>, exponent: i32, words: u32, weighted: u32, narrow: u32, n: u64, d: u32);
    square_sum_f32: (f32, Few),
    square_sum_f64: (f64, Few),
    square_sum_f16: (half::f16, Few),
    square_sum_bf16: (half::bf16, Few),
    square_sum_u8: (u8, Few),
    square_sum_many_f32: (f32, Many),
    square_sum_many_f64: (f64, Many),
    square_sum_many_f16: (half::f16, Many),
    square_sum_many_bf16: (half::bf16, Many),
    square_sum_many_u8: (u8, Many),
}
