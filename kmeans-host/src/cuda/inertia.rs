//! Inertia, exact: from the sums, without looking at the points again (`kmeans_core::launch::INERTIA_SUMS`).
//!
//! Σ w·|x − c|² = Σ w·|x|² + Σₖ (Wₖ·|cₖ|² − 2·cₖ·Sₖ). The first sum is made once per set of points, the second on the
//! device in every round, as limbs that the host adds and rounds.

use std::cell::{Cell, OnceCell};

use kmeans_core::Scalar;
use kmeans_core::exact::ExactSum;
use kmeans_core::fixed::{ExponentRange, ceil_log2};
use kmeans_core::launch;
use kmeans_core::scalar::decode;
use ndarray::ArrayView2;
use rayon::prelude::*;

use super::Number;
use super::driver::{Arg, Array, Incoming, read, write, write_as};
use super::job::Data;
use super::sums::{Sums, exact};
use crate::Error;
use crate::points::Facts;

/// Limbs for sums of numbers of `range`.
pub struct Limbs {
    pub exponent: i32,
    pub words: usize,
}

impl Limbs {
    pub fn for_sums(range: ExponentRange, terms: u64) -> Self {
        if range.is_zero() {
            return Self { exponent: 0, words: 3 };
        }
        // One limb more than the bits fill, since `low` need not fall on a limb, and one for the sign.
        let words = (range.span() + ceil_log2(terms)) as usize / 32 + 2;
        // One or two words mean integers of 64 and 128 bits.
        Self { exponent: range.low, words: words.max(3) }
    }

    /// Makes room for numbers below 2^`high`.
    pub fn reach(mut self, high: i32) -> Self {
        let words = (high - self.exponent).max(0) as usize / 32 + 2;
        self.words = self.words.max(words);
        self
    }

    /// The same with a unit that is a whole number of limbs below 2^`exponent`, which is not below the unit.
    pub fn below(self, exponent: i32) -> Self {
        let apart = exponent - self.exponent;
        Self { exponent: exponent - (apart + 31).div_euclid(32) * 32, words: self.words + 1 }
    }

    /// Whether the kernels for few limbs do.
    pub fn are_few(&self) -> bool {
        self.words <= launch::INERTIA_FEW as usize
    }
}

/// Values of centroids that a thread looks at.
const TOGETHER: usize = 1 << 15;
/// The least magnitude but zero, and the greatest, of no values.
const NONE: (f64, f64) = (f64::INFINITY, 0.0);

/// A range that covers the exponents of starting centroids, for inertias of points with these facts.
///
/// Starts are nearly always points or means of points. Where their magnitudes alone say that their exponents are among those that
/// means may have, whose range the inertia has room for anyway, nothing is gained by the bits of each value.
pub fn start_range<T: Scalar>(facts: &Facts, centroids: ArrayView2<'_, T>) -> ExponentRange {
    let means = means_range::<T>(facts);
    let wider = |(least, most): (f64, f64), value: T| {
        let magnitude = value.to_f64().abs();
        (if magnitude > 0.0 { magnitude.min(least) } else { least }, magnitude.max(most))
    };
    let of = |values: &[T]| values.iter().copied().fold(NONE, wider);
    let (least, most) = match centroids.to_slice() {
        Some(all) if all.len() > TOGETHER => {
            let both = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
            all.par_chunks(TOGETHER).map(of).reduce(|| NONE, both)
        }
        _ => centroids.iter().copied().fold(NONE, wider),
    };
    if most > 0.0 {
        let low = (ExponentRange::of(least).high - T::DIGITS).max(T::MIN_EXPONENT);
        let rough = ExponentRange { low, high: ExponentRange::of(most).high };
        if means.low <= rough.low && rough.high <= means.high {
            return rough;
        }
    }
    centroids.iter().fold(ExponentRange::ZERO, |range, c| range.union(ExponentRange::of(c.to_f64())))
}

/// The range of the exponents of means of values of `range`, rounded to `T`.
pub fn means_range<T: Scalar>(facts: &Facts) -> ExponentRange {
    let range = facts.range;
    if range.is_zero() {
        return range;
    }
    // A mean that is not zero is at least the unit of the weighted sums over the total weight, and rounding keeps DIGITS
    // bits of it, or those down to the smallest value of the type.
    let weights = facts.weight_range;
    let total = weights.high + ceil_log2(facts.n as u64);
    let low = (range.low + weights.low - total - T::DIGITS).max(T::MIN_EXPONENT);
    ExponentRange { low: low.min(range.low), high: range.high + 1 }
}

