//! Points in the order of their clusters ([`order`](super::order)), so that long runs of one sum stay in registers, and few
//! additions go to global memory. Rungs: see [`super`].
//!
//! Lanes beside each other take the columns of a row, 16 bytes each where rows begin at multiples of that; so a warp has some
//! rows under way at a time, and a few more are ahead.
//!
//! # Why the sums are exact
//! A run is added up in `f64`, which conversions to integers would bound: there are a quarter as many of those per cycle as
//! additions. All values are multiples of 2^low and below 2^high. Narrow sums: a sum of r of them is a multiple of 2^low and
//! below r·2^high, so an `f64` holds it as long as high − low + log₂ r ≤ 53. Wide sums: each value is split into a multiple of 2^s
//! and a rest of at most 2^(s−1), by adding and taking away 1.5·2^(52+s), which rounds it to that multiple as long as high ≤
//! s + 51; the rest is exact, as a multiple of the value's own last bit that is no larger than the value. Their sums are exact as long as high − s + log₂ r ≤ 52 and
//! s − low + log₂ r ≤ 52. The host sees to r, `longest`, and to s, `split`.

// Loops go over indices, so that arrays stay in registers.
#![allow(clippy::needless_range_loop)]

use kmeans_core::launch::{LEAVES, SORTED_RUN};
use kmeans_core::scalar::power_of_two;

use super::fixed::{Format, Narrow, Wide};
use crate::device::{
    self, In, Load, Number, Out, WARP, block_index, block_row, block_size, grid_rows, grid_size, multiply_add_double,
    thread_index,
};

/// Rows that a lane loads before it uses the first of them.
const AHEAD: usize = 4;
/// Values of 16 bytes, at most.
const MOST: usize = 16;

/// A format for sums of runs that are added up in `f64`.
pub trait Runs: Format {
    /// Whether values are split in two.
    const SPLIT: bool;
}

impl Runs for Narrow {
    const SPLIT: bool = false;
}

impl Runs for Wide {
    const SPLIT: bool = true;
}

/// Adds the listed points to `sums`, [k, d] sums of `words` words, or takes those with [`LEAVES`] away. `places`, `[k]`, is where
/// each cluster's list ends. `vectors`: whether rows begin at multiples of 16 bytes.
#[inline(always)]
pub fn sorted<P: Load, F: Runs>(
    points: In<P>,
    before: In<u32>,
    labels: In<u32>,
    rows: In<u32>,
    places: In<u32>,
    order: In<u64>,
    sums: Out<u64>,
    exponent: i32,
    words: u32,
    split: i32,
    longest: u32,
    vectors: u32,
    d: u32,
) {
    let format = F::new(exponent, words);
    let lists = Lists { before, labels, rows, places, total: order.get(1) as u32, longest };
    let magic = if F::SPLIT { 1.5 * power_of_two(52 + split) } else { 0.0 };
    if vectors != 0 {
        let load = |row: u32, column: u32| points.get16(row as u64 * d as u64 + column as u64);
        add_lists::<P, F>(format, lists, load, 16 / P::SIZE, sums, magic, d);
    } else {
        let load = |row: u32, column: u32| {
            let raw = points.get(row as u64 * d as u64 + column as u64).to_raw();
            [raw as u32, (raw >> 32) as u32, 0, 0]
        };
        add_lists::<P, F>(format, lists, load, 1, sums, magic, d);
    }
}

/// The rows, cluster by cluster.
#[derive(Clone, Copy)]
struct Lists<'a> {
    before: In<'a, u32>,
    labels: In<'a, u32>,
    rows: In<'a, u32>,
    places: In<'a, u32>,
    total: u32,
    longest: u32,
}

impl Lists<'_> {
    /// Some entries from `place` on; those from `end` on are the last one before it.
    #[inline(always)]
    fn entries(self, place: u32, end: u32) -> [u32; AHEAD] {
        let mut entries = [0; AHEAD];
        for i in 0..AHEAD {
            let place = place + i as u32;
            entries[i] = self.rows.get(if place < end { place } else { end - 1 } as u64);
        }
        entries
    }

    /// Where the sum ends that begins at `place` of a cluster's list.
    #[inline(always)]
    fn stop(self, cluster: u32, place: u32, end: u32) -> u32 {
        let rest = self.places.get(cluster as u64) - place;
        let len = if rest < self.longest { rest } else { self.longest };
        if end - place < len { end } else { place + len }
    }

    /// The cluster that an entry is listed for.
    #[inline(always)]
    fn cluster(self, entry: u32) -> u32 {
        let row = (entry & !LEAVES) as u64;
        if entry & LEAVES == 0 { self.labels.get(row) } else { self.before.get(row) }
    }
}

