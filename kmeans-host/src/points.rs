//! Points and weights, checked once and read in place.

use std::ops::Range;

use kmeans_core::Scalar;
use kmeans_core::fixed::{ExponentRange, ceil_log2};
use kmeans_core::scalar::power_of_two;
use ndarray::{Array2, ArrayView2, Axis};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::Error;

/// Squared distances stay in the range of `f64` while magnitudes are below 2^this, less what rows and columns add.
const LARGEST_EXPONENT: i32 = 1021;
/// The largest magnitude must reach 2^this, or squared differences would be rounded to zero.
const SMALLEST_EXPONENT: i32 = -500;

/// Weights that a thread looks at in one go.
const TOGETHER: usize = 1 << 14;

/// What engines need to know of points, `[n, d]`, wherever these lie.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Points.
    pub n: usize,
    /// Columns.
    pub d: usize,
    /// One weight per point, or 1 for each.
    pub weights: Option<Vec<f64>>,
    /// The exponents of all values.
    pub range: ExponentRange,
    /// The exponents of all weights; of 1 if there are none.
    pub weight_range: ExponentRange,
}

impl Facts {
    /// Checks `weights`; the points' exponents are yet to be found.
    pub fn new((n, d): (usize, usize), weights: Option<Vec<f64>>) -> Result<Self, Error> {
        if d == 0 {
            return Err(Error::NoColumns);
        }
        let weight_range = check_weights(weights.as_deref(), n)?;
        Ok(Self { n, d, weights, range: ExponentRange::ZERO, weight_range })
    }

    /// Every magnitude, of points and centroids, must be below this: Σᵢ wᵢ·D(xᵢ, c) < n · max w · d · (2·limit)² must
    /// stay in the range of `f64`.
    pub fn limit(&self) -> f64 {
        power_of_two(self.limit_exponent())
    }

    fn limit_exponent(&self) -> i32 {
        let spare = ceil_log2(self.n as u64) + ceil_log2(self.d as u64) + self.weight_range.high.max(1);
        (LARGEST_EXPONENT - spare).div_euclid(2)
    }

    /// Whether some magnitude is at or above [`limit`](Self::limit).
    pub fn is_too_large(&self) -> bool {
        !self.range.is_zero() && self.range.high > self.limit_exponent()
    }

    /// Whether all squared differences would be rounded to zero.
    pub fn is_too_small(&self) -> bool {
        !self.range.is_zero() && self.range.high <= SMALLEST_EXPONENT
    }
}

/// The smallest magnitude that the largest value of points to fit may have.
pub fn smallest_limit() -> f64 {
    power_of_two(SMALLEST_EXPONENT)
}

/// Points whose coordinates are bytes, at most 4 of them: of every `pitch` bytes the first `columns`.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    bytes: &'a [u8],
    pitch: usize,
    columns: usize,
}

impl<'a> Bytes<'a> {
    /// The exponents of numbers from 0 to 255.
    const RANGE: ExponentRange = ExponentRange { low: 0, high: 8 };

    /// Columns that a pixel may have, and that a GPU keeps in registers.
    const MOST_COLUMNS: usize = 4;

    /// Whole rows of 1 to 4 columns.
    pub fn new(bytes: &'a [u8], pitch: usize, columns: usize) -> Self {
        assert!(bytes.len().is_multiple_of(pitch), "bytes are whole rows");
        assert!((1..=pitch.min(Self::MOST_COLUMNS)).contains(&columns), "rows have 1 to 4 columns");
        Self { bytes, pitch, columns }
    }

    /// The shape, `(n, d)`.
    pub fn dim(&self) -> (usize, usize) {
        (self.bytes.len() / self.pitch, self.columns)
    }

    /// All bytes, if they are the points' and nothing else.
    pub fn packed(&self) -> Option<&'a [u8]> {
        (self.columns == self.pitch).then_some(self.bytes)
    }

    /// One row.
    pub fn row(&self, i: usize) -> &'a [u8] {
        &self.bytes[i * self.pitch..][..self.columns]
    }
}

/// How points lie in memory.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a, T> {
    /// As an array of any layout.
    View(ArrayView2<'a, T>),
    /// As bytes, read as numbers from 0 to 255.
    Bytes(Bytes<'a>),
}

impl<T: Scalar> Source<'_, T> {
    fn dim(&self) -> (usize, usize) {
        match self {
            Self::View(view) => view.dim(),
            Self::Bytes(bytes) => bytes.dim(),
        }
    }
}

/// Checked points, `[n, d]`, with optional weights: every value finite and of a magnitude whose squares `f64` can hold.
pub struct Points<'a, T> {
    source: Source<'a, T>,
    facts: Facts,
}

impl<'a, T: Scalar> Points<'a, T> {
    /// Points to fit: checks `view` and `weights`, and that squares are in range.
    pub fn to_fit(view: ArrayView2<'a, T>, weights: Option<Vec<f64>>) -> Result<Self, Error> {
        let points = Self::to_label(view, weights)?;
        if points.facts.is_too_small() {
            let largest = view.iter().map(|v| v.to_f64().abs()).fold(0.0, f64::max);
            return Err(Error::ValuesTooSmall { largest, limit: smallest_limit() });
        }
        Ok(points)
    }