/// Computes inertias of one set of points.
pub struct Inertia {
    /// Σ w·|x|², once it is on the host.
    squares: OnceCell<ExactSum>,
    coming: Cell<Option<SquareSum>>,
    limbs: Limbs,
}

/// Σ w·|x|² on its way to the host.
struct SquareSum {
    limbs: Incoming<u64>,
    exponent: i32,
}

impl SquareSum {
    fn wait(self) -> Result<ExactSum, Error> {
        Ok(exact(&self.limbs.wait()?, self.exponent))
    }
}

impl Inertia {
    /// For `sums`, and centroids that are means of the points or of the range of a start.
    pub fn new<T: Number>(data: &Data<'_, T>, sums: &Sums, start: ExponentRange) -> Result<Self, Error> {
        let facts = data.facts;
        let centroids = means_range::<T>(facts).union(start);
        let products = centroids.product(centroids.union(facts.range));
        let weighted = products.product(facts.weight_range);
        // The factor 2 of the mixed products takes a bit.
        let terms = (facts.n as u64).saturating_mul(4).saturating_mul(facts.d as u64);
        let mut limbs = Limbs::for_sums(weighted, terms);
        // The limbs of a sum, and of a total weight, may be larger than what they hold.
        let [points, weights] = sums.reach();
        if !centroids.is_zero() {
            limbs = limbs.reach(points + centroids.high.max(0) + 2).reach(weights + 2 * centroids.high.max(0) + 2);
        }
        // Nobody needs to wait for it before the first inertia is rounded.
        let squares = data.known.squares.clone();
        let coming = if squares.get().is_some() { None } else { Some(square_sum(data, true)?) };
        Ok(Self { squares, coming: Cell::new(coming), limbs })
    }

    /// Words of the limbs that [`launch`](Self::launch) adds to.
    pub fn words(&self) -> usize {
        self.limbs.words
    }

    /// Adds to limbs, which are zero before and lie in `record` from word `at` on.
    pub fn launch<T: Number>(
        &self,
        data: &Data<'_, T>,
        sums: &Sums,
        centroids: &Array<T>,
        record: &mut Array<u64>,
        at: usize,
    ) -> Result<(), Error> {
        let k = (centroids.len() / data.facts.d) as u32;
        let limbs = write_as::<u64>(record, at..at + self.limbs.words);
        self.launch_sets(data, sums.arguments(), read(centroids), limbs, k, 1)
    }

    /// The same for `sets` sets of sums and centroids, one after the other.
    pub fn launch_sets<T: Number>(
        &self,
        data: &Data<'_, T>,
        (sums, formats): ([Arg<'_>; 3], [Arg<'_>; 4]),
        centroids: Arg<'_>,
        limbs: Arg<'_>,
        k: u32,
        sets: u32,
    ) -> Result<(), Error> {
        let ([sums, counts, totals], d) = (sums, data.d());
        let [sum_exponent, sum_words, total_exponent, total_words] = formats;
        let arguments = [
            sums,
            counts,
            totals,
            centroids,
            limbs,
            sum_exponent,
            sum_words,
            total_exponent,
            total_words,
            data.weighted(),
            Arg::I32(self.limbs.exponent),
            Arg::U32(self.limbs.words as u32),
            Arg::U32(k),
            Arg::U32(d),
        ];
        let kernel = if self.limbs.are_few() { &launch::INERTIA_SUMS } else { &launch::INERTIA_SUMS_MANY };
        data.launch(kernel, launch::inertia_sums(k, d, sets), &arguments)
    }

    /// The inertia, once the limbs are on the host.
    pub fn round<T: Number>(&self, data: &Data<'_, T>, limbs: &[u64]) -> Result<f64, Error> {
        if let Some(coming) = self.coming.take() {
            let squares = coming.wait()?;
            data.known.squares.get_or_init(|| squares.clone());
            self.squares.get_or_init(|| squares);
        }
        let mut total = exact(limbs, self.limbs.exponent);
        total.merge(self.squares.get().expect("waited for"));
        Ok(total.to_f64())
    }

    /// The inertia of `sums` and `centroids` by itself.
    pub fn of<T: Number>(&self, data: &Data<'_, T>, sums: &Sums, centroids: &Array<T>) -> Result<f64, Error> {
        let mut limbs = data.stream.zeros(self.limbs.words)?;
        self.launch(data, sums, centroids, &mut limbs, 0)?;
        self.round(data, &data.stream.download(&limbs, self.limbs.words)?)
    }
}

/// Σ w·|x|² over all points, made once.
fn squares<T: Number>(data: &Data<'_, T>) -> Result<ExactSum, Error> {
    if let Some(squares) = data.known.squares.get() {
        return Ok(squares.clone());
    }
    let squares = square_sum(data, true)?.wait()?;
    Ok(data.known.squares.get_or_init(|| squares).clone())
}

