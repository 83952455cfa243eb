//! Matrices of exact sums, in the narrowest integers that hold them.

use kmeans_core::Scalar;
use kmeans_core::exact::{ExactSum, accumulate, carry, quotient, quotient_by_count};
use kmeans_core::fixed::{ExponentRange, FixedPoint, Width, ceil_log2};
use kmeans_core::scalar::power_of_two;

/// One row added to or taken from a cluster's sums.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

/// Values that [`Sums::move_lot`] converts at a time.
pub(crate) const LOT: usize = 512;

/// Limbs must be carried before they can have taken this many additions.
const CARRY_AFTER: u32 = 1 << 28;

/// A matrix [k, columns] of exact sums, in the narrowest integers that hold them.
#[derive(Clone)]
pub(crate) struct Sums {
    format: FixedPoint,
    /// Whether every single value is below 2^51 in units of the format.
    narrow: bool,
    columns: usize,
    values: Values,
}

#[derive(Clone)]
enum Values {
    I64(Vec<i64>),
    /// Two 64-bit integers for each sum, high·2^`split` + low, so that conversions and additions vectorise. Per cluster
    /// the high parts of all columns, then the low parts.
    Pair {
        parts: Vec<i64>,
        split: i32,
    },
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
        Self { format, narrow: false, columns, values }
    }

    /// As [`new`](Self::new), for sums of up to `n` unweighted numbers of `range`, in the layout that is fastest to add to.
    pub fn unweighted(range: ExponentRange, n: usize, k: usize, columns: usize) -> Self {
        let format = FixedPoint::for_sums(range, n as u64);
        let split = (63 - ceil_log2(n as u64)).min(50);
        // Low parts stay below 2^(split − 1), high parts below 2^50, and the sums of n of either below 2^63.
        let high = range.span() - split;
        let fits = high <= 50 && high + ceil_log2(n as u64) <= 62 && (-900..900).contains(&range.low);
        if format.width == Width::I128 && split > 0 && fits {
            return Self {
                format,
                narrow: false,
                columns,
                values: Values::Pair { parts: vec![0; 2 * k * columns], split },
            };
        }
        Self { narrow: range.span() <= 51, ..Self::new(format, k, columns) }
    }

    /// As [`new`](Self::new), for sums of up to `n` products of a weight and a number, which are of `range`.
    pub fn weighted(range: ExponentRange, n: usize, k: usize, columns: usize) -> Self {
        let narrow = range.span() <= 51 && (-900..900).contains(&range.low);
        Self { narrow, ..Self::new(FixedPoint::for_sums(range, n as u64), k, columns) }
    }

    /// Adds `row` (times `weight`) to the sums of cluster `k`, or takes it away.
    #[inline(always)]
    pub fn add<T: Scalar>(&mut self, k: usize, row: &[T], weight: Option<f64>, sign: Sign) {
        let format = self.format;
        let at = k * self.columns..(k + 1) * self.columns;
        match (&mut self.values, weight) {
            (Values::I64(sums), None) => add_i64(&mut sums[at], row, self.narrow, format.factor(), sign),
            (Values::I64(sums), Some(w)) if self.narrow => {
                // The product is below 2^51 units, and so is an `f64`.
                let factor = if sign == Sign::Plus { format.factor() } else { -format.factor() };
                for (sum, x) in sums[at].iter_mut().zip(row) {
                    *sum = sum.wrapping_add(integer_below_2_51(w * x.to_f64() * factor));
                }
            }
            (Values::I64(sums), Some(w)) => {
                for (sum, x) in sums[at].iter_mut().zip(row) {
                    // The product is one of the format's range, so it fits.
                    let value = format.product_to_i128(w, x.to_f64()) as i64;
                    *sum = sum.wrapping_add(if sign == Sign::Plus { value } else { -value });
                }
            }
            (Values::Pair { parts, split }, _) => {
                let (high, low) = parts[2 * at.start..2 * at.end].split_at_mut(self.columns);
                add_pair(high, low, row, *split, format.factor(), sign);
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

    /// Memory for one sum.
    pub fn bytes_per_sum(&self) -> usize {
        match self.format.width {
            Width::I64 => 8,
            Width::I128 => 16,
            Width::Limbs(per) => 8 * per,
        }
    }

    /// Whether [`move_lot`](Self::move_lot) can add rows of this format.
    pub fn takes_lots(&self) -> bool {
        let fast = matches!(self.values, Values::Pair { .. }) || matches!(self.values, Values::I64(_)) && self.narrow;
        fast && self.columns <= LOT
    }

    /// Adds `rows`, at most [`LOT`] values, to the clusters `to` and takes them from the clusters `from`: each value is
    /// converted once, and all conversions are made before any addition, so that they vectorise.
    #[inline(always)]
    pub fn move_lot<T: Scalar>(&mut self, rows: &[T], to: &[u32], from: Option<&[u32]>) {
        let (mut high, mut low) = ([0_i64; LOT], [0_i64; LOT]);
        let (d, factor) = (self.columns, self.format.factor());
        match &mut self.values {
            Values::I64(sums) => {
                for (integer, x) in high.iter_mut().zip(rows) {
                    *integer = integer_below_2_51(x.to_f64() * factor);
                }
                scatter(sums, d, 0, d, &high, to, from);
            }
            Values::Pair { parts, split } => {
                let (down, up) = (power_of_two(-*split), power_of_two(*split));
                for ((high, low), x) in high.iter_mut().zip(&mut low).zip(rows) {
                    (*high, *low) = pair(x.to_f64() * factor, down, up);
                }
                scatter(parts, 2 * d, 0, d, &high, to, from);
                scatter(parts, 2 * d, d, d, &low, to, from);
            }
            _ => unreachable!("only after takes_lots"),
        }
    }

    /// Adds another matrix of the same shape and format, and leaves that one zero.
    pub fn drain(&mut self, other: &mut Self) {
        match (&mut self.values, &mut other.values) {
            (Values::I64(a), Values::I64(b)) | (Values::Pair { parts: a, .. }, Values::Pair { parts: b, .. }) => {
                drain(a, b, i64::wrapping_add);
            }
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
            (Values::Pair { parts: a, .. }, Values::Pair { parts: b, .. }) => {
                add_all(&mut a[2 * at.start..2 * at.end], b, i64::wrapping_add);
            }
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
                    *o = quotient_by_count(sum as i128, exponent, count);
                }
            }
            (Values::I128(_) | Values::Pair { .. }, Divisor::Count(count)) => {
                for (j, o) in out.iter_mut().enumerate() {
                    let sum = self.wide(k, j).expect("not in limbs");
                    *o = quotient_by_count(sum, exponent, count);
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

    /// The sum of cluster `k` in column `j` as one integer; `None` if it is held in limbs.
    fn wide(&self, k: usize, j: usize) -> Option<i128> {
        let at = k * self.columns + j;
        match &self.values {
            Values::I64(sums) => Some(sums[at] as i128),
            Values::Pair { parts, split } => {
                let at = 2 * k * self.columns + j;
                Some(((parts[at] as i128) << split) + parts[at + self.columns] as i128)
            }
            Values::I128(sums) => Some(sums[at]),
            Values::Limbs { .. } => None,
        }
    }

    /// The sum of cluster `k` in column `j` as limbs (see [`accumulate`]) with their base exponent, carried.
    pub fn limbs(&self, k: usize, j: usize) -> (Vec<i64>, i32) {
        let limbs = match &self.values {
            Values::Limbs { limbs, per, .. } => {
                let at = k * self.columns + j;
                let mut limbs = limbs[at * per..(at + 1) * per].to_vec();
                carry(&mut limbs);
                limbs
            }
            _ => split(self.wide(k, j).expect("not in limbs")),
        };
        (limbs, self.format.exponent)
    }

    /// Adds `significand · 2^exponent` times the sum of cluster `k` in column `j` to `total`.
    pub fn add_scaled_to(&self, total: &mut ExactSum, k: usize, j: usize, (significand, exponent): (i64, i32)) {
        match (self.wide(k, j), &self.values) {
            (Some(sum), Values::I64(_)) => {
                total.add_integer(sum * significand as i128, exponent + self.format.exponent);
            }
            (Some(sum), _) => {
                let (high, low, exponent) = (sum >> 64, sum as u64, exponent + self.format.exponent);
                total.add_integer(low as i128 * significand as i128, exponent);
                total.add_integer(high * significand as i128, exponent + 64);
            }
            (None, _) => {
                let (limbs, base) = self.limbs(k, j);
                total.add_scaled(&limbs, base, significand, exponent);
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

/// Adding this to a number below 2^51 leaves its nearest integer in the low bits: a conversion that vectorises everywhere.
const TO_INTEGER: f64 = (3_i64 << 51) as f64;

/// The integer nearest to a number below 2^51 in magnitude.
#[inline(always)]
pub(crate) fn integer_below_2_51(value: f64) -> i64 {
    (value + TO_INTEGER).to_bits().wrapping_sub(TO_INTEGER.to_bits()) as i64
}

#[inline(always)]
fn add_i64<T: Scalar>(sums: &mut [i64], row: &[T], narrow: bool, factor: f64, sign: Sign) {
    let factor = if sign == Sign::Plus { factor } else { -factor };
    if narrow {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_add(integer_below_2_51(x.to_f64() * factor));
        }
    } else {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_add((x.to_f64() * factor) as i64);
        }
    }
}

#[inline(always)]
fn add_pair<T: Scalar>(high: &mut [i64], low: &mut [i64], row: &[T], split: i32, factor: f64, sign: Sign) {
    let factor = if sign == Sign::Plus { factor } else { -factor };
    let (down, up) = (power_of_two(-split), power_of_two(split));
    for ((high, low), x) in high.iter_mut().zip(low).zip(row) {
        let (h, l) = pair(x.to_f64() * factor, down, up);
        *high = high.wrapping_add(h);
        *low = low.wrapping_add(l);
    }
}

/// An integer below 2^(50 + split) as high·2^split + low; `down` and `up` are 2^∓split.
#[inline(always)]
fn pair(integer: f64, down: f64, up: f64) -> (i64, i64) {
    // Every step is exact: the nearest multiple of 2^split, and what is left.
    let high = (integer * down + TO_INTEGER) - TO_INTEGER;
    (integer_below_2_51(high), integer_below_2_51(integer - high * up))
}

/// Adds row r of `values`, [·, d], at `offset` in row `to[r]` of `sums`, [·, stride], and takes it from row `from[r]`.
#[inline(always)]
fn scatter(sums: &mut [i64], stride: usize, offset: usize, d: usize, values: &[i64], to: &[u32], from: Option<&[u32]>) {
    let at = |k: u32| k as usize * stride + offset;
    for (r, (&to, row)) in to.iter().zip(values.chunks_exact(d)).enumerate() {
        for (sum, v) in sums[at(to)..][..d].iter_mut().zip(row) {
            *sum = sum.wrapping_add(*v);
        }
        if let Some(from) = from {
            for (sum, v) in sums[at(from[r])..][..d].iter_mut().zip(row) {
                *sum = sum.wrapping_sub(*v);
            }
        }
    }
}

pub(crate) fn drain<A: Copy + Default>(to: &mut [A], from: &mut [A], add: impl Fn(A, A) -> A) {
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
