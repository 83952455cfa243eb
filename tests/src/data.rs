//! Points and weights to cluster, each a pure function of a seed.

use kmeans_core::scalar::{decode, encode};
use kmeans_host::Element;
use ndarray::{Array1, Array2};

/// Pseudo-random numbers (`SplitMix64`), independent of those of the library.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// The numbers of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// An integer in `0..bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.bits() as u128 * bound as u128) >> 64) as usize
    }

    /// Uniform in [−1, 1).
    pub fn symmetric(&mut self) -> f64 {
        (self.bits() as i64 >> 11) as f64 / (1_u64 << 52) as f64
    }

    /// Mean 0, variance 1, nearly normal.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.symmetric()).sum::<f64>() / 2.0
    }

    /// ±m·2^e, 1 ≤ m < 2, with e uniform in `low..=high`.
    pub fn wide(&mut self, low: i32, high: i32) -> f64 {
        let exponent = low + self.below((high - low + 1) as usize) as i32;
        let sign = if self.below(2) == 0 { 1.0 } else { -1.0 };
        sign * f64::midpoint(self.symmetric(), 3.0) * 2.0_f64.powi(exponent)
    }
}

/// Kinds of points, each with its own way of breaking k-means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Uniform in [−1, 1).
    Uniform,
    /// Integers 0..4: many exact ties.
    Grid,
    /// Few distinct rows.
    Duplicated,
    /// Mean 1e6 (less where the type cannot tell 1e6 from 1e6 + 1), spread 1.
    Offset,
    /// Clusters a few units in the last place wide, far from each other and from the origin.
    FarTight,
    /// Exponents from −30 to 30.
    Wide,
    /// As `Wide`, and every third value within the smallest the type can hold.
    Subnormal,
    /// One row at 1e30 (or the type's largest value) among ordinary ones.
    Outlier,
    /// All rows equal.
    Equal,
    /// Nothing but zeros, some of them negative.
    Zero,
    /// Every column rises with the row.
    Sorted,
    /// Separate round clusters.
    Blobs,
}

/// Every kind.
pub const KINDS: [Kind; 12] = [
    Kind::Uniform,
    Kind::Grid,
    Kind::Duplicated,
    Kind::Offset,
    Kind::FarTight,
    Kind::Wide,
    Kind::Subnormal,
    Kind::Outlier,
    Kind::Equal,
    Kind::Zero,
    Kind::Sorted,
    Kind::Blobs,
];

/// `n` points of `d` columns.
pub fn points<T: Element>(kind: Kind, n: usize, d: usize, seed: u64) -> Array2<T> {
    let mut numbers = Numbers::new(seed);
    let by_value = |value: &mut dyn FnMut(usize, usize) -> f64| {
        Array2::from_shape_vec((n, d), (0..n * d).map(|at| store(value(at / d, at % d))).collect()).expect("n·d values")
    };
    match kind {
        Kind::Uniform => by_value(&mut |_, _| numbers.symmetric()),
        Kind::Grid => by_value(&mut |_, _| numbers.below(4) as f64),
        Kind::Duplicated => {
            let distinct = points::<T>(Kind::Uniform, n.div_ceil(4), d, numbers.bits());
            Array2::from_shape_fn((n, d), |(i, j)| distinct[[pick(i, seed, distinct.nrows()), j]])
        }
        Kind::Offset => {
            let offset = 1e6_f64.min(2.0_f64.powi(T::DIGITS - 1));
            by_value(&mut |_, _| offset + numbers.normal())
        }
        Kind::FarTight => {
            let places: Vec<f64> = (0..5 * d).map(|_| 1e4 * numbers.symmetric()).collect();
            let steps: Vec<usize> = (0..n * d).map(|_| numbers.below(4)).collect();
            Array2::from_shape_fn((n, d), |(i, j)| {
                let place = store(places[pick(i, seed, 5) * d + j]);
                (0..steps[i * d + j]).fold(place, |x: T, _| next_up(x))
            })
        }
        Kind::Wide => by_value(&mut |_, _| numbers.wide(-30, 30)),
        Kind::Subnormal => by_value(&mut |i, j| match (i * d + j) % 3 {
            1 => encode(numbers.below(1 << (T::DIGITS - 2)) as i64, T::MIN_EXPONENT),
            // Something of ordinary size must be there: data all below 2^-500 is an error.
            _ if i + j == 0 => 1.0,
            _ => numbers.wide(-30, 30),
        }),
        Kind::Outlier => {
            let row = numbers.below(n);
            by_value(&mut |i, _| if i == row { 1e30 } else { numbers.normal() })
        }
        Kind::Equal => by_value(&mut |_, j| 0.1 + j as f64),
        Kind::Zero => by_value(&mut |_, _| if numbers.below(2) == 0 { 0.0 } else { -0.0 }),
        Kind::Sorted => by_value(&mut |i, j| 0.37 * i as f64 + j as f64),
        Kind::Blobs => blobs(n, d, 1 + n.min(60) / 5, seed).0,
    }
}

