//! Every way to sums and counts gives the reference's centroids, bit for bit.

mod common;

use common::{Data, SHAPES, bits, format, labels, launch, mean, numbers, words};
use kmeans_core::launch::{self as contract, Geometry, Kernel};
use kmeans_core::{Scalar, reference};
use kmeans_kernels::device::emulated::Emulator;
use kmeans_kernels::device::{In, Number, Out};
use kmeans_kernels::scale::means::Quotient;
use kmeans_kernels::update::fixed::{Format, Limbs, Narrow, Wide};
use kmeans_kernels::{count, scale, update};

/// A problem, the sums' format, and the right centroids; clusters without points keep those of `old`.
struct Case<T> {
    points: Vec<T>,
    labels: Vec<u32>,
    old: Vec<T>,
    shape: (u64, u32, u32),
    exponent: i32,
    words: u32,
    expected: Vec<T>,
    counts: Vec<u64>,
    what: String,
}

/// All shapes with data whose sums need at most `most` words.
fn cases<T: Scalar>(most: u32) -> Vec<Case<T>> {
    let mut cases = Vec::new();
    for (n, k, d) in SHAPES {
        for data in [Data::Grid, Data::Unit, Data::Offset, Data::Extreme] {
            let points = numbers::<T>(data, n * d, n as u64);
            let format = format(&points);
            if words(format) > most {
                continue;
            }
            let labels = labels(n, k, n as u64);
            let old = numbers::<T>(Data::Grid, k * d, 1);
            let expected = reference::update(&points, d, None, &old, &labels);
            let mut counts = vec![0; k];
            for &label in &labels {
                counts[label as usize] += 1;
            }
            cases.push(Case {
                points,
                labels,
                old,
                shape: (n as u64, k as u32, d as u32),
                exponent: format.exponent,
                words: words(format),
                expected,
                counts,
                what: format!("{} {data:?} n {n} k {k} d {d}", T::NAME),
            });
        }
    }
    assert!(!cases.is_empty());
    cases
}

/// A kernel that takes k, whether it needs it or not.
type Sum<'a, T> = &'a dyn Fn(In<T>, In<u32>, Out<u64>, i32, u32, (u64, u32, u32));

/// Checks the sums of `kernel`, run with `words` words per sum at least.
fn check<T: Number>(kernel: &Kernel, most: u32, geometry: impl Fn(u64, u32, u32) -> Geometry, sum: Sum<T>) {
    for (seed, case) in cases::<T>(most).iter().enumerate() {
        let (n, k, d) = case.shape;
        // A narrower sum also fits a wider format.
        let words = match (most, case.words) {
            (1 | 2, _) => most,
            (_, 1 | 2) => 2 * case.words + 2, // as limbs
            (_, limbs) => limbs,
        };
        let emulator = Emulator::new(seed as u64);
        let points = emulator.buffer("points", &case.points);
        let labels = emulator.buffer("labels", &case.labels);
        let sums = emulator.buffer("sums", &vec![0_u64; k as usize * d as usize * words as usize]);
        launch(&emulator, kernel, geometry(n, k, d), || {
            sum(points.input(), labels.input(), sums.output(), case.exponent, words, case.shape);
        });
        let format = kmeans_core::fixed::FixedPoint { exponent: case.exponent, width: width(words) };
        let mut means = case.old.clone();
        for (at, sum) in sums.to_vec().chunks(words as usize).enumerate() {
            let count = case.counts[at / d as usize];
            if count > 0 {
                means[at] = mean(sum, format, count);
            }
        }
        assert_eq!(bits(&means), bits(&case.expected), "{} {}", kernel.name, case.what);
    }
}

fn width(words: u32) -> kmeans_core::fixed::Width {
    use kmeans_core::fixed::Width;
    match words {
        1 => Width::I64,
        2 => Width::I128,
        n => Width::Limbs(n as usize),
    }
}

fn per_sample<T: Number>() {
    let kernel = &contract::SUM_PER_SAMPLE_NARROW;
    check::<T>(kernel, 1, |n, _, _| kernel.thread_each(n), &|x, l, s, e, w, (n, _, d)| {
        update::per_sample::per_sample::<T, Narrow>(x, l, s, e, w, n, d);
    });
}

