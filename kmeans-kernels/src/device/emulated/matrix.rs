//! Products of a warp's tiles, with the rounding of a tensor core.
//!
//! GPUs multiply exactly and then add up a block of products and the sum so far in a fixed-point format aligned to the
//! largest of them, cutting off what lies below; how many bits are kept differs between generations (Fasi, Higham,
//! Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021). Each product here keeps a number of bits drawn
//! at random, so that a kernel that relies on more than the least fails.

use super::schedule::Random;

/// A lane's share of a product of tiles: see [`Half`](super::super::Half) for who holds what.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub(super) a: [u32; 4],
    pub(super) b: [u32; 2],
    pub(super) c: [f32; 4],
    /// What 16 bits of `a` and `b` mean.
    pub(super) decode: fn(u16) -> f32,
}

/// Rows of A, columns of A, columns of B.
const SHAPE: (usize, usize, usize) = (16, 16, 8);

/// A·B + C for the 32 lanes of a warp.
pub(super) fn multiply(lanes: &[Operands], random: &Random) -> Vec<[f32; 4]> {
    let (rows, depth, columns) = SHAPE;
    let half = |word: u32, high: usize| (word >> (16 * high)) as u16;
    let a = |row: usize, k: usize| {
        let lane = &lanes[row % 8 * 4 + k % 8 / 2];
        (lane.decode)(half(lane.a[row / 8 + k / 8 * 2], k % 2)) as f64
    };
    let b = |k: usize, column: usize| {
        let lane = &lanes[column * 4 + k % 8 / 2];
        (lane.decode)(half(lane.b[k / 8], k % 2)) as f64
    };
    let mut results = vec![[0.0; 4]; lanes.len()];
    for row in 0..rows {
        for column in 0..columns {
            let (lane, place) = (row % 8 * 4 + column / 2, row / 8 * 2 + column % 2);
            let terms = (0..depth).map(|k| a(row, k) * b(k, column)).chain([lanes[lane].c[place] as f64]);
            results[lane][place] = add(&terms.collect::<Vec<_>>(), 24 + random.below(4) as i32);
        }
    }
    results
}

/// The sum of `terms`, each cut off below `bits` bits of the largest, the result cut off to `f32`.
pub(super) fn add(terms: &[f64], bits: i32) -> f32 {
    let largest = terms.iter().fold(0.0_f64, |m, t| m.max(t.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return terms.iter().sum::<f64>() as f32;
    }
    let unit = 2.0_f64.powi(largest.log2().floor() as i32 + 1 - bits);
    let sum: f64 = terms.iter().map(|t| (t / unit).trunc() * unit).sum();
    let nearest = sum as f32;
    let cut = if (nearest as f64).abs() > sum.abs() { f32::from_bits(nearest.to_bits() - 1) } else { nearest };
    if cut.is_finite() { cut } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_cut_off_below_the_largest() {
        assert_eq!(add(&[1.0, 2.0_f64.powi(-23)], 24), 1.0 + f32::EPSILON);
        assert_eq!(add(&[1.0, 2.0_f64.powi(-24), 2.0_f64.powi(-24)], 24), 1.0);
        assert_eq!(add(&[1.0, 2.0_f64.powi(-24), 2.0_f64.powi(-24)], 26), 1.0 + f32::EPSILON);
        assert_eq!(add(&[3.0, -1.5, 0.25], 24), 1.75);
        assert_eq!(add(&[f64::INFINITY, 1.0], 24), f32::INFINITY);
    }
}
