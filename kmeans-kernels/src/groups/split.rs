//! Numbers as tensor cores multiply them: 16-bit ones as they are, `f32` less a centre as the sum of two bf16.
//!
//! Two bf16 have 16 digits together, so the label is open for few rows only; and they reach as far as `f32`, so that nothing
//! has to be scaled.

use half::{bf16, f16};

use crate::device::{Half, In, Number, pair_to_bf16};
use crate::distance::element;

/// Neighbouring values that a lane has of a row.
pub(crate) const PIECE: u32 = 4;

/// Four values in two words: the first two in the first, the first of those in the lower half.
pub(crate) type Pairs = [u32; 2];

/// A type of points whose products tensor cores find.
pub trait Split: Number {
    /// What they multiply.
    type Half: Half;
    /// Whether a number is the sum of two of those, else it is one.
    const IS_SPLIT: bool;

    /// The parts of four numbers less a centre, the larger ones first. Where numbers are not split, there is no centre.
    fn parts(values: [Self; 4], centre: [f32; 4]) -> [Pairs; 2];
}

impl Split for f32 {
    type Half = bf16;
    const IS_SPLIT: bool = true;

    #[inline(always)]
    fn parts(values: [f32; 4], centre: [f32; 4]) -> [Pairs; 2] {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| values[i] - centre[i]);
        let high = [pair_to_bf16(a, b), pair_to_bf16(c, d)];
        // A bf16 is the upper half of an f32; what it leaves of the number is an f32.
        let lower = |pair: u32| f32::from_bits(pair << 16);
        let upper = |pair: u32| f32::from_bits(pair & 0xffff_0000);
        let low = [
            pair_to_bf16(a - lower(high[0]), b - upper(high[0])),
            pair_to_bf16(c - lower(high[1]), d - upper(high[1])),
        ];
        [high, low]
    }
}

/// Two 16-bit numbers in a word.
#[inline(always)]
fn pair<T: Number>(low: T, high: T) -> u32 {
    (high.to_raw() as u32) << 16 | low.to_raw() as u32
}

impl Split for f16 {
    type Half = Self;
    const IS_SPLIT: bool = false;

    #[inline(always)]
    fn parts([a, b, c, d]: [f16; 4], _: [f32; 4]) -> [Pairs; 2] {
        [[pair(a, b), pair(c, d)], [0; 2]]
    }
}

impl Split for bf16 {
    type Half = Self;
    const IS_SPLIT: bool = false;

    #[inline(always)]
    fn parts([a, b, c, d]: [bf16; 4], _: [f32; 4]) -> [Pairs; 2] {
        [[pair(a, b), pair(c, d)], [0; 2]]
    }
}

/// Rows of which pieces are read.
#[derive(Clone, Copy)]
pub(crate) struct Pieces<'a, T> {
    elements: In<'a, T>,
    d: u32,
}

impl<'a, T: Number> Pieces<'a, T> {
    /// Rows of `d` columns.
    #[inline(always)]
    pub fn new(elements: In<'a, T>, d: u32) -> Self {
        Self { elements, d }
    }

    /// Whether rows consist of whole pieces, so that those can be read at once.
    #[inline(always)]
    pub fn are_whole(self) -> bool {
        self.d.is_multiple_of(PIECE)
    }

    /// The piece that begins at element `at`, as it lies in memory. Rows are `whole` or not.
    #[inline(always)]
    pub fn read(self, at: u64, whole: bool) -> [u32; 4] {
        self.gather(at, whole, |_| true)
    }

    /// The same with zeros beyond the end of a row, where the piece begins at `column` of the row.
    #[inline(always)]
    pub fn read_within(self, at: u64, column: u32, whole: bool) -> [u32; 4] {
        self.gather(at, whole, |i| column + i < self.d)
    }

    #[inline(always)]
    fn gather(self, at: u64, whole: bool, is_there: impl Fn(u32) -> bool) -> [u32; 4] {
        if whole {
            return match (is_there(0), T::SIZE) {
                (false, _) => [0; 4],
                (true, 4) => self.elements.get16(at),
                (true, _) => {
                    let [a, b] = self.elements.get8(at);
                    [a, b, 0, 0]
                }
            };
        }
        let value = |i: u32| if is_there(i) { self.elements.get(at + i as u64).to_raw() as u32 } else { 0 };
        let [a, b, c, d] = [0, 1, 2, 3].map(value);
        if T::SIZE == 4 { [a, b, c, d] } else { [b << 16 | a, d << 16 | c, 0, 0] }
    }

    /// The values of a piece.
    #[inline(always)]
    pub fn values(words: [u32; 4]) -> [T; 4] {
        [0, 1, 2, 3].map(|i| element::<T>(words, i))
    }
}