fn per_element<T: Number, F: Format>(kernel: &Kernel, most: u32) {
    check::<T>(kernel, most, |n, _, d| contract::sum_per_element(n, d), &|x, l, s, e, w, (n, _, d)| {
        update::per_element::per_element::<T, F>(x, l, s, e, w, n, d);
    });
}

fn per_block<T: Number, F: Format>(kernel: &Kernel, words: u32) {
    check::<T>(kernel, words, |n, k, d| contract::sum_per_block(n, k, d, words), &|x, l, s, e, w, (n, k, d)| {
        update::per_block::per_block::<T, F>(x, l, s, e, w, n, k, d);
    });
}

fn narrow_and_wide<T: Number>() {
    per_element::<T, Narrow>(&contract::SUM_PER_ELEMENT_NARROW, 1);
    per_element::<T, Wide>(&contract::SUM_PER_ELEMENT_WIDE, 2);
    per_block::<T, Narrow>(&contract::SUM_PER_BLOCK_NARROW, 1);
    per_block::<T, Wide>(&contract::SUM_PER_BLOCK_WIDE, 2);
}

#[test]
fn sums_per_sample_are_exact() {
    for_each_type!(per_sample());
}

#[test]
fn sums_per_element_and_per_block_are_exact() {
    for_each_type!(narrow_and_wide());
}

fn limbs<T: Number>() {
    per_element::<T, Limbs>(&contract::SUM_PER_ELEMENT_LIMBS, u32::MAX);
}

#[test]
fn sums_in_limbs_are_exact() {
    for_each_type!(limbs());
}

#[test]
fn sums_larger_than_shared_memory_go_through_it_in_windows() {
    let (n, k, d) = (40_usize, 50_usize, 300_usize); // 15,000 sums, 6,144 words at a time
    let points = numbers::<f32>(Data::Grid, n * d, 3);
    let assigned = labels(n, k, 3);
    let old = vec![0.0_f32; k * d];
    let expected = reference::update(&points, d, None, &old, &assigned);
    let format = format(&points);
    for rows in [3, 1] {
        let emulator = Emulator::new(rows as u64);
        let (x, l) = (emulator.buffer("points", &points), emulator.buffer("labels", &assigned));
        let sums = emulator.buffer("sums", &vec![0_u64; k * d]);
        let mut geometry = contract::sum_per_block(n as u64, k as u32, d as u32, 1);
        assert_eq!((geometry.grid[1], geometry.shared), (3, contract::SHARED_BYTES));
        geometry.grid[1] = rows;
        launch(&emulator, &contract::SUM_PER_BLOCK_NARROW, geometry, || {
            update::per_block::per_block::<f32, Narrow>(
                x.input(),
                l.input(),
                sums.output(),
                format.exponent,
                1,
                n as u64,
                k as u32,
                d as u32,
            );
        });
        let count = |c: usize| assigned.iter().filter(|&&label| label as usize == c).count() as u64;
        let means: Vec<f32> = sums
            .to_vec()
            .iter()
            .enumerate()
            .map(|(at, &sum)| if count(at / d) == 0 { 0.0 } else { mean(&[sum], format, count(at / d)) })
            .collect();
        assert_eq!(bits(&means), bits(&expected));
    }
}

#[test]
fn counts_are_counts() {
    for (n, k) in [(1, 1), (3000, 7), (3000, 20_000)] {
        let assigned = labels(n, k, 5);
        let mut expected = vec![0_u64; k];
        for &label in &assigned {
            expected[label as usize] += 1;
        }
        let run = |kernel: &Kernel, geometry, body: &dyn Fn(In<u32>, Out<u64>)| {
            let emulator = Emulator::new(n as u64);
            let labels = emulator.buffer("labels", &assigned);
            let counts = emulator.buffer("counts", &vec![0_u64; k]);
            launch(&emulator, kernel, geometry, || body(labels.input(), counts.output()));
            assert_eq!(counts.to_vec(), expected, "{} n {n} k {k}", kernel.name);
        };
        let n = n as u64;
        run(&contract::COUNT_GLOBAL, contract::COUNT_GLOBAL.thread_each(n), &|labels, counts| {
            count::global::global(labels, counts, n);
        });
        run(&contract::COUNT_HISTOGRAM, contract::count_histogram(n, k as u32), &|labels, counts| {
            count::histogram::histogram(labels, counts, n, k as u32);
        });
    }
}

