//! The exact sums of each cluster: coordinates, weights, counts.

use kmeans_core::Scalar;
use kmeans_core::exact::{ExactSum, accumulate, carry, quotient, quotient_by_count};
use kmeans_core::fixed::{FixedPoint, Width};
use kmeans_core::scalar::power_of_two;

use crate::points::Points;

/// One row added to or taken from a cluster's sums.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

/// Limbs must be carried before they can have taken this many additions.
const CARRY_AFTER: u32 = 1 << 28;

/// A matrix [k, columns] of exact sums, in the narrowest integers that hold them.
#[derive(Clone)]
pub(crate) struct Sums {
    format: FixedPoint,
    columns: usize,
    values: Values,
}

#[derive(Clone)]
enum Values {
    I64(Vec<i64>),
    I128(Vec<i128>),
    /// `per` limbs for each sum; `pending` additions since they were carried.
    Limbs {
        limbs: Vec<i64>,
        per: usize,
        pending: u32,
    },
}

impl Sums {
    pub fn new(format: FixedPoint, k: usize, columns: usize) -> Self {
        let size = k * columns;
        let values = match format.width {
            Width::I64 => Values::I64(vec![0; size]),
            Width::I128 => Values::I128(vec![0; size]),
            Width::Limbs(per) => Values::Limbs { limbs: vec![0; size * per], per, pending: 0 },
        };
        Self { format, columns, values }
    }

    /// Adds `row` (times `weight`) to the sums of cluster `k`, or takes it away.
    #[inline(always)]
    pub fn add<T: Scalar>(&mut self, k: usize, row: &[T], weight: Option<f64>, sign: Sign) {
        let format = self.format;
        let at = k * self.columns..(k + 1) * self.columns;
        match (&mut self.values, weight) {
            (Values::I64(sums), None) => add_i64(&mut sums[at], row, format.factor(), sign),
            (Values::I64(sums), Some(w)) => {
                for (sum, x) in sums[at].iter_mut().zip(row) {
                    // The product is one of the format's range, so it fits.
                    let value = format.product_to_i128(w, x.to_f64()) as i64;
                    *sum = sum.wrapping_add(if sign == Sign::Plus { value } else { -value });
                }
            }
            (Values::I128(sums), _) => {
                for (sum, x) in sums[at].iter_mut().zip(row) {
                    let value = match weight {
                        None => format.to_i128(x.to_f64()),
                        Some(w) => format.product_to_i128(w, x.to_f64()),
                    };
                    *sum = sum.wrapping_add(if sign == Sign::Plus { value } else { -value });
                }
            }
            (Values::Limbs { limbs, per, pending }, _) => {
                if *pending == CARRY_AFTER {
                    limbs.chunks_exact_mut(*per).for_each(carry);
                    *pending = 0;
                }
                *pending += 1;
                let limbs = &mut limbs[at.start * *per..at.end * *per];
                for (sum, x) in limbs.chunks_exact_mut(*per).zip(row) {
                    let (value, exponent) = product(weight.unwrap_or(1.0), x.to_f64());
                    if value != 0 {
                        let value = if sign == Sign::Plus { value } else { -value };
                        accumulate(sum, format.exponent, value, exponent);
                    }
                }
            }
        }
    }

    /// Adds another matrix of the same shape and format, and leaves that one zero.
    pub fn drain(&mut self, other: &mut Self) {
        match (&mut self.values, &mut other.values) {
            (Values::I64(a), Values::I64(b)) => drain(a, b, i64::wrapping_add),
            (Values::I128(a), Values::I128(b)) => drain(a, b, i128::wrapping_add),
            (Values::Limbs { limbs: a, per, pending }, Values::Limbs { limbs: b, pending: other, .. }) => {
                a.chunks_exact_mut(*per).for_each(carry);
                b.chunks_exact_mut(*per).for_each(carry);
                (*pending, *other) = (2, 0);
                drain(a, b, |a, b| a + b);
            }
            _ => unreachable!("both matrices were made for the same format"),
        }
    }

