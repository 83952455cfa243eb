//! The inertia from sums is the reference's, whatever the format of the sums.

mod common;

use common::{Data, SHAPES, labels, launch, numbers, stored, weighted_sums};
use kmeans_core::exact::quotient;
use kmeans_core::fixed::{ExponentRange, Width, ceil_log2};
use kmeans_core::launch::{self as contract, INERTIA_FEW, INERTIA_LIMBS};
use kmeans_core::reference;
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::Emulator;
use kmeans_kernels::inertia::squares::squares as add_squares;
use kmeans_kernels::inertia::sums::sums as add_sums;
use kmeans_kernels::inertia::{Few, Many};

fn range(values: impl Iterator<Item = f64>) -> ExponentRange {
    values.fold(ExponentRange::ZERO, |range, value| range.union(ExponentRange::of(value)))
}

/// Points, weights, labels and centroids.
struct Case<'a, T> {
    points: &'a [T],
    weights: Option<&'a [f64]>,
    labels: &'a [u32],
    centroids: &'a [T],
    d: usize,
}

impl<T: Number> Case<'_, T> {
    /// By kernels, the sums in the narrowest format of at least `least`.
    fn inertia(&self, least: Width, narrow: bool) -> f64 {
        let (n, k, d) = (self.labels.len(), self.centroids.len() / self.d, self.d);
        let x = range(self.points.iter().map(|x| x.to_f64()));
        let c = range(self.centroids.iter().map(|c| c.to_f64()));
        let w = range(self.weights.unwrap_or(&[1.0]).iter().copied());
        let (sum_format, sums) =
            stored(x.product(w), least, &weighted_sums(self.points, self.weights, self.labels, k, d));
        let ones = vec![1.0_f64; n];
        let (total_format, totals) = stored(w, least, &weighted_sums(&ones, self.weights, self.labels, k, 1));
        let counts = (0..k as u32).map(|c| self.labels.iter().filter(|&&l| l == c).count() as u64).collect::<Vec<_>>();

        // The lowest bit of any term, and the highest of the total.
        let squares = x.product(x).product(w);
        let products = x.product(w).product(c);
        let centroids = w.product(c).product(c);
        let all = squares.union(products).union(centroids);
        // Sums in limbs or weights of zero may have a unit below the values'.
        let units = [sum_format.0 + c.low.min(0), total_format.0 + 2 * c.low.min(0)];
        let base = if all.is_zero() { 0 } else { units.into_iter().fold(all.low, i32::min) };
        let high = if all.is_zero() { 1 } else { all.high + ceil_log2(n as u64) + ceil_log2(d as u64) + 4 };
        // Limbs of a sum may be larger than the sum.
        let ends = [(sum_format, c.high), (total_format, 2 * c.high)].map(|((unit, words), c)| match words {
            1 | 2 => i32::MIN,
            _ => unit + 32 * words as i32 + c.max(0) + 2,
        });
        let high = ends.into_iter().fold(high, i32::max);
        let words = ((high - base) / 32 + 2) as u32;
        assert!(words <= INERTIA_LIMBS);

        let emulator = Emulator::new(n as u64);
        let points = emulator.buffer("points", self.points);
        let weights = emulator.buffer("weights", self.weights.unwrap_or(&[f64::NAN]));
        let limbs = emulator.buffer("limbs", &vec![0_u64; words as usize]);
        let weighted = self.weights.is_some() as u32;
        let (n, k, d) = (n as u64, k as u32, d as u32);
        launch(&emulator, &contract::SQUARE_SUM, contract::square_sum(n, d), || {
            let (points, weights, limbs) = (points.input(), weights.input(), limbs.output());
            if words <= INERTIA_FEW {
                add_squares::<T, Few>(points, weights, limbs, base, words, weighted, narrow as u32, n, d);
            } else {
                add_squares::<T, Many>(points, weights, limbs, base, words, weighted, narrow as u32, n, d);
            }
        });
        let cluster_sums = emulator.buffer("sums", &sums);
        let counts = emulator.buffer("counts", &counts);
        let totals = emulator.buffer("totals", if weighted == 0 { &[0] } else { &totals });
        let centroids = emulator.buffer("centroids", self.centroids);
        launch(&emulator, &contract::INERTIA_SUMS, contract::inertia_sums(k, d, 1), || {
            let run = if words <= INERTIA_FEW { add_sums::<T, Few> } else { add_sums::<T, Many> };
            run(
                cluster_sums.input(),
                counts.input(),
                totals.input(),
                centroids.input(),
                limbs.output(),
                sum_format.0,
                sum_format.1,
                total_format.0,
                total_format.1,
                weighted,
                base,
                words,
                k,
                d,
            );
        });
        let limbs: Vec<i64> = limbs.to_vec().into_iter().map(|limb| limb as i64).collect();
        quotient((&limbs, base), (&[1], 0))
    }

    /// Whether a thread's squares fit an `i128` in units of their lowest bit, or of the other terms'.
    fn can_be_narrow(&self) -> bool {
        let x = range(self.points.iter().map(|x| x.to_f64()));
        let c = range(self.centroids.iter().map(|c| c.to_f64()));
        let terms = contract::square_sum_terms(self.labels.len() as u64, self.d as u32);
        let low = x.low.min(c.low).min(0);
        self.weights.is_none() && !x.is_zero() && 2 * (x.high - low) + ceil_log2(terms) < 127
    }
}