#[test]
fn changed_labels_are_counted() {
    for n in [1, 31, 1000] {
        let (before, after) = (labels(n, 3, 1), labels(n, 3, 2));
        let expected = before.iter().zip(&after).filter(|(a, b)| a != b).count() as u64;
        let emulator = Emulator::new(1);
        let (a, b) = (emulator.buffer("before", &before), emulator.buffer("labels", &after));
        let changed = emulator.buffer("changed", &[0_u64]);
        launch(&emulator, &contract::COUNT_CHANGED, contract::COUNT_CHANGED.thread_each(n as u64), || {
            count::changed::changed(a.input(), b.input(), changed.output(), n as u64);
        });
        assert_eq!(changed.to_vec(), [expected]);
    }
}

fn divide<T: Number, F: scale::divide::Integer + Quotient>(kernel: &Kernel, means_kernel: &Kernel, most: u32) {
    for case in cases::<T>(most) {
        let (_, k, d) = case.shape;
        let emulator = Emulator::new(1);
        let points = emulator.buffer("points", &case.points);
        let labels = emulator.buffer("labels", &case.labels);
        let sums = emulator.buffer("sums", &vec![0_u64; (k * d * most) as usize]);
        let counts = emulator.buffer("counts", &case.counts);
        let old = emulator.buffer("old", &case.old);
        let centroids = emulator.uninitialised("centroids", (k * d) as usize);
        launch(&emulator, &contract::SUM_PER_ELEMENT_WIDE, contract::sum_per_element(case.shape.0, d), || {
            update::per_element::per_element::<T, F>(
                points.input(),
                labels.input(),
                sums.output(),
                case.exponent,
                most,
                case.shape.0,
                d,
            );
        });
        launch(&emulator, kernel, kernel.blocks(k as u64, 0), || {
            scale::divide::divide::<T, F>(
                sums.input(),
                counts.input(),
                old.input(),
                centroids.output(),
                case.exponent,
                d,
            );
        });
        let centroids = centroids.to_vec();
        assert_eq!(bits(&centroids), bits(&case.expected), "{} {}", kernel.name, case.what);

        let means = emulator.uninitialised("centroids", (k * d) as usize);
        let moved = emulator.uninitialised::<f64>("moved", k as usize);
        let empty = emulator.buffer("empty", &[0_u32]);
        launch(&emulator, means_kernel, contract::scale_means(k as u64), || {
            scale::means::means::<T, F>(
                sums.input(),
                counts.input(),
                old.input(),
                means.output(),
                moved.output(),
                empty.output(),
                case.exponent,
                most,
                k,
                d,
            );
        });
        assert_eq!(bits(&means.to_vec()), bits(&case.expected), "{} {}", means_kernel.name, case.what);
        let row = |c: usize| c * d as usize..(c + 1) * d as usize;
        let expected: Vec<f64> =
            (0..k as usize).map(|c| kmeans_core::distance(&centroids[row(c)], &case.old[row(c)])).collect();
        assert_eq!(moved.to_vec(), expected);
        assert_eq!(empty.to_vec(), [case.counts.iter().filter(|&&count| count == 0).count() as u32]);
        let new = emulator.buffer("centroids", &centroids);
        let moved = emulator.uninitialised::<f64>("moved", k as usize);
        launch(&emulator, &contract::SCALE_MOVED, contract::SCALE_MOVED.thread_each(k as u64), || {
            scale::moved::moved(new.input(), old.input(), moved.output(), k, d);
        });
        assert_eq!(moved.to_vec(), expected);
    }
}

fn divides<T: Number>() {
    divide::<T, Narrow>(&contract::SCALE_DIVIDE_NARROW, &contract::SCALE_MEANS_NARROW, 1);
    divide::<T, Wide>(&contract::SCALE_DIVIDE_WIDE, &contract::SCALE_MEANS_WIDE, 2);
}

#[test]
fn quotients_are_the_exact_means_and_movement_is_theirs() {
    for_each_type!(divides());
}
