//! Data, and the sizes that every kernel must get right.
#![allow(dead_code)] // each test program uses its part

use half::{bf16, f16};
use kmeans_core::fixed::{ExponentRange, FixedPoint, Width};
use kmeans_core::launch::Kernel;
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::scalar::decode;
use kmeans_core::{Scalar, exact};
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::{Emulator, Fault, Geometry};

/// Shapes (n, k, d): ones, tile edges, one more and one less, more clusters than points of a tile, wide and narrow.
pub const SHAPES: [(usize, usize, usize); 13] = [
    (1, 1, 1),
    (5, 2, 3),
    (64, 16, 16),
    (65, 17, 17),
    (63, 15, 33),
    (150, 70, 5),
    (100, 3, 75),
    (600, 8, 3),
    (129, 130, 1),
    (33, 33, 130),
    (70, 66, 40),
    (300, 5, 2),
    (90, 40, 4),
];

/// Launches a kernel of the contract and fails the test on a fault.
pub fn launch(emulator: &Emulator, kernel: &Kernel, geometry: Geometry, body: impl Fn()) {
    let result: Result<(), Fault> = emulator.launch(kernel.name, geometry, body);
    if let Err(fault) = result {
        panic!("{fault}");
    }
}

/// Numbers of a kind, to try a kernel on.
#[derive(Clone, Copy, Debug)]
pub enum Data {
    /// Multiples of 1/8 in ±16: every type holds them, and sums fit 64 bits. Many ties.
    Grid,
    /// Any numbers in ±1.
    Unit,
    /// Numbers near 1e4 that differ by less than 1: expanded squares would cancel.
    Offset,
    /// All the same.
    Same,
    /// From the smallest to the largest of the type.
    Extreme,
}

/// `len` numbers, drawn by `seed`.
pub fn numbers<T: Scalar>(data: Data, len: usize, seed: u64) -> Vec<T> {
    let random = Random::new(seed, 0);
    let uniform = |i| random.below(1 << 30, Purpose::Point, 0, i) as f64 / (1 << 30) as f64;
    let draw = |i: u64| match data {
        Data::Grid => (random.below(257, Purpose::Point, 0, i) as f64 - 128.0) / 8.0,
        Data::Unit => 2.0 * uniform(i) - 1.0,
        Data::Offset => 1e4 + uniform(i),
        Data::Same => 0.5,
        Data::Extreme => {
            let exponent = random.below(2 * largest_exponent::<T>() as u64, Purpose::Point, 1, i) as i32;
            (2.0 * uniform(i) - 1.0) * 2.0_f64.powi(exponent - largest_exponent::<T>())
        }
    };
    (0..len as u64).map(|i| T::from_f64(draw(i))).collect()
}

/// Numbers of `T` stay finite below 2 to this, whose negative is still a normal number or nearly so.
fn largest_exponent<T: Scalar>() -> i32 {
    match T::NAME {
        "f64" => 1000,
        "f16" => 14,
        _ => 126,
    }
}

/// Random labels below `k`.
pub fn labels(n: usize, k: usize, seed: u64) -> Vec<u32> {
    let random = Random::new(seed, 7);
    (0..n as u64).map(|i| random.below(k as u64, Purpose::Label, 1, i) as u32).collect()
}

/// The format that carries the sums of `points`.
pub fn format<T: Scalar>(points: &[T]) -> FixedPoint {
    let range = points.iter().fold(ExponentRange::ZERO, |r, v| r.union(ExponentRange::of(v.to_f64())));
    FixedPoint::for_sums(range, points.len() as u64)
}

/// Words per sum of a format.
pub fn words(format: FixedPoint) -> u32 {
    match format.width {
        Width::I64 => 1,
        Width::I128 => 2,
        Width::Limbs(n) => n as u32,
    }
}

/// The mean of a sum as kernels hold it.
pub fn mean<T: Scalar>(sum: &[u64], format: FixedPoint, count: u64) -> T {
    let word = |w: usize| sum[w] as i64;
    match format.width {
        Width::I64 => exact::quotient_by_count(word(0) as i128, format.exponent, count),
        Width::I128 => {
            let sum = (sum[1] as u128) << 64 | sum[0] as u128;
            exact::quotient_by_count(sum as i128, format.exponent, count)
        }
        Width::Limbs(n) => {
            let limbs: Vec<i64> = (0..n).map(word).collect();
            exact::quotient((&limbs, format.exponent), (&[count as i64], 0))
        }
    }
}

/// Sums of w·x per cluster and column, [k, d], each as the terms' integers and exponents.
pub type Terms = Vec<Vec<(i128, i32)>>;

/// The terms of all sums.
pub fn weighted_sums<T: Scalar>(points: &[T], weights: Option<&[f64]>, labels: &[u32], k: usize, d: usize) -> Terms {
    let mut sums = vec![Vec::new(); k * d];
    for (i, &label) in labels.iter().enumerate() {
        for column in 0..d {
            let (x, e) = decode(points[i * d + column].to_f64());
            let (w, f) = decode(weights.map_or(1.0, |w| w[i]));
            let product = x as i128 * w as i128;
            if product != 0 {
                let zeros = product.trailing_zeros();
                sums[label as usize * d + column].push((product >> zeros, e + f + zeros as i32));
            }
        }
    }
    sums
}

/// Sums of terms of `range` as kernels hold them, in the narrowest format of at least `least`: unit and words, and the words.
pub fn stored(range: ExponentRange, least: Width, sums: &Terms) -> ((i32, u32), Vec<u64>) {
    let format = FixedPoint::for_sums(range, sums.iter().map(|s| s.len() as u64).max().unwrap_or(1));
    let order = |width: Width| match width {
        Width::I64 => 1,
        Width::I128 => 2,
        Width::Limbs(n) => n,
    };
    let words = order(format.width).max(order(least));
    let mut all = Vec::with_capacity(sums.len() * words);
    for terms in sums {
        if words <= 2 {
            let sum: i128 = terms.iter().map(|&(integer, e)| integer << (e - format.exponent)).sum();
            all.extend([sum as u64, (sum >> 64) as u64].into_iter().take(words));
        } else {
            let mut limbs = vec![0_i64; words];
            for &(integer, e) in terms {
                exact::accumulate(&mut limbs, format.exponent, integer, e);
            }
            all.extend(limbs.into_iter().map(|limb| limb as u64));
        }
    }
    ((format.exponent, words as u32), all)
}

/// The bits of numbers, since what is compared is bits.
pub fn bits<T: Number>(values: &[T]) -> Vec<u64> {
    values.iter().map(|v| v.to_raw()).collect()
}

/// Runs a generic check for all four element types.
#[macro_export]
macro_rules! for_each_type {
    ($check:ident($($argument:expr),*)) => {
        $check::<f32>($($argument),*);
        $check::<f64>($($argument),*);
        $check::<half::f16>($($argument),*);
        $check::<half::bf16>($($argument),*);
    };
}

const _: fn(f16, bf16) = |_, _| ();

/// A tier with tensor cores, whose kernels are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Warps multiply by themselves.
    Ampere,
    /// Four warps multiply together.
    Hopper,
}

/// Both.
pub const TIERS: [Tier; 2] = [Tier::Ampere, Tier::Hopper];