/// Begins Σ w·|x|² over all points; with `weighted` false, Σ |x|².
fn square_sum<T: Number>(data: &Data<'_, T>, weighted: bool) -> Result<SquareSum, Error> {
    let facts = data.facts;
    let weighted = weighted && facts.weights.is_some();
    let mut range = facts.range.product(facts.range);
    if weighted {
        range = range.product(facts.weight_range);
    }
    let (n, d) = (data.n(), data.d());
    let limbs = Limbs::for_sums(range, n * d as u64);
    let terms = launch::square_sum_terms(n, d);
    let narrow = !weighted && range.span() + ceil_log2(terms) <= 126;
    let mut sum = data.stream.zeros(limbs.words)?;
    let arguments = [
        data.points.arg(),
        read(&data.weights),
        write(&mut sum),
        Arg::I32(limbs.exponent),
        Arg::U32(limbs.words as u32),
        Arg::U32(weighted as u32),
        Arg::U32(narrow as u32),
        Arg::U64(n),
        Arg::U32(d),
    ];
    let kernel = if limbs.are_few() { &launch::SQUARE_SUM } else { &launch::SQUARE_SUM_MANY };
    data.launch(kernel, launch::square_sum(n, d), &arguments)?;
    Ok(SquareSum { limbs: data.stream.fetch(&sum)?, exponent: limbs.exponent })
}

/// [`kmeans_core::reference::mean_variance`].
pub fn mean_variance<T: Number>(data: &Data<'_, T>) -> Result<f64, Error> {
    if let Some(&variance) = data.known.variance.get() {
        return Ok(variance);
    }
    let (n, d) = (data.facts.n, data.facts.d);
    // The sums of columns are those of one cluster that has all points; the variance knows no weights.
    let labels = data.stream.zeros(n)?;
    let mut sums = Sums::unweighted(data, 1)?;
    sums.add_up(data, &labels)?;
    let count = ExactSum::from_count(n as u64);
    let mut scatter = if data.facts.weights.is_some() { square_sum(data, false)?.wait()? } else { squares(data)? };
    for sum in sums.sums_of(data, 0)? {
        // Σ (v − m)² = Σ v² − 2·m·Σ v + n·m²
        let mean: f64 = sum.divide(&count);
        let (significand, exponent) = decode(mean);
        let (limbs, base) = sum.limbs();
        scatter.add_scaled(limbs, base, -2 * significand, exponent);
        scatter.add_triple(n as f64, mean, mean);
    }
    Ok(*data.known.variance.get_or_init(|| scatter.to_f64() / (n as f64 * d as f64)))
}

#[cfg(test)]
mod tests {
    use half::bf16;
    use ndarray::Array2;

    use super::*;

    /// The inertia of a start has the room that its exact exponents ask for, and no more.
    fn check<T: Scalar>(points: &Array2<T>, start: &Array2<T>) {
        let of = |values: &Array2<T>| {
            values.iter().fold(ExponentRange::ZERO, |range, c| range.union(ExponentRange::of(c.to_f64())))
        };
        let facts = Facts { range: of(points), ..Facts::new(points.dim(), None).unwrap() };
        let means = means_range::<T>(&facts);
        let (found, exact) = (means.union(start_range(&facts, start.view())), means.union(of(start)));
        assert_eq!((found.low, found.high), (exact.low, exact.high), "{} {:?}", T::NAME, start.dim());
    }

    #[test]
    fn starts_within_and_outside_the_range_of_means() {
        let values = |len: usize, scale: f64| (0..len).map(|i| ((i * 7919 % 1009) as f64 - 504.0) * scale).collect();
        for (rows, columns) in [(3, 5), (300, 130)] {
            for scale in [1.0, 1e-30, 1e30, 0.0, f64::from(f32::MIN_POSITIVE) / 4.0] {
                let start: Vec<f64> = values(rows * columns, scale);
                let start = Array2::from_shape_vec((rows, columns), start).unwrap();
                let points = Array2::from_shape_vec((1000, 4), values(4000, 1.0 / 1024.0)).unwrap();
                check::<f64>(&points, &start);
                check::<f32>(&points.mapv(|v| v as f32), &start.mapv(|v| v as f32));
                check::<bf16>(&points.mapv(bf16::from_f64), &start.mapv(bf16::from_f64));
                // Points among themselves, and none but zeros.
                check::<f32>(&start.mapv(|v| v as f32), &start.mapv(|v| v as f32));
                check::<f32>(&Array2::zeros((9, 2)), &start.mapv(|v| v as f32));
            }
        }
    }
}