    /// Adds the only cluster of `other`, of the same format, to cluster `k`.
    pub fn add_cluster(&mut self, k: usize, other: &Self) {
        let at = k * self.columns..(k + 1) * self.columns;
        match (&mut self.values, &other.values) {
            (Values::I64(a), Values::I64(b)) => add_all(&mut a[at], b, i64::wrapping_add),
            (Values::I128(a), Values::I128(b)) => add_all(&mut a[at], b, i128::wrapping_add),
            (Values::Limbs { limbs: a, per, .. }, Values::Limbs { limbs: b, .. }) => {
                let a = &mut a[at.start * *per..at.end * *per];
                add_all(a, b, |a, b| a + b);
                a.chunks_exact_mut(*per).for_each(carry);
            }
            _ => unreachable!("both matrices were made for the same format"),
        }
    }

    /// Writes the rounded quotients of cluster `k` by `divisor`.
    pub fn divide<T: Scalar>(&self, k: usize, divisor: Divisor<'_>, out: &mut [T]) {
        let at = k * self.columns..(k + 1) * self.columns;
        let exponent = self.format.exponent;
        match (&self.values, divisor) {
            (Values::I64(sums), Divisor::Count(count)) => {
                for (o, &sum) in out.iter_mut().zip(&sums[at]) {
                    *o = quick_quotient(sum as f64, exponent, count)
                        .unwrap_or_else(|| quotient_by_count(sum as i128, exponent, count));
                }
            }
            (Values::I128(sums), Divisor::Count(count)) => {
                for (o, &sum) in out.iter_mut().zip(&sums[at]) {
                    *o = quick_quotient(sum as f64, exponent, count)
                        .unwrap_or_else(|| quotient_by_count(sum, exponent, count));
                }
            }
            _ => {
                let (denominator, base) = divisor.limbs();
                for (j, o) in out.iter_mut().enumerate() {
                    let (numerator, exponent) = self.limbs(k, j);
                    *o = quotient((&numerator, exponent), (&denominator, base));
                }
            }
        }
    }

    /// The sum of cluster `k` in column `j` as limbs (see [`accumulate`]) with their base exponent, carried.
    pub fn limbs(&self, k: usize, j: usize) -> (Vec<i64>, i32) {
        let at = k * self.columns + j;
        let limbs = match &self.values {
            Values::I64(sums) => split(sums[at] as i128),
            Values::I128(sums) => split(sums[at]),
            Values::Limbs { limbs, per, .. } => {
                let mut limbs = limbs[at * per..(at + 1) * per].to_vec();
                carry(&mut limbs);
                limbs
            }
        };
        (limbs, self.format.exponent)
    }

    /// Adds 2^`shift` · `c` · sum of cluster `k` in column `j` to `total`.
    pub fn add_scaled_to(&self, total: &mut ExactSum, k: usize, j: usize, (significand, exponent): (i64, i32)) {
        let at = k * self.columns + j;
        let exponent = exponent + self.format.exponent;
        match &self.values {
            Values::I64(sums) => total.add_integer(sums[at] as i128 * significand as i128, exponent),
            Values::I128(sums) => {
                let (high, low) = (sums[at] >> 64, sums[at] as u64);
                total.add_integer(low as i128 * significand as i128, exponent);
                total.add_integer(high * significand as i128, exponent + 64);
            }
            Values::Limbs { .. } => {
                let (limbs, base) = self.limbs(k, j);
                total.add_scaled(&limbs, base, significand, exponent - self.format.exponent);
            }
        }
    }
}

/// What the sums of a cluster are divided by.
#[derive(Clone, Copy)]
pub(crate) enum Divisor<'a> {
    /// Its number of points.
    Count(u64),
    /// Its sum of weights: entry `k` of a matrix with one column.
    Weights(&'a Sums, usize),
}