fn check<T: Number>((n, k, d): (usize, usize, usize), data: Data) {
    let points = numbers::<T>(data, n * d, n as u64);
    let weights: Vec<f64> = numbers::<f64>(data, n, 9).into_iter().map(|w| w.abs() * f64::from(w > 0.0)).collect();
    let assigned = labels(n, k, 3);
    for weights in [None, Some(&weights[..])] {
        let old = numbers::<T>(data, k * d, 5);
        let means = reference::update(&points, d, weights, &old, &assigned);
        for centroids in [&old, &means] {
            let case = Case { points: &points, weights, labels: &assigned, centroids, d };
            let expected = reference::inertia(&points, d, weights, centroids, &assigned);
            for least in [Width::I64, Width::I128, Width::Limbs(6)] {
                let what = format!("{} {data:?} n {n} k {k} d {d} {least:?} weighted {}", T::NAME, weights.is_some());
                assert_eq!(case.inertia(least, false), expected, "{what}");
                if case.can_be_narrow() {
                    assert_eq!(case.inertia(least, true), expected, "{what}, narrow");
                }
            }
        }
    }
}

fn each_shape<T: Number>() {
    for shape in SHAPES {
        for data in [Data::Grid, Data::Unit, Data::Offset] {
            check::<T>(shape, data);
        }
    }
    for shape in [(65, 17, 17), (33, 5, 3)] {
        check::<T>(shape, Data::Extreme);
    }
}

#[test]
fn inertia_from_sums_is_the_references() {
    for_each_type!(each_shape());
}

#[test]
fn several_sets_are_added_up_at_once() {
    let (k, d, words) = (7_u32, 5_u32, 9_u32);
    let len = (k * d) as usize;
    let centroids = numbers::<f32>(Data::Unit, 3 * len, 1);
    let sums: Vec<u64> = (0..3 * len as i64).map(|i| ((i - 40) * 1_000_003) as u64).collect();
    let counts: Vec<u64> = (0..3 * k as u64).collect();
    let limbs_of = |sets: std::ops::Range<usize>| {
        let emulator = Emulator::new(5);
        let part = |each: usize| sets.start * each..sets.end * each;
        let sums = emulator.buffer("sums", &sums[part(len)]);
        let counts = emulator.buffer("counts", &counts[part(k as usize)]);
        let centroids = emulator.buffer("centroids", &centroids[part(len)]);
        let limbs = emulator.buffer("limbs", &vec![0_u64; sets.len() * words as usize]);
        let totals = emulator.buffer("totals", &[0_u64]);
        launch(&emulator, &contract::INERTIA_SUMS, contract::inertia_sums(k, d, sets.len() as u32), || {
            let (sums, counts, totals) = (sums.input(), counts.input(), totals.input());
            let run = add_sums::<f32, Few>;
            run(sums, counts, totals, centroids.input(), limbs.output(), -30, 1, 0, 1, 0, -120, words, k, d);
        });
        limbs.to_vec()
    };
    let each: Vec<u64> = (0..3).flat_map(|set| limbs_of(set..set + 1)).collect();
    assert_eq!(limbs_of(0..3), each);
}