/// `each` values of a row per lane, which `load` loads.
#[inline(always)]
fn add_lists<P: Load, F: Runs>(
    format: F,
    lists: Lists,
    load: impl Fn(u32, u32) -> [u32; 4],
    each: u32,
    sums: Out<u64>,
    magic: f64,
    d: u32,
) {
    let pieces = d.checked_div(each).unwrap_or(0);
    // Lanes that share a row: a power of two, so that rows divide a warp.
    let mut across = WARP;
    while across / 2 >= pieces && across > 1 {
        across /= 2;
    }
    let per_block = block_size().checked_div(across).unwrap_or(1);
    let number = block_index() * per_block + thread_index().checked_div(across).unwrap_or(0);
    let sharing = grid_size() * per_block;
    let run = (lists.total + sharing - 1).checked_div(sharing).unwrap_or(0).next_multiple_of(SORTED_RUN);
    let begin = number as u64 * run as u64;
    if begin >= lists.total as u64 {
        return;
    }
    let begin = begin as u32;
    let end = if lists.total - begin < run { lists.total } else { begin + run };
    let mut piece = block_row() * WARP + (thread_index() & (across - 1));
    while piece < pieces {
        add_run::<P, F>(format, lists, &load, (piece * each, each), (begin, end), sums, magic, d);
        piece += grid_rows() * WARP;
    }
}

/// Adds the entries from `begin` to `end` in `each` columns from `column` on, one sum of a cluster after the other.
#[inline(always)]
fn add_run<P: Load, F: Runs>(
    format: F,
    lists: Lists,
    load: &impl Fn(u32, u32) -> [u32; 4],
    (column, each): (u32, u32),
    (begin, end): (u32, u32),
    sums: Out<u64>,
    magic: f64,
    d: u32,
) {
    let mut place = begin;
    while place < end {
        let cluster = lists.cluster(lists.rows.get(place as u64));
        let stop = lists.stop(cluster, place, end);
        let (mut high, mut low) = ([0.0_f64; MOST], [0.0_f64; MOST]);
        let mut entries = lists.entries(place, stop);
        while place < stop {
            let next = lists.entries(place + AHEAD as u32, stop);
            let mut loaded = [[0; 4]; AHEAD];
            for i in 0..AHEAD {
                loaded[i] = load(entries[i] & !LEAVES, column);
            }
            for i in 0..AHEAD {
                // Entries beyond the last count for nothing: values are finite.
                let sign = match entries[i] & LEAVES {
                    _ if place + i as u32 >= stop => 0.0,
                    0 => 1.0,
                    _ => -1.0,
                };
                for j in 0..MOST {
                    if j < each as usize {
                        let value = element::<P>(loaded[i], j, each).load().double();
                        if F::SPLIT {
                            let coarse = (value + magic) - magic;
                            high[j] = multiply_add_double(coarse, sign, high[j]);
                            low[j] = multiply_add_double(value - coarse, sign, low[j]);
                        } else {
                            low[j] = multiply_add_double(value, sign, low[j]);
                        }
                    }
                }
            }
            entries = next;
            place += AHEAD as u32;
        }
        place = stop;
        let first = cluster as u64 * d as u64 + column as u64;
        for j in 0..MOST {
            if j < each as usize {
                let at = (first + j as u64) * format.words() as u64;
                format.add(sums, at, low[j]);
                if F::SPLIT {
                    format.add(sums, at, high[j]);
                }
            }
        }
    }
}

/// Element `i` of the `each` that a lane loaded.
#[inline(always)]
fn element<P: Load>(words: [u32; 4], i: usize, each: u32) -> P {
    let bits = match P::SIZE {
        8 => (words[(2 * i + 1) % 4] as u64) << 32 | words[2 * i % 4] as u64,
        _ if each == 1 => words[0] as u64,
        4 => words[i % 4] as u64,
        2 => (words[i / 2 % 4] >> (16 * (i % 2))) as u16 as u64,
        _ => (words[i / 4] >> (8 * (i % 4))) as u8 as u64,
    };
    P::from_raw(bits)
}

device::entries! {
    sorted(points: In<T>, before: In<u32>, labels: In<u32>, rows: In<u32>, places: In<u32>, order: In<u64>, sums: Out<u64>,
        exponent: i32, words: u32, split: i32, longest: u32, vectors: u32, d: u32);
    sum_sorted_narrow_f32: (f32, Narrow),
    sum_sorted_narrow_f64: (f64, Narrow),
    sum_sorted_narrow_f16: (half::f16, Narrow),
    sum_sorted_narrow_bf16: (half::bf16, Narrow),
    sum_sorted_narrow_u8: (u8, Narrow),
    sum_sorted_wide_f32: (f32, Wide),
    sum_sorted_wide_f64: (f64, Wide),
    sum_sorted_wide_f16: (half::f16, Wide),
    sum_sorted_wide_bf16: (half::bf16, Wide),
}