impl Divisor<'_> {
    pub fn limbs(self) -> (Vec<i64>, i32) {
        match self {
            Self::Count(count) => (split(count as i128), 0),
            Self::Weights(sums, k) => sums.limbs(k, 0),
        }
    }
}

#[inline(always)]
fn add_i64<T: Scalar>(sums: &mut [i64], row: &[T], factor: f64, sign: Sign) {
    // Values of an I64 format are integers below 2^63 after scaling; below 2^51 an addition converts them, which
    // vectorises everywhere.
    const SHIFT: f64 = (3_i64 << 51) as f64;
    let factor = if sign == Sign::Plus { factor } else { -factor };
    for (sum, x) in sums.iter_mut().zip(row) {
        let scaled = x.to_f64() * factor;
        let value = if T::DIGITS <= 24 && scaled.abs() < (1_i64 << 51) as f64 {
            (scaled + SHIFT).to_bits().wrapping_sub(SHIFT.to_bits()) as i64
        } else {
            scaled as i64
        };
        *sum = sum.wrapping_add(value);
    }
}

fn drain<A: Copy + Default>(to: &mut [A], from: &mut [A], add: impl Fn(A, A) -> A) {
    for (a, b) in to.iter_mut().zip(from) {
        *a = add(*a, std::mem::take(b));
    }
}

fn add_all<A: Copy>(to: &mut [A], from: &[A], add: impl Fn(A, A) -> A) {
    for (a, b) in to.iter_mut().zip(from) {
        *a = add(*a, *b);
    }
}

/// a·b as an integer and an exponent, its low zero bits removed so that the exponent is at least the format's.
#[inline]
fn product(a: f64, b: f64) -> (i128, i32) {
    let ((ma, ea), (mb, eb)) = (kmeans_core::scalar::decode(a), kmeans_core::scalar::decode(b));
    let value = ma as i128 * mb as i128;
    let zeros = value.trailing_zeros() as i32;
    if value == 0 { (0, 0) } else { (value >> zeros, ea + eb + zeros) }
}

/// An integer as carried limbs.
fn split(value: i128) -> Vec<i64> {
    let mut limbs = vec![0; 5];
    accumulate(&mut limbs, 0, value, 0);
    carry(&mut limbs);
    limbs
}

/// `sum · 2^exponent / count` in `T` where two roundings in `f64` provably give what one rounding would.
///
/// The `f64` quotient is off by less than 2^−51 relative (three roundings of 2^−53). If both ends of that interval
/// round to the same `T`, so does the exact quotient, since rounding is monotone.
#[inline]
fn quick_quotient<T: Scalar>(sum: f64, exponent: i32, count: u64) -> Option<T> {
    const SLACK: f64 = 1.0 / (1_u64 << 51) as f64;
    if T::DIGITS > 24 || !(-900..900).contains(&exponent) {
        return None;
    }
    let quotient = sum / count as f64 * power_of_two(exponent);
    let (low, high) = (T::from_f64(quotient * (1.0 - SLACK)), T::from_f64(quotient * (1.0 + SLACK)));
    (low == high).then_some(low)
}

/// Everything that is summed per cluster.
#[derive(Clone)]
pub(crate) struct ClusterSums {
    /// Weighted coordinates, [k, d].
    pub coordinates: Sums,
    /// Weights, [k, 1]; none for an unweighted fit.
    pub weights: Option<Sums>,
    /// Points. In a partial sum the count may pass below zero and wraps.
    pub counts: Vec<u64>,
    /// Points of positive weight; none for an unweighted fit.
    members: Option<Vec<u64>>,
}

impl ClusterSums {
    pub fn new<T: Scalar>(points: &Points<'_, T>, k: usize) -> Self {
        Self::with_weights(points, k, points.weights().is_some())
    }

    /// As [`new`](Self::new), with the weights left out.
    pub fn unweighted<T: Scalar>(points: &Points<'_, T>, k: usize) -> Self {
        Self::with_weights(points, k, false)
    }

