//! Centroids from sums of any format, by counts and by weights, are the reference's.

mod common;

use common::{Data, SHAPES, bits, labels, launch, numbers, stored, weighted_sums};
use kmeans_core::exact;
use kmeans_core::fixed::{ExponentRange, Width};
use kmeans_core::launch::{self as contract};
use kmeans_core::reference;
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::{rows, scale, update};

fn range(values: impl Iterator<Item = f64>) -> ExponentRange {
    values.fold(ExponentRange::ZERO, |range, value| range.union(ExponentRange::of(value)))
}

fn carry(emulator: &Emulator, sums: &Buffer<u64>, words: u32, count: u64) {
    launch(emulator, &contract::LIMBS_CARRY, contract::LIMBS_CARRY.thread_each(count), || {
        update::carry::carry(sums.output(), words, count);
    });
}

fn by_counts<T: Number>() {
    for (n, k, d) in SHAPES {
        for data in [Data::Grid, Data::Unit, Data::Offset, Data::Extreme] {
            let points = numbers::<T>(data, n * d, n as u64);
            let assigned = labels(n, k, n as u64);
            let old = numbers::<T>(Data::Grid, k * d, 1);
            let expected = reference::update(&points, d, None, &old, &assigned);
            let x = range(points.iter().map(|x| x.to_f64()));
            let sums = weighted_sums(&points, None, &assigned, k, d);
            let ((exponent, words), sums) = stored(x, Width::Limbs(6), &sums);
            let counts: Vec<u64> = (0..k as u32).map(|c| assigned.iter().filter(|&&l| l == c).count() as u64).collect();
            let emulator = Emulator::new(n as u64);
            let (sums, counts) = (emulator.buffer("sums", &sums), emulator.buffer("counts", &counts));
            let old = emulator.buffer("old", &old);
            for carried in [false, true] {
                if carried {
                    carry(&emulator, &sums, words, (k * d) as u64);
                }
                let centroids = emulator.uninitialised::<T>("centroids", k * d);
                let kernel = &contract::SCALE_DIVIDE_LIMBS;
                launch(&emulator, kernel, kernel.blocks(k as u64, 0), || {
                    let (sums, counts, old, centroids) =
                        (sums.input(), counts.input(), old.input(), centroids.output());
                    scale::divide_limbs::divide_limbs(sums, counts, old, centroids, exponent, words, d as u32);
                });
                assert_eq!(bits(&centroids.to_vec()), bits(&expected), "{} {data:?} n {n} k {k} d {d}", T::NAME);
            }
        }
    }
}

#[test]
fn sums_in_limbs_divided_by_counts_are_the_means() {
    for_each_type!(by_counts());
}

fn by_weights<T: Number>() {
    for (n, k, d) in SHAPES {
        for data in [Data::Grid, Data::Unit, Data::Offset, Data::Extreme] {
            let points = numbers::<T>(data, n * d, n as u64);
            // Half of them zero, so that some clusters have points but no weight.
            let weights: Vec<f64> = numbers::<f64>(data, n, 9).into_iter().map(|w| w.max(0.0)).collect();
            let assigned = labels(n, k, n as u64);
            let old = numbers::<T>(Data::Grid, k * d, 1);
            let expected = reference::update(&points, d, Some(&weights), &old, &assigned);
            let (x, w) = (range(points.iter().map(|x| x.to_f64())), range(weights.iter().copied()));
            let sums = weighted_sums(&points, Some(&weights), &assigned, k, d);
            let totals = weighted_sums(&vec![1.0_f64; n], Some(&weights), &assigned, k, 1);
            for (sum, total) in
                [(Width::I64, Width::I64), (Width::I128, Width::Limbs(7)), (Width::Limbs(6), Width::I128)]
            {
                let ((exponent, words), sums) = stored(x.product(w), sum, &sums);
                let ((total_exponent, total_words), totals) = stored(w, total, &totals);
                let emulator = Emulator::new(n as u64);
                let (sums, totals) = (emulator.buffer("sums", &sums), emulator.buffer("totals", &totals));
                let old = emulator.buffer("old", &old);
                let centroids = emulator.uninitialised::<T>("centroids", k * d);
                let kernel = &contract::SCALE_DIVIDE_WEIGHTED;
                launch(&emulator, kernel, kernel.blocks(k as u64, 0), || {
                    scale::divide_weighted::divide_weighted(
                        sums.input(),
                        totals.input(),
                        old.input(),
                        centroids.output(),
                        exponent,
                        words,
                        total_exponent,
                        total_words,
                        d as u32,
                    );
                });
                let what = format!("{} {data:?} n {n} k {k} d {d} {sum:?} {total:?}", T::NAME);
                assert_eq!(bits(&centroids.to_vec()), bits(&expected), "{what}");
            }
        }
    }
}

#[test]
fn weighted_sums_divided_by_weights_are_the_weighted_means() {
    for_each_type!(by_weights());
}

#[test]
fn carrying_limbs_is_what_the_definition_does() {
    for words in [1_usize, 2, 7] {
        for count in [1_usize, 255, 257] {
            let limb = |i: usize| (i as i64).wrapping_mul(0x7123_4567_89ab_cdef) >> (i % 20 + 2);
            let sums: Vec<i64> = (0..count * words).map(limb).collect();
            let mut expected = sums.clone();
            expected.chunks_mut(words).for_each(exact::carry);
            let emulator = Emulator::new(1);
            let buffer = emulator.buffer("sums", &sums.iter().map(|&limb| limb as u64).collect::<Vec<_>>());
            carry(&emulator, &buffer, words as u32, count as u64);
            let found: Vec<i64> = buffer.to_vec().into_iter().map(|limb| limb as i64).collect();
            assert_eq!(found, expected);
        }
    }
}

fn gathered<T: Number>() {
    for (n, count, d) in [(1, 1, 1), (50, 7, 31), (50, 8, 32), (50, 9, 33), (20, 100, 70), (5, 0, 3)] {
        let points = numbers::<T>(Data::Unit, n * d, 1);
        let picked: Vec<u64> = labels(count, n, 2).into_iter().map(u64::from).collect();
        let expected: Vec<T> = picked.iter().flat_map(|&r| points[r as usize * d..][..d].iter().copied()).collect();
        let emulator = Emulator::new(count as u64);
        let (x, r) = (emulator.buffer("points", &points), emulator.buffer("rows", &picked));
        let out = emulator.uninitialised::<T>("gathered", count * d);
        launch(&emulator, &contract::ROWS_GATHER, contract::rows_gather(count as u64), || {
            rows::gather::gather(x.input(), r.input(), out.output(), n as u64, count as u64, d as u32);
        });
        assert_eq!(bits(&out.to_vec()), bits(&expected));
    }
}

#[test]
fn rows_are_gathered_as_they_are() {
    for_each_type!(gathered());
}
