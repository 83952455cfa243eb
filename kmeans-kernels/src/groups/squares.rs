//! The squares of all values of each group: what inertias owe to the points alone. See [`crate::inertia`].

use kmeans_core::fixed::{FixedPoint, Width};
use kmeans_core::scalar::decode;

use super::Table;
use crate::device::{self, In, Number, Out, ScratchMemory, block_size, lane, thread_index};
use crate::inertia::{Few, Many, add_warp};
use crate::together::sum_lanes;
use crate::update::fixed::{Format, Limbs};

/// Values that a thread loads before it uses the first of them.
const AHEAD: usize = 8;

/// Adds Σ x² to each group's limbs, `[groups, words]`. `narrow`: 0, or one more than the limb in whose units a thread's share
/// fits an `i128`; it has up to `bits` bits.
#[inline(always)]
pub fn squares<T: Number, M: ScratchMemory>(
    points: In<T>,
    ranges: In<u64>,
    starts: In<u32>,
    owners: In<u32>,
    limbs: Out<u64>,
    exponent: i32,
    words: u32,
    narrow: u32,
    bits: u32,
    tile_rows: u32,
    d: u32,
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(tile) = table.tile() else { return };
    let limbs = limbs.skip(tile.group as u64 * words as u64);
    let mut index = tile.first * d as u64 + thread_index() as u64;
    let end = tile.end * d as u64;
    if narrow != 0 {
        let base = narrow - 1;
        let format = FixedPoint { exponent: exponent + 32 * base as i32, width: Width::I128 };
        let mut total = 0_i128;
        if T::DIGITS <= 24 && bits <= 53 {
            // Squares and their sums are `f64`, whatever their order.
            let (mut sums, step) = ([0.0; AHEAD], block_size() as u64);
            while index + (AHEAD as u64 - 1) * step < end {
                let mut values = [0.0; AHEAD];
                for (i, value) in (0..).zip(&mut values) {
                    *value = points.get(index + i * step).double();
                }
                for (sum, value) in sums.iter_mut().zip(&values) {
                    *sum += value * value;
                }
                index += AHEAD as u64 * step;
            }
            let mut sum = 0.0;
            for share in &sums {
                sum += share;
            }
            while index < end {
                let x = points.get(index).double();
                sum += x * x;
                index += step;
            }
            total = format.to_i128(sum);
        }
        while index < end {
            let x = points.get(index).double();
            total += if T::DIGITS <= 24 { format.to_i128(x * x) } else { format.product_to_i128(x, x) };
            index += block_size() as u64;
        }
        for limb in 0..4 {
            let sum = sum_lanes((total >> (32 * limb)) as u32 as u64);
            if lane() == 0 && sum != 0 {
                limbs.add((base + limb) as u64, sum);
            }
        }
        return;
    }
    let memory = M::new();
    let own = memory.zeros(words);
    let format = Limbs::new(exponent, words);
    while index < end {
        let (x, e) = decode(points.get(index).double());
        // At most 106 bits.
        format.add_integer(own, 0, x as i128 * x as i128, 2 * e);
        index += block_size() as u64;
    }
    add_warp(own, limbs, 0, words);
}

device::entries! {
    squares(points: In<T>, ranges: In<u64>, starts: In<u32>, owners: In<u32>, limbs: Out<u64>, exponent: i32, words: u32,
        narrow: u32, bits: u32, tile_rows: u32, d: u32);
    groups_squares_f32: (f32, Few),
    groups_squares_f64: (f64, Few),
    groups_squares_f16: (half::f16, Few),
    groups_squares_bf16: (half::bf16, Few),
    groups_squares_many_f32: (f32, Many),
    groups_squares_many_f64: (f64, Many),
    groups_squares_many_f16: (half::f16, Many),
    groups_squares_many_bf16: (half::bf16, Many),
}