    fn with_weights<T: Scalar>(points: &Points<'_, T>, k: usize, weighted: bool) -> Self {
        let (n, range) = (points.n() as u64, points.range());
        let coordinates = if weighted { range.product(points.weight_range()) } else { range };
        Self {
            coordinates: Sums::new(FixedPoint::for_sums(coordinates, n), k, points.d()),
            weights: weighted.then(|| Sums::new(FixedPoint::for_sums(points.weight_range(), n), k, 1)),
            counts: vec![0; k],
            members: weighted.then(|| vec![0; k]),
        }
    }

    /// Bytes of one set of sums.
    pub fn bytes<T: Scalar>(points: &Points<'_, T>, k: usize) -> usize {
        let one = match ClusterSums::new(points, 0).coordinates.format.width {
            Width::I64 => 8,
            Width::I128 => 16,
            Width::Limbs(per) => 8 * per,
        };
        one * k * points.d()
    }

    /// Adds a row to cluster `k`, or takes it away; `weight` is given in a weighted fit.
    #[inline(always)]
    pub fn add<T: Scalar>(&mut self, k: usize, row: &[T], weight: Option<f64>, sign: Sign) {
        self.coordinates.add(k, row, weight, sign);
        let one = if sign == Sign::Plus { 1 } else { u64::MAX };
        self.counts[k] = self.counts[k].wrapping_add(one);
        if let (Some(w), Some(weights), Some(members)) = (weight, &mut self.weights, &mut self.members) {
            weights.add(k, &[w], None, sign);
            if w > 0.0 {
                members[k] = members[k].wrapping_add(one);
            }
        }
    }

    /// Adds `other` and leaves it zero.
    pub fn drain(&mut self, other: &mut Self) {
        self.coordinates.drain(&mut other.coordinates);
        drain(&mut self.counts, &mut other.counts, u64::wrapping_add);
        if let (Some(a), Some(b)) = (&mut self.weights, &mut other.weights) {
            a.drain(b);
        }
        if let (Some(a), Some(b)) = (&mut self.members, &mut other.members) {
            drain(a, b, u64::wrapping_add);
        }
    }

    /// Adds the only cluster of `other` to cluster `k`.
    pub fn add_cluster(&mut self, k: usize, other: &Self) {
        self.coordinates.add_cluster(k, &other.coordinates);
        self.counts[k] = self.counts[k].wrapping_add(other.counts[0]);
        if let (Some(a), Some(b)) = (&mut self.weights, &other.weights) {
            a.add_cluster(k, b);
        }
        if let (Some(a), Some(b)) = (&mut self.members, &other.members) {
            a[k] = a[k].wrapping_add(b[0]);
        }
    }

    /// Points of positive weight per cluster.
    pub fn members(&self) -> &[u64] {
        self.members.as_deref().unwrap_or(&self.counts)
    }

    /// Writes the mean of cluster `k`; leaves `out` as it is if the cluster has no point of positive weight.
    pub fn mean<T: Scalar>(&self, k: usize, out: &mut [T]) {
        if self.members()[k] > 0 {
            self.coordinates.divide(k, self.divisor(k), out);
        }
    }

    pub fn divisor(&self, k: usize) -> Divisor<'_> {
        match &self.weights {
            None => Divisor::Count(self.counts[k]),
            Some(weights) => Divisor::Weights(weights, k),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_quotients_are_the_rounded_quotients() {
        let mut decided = 0;
        for i in 0..20_000_i64 {
            let sum = i * 7_919_317 - 40_000_000_000;
            let count = (i * i % 1013 + 1) as u64;
            if let Some(quick) = quick_quotient::<f32>(sum as f64, -24, count) {
                decided += 1;
                assert_eq!(quick.to_bits(), quotient_by_count::<f32>(sum as i128, -24, count).to_bits());
            }
        }
        assert!(decided > 19_000, "{decided}");
        // Exactly between two f32: only the exact division may decide.
        assert_eq!(quick_quotient::<f32>(((1_i64 << 25) + 2) as f64, 0, 1), None);
    }
}
