//! Centroids laid out for tensor cores: tiles that one copy brings to shared memory.

use super::bound::{TileBound, offset, one, parts};
use crate::device::{self, Half, In, Narrow, Out, Slim, Swizzled, WARP, block_index, block_size, thread_index};
use crate::distance::or_zero;
use crate::together::largest_lane;
use kmeans_core::launch::{TILE_PARTS as PARTS, TILE_ROWS as TILE};

/// Writes the tiles of [k, d] centroids, or of more groups of them, as many as blocks are launched for, each in tiles of its own: `[⌈k/128⌉, ⌈d/64⌉, 128, 64]` in the layout of [`Swizzled`] with zeros beyond the
/// matrix, and what scores begin with, in three parts, `[⌈k/128⌉, 128, 16]` in the layout of [`Narrow`], and
/// whole, `[⌈k/128⌉, 128]`. `PARTS` blocks per tile.
#[inline(always)]
pub fn tiles<T: Half>(
    centroids: In<T>,
    c_norms: In<f32>,
    largest: In<u32>,
    tiles: Out<T>,
    starts: Out<T>,
    plain_starts: Out<f32>,
    k: u32,
    d: u32,
) {
    let (tile, part) = (block_index() / PARTS, block_index() % PARTS);
    // The tile within its group of centroids.
    let each = k.div_ceil(TILE);
    let group = tile.checked_div(each).unwrap_or(0);
    let within = tile - group * each;
    let (centroids, c_norms) =
        (centroids.skip(group as u64 * k as u64 * d as u64), c_norms.skip(group as u64 * k as u64));
    let place = |y: u32, x: u32| Swizzled::<T>::place(y, x / 8) + x % 8;
    lay(centroids, Swizzled::<T>::ROW, |y| within * TILE + y, place, tiles, tile, part, k, d);
    let y = part * (TILE / PARTS) + thread_index() / Narrow::<T>::ROW;
    if thread_index() < TILE / PARTS * Narrow::<T>::ROW {
        let (centroid, column) = (within * TILE + y, thread_index() % Narrow::<T>::ROW);
        let one = one::<T>(largest.get(0));
        let start = if centroid < k {
            offset(largest.get(0)) as f64 - 0.5 * c_norms.get(centroid as u64) as f64
        } else {
            // No centroid: it must not win.
            f64::NEG_INFINITY
        };
        if column == 0 {
            plain_starts.set(tile as u64 * TILE as u64 + y as u64, start as f32);
        }
        let parts = if centroid < k { parts(start, one) } else { [T::nearest(f32::NEG_INFINITY), T::ZERO, T::ZERO] };
        let value = match column {
            0 => parts[0],
            1 => parts[1],
            2 => parts[2],
            _ => T::ZERO,
        };
        let first = tile as u64 * (TILE * Narrow::<T>::ROW) as u64;
        starts.set(first + Narrow::<T>::place(y, column) as u64, value);
    }
}

/// Writes a part of a tile in slices of `columns` columns: rows of k centroids, zeros beyond. `row` says which row lies at
/// which place, `place` where an element lies in a slice.
#[inline(always)]
fn lay<T: Half>(
    centroids: In<T>,
    columns: u32,
    row: impl Fn(u32) -> u32,
    place: impl Fn(u32, u32) -> u32,
    tiles: Out<T>,
    tile: u32,
    part: u32,
    k: u32,
    d: u32,
) {
    let slices = d.div_ceil(columns);
    for slice in 0..slices {
        let first = (tile as u64 * slices as u64 + slice as u64) * (TILE * columns) as u64;
        let mut element = thread_index();
        while element < TILE / PARTS * columns {
            let (y, x) = (part * (TILE / PARTS) + element / columns, element % columns);
            let value = or_zero(centroids, row(y) as u64, k as u64, slice * columns + x, d);
            tiles.set(first + place(y, x) as u64, value);
            element += block_size();
        }
    }
}

/// The same for more than 128 columns, `[⌈k/128⌉, ⌈d/32⌉, 128, 32]` in the layout of [`Slim`], in the order that `order` gives; what scores begin with, whole, `[⌈k/128⌉, 128]`; and
/// what the margins of a tile share, `[⌈k/128⌉, 4]`. `PARTS` blocks per tile.
#[inline(always)]
pub fn tiles_long<T: Half>(
    centroids: In<T>,
    c_norms: In<f32>,
    c_errors: In<f32>,
    order: In<u32>,
    largest: In<u32>,
    tiles: Out<T>,
    plain_starts: Out<f32>,
    bounds: Out<f32>,
    k: u32,
    d: u32,
) {
    let (tile, part) = (block_index() / PARTS, block_index() % PARTS);
    let label = |y: u32| {
        let place = tile * TILE + y;
        if place < k { order.get(place as u64) } else { k }
    };
    lay(centroids, Slim::<T>::ROW, label, Slim::<T>::place, tiles, tile, part, k, d);
    if part > 0 || thread_index() >= WARP {
        return;
    }
    let (mut norm, mut error) = (0, 0);
    let mut y = thread_index();
    while y < TILE {
        let label = label(y) as u64;
        let mut start = f64::NEG_INFINITY;
        if label < k as u64 {
            let squared = c_norms.get(label);
            start = offset(largest.get(0)) as f64 - 0.5 * squared as f64;
            // As bits: what is no number must stay.
            norm = norm.max(squared.to_bits());
            error = error.max(c_errors.get(label).to_bits());
        }
        plain_starts.set((tile * TILE + y) as u64, start as f32);
        y += WARP;
    }
    let (norm, error) = (largest_lane(norm as u64) as u32, largest_lane(error as u64) as u32);
    if thread_index() < 4 {
        let TileBound(bound) = TileBound::new(norm, error, largest.get(0), d);
        let [a, b, c, e] = bound;
        let value = match thread_index() {
            0 => a,
            1 => b,
            2 => c,
            _ => e,
        };
        bounds.set((tile * 4 + thread_index()) as u64, value);
    }
}

device::entries! {
    in ampere: tiles(centroids: In<T>, c_norms: In<f32>, largest: In<u32>, tiles: Out<T>, starts: Out<T>, plain_starts: Out<f32>, k: u32,
        d: u32);
    assign_tiles_f16: (half::f16),
    assign_tiles_bf16: (half::bf16),
}

device::entries! {
    in hopper: tiles_long(centroids: In<T>, c_norms: In<f32>, c_errors: In<f32>, order: In<u32>, largest: In<u32>,
        tiles: Out<T>, plain_starts: Out<f32>, bounds: Out<f32>, k: u32, d: u32);
    assign_tiles_long_f16: (half::f16),
    assign_tiles_long_bf16: (half::bf16),
}
