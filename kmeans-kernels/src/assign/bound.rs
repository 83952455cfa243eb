//! How far a score from tensor cores may be from the truth, and so how far apart two scores must be to be told apart.
//!
//! # Why the labels are exact
//! A row x and centroids c_k are multiplied as x̃ and c̃_k, f16 or bf16. These are x and c_k themselves, or they are x' =
//! 2ˢ(x − μ) and c'_k = 2ˢ(c_k − μ) rounded; shifting and scaling both by the same does not change which is nearest. The score
//! s_k = O − |c'_k|²/2 + x̃·c̃_k stands for t_k = O − |c'_k|²/2 + x'·c'_k, and |x' − c'_k|² = |x'|² + 2O − 2t_k: the
//! nearest has the greatest t.
//!
//! Let X ≥ |x̃|, e ≥ |x' − x̃|, C ≥ |c'|, f ≥ |c' − c̃| for all centroids, u = 2⁻²³, O = C²/2 up to rounding. Then
//! - x'·c' − x̃·c̃ = (x' − x̃)·c' + x̃·(c' − c̃) is at most eC + Xf;
//! - O − |c'|²/2 is between 0 and O, and errs by at most u·O, since |c'|² was rounded to f32. Tensor cores get it as the sum of
//!   three 16-bit parts, times a power of two, a: see [`parts`]; which leaves out at most 2⁻²⁴·O + 2⁻⁴⁹;
//! - tensor cores add 16 exact products and the sum so far at a time, cutting off each term below 24 bits of the largest, and
//!   the result to f32: at most 18u(O + X(C + f)) for each of ⌈d/16⌉ + 1 steps, 20 is used, which also leaves room for what
//!   f64 rounded before. Results too small to be a normal f32 add at most d·2⁻¹²⁰, and bf16 numbers that small, should they
//!   count as zero, d·2⁻¹²⁶·(X + C + f).
//!
//! So s errs by at most E = eC + Xf + 20u(⌈d/16⌉ + 1)·(O + X(C + f)) + 2u·O + 2⁻⁴⁹ + d·2⁻¹²⁰ + d·2⁻¹²⁶·(X + C + f), 2⁻⁴⁹ for
//! f16 alone. The definition's D errs by at most (d + 3)·2⁻⁵³·(X + e + C)². A centroid whose score is below the best by more
//! than 2E + (d + 3)·2⁻⁵³·(X + e + C)² + u(O + X(C + f)), the last for rounding the threshold, is farther than the best by D.
//! All of this supposes that nothing overflowed, which X + e + C < 2⁶⁰ ensures; elsewhere the margin is infinite.
//!
//! # Tile by tile
//! Beyond 128 columns on Hopper, C and f are those of a tile of centroids that are alike, and O − |c'|²/2 is rounded to f32 and
//! added to the product last. Then O takes no part in what tensor cores round. A score of the tile errs by
//! - eC + Xf;
//! - 20u·⌈d/16⌉·X(C + f) for the product, and the same terms as above for numbers that are not normal;
//! - u/4·C² for |c'|², u/2·O for the start, u/2·(O + X(C + f)) for the sum of both.
//!
//! Each score's margin also has γ(2X² + 2e² + C²), γ = (d + 3)·2⁻⁵³, its share of what D errs for a pair of centroids, and
//! u(O + X(C + f)) for rounding the floor and the threshold, or the reach, of [`leading_tiles`](super::leading_tiles). Since C² is at
//! most 2O up to rounding,
//! E = eC + Xf + (20⌈d/16⌉ + 2)u·X(C + f) + 3u·O + d·2⁻¹²⁰ + d·2⁻¹²⁶(X + C + f) + γ(2X² + 2e² + C²). Is b the centroid whose
//! s − E is the floor, and k another whose s + E is below it, then t_b − t_k > γ((X + e)² + C_b²) + γ((X + e)² + C_k²): k is farther
//! than b by D.

use crate::device::{Half, multiply_add, square_root};

/// Of an `f32`: twice the rounding of one operation.
const UNIT: f32 = f32::EPSILON;
/// A little more than one, for the rounding of what follows it.
const MORE: f32 = 1.0 + 1.0 / 1024.0;

/// What the margins of all rows share, where all centroids have one.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    per_length: f32,
    per_error: f32,
    per_square: f32,
    rest: f32,
    /// C.
    length: f32,
}

/// An upper bound for the length whose square was rounded to `squared`.
#[inline(always)]
pub(super) fn length(squared: f32) -> f32 {
    square_root(squared) * (1.0 + 4.0 * UNIT)
}

/// O, from the bits of the largest |c'|².
#[inline(always)]
pub(crate) fn offset(largest: u32) -> f32 {
    f32::from_bits(largest) * 0.5 * (1.0 + 4.0 * UNIT)
}

