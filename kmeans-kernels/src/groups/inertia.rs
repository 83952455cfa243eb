//! What centroids and sums contribute to each group's inertia, and inertias rounded from limbs: see [`crate::inertia`].

use kmeans_core::exact::LimbSum;

use crate::device::{self, In, Number, Out, ScratchMemory, block_index, block_size, lane, thread_index};
use crate::inertia::{Few, Many, add_warp, integer, squares_are_short};
use crate::update::fixed::{Format, Limbs};
use crate::update::stored::Stored;

/// Adds Σ (n·c² − 2·c·S) over the clusters of each group of a state up to `most` to its limbs. `parts` blocks per group.
#[inline(always)]
pub fn inertia<T: Number, M: ScratchMemory>(
    sums: In<u64>,
    counts: In<u64>,
    centroids: In<T>,
    states: In<u32>,
    limbs: Out<u64>,
    sum_exponent: i32,
    sum_words: u32,
    exponent: i32,
    words: u32,
    most: u32,
    parts: u32,
    k: u32,
    d: u32,
) {
    let group = block_index().checked_div(parts).unwrap_or(0);
    let part = block_index() - group * parts;
    if states.get(group as u64) > most {
        return;
    }
    let (start, len) = (group as u64 * k as u64 * d as u64, k as u64 * d as u64);
    let mut index = part as u64 * block_size() as u64 + thread_index() as u64;
    // Alike for all lanes of a warp, which meet at the end.
    if index - lane() as u64 >= len {
        return;
    }
    let memory = M::new();
    let own = memory.zeros(words);
    let format = Limbs::new(exponent, words);
    while index < len {
        let (c, e) = integer(centroids.get(start + index));
        // −2·c·S
        let sum = Stored::new(sums, start + index, sum_words);
        for part in 0..sum.parts() {
            let (integer, above) = sum.part(part);
            // 64 bits times 53 bits.
            format.add_integer(own, 0, integer * -c as i128, above + sum_exponent + e + 1);
        }
        // n·c², the square in two parts of 53 bits.
        let count = counts.get(group as u64 * k as u64 + index.checked_div(d as u64).unwrap_or(0));
        let square = c as i128 * c as i128;
        let (high, low) = (square >> 53, square & ((1 << 53) - 1));
        format.add_integer(own, 0, count as i128 * low, 2 * e);
        if !squares_are_short::<T>() {
            format.add_integer(own, 0, count as i128 * high, 2 * e + 53);
        }
        index += parts as u64 * block_size() as u64;
    }
    add_warp(own, limbs, group as u64 * words as u64, words);
}

/// The number that a group's limbs hold, rounded once.
#[inline(always)]
pub(super) fn rounded(limbs: In<u64>, group: u64, exponent: i32, words: u32) -> f64 {
    let limb = move |index: u32| limbs.get(group * words as u64 + index as u64) as i64;
    LimbSum::new(limb, words, exponent).divide_by_count(1)
}

/// Inertias, `[groups]`, of groups of a state up to `most`; the others' stay as they are. A thread per group.
#[inline(always)]
pub fn round(limbs: In<u64>, states: In<u32>, inertias: Out<f64>, exponent: i32, words: u32, most: u32, groups: u32) {
    let group = block_index() * block_size() + thread_index();
    if group < groups && states.get(group as u64) <= most {
        inertias.set(group as u64, rounded(limbs, group as u64, exponent, words));
    }
}

device::entries! {
    inertia(sums: In<u64>, counts: In<u64>, centroids: In<T>, states: In<u32>, limbs: Out<u64>, sum_exponent: i32,
        sum_words: u32, exponent: i32, words: u32, most: u32, parts: u32, k: u32, d: u32);
    groups_inertia_f32: (f32, Few),
    groups_inertia_f64: (f64, Few),
    groups_inertia_f16: (half::f16, Few),
    groups_inertia_bf16: (half::bf16, Few),
    groups_inertia_many_f32: (f32, Many),
    groups_inertia_many_f64: (f64, Many),
    groups_inertia_many_f16: (half::f16, Many),
    groups_inertia_many_bf16: (half::bf16, Many),
}

device::entries! {
    round(limbs: In<u64>, states: In<u32>, inertias: Out<f64>, exponent: i32, words: u32, most: u32, groups: u32);
    groups_round: (),
}
