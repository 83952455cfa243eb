//! What a fit needs beside labels and sums: ranges, distances to the own centroid, weights.

mod common;

use common::{Data, SHAPES, bits, labels, launch, numbers};
use kmeans_core::exact::quotient;
use kmeans_core::fixed::{ExponentRange, FixedPoint, Width};
use kmeans_core::launch::{self as contract, EXPONENT_BIAS, Kernel};
use kmeans_core::{distance, reference};
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::Emulator;
use kmeans_kernels::update::fixed::{Format, Limbs, Narrow, Wide};
use kmeans_kernels::{range, update};

/// The exponents' range and the first value that is not finite, by the kernel.
fn exponents<T: Number>(values: &[T]) -> (ExponentRange, Option<usize>) {
    let emulator = Emulator::new(values.len() as u64);
    let buffer = emulator.buffer("values", values);
    let (range, faulty) = (emulator.buffer("range", &[0_u32; 2]), emulator.buffer("faulty", &[0_u64]));
    let len = values.len() as u64;
    launch(&emulator, &contract::RANGE_EXPONENTS, contract::range_exponents(len), || {
        range::exponents::exponents(buffer.input(), range.output(), faulty.output(), len);
    });
    let (range, faulty) = (range.to_vec(), faulty.to_vec()[0]);
    let found = match range[0] {
        0 => ExponentRange::ZERO,
        high => ExponentRange { high: high as i32 - EXPONENT_BIAS, low: EXPONENT_BIAS - range[1] as i32 },
    };
    (found, (faulty > 0).then(|| (u64::MAX - faulty) as usize))
}

fn ranges<T: Number>() {
    for data in [Data::Grid, Data::Unit, Data::Offset, Data::Same, Data::Extreme] {
        for len in [1, 33, 5000] {
            let mut values = numbers::<T>(data, len, len as u64);
            let expected = values.iter().fold(ExponentRange::ZERO, |r, v| r.union(ExponentRange::of(v.to_f64())));
            assert_eq!(exponents(&values), (expected, None), "{} {data:?}", T::NAME);
            values[len - 1] = T::from_f64(f64::NAN);
            values[len / 2] = T::from_f64(f64::NEG_INFINITY);
            assert_eq!(exponents(&values).1, Some(len / 2));
        }
    }
    assert_eq!(exponents(&[T::ZERO; 7]), (ExponentRange::ZERO, None));
    assert_eq!(exponents::<T>(&[]), (ExponentRange::ZERO, None));
}

#[test]
fn ranges_and_faulty_values_are_found() {
    for_each_type!(ranges());
}

fn own<T: Number>() {
    for (n, k, d) in SHAPES {
        let points = numbers::<T>(Data::Unit, n * d, 1);
        let centroids = numbers::<T>(Data::Unit, k * d, 2);
        let assigned = labels(n, k, 3);
        let emulator = Emulator::new(n as u64);
        let (x, c) = (emulator.buffer("points", &points), emulator.buffer("centroids", &centroids));
        let (l, out) = (emulator.buffer("labels", &assigned), emulator.uninitialised::<f64>("distances", n));
        launch(&emulator, &contract::DISTANCE_OWN, contract::DISTANCE_OWN.thread_each(n as u64), || {
            let (x, c, l) = (x.input(), c.input(), l.input());
            kmeans_kernels::distance::own::own(x, c, l, out.output(), n as u64, d as u32);
        });
        let expected: Vec<f64> =
            (0..n).map(|i| distance(&points[i * d..][..d], &centroids[assigned[i] as usize * d..][..d])).collect();
        assert_eq!(bits(&out.to_vec()), bits(&expected));
    }
}

#[test]
fn distances_to_the_own_centroid_are_d() {
    for_each_type!(own());
}

/// Sums of products as limbs of 32 bits, whatever format they were added in.
fn limbs(sum: &[u64], width: Width) -> Vec<i64> {
    if let Width::Limbs(_) = width {
        return sum.iter().map(|&w| w as i64).collect();
    }
    let negative = *sum.last().unwrap() as i64 >> 63;
    let words = sum.iter().flat_map(|&w| [(w as u32) as i64, (w >> 32) as i64]);
    words.chain([negative]).collect()
}

fn weighted<T: Number, F: Format>(kernel: &Kernel, data: Data, most: Width) {
    for (n, k, d) in SHAPES {
        let points = numbers::<T>(data, n * d, 8);
        let weights: Vec<f64> = numbers::<f64>(data, n, 9).into_iter().map(f64::abs).collect();
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold(ExponentRange::ZERO, |r, v| r.union(ExponentRange::of(v)))
        };
        let products = range(&mut points.iter().map(|v| v.to_f64())).product(range(&mut weights.iter().copied()));
        let format = FixedPoint::for_sums(products, n as u64);
        let words = match (most, format.width) {
            (Width::I64, Width::I64) => 1,
            (Width::I128, Width::I64 | Width::I128) => 2,
            (Width::Limbs(_), Width::Limbs(words)) => words,
            (Width::Limbs(_), _) => 6,
            _ => continue,
        };
        let assigned = labels(n, k, 3);
        let old = vec![T::ZERO; k * d];
        let expected = reference::update(&points, d, Some(&weights), &old, &assigned);
        let emulator = Emulator::new(n as u64);
        let (x, w) = (emulator.buffer("points", &points), emulator.buffer("weights", &weights));
        let l = emulator.buffer("labels", &assigned);
        let sums = emulator.buffer("sums", &vec![0_u64; k * d * words]);
        launch(&emulator, kernel, contract::sum_per_element(n as u64, d as u32), || {
            let (x, w, l) = (x.input(), w.input(), l.input());
            let (n, d) = (n as u64, d as u32);
            update::weighted::weighted::<T, F>(x, w, l, sums.output(), format.exponent, words as u32, n, d);
        });
        let mut totals = vec![kmeans_core::exact::ExactSum::new(); k];
        for (&label, &weight) in assigned.iter().zip(&weights) {
            totals[label as usize].add(weight);
        }
        let means: Vec<T> = sums
            .to_vec()
            .chunks(words)
            .enumerate()
            .map(|(at, sum)| match &totals[at / d] {
                total if total.is_zero() => T::ZERO,
                total => quotient((&limbs(sum, most), format.exponent), total.limbs()),
            })
            .collect();
        assert_eq!(bits(&means), bits(&expected), "{} {} {data:?} n {n} k {k} d {d}", kernel.name, T::NAME);
    }
}

fn each_format<T: Number>() {
    for data in [Data::Grid, Data::Unit, Data::Offset, Data::Extreme] {
        weighted::<T, Narrow>(&contract::SUM_WEIGHTED_NARROW, data, Width::I64);
        weighted::<T, Wide>(&contract::SUM_WEIGHTED_WIDE, data, Width::I128);
        weighted::<T, Limbs>(&contract::SUM_WEIGHTED_LIMBS, data, Width::Limbs(0));
    }
}

#[test]
fn weighted_sums_are_exact() {
    for_each_type!(each_format());
}