    /// Points to compare with given centroids: as [`to_fit`](Self::to_fit), but they may all be tiny.
    pub fn to_label(view: ArrayView2<'a, T>, weights: Option<Vec<f64>>) -> Result<Self, Error> {
        let points = Self::new(view, weights)?;
        points.check_not_too_large(view)?;
        Ok(points)
    }

    /// Points of any magnitude, such as some of those that were checked before.
    pub fn new(view: ArrayView2<'a, T>, weights: Option<Vec<f64>>) -> Result<Self, Error> {
        let mut points = Self { source: Source::View(view), facts: Facts::new(view.dim(), weights)? };
        points.facts.range = points.scan(view)?;
        Ok(points)
    }

    /// Points of which everything is known.
    pub fn of(view: ArrayView2<'a, T>, facts: Facts) -> Self {
        debug_assert_eq!(view.dim(), (facts.n, facts.d));
        Self { source: Source::View(view), facts }
    }

    /// Points that are bytes, which are never too large; checks `weights`.
    pub fn of_bytes(bytes: Bytes<'a>, weights: Option<Vec<f64>>) -> Result<Self, Error> {
        let facts = Facts { range: Bytes::RANGE, ..Facts::new(bytes.dim(), weights)? };
        Ok(Self { source: Source::Bytes(bytes), facts })
    }

    pub fn n(&self) -> usize {
        self.source.dim().0
    }

    pub fn d(&self) -> usize {
        self.source.dim().1
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    pub fn source(&self) -> Source<'a, T> {
        self.source
    }

    pub fn weights(&self) -> Option<&[f64]> {
        self.facts.weights.as_deref()
    }

    pub fn weight(&self, i: usize) -> f64 {
        self.facts.weights.as_ref().map_or(1.0, |w| w[i])
    }

    /// The exponents of all values.
    pub fn range(&self) -> ExponentRange {
        self.facts.range
    }

    /// The exponents of all weights; of 1 if there are none.
    pub fn weight_range(&self) -> ExponentRange {
        self.facts.weight_range
    }

    /// Rows per block: about 64 KiB, so that a block stays in a core's cache. Depends on d alone, so that every thread
    /// count cuts the same blocks.
    pub fn block_rows(&self) -> usize {
        block_rows::<T>(self.d())
    }

    /// The ranges of rows of all blocks.
    pub fn blocks(&self) -> impl IndexedParallelIterator<Item = Range<usize>> + use<T> {
        let (n, step) = (self.n(), self.block_rows());
        (0..n.div_ceil(step)).into_par_iter().map(move |b| b * step..n.min((b + 1) * step))
    }

    /// The rows of `range`, row-major: in place where memory is laid out so, else copied to `scratch`.
    pub fn rows<'s>(&'s self, range: Range<usize>, scratch: &'s mut Vec<T>) -> &'s [T] {
        let d = self.d();
        scratch.clear();
        match self.source {
            Source::View(view) => {
                if let Some(all) = view.to_slice() {
                    return &all[range.start * d..range.end * d];
                }
                for row in view.slice(ndarray::s![range, ..]).rows() {
                    match row.to_slice() {
                        Some(row) => scratch.extend_from_slice(row),
                        None => scratch.extend(row.iter().copied()),
                    }
                }
            }
            Source::Bytes(bytes) => {
                match bytes.packed() {
                    Some(all) => scratch
                        .extend(all[range.start * d..range.end * d].iter().map(|&byte| T::from_f64(f64::from(byte)))),
                    None => range
                        .for_each(|i| scratch.extend(bytes.row(i).iter().map(|&byte| T::from_f64(f64::from(byte))))),
                }
            }
        }
        scratch
    }

    /// One row, copied.
    pub fn row(&self, i: usize) -> Vec<T> {
        let mut row = Vec::with_capacity(self.d());
        self.append_row(i, &mut row);
        row
    }

    /// Appends one row to `out`.
    pub fn append_row(&self, i: usize, out: &mut Vec<T>) {
        match self.source {
            Source::View(view) => out.extend(view.row(i)),
            Source::Bytes(bytes) => out.extend(bytes.row(i).iter().map(|&byte| T::from_f64(f64::from(byte)))),
        }
    }

    /// Some rows, in the order given.
    pub fn select(&self, rows: &[usize]) -> Array2<T> {
        match self.source {
            Source::View(view) => view.select(Axis(0), rows),
            Source::Bytes(_) => {
                let mut values = Vec::with_capacity(rows.len() * self.d());
                for &row in rows {
                    self.append_row(row, &mut values);
                }
                Array2::from_shape_vec((rows.len(), self.d()), values).expect("d values per row")
            }
        }
    }

