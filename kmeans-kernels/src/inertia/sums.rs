//! What centroids and sums contribute to the inertia, once per round: Σ over clusters and columns of W·c² − 2·c·S.
//!
//! A thread's share is a few elements, so what it costs to bring the limbs together decides: whole warps without a share
//! leave at once, and only the limbs in use are touched.

use super::{Few, Many, add_warp, integer, squares_are_short};
use crate::device::{
    self, In, Number, Out, ScratchMemory, block_index, block_row, block_size, grid_size, lane, thread_index,
};
use crate::update::fixed::{Format, Limbs};
use crate::update::stored::Stored;

/// Adds Σ (W·c² − 2·c·S) to `limbs`, for each of the sums and centroids, one after the other, that rows of blocks stand for. `sums` and `totals` are as [`Stored`] reads them; W comes from `counts` where
/// `weighted` is 0.
#[inline(always)]
pub fn sums<T: Number, M: ScratchMemory>(
    sums: In<u64>,
    counts: In<u64>,
    totals: In<u64>,
    centroids: In<T>,
    limbs: Out<u64>,
    sum_exponent: i32,
    sum_words: u32,
    total_exponent: i32,
    total_words: u32,
    weighted: u32,
    exponent: i32,
    words: u32,
    k: u32,
    d: u32,
) {
    let len = k as u64 * d as u64;
    let slot = block_row() as u64;
    let (first, first_cluster, first_limb) = (slot * len, slot * k as u64, slot * words as u64);
    let mut index = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    // Alike for all lanes of a warp, which meet at the end.
    if index - lane() as u64 >= len {
        return;
    }
    let memory = M::new();
    let own = memory.zeros(words);
    let format = Limbs::new(exponent, words);
    // Adds sum · factor · 2^scale.
    let add = |sum: Stored, factor: i64, scale: i32| {
        for part in 0..sum.parts() {
            let (integer, above) = sum.part(part);
            // 64 bits times 53 bits.
            format.add_integer(own, 0, integer * factor as i128, above + scale);
        }
    };
    while index < len {
        let (c, e) = integer(centroids.get(first + index));
        // −2·c·S
        add(Stored::new(sums, first + index, sum_words), -c, sum_exponent + e + 1);
        let cluster = first_cluster + index.checked_div(d as u64).unwrap_or(0);
        // W·c², the square in two parts of 53 bits.
        let square = c as i128 * c as i128;
        let (high, low) = ((square >> 53) as i64, (square & ((1 << 53) - 1)) as i64);
        let (total, unit) = match weighted {
            0 => (Stored::new(counts, cluster, 1), 0),
            _ => (Stored::new(totals, cluster, total_words), total_exponent),
        };
        add(total, low, unit + 2 * e);
        if !squares_are_short::<T>() {
            add(total, high, unit + 2 * e + 53);
        }
        index += grid_size() as u64 * block_size() as u64;
    }
    add_warp(own, limbs, first_limb, words);
}

device::entries! {
    sums(
        sums: In<u64>, counts: In<u64>, totals: In<u64>, centroids: In<T>, limbs: Out<u64>,
        sum_exponent: i32, sum_words: u32, total_exponent: i32, total_words: u32, weighted: u32,
        exponent: i32, words: u32, k: u32, d: u32
    );
    inertia_sums_f32: (f32, Few),
    inertia_sums_f64: (f64, Few),
    inertia_sums_f16: (half::f16, Few),
    inertia_sums_bf16: (half::bf16, Few),
    inertia_sums_many_f32: (f32, Many),
    inertia_sums_many_f64: (f64, Many),
    inertia_sums_many_f16: (half::f16, Many),
    inertia_sums_many_bf16: (half::bf16, Many),
}