/// `n` points around `k` centres that are about 10 apart in each column, with spread 1; and the centre of each point.
pub fn blobs<T: Element>(n: usize, d: usize, k: usize, seed: u64) -> (Array2<T>, Vec<usize>) {
    let mut numbers = Numbers::new(seed);
    let centres: Vec<f64> = (0..k * d).map(|_| 10.0 * numbers.normal()).collect();
    let of_point: Vec<usize> = (0..n).map(|i| pick(i, seed, k)).collect();
    let points = Array2::from_shape_fn((n, d), |(i, j)| store(centres[of_point[i] * d + j] + numbers.normal()));
    (points, of_point)
}

/// A number below `bound` for row `i`.
fn pick(i: usize, seed: u64, bound: usize) -> usize {
    Numbers::new(seed ^ (i as u64) << 20).below(bound)
}

/// `value` in type `T`, kept finite.
pub fn store<T: Element>(value: f64) -> T {
    let stored = T::from_f64(value);
    if stored.to_f64().is_finite() { stored } else { T::from_f64(largest::<T>().copysign(value)) }
}

/// The largest finite value of `T`.
pub fn largest<T: Element>() -> f64 {
    match T::NAME {
        "f16" => 65504.0,
        "bf16" => encode(255, 120),
        "f32" => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}

/// The next larger value of `T` in magnitude and sign of `x` (for 0, the smallest positive value).
pub fn next_up<T: Element>(x: T) -> T {
    step(x, 1.0)
}

/// `x` moved by `steps` units in its last place, kept finite.
pub fn step<T: Element>(x: T, steps: f64) -> T {
    let (significand, exponent) = decode(x.to_f64());
    let top = exponent + 63 - significand.unsigned_abs().max(1).leading_zeros() as i32;
    let unit = if significand == 0 { T::MIN_EXPONENT } else { (top - T::DIGITS + 1).max(T::MIN_EXPONENT) };
    store(x.to_f64() + steps * encode(1, unit))
}

/// Kinds of sample weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// None given.
    Unweighted,
    /// Uniform in (0, 2).
    Random,
    /// Small integers, many of them zero.
    WithZeros,
    /// Exponents from −300 to 100.
    Wide,
}

/// `n` weights, of which the first is positive.
pub fn weights(weighting: Weighting, n: usize, seed: u64) -> Option<Array1<f64>> {
    let mut numbers = Numbers::new(seed);
    let mut all = |value: &dyn Fn(&mut Numbers) -> f64| {
        let mut values: Array1<f64> = (0..n).map(|_| value(&mut numbers)).collect();
        values[0] = values[0].max(0.5);
        Some(values)
    };
    match weighting {
        Weighting::Unweighted => None,
        Weighting::Random => all(&|r| r.symmetric() + 1.0),
        Weighting::WithZeros => all(&|r| r.below(3) as f64),
        Weighting::Wide => all(&|r| r.wide(-300, 100).abs()),
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn steps_are_neighbours_in_every_type() {
        assert_eq!(step(1.0_f32, 1.0), 1.0_f32.next_up());
        assert_eq!(step(0.0_f32, 1.0), f32::from_bits(1));
        assert_eq!(step(-1e6_f64, -1.0), (-1e6_f64).next_down());
        assert_eq!(step(3e-45_f32, -1.0), 3e-45_f32.next_down());
        assert_eq!(step(f16::from_f32(1000.0), 1.0), f16::from_f32(1000.5));
        assert_eq!(step(bf16::from_f32(3.0), 1.0).to_bits(), bf16::from_f32(3.0).to_bits() + 1);
    }

    #[test]
    fn every_kind_of_points_is_finite_in_every_type() {
        fn check<T: Element>() {
            assert!(!T::from_f64(largest::<T>() * 1.01).to_f64().is_finite());
            for kind in KINDS {
                let points = points::<T>(kind, 50, 3, 1);
                assert!(points.iter().all(|v| v.to_f64().is_finite()), "{kind:?} {}", T::NAME);
            }
        }
        check::<f32>();
        check::<f64>();
        check::<f16>();
        check::<bf16>();
    }
}