    /// The exponents of all values, or where the first one is that is not finite.
    fn scan(&self, view: ArrayView2<'_, T>) -> Result<ExponentRange, Error> {
        let arch = Arch::new();
        let found = self
            .blocks()
            .map_init(Vec::new, |scratch, rows| arch.dispatch(Exponents(self.rows(rows.clone(), scratch))).ok_or(rows))
            .try_reduce(|| ExponentRange::ZERO, |a, b| Ok(a.union(b)));
        let Err(mut rows) = found else { return Ok(found.unwrap_or(ExponentRange::ZERO)) };
        // Blocks end in any order: the first bad row is looked for from the start of the data.
        rows.start = 0;
        for (row, values) in view.slice(ndarray::s![rows, ..]).rows().into_iter().enumerate() {
            if let Some(column) = values.iter().position(|v| !v.to_f64().is_finite()) {
                return Err(Error::NonFinite { row, column, value: values[column].to_f64() });
            }
        }
        unreachable!("a block with a value that is not finite was found above")
    }

    fn check_not_too_large(&self, view: ArrayView2<'_, T>) -> Result<(), Error> {
        if !self.facts.is_too_large() {
            return Ok(());
        }
        let ((row, column), value) = view
            .indexed_iter()
            .map(|(at, v)| (at, v.to_f64()))
            .fold(((0, 0), 0.0_f64), |best, (at, v)| if v.abs() > best.1.abs() { (at, v) } else { best });
        Err(Error::ValuesTooLarge { row, column, value, limit: self.facts.limit() })
    }
}

/// Rows per block for `d` columns of `T`.
fn block_rows<T>(d: usize) -> usize {
    ((64 << 10) / (d * size_of::<T>())).clamp(32, 4096).next_multiple_of(32)
}

fn check_weights(weights: Option<&[f64]>, n: usize) -> Result<ExponentRange, Error> {
    let Some(weights) = weights else { return Ok(ExponentRange::of(1.0)) };
    if weights.len() != n {
        return Err(Error::WeightCount { expected: n, found: weights.len() });
    }
    if let Some(index) = weights.par_iter().with_min_len(TOGETHER).position_first(|w| !(w.is_finite() && *w >= 0.0)) {
        return Err(Error::BadWeight { index, value: weights[index] });
    }
    let range_of = |weights: &[f64]| weights.iter().fold(ExponentRange::ZERO, |r, &w| r.union(ExponentRange::of(w)));
    let range = weights.par_chunks(TOGETHER).map(range_of).reduce(|| ExponentRange::ZERO, ExponentRange::union);
    if range.is_zero() { Err(Error::ZeroWeights) } else { Ok(range) }
}

/// The exponents of `values`; `None` if one is not finite.
struct Exponents<'a, T>(&'a [T]);

impl<T: Scalar> WithSimd for Exponents<'_, T> {
    type Output = Option<ExponentRange>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Option<ExponentRange> {
        if T::DIGITS <= 24 { exponents_f32(self.0) } else { exponents_f64(self.0) }
    }
}

fn exponents_f64<T: Scalar>(values: &[T]) -> Option<ExponentRange> {
    let mut range = ExponentRange::ZERO;
    for v in values {
        let v = v.to_f64();
        if !v.is_finite() {
            return None;
        }
        range = range.union(ExponentRange::of(v));
    }
    Some(range)
}

/// For types whose values are `f32` values: on their bits, without branches, so that it vectorises.
#[inline(always)]
fn exponents_f32<T: Scalar>(values: &[T]) -> Option<ExponentRange> {
    const INFINITY: u32 = 0x7f80_0000;
    let (mut largest, mut low) = (0_u32, i32::MAX);
    for v in values {
        let magnitude = v.to_f32().to_bits() & 0x7fff_ffff;
        largest = largest.max(magnitude);
        // The significand as an integer, in units of 2^(biased − 150).
        let biased = (magnitude >> 23).max(1);
        let significand = (magnitude & 0x007f_ffff) | if magnitude >> 23 > 0 { 1 << 23 } else { 0 };
        // Its lowest set bit is a power of two, whose exponent a conversion to f32 reads off.
        let lowest = (significand & significand.wrapping_neg()) as i32 as f32;
        let exponent = (lowest.to_bits() >> 23) as i32 - 127 + biased as i32 - 150;
        low = low.min(if significand == 0 { i32::MAX } else { exponent });
    }
    if largest >= INFINITY {
        return None;
    }
    let high = ExponentRange::of(f32::from_bits(largest) as f64).high;
    Some(ExponentRange { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_on_bits_are_those_of_the_values() {
        let special = [0.0, -0.0, 1.0, -3.0, f32::MAX, f32::MIN_POSITIVE, 1e-45, -7e-42, 0.1, 1e-30, 65536.0];
        for a in special {
            for b in special {
                assert_eq!(exponents_f32(&[a, b]), exponents_f64(&[a, b]), "{a:e} {b:e}");
            }
        }
        assert_eq!(exponents_f32(&[1.0, f32::NAN]), None);
        assert_eq!(exponents_f32(&[f32::NEG_INFINITY]), None);
    }
}
