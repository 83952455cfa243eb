//! Products of a warp's tiles, with the rounding of a tensor core.
//!
//! GPUs multiply exactly and then add up a block of products and the sum so far in a fixed-point format aligned to the
//! largest of them, cutting off what lies below; how many bits are kept differs between generations (Fasi, Higham,
//! Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021). Each product here keeps a number of bits drawn
//! at random, so that a kernel that relies on more than the least fails.

use std::array::from_fn;

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

/// Rows of A.
const ROWS: usize = 16;
/// Columns of A, which are rows of B.
const DEPTH: usize = 16;
/// Columns of B.
const COLUMNS: usize = 8;

/// A·B + C for the 32 lanes of a warp.
pub(super) fn multiply(lanes: &[Operands], random: &Random) -> Vec<[f32; 4]> {
    let half = |word: u32, high: usize| (word >> (16 * high)) as u16;
    let a = from_fn::<[f64; DEPTH], ROWS, _>(|row| {
        from_fn(|k| {
            let lane = &lanes[row % 8 * 4 + k % 8 / 2];
            (lane.decode)(half(lane.a[row / 8 + k / 8 * 2], k % 2)) as f64
        })
    });
    let b = from_fn::<[f64; DEPTH], COLUMNS, _>(|column| {
        from_fn(|k| {
            let lane = &lanes[column * 4 + k % 8 / 2];
            (lane.decode)(half(lane.b[k / 8], k % 2)) as f64
        })
    });
    let mut results = vec![[0.0; 4]; lanes.len()];
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            let (lane, place) = (row % 8 * 4 + column / 2, row / 8 * 2 + column % 2);
            let mut terms = [lanes[lane].c[place] as f64; DEPTH + 1];
            for (term, (a, b)) in terms.iter_mut().zip(a[row].iter().zip(&b[column])) {
                *term = a * b;
            }
            results[lane][place] = add(&terms, 24 + random.below(4) as i32);
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
    // Terms are values and products of values of at most 24 bits: normal numbers here, so that this is the exponent.
    let exponent = (largest.to_bits() >> 52) as i32 - 1023;
    let (scale, unit) = (power_of_two(bits - 1 - exponent), power_of_two(exponent + 1 - bits));
    // Scaled by a power of two, each is below 2^bits, which an integer holds; making it one cuts off what is lower.
    let sum: i64 = terms.iter().map(|t| i64::from((t * scale) as i32)).sum();
    let sum = sum as f64 * unit;
    let nearest = sum as f32;
    let cut = if (nearest as f64).abs() > sum.abs() { f32::from_bits(nearest.to_bits() - 1) } else { nearest };
    if cut.is_finite() { cut } else { nearest }
}

/// 2^`exponent`, of a normal number.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
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
        let least = 2.0_f64.powi(-149);
        assert_eq!(add(&[least * least, least, -least], 27), 0.0);
        assert_eq!(add(&[least * 3.0, -least], 24), 2.0_f32.powi(-148));
    }
}
