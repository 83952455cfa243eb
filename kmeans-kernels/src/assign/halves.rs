//! What the bound must know about rows: their lengths, and for `f32` rows, rounded to f16 here, how much that changed them.

use crate::device::{
    self, Half, In, Out, WARP, block_index, block_size, grid_size, lane, shuffle_xor, single_to_half, square_root,
    thread_index,
};
use half::f16;

/// Writes x̃, `[rows, width]`: each row less `centre`, times `scale`, rounded, with zeros from column d to `width`; |x'|²,
/// `[rows]`; and a bound for |x' − x̃|, `[rows]`. Raises `largest[0]` to the bits of the largest |x'|² and `largest[1]` to those of
/// the largest |x' − x̃|. `scale` is a power of two; `bound` has the meaning. A warp per row.
#[inline(always)]
pub fn halves(
    matrix: In<f32>,
    centre: In<f32>,
    halves: Out<f16>,
    norms: Out<f32>,
    errors: Out<f32>,
    largest: Out<u32>,
    scale: f32,
    rows: u64,
    d: u32,
    width: u32,
) {
    let mut row = (block_index() as u64 * block_size() as u64 + thread_index() as u64) / WARP as u64;
    let warps = grid_size() as u64 * block_size() as u64 / WARP as u64;
    let (mut most_norm, mut most_error) = (0.0, 0.0);
    while row < rows {
        let value = |column: u32| matrix.get(row * d as u64 + column as u64);
        let set = |column: u32, rounded: f16| halves.set(row * width as u64 + column as u64, rounded);
        let (norm, error) = round_row(value, set, centre, scale, d, width);
        if lane() == 0 {
            norms.set(row, norm);
            errors.set(row, error);
        }
        // Not by f32::max: what is no number must stay.
        most_norm = if norm <= most_norm { most_norm } else { norm };
        most_error = if error <= most_error { most_error } else { error };
        row += warps;
    }
    if lane() == 0 {
        largest.raise(0, most_norm.to_bits());
        largest.raise(1, most_error.to_bits());
    }
}

/// Rounds one row, given and taken column by column: |x'|², and a bound for |x' − x̃|, alike for all lanes of the warp.
#[inline(always)]
pub(crate) fn round_row(
    value: impl Fn(u32) -> f32,
    set: impl Fn(u32, f16),
    centre: In<f32>,
    scale: f32,
    d: u32,
    width: u32,
) -> (f32, f32) {
    let (mut norm, mut error) = (0.0, 0.0);
    let mut column = lane();
    while column < width {
        let mut rounded = f16::ZERO;
        if column < d {
            let (half, square, change) = round(value(column), centre.get(column as u64), scale);
            rounded = half;
            norm += square;
            error += change;
        }
        set(column, rounded);
        column += WARP;
    }
    in_single(sum_lanes(norm), sum_lanes(error))
}

/// A value less `centre`, times `scale`, rounded; its square, and that of what rounding changed.
#[inline(always)]
pub(crate) fn round(value: f32, centre: f32, scale: f32) -> (f16, f64, f64) {
    let value = (value as f64 - centre as f64) * scale as f64;
    // What does not fit is far off, which the bound will say.
    let rounded = single_to_half((value as f32).clamp(-65504.0, 65504.0));
    let change = value - device::half_to_single(rounded) as f64;
    (rounded, value * value, change * change)
}

/// |x'|², and a bound for |x' − x̃|, from sums of squares.
#[inline(always)]
pub(crate) fn in_single(norm: f64, error: f64) -> (f32, f32) {
    let (norm, error) = (norm as f32, error as f32);
    // Rounding the square changes it by less than 2^-24 of it, if it is normal; else by less than 2^-149.
    (norm, square_root(error + f32::MIN_POSITIVE) * (1.0 + 4.0 * f32::EPSILON))
}

/// Writes |x|² of each row, `[rows]`, and raises `largest[0]` to the bits of the largest. A warp per row.
#[inline(always)]
pub fn lengths<T: Half>(matrix: In<T>, norms: Out<f32>, largest: Out<u32>, rows: u64, d: u32) {
    let mut row = (block_index() as u64 * block_size() as u64 + thread_index() as u64) / WARP as u64;
    let warps = grid_size() as u64 * block_size() as u64 / WARP as u64;
    let mut most = 0.0;
    while row < rows {
        let mut norm = 0.0;
        let mut column = lane();
        while column < d {
            let value = matrix.get(row * d as u64 + column as u64).double();
            norm += value * value;
            column += WARP;
        }
        let norm = sum_lanes(norm) as f32;
        if lane() == 0 {
            norms.set(row, norm);
        }
        most = if norm <= most { most } else { norm };
        row += warps;
    }
    if lane() == 0 {
        largest.raise(0, most.to_bits());
    }
}

/// The sum over a warp's lanes.
#[inline(always)]
pub(crate) fn sum_lanes(mut value: f64) -> f64 {
    let mut mask = WARP / 2;
    while mask > 0 {
        value += shuffle_xor(value, mask);
        mask /= 2;
    }
    value
}

device::entries! {
    in ampere: lengths(matrix: In<T>, norms: Out<f32>, largest: Out<u32>, rows: u64, d: u32);
    assign_lengths_f16: (f16),
    assign_lengths_bf16: (half::bf16),
}

device::entries! {
    halves(matrix: In<f32>, centre: In<f32>, halves: Out<f16>, norms: Out<f32>, errors: Out<f32>,
        largest: Out<u32>, scale: f32, rows: u64, d: u32, width: u32);
    assign_halves: (),
}