/// A power of two that is a normal number.
#[inline(always)]
const fn power(exponent: i32) -> f32 {
    f32::from_bits(((127 + exponent) as u32) << 23)
}

/// a, from the bits of the largest |c'|²: it brings starts near 2¹⁴, where f16 can have three parts of them.
#[inline(always)]
pub(super) fn one<T: Half>(largest: u32) -> T {
    let exponent = (offset(largest).to_bits() >> 23) as i32 - 127 - 14;
    T::nearest(power(exponent.clamp(-24, if T::IS_BF16 { 100 } else { 15 })))
}

/// Three numbers whose sum, times a, is `start`.
#[inline(always)]
pub(super) fn parts<T: Half>(start: f64, one: T) -> [T; 3] {
    let mut rest = start / one.double();
    [(); 3].map(|()| {
        let part = T::nearest(rest as f32);
        rest -= part.double();
        part
    })
}

impl Bound {
    /// From the bits of the largest |c'|² and of f, for `d` columns.
    #[inline(always)]
    pub fn new<T: Half>(largest: u32, error: u32, d: u32) -> Self {
        let (c, f) = (length(f32::from_bits(largest)), f32::from_bits(error));
        let offset = offset(largest);
        let steps = d.div_ceil(16) as f32;
        let product = UNIT * (40.0 * (steps + 1.0) + 1.0);
        // (X + e + C)² ≤ 2(X + e)² + 2C².
        let per_square = (d as f32 + 3.0) * (f32::EPSILON * f32::EPSILON / 64.0) * 2.0;
        // Up to 128 columns, starts are in parts, which are no finer than that in f16, and may be too large for it.
        let coarse = match T::IS_BF16 || d > 128 {
            true => 0.0,
            false if offset < power(29) => power(-47),
            false => f32::INFINITY,
        };
        let tiny = d as f32 * power(-119) + coarse;
        let lost = d as f32 * power(-125);
        Self {
            per_length: MORE * (2.0 * f + product * (c + f) + lost),
            per_error: MORE * 2.0 * c,
            per_square: MORE * per_square,
            rest: MORE * (product * offset + 4.0 * UNIT * offset + per_square * c * c + tiny + lost * (c + f)),
            length: c,
        }
    }

    /// The margin of a row of which |x'|² was rounded to `squared`, with e = `error`.
    #[inline(always)]
    pub fn margin(&self, squared: f32, error: f32) -> f32 {
        let whole = length(squared) + error;
        if whole + error + self.length < (1_u64 << 60) as f32 {
            MORE * (whole * (self.per_length + (whole + error) * self.per_square)
                + error * self.per_error
                + (whole + error) * error * self.per_square
                + self.rest)
        } else {
            f32::INFINITY
        }
    }
}

/// What the margins of a tile's centroids share, to be multiplied by X, e, X² + e² and one.
#[derive(Clone, Copy)]
pub(crate) struct TileBound(pub [f32; 4]);

impl TileBound {
    /// From the bits of the tile's largest |c'|² and f, and of the largest |c'|² of all centroids, for `d` columns.
    #[inline(always)]
    pub fn new(squared: u32, error: u32, largest: u32, d: u32) -> Self {
        let (c, f) = (length(f32::from_bits(squared)), f32::from_bits(error));
        let product = UNIT * (20.0 * d.div_ceil(16) as f32 + 2.0);
        let per_square = (d as f32 + 3.0) * (f32::EPSILON * f32::EPSILON / 64.0);
        let (tiny, lost) = (d as f32 * power(-120), d as f32 * power(-126));
        Self([
            MORE * (f + product * (c + f) + lost),
            MORE * c,
            MORE * per_square,
            MORE * (3.0 * UNIT * offset(largest) + per_square * c * c + tiny + lost * (c + f)),
        ])
    }
}

/// X and e of a row.
#[derive(Clone, Copy)]
pub(crate) struct Lengths {
    whole: f32,
    error: f32,
}

impl Lengths {
    /// Of no row.
    pub const NONE: Self = Self { whole: 0.0, error: 0.0 };

    /// Of a row of which |x'|² was rounded to `squared`, with e = `error`; `largest` has the bits of the largest |c'|² of all.
    #[inline(always)]
    pub fn new(squared: f32, error: f32, largest: u32) -> Self {
        let whole = length(squared) + error;
        if whole + error + length(f32::from_bits(largest)) < (1_u64 << 60) as f32 {
            Self { whole, error }
        } else {
            // What multiplies it is above zero.
            Self { whole: f32::INFINITY, error: 0.0 }
        }
    }

    /// The margin of the row's scores with a tile.
    #[inline(always)]
    pub fn margin(self, TileBound([per_length, per_error, per_square, rest]): TileBound) -> f32 {
        let by_length = multiply_add(self.whole, per_square, per_length);
        let by_error = multiply_add(self.error, per_square, per_error);
        multiply_add(self.whole, by_length, multiply_add(self.error, by_error, rest))
    }
}
