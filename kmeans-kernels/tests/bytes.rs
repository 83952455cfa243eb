//! Kernels that read bytes give the bits that they give for the same numbers as `f32`.

mod common;

use common::{bits, labels, launch};
use kmeans_core::launch::{self as contract, Geometry, Kernel};
use kmeans_core::reference;
use kmeans_core::rng::{Purpose, Random};
use kmeans_kernels::device::emulated::Emulator;
use kmeans_kernels::device::{Element, In, Load, Out};
use kmeans_kernels::inertia::squares::squares;
use kmeans_kernels::inertia::{Few, Many};
use kmeans_kernels::update::fixed::{Limbs, Narrow, Wide};
use kmeans_kernels::{assign, distance, rows, seeding, update};

/// Shapes (n, k, d): grey and colour, tile edges, more sums than shared memory holds.
const SHAPES: [(usize, usize, usize); 6] =
    [(1, 1, 1), (700, 8, 3), (257, 40, 1), (300, 2100, 3), (129, 5, 4), (150, 9, 32)];

/// What both forms of the same points are put through.
struct Case {
    n: usize,
    k: usize,
    d: usize,
    bytes: Vec<u8>,
    points: Vec<f32>,
    labels: Vec<u32>,
    weights: Vec<f64>,
}

fn cases() -> impl Iterator<Item = Case> {
    SHAPES.into_iter().map(|(n, k, d)| {
        let random = Random::new((n * d) as u64, 0);
        let draw = |below: u64, i: usize| random.below(below, Purpose::Point, d as u32, i as u64);
        let bytes: Vec<u8> = (0..n * d).map(|i| draw(256, i) as u8).collect();
        Case {
            points: bytes.iter().map(|&b| f32::from(b)).collect(),
            labels: labels(n, k, 3),
            weights: (0..n).map(|i| draw(1 << 24, i) as f64 / f64::from(1 << 24)).collect(),
            bytes,
            n,
            k,
            d,
        }
    })
}

/// `results` values that a kernel adds to or writes, beginning with `before`, from bytes and from `f32`.
fn compare<R: Element>(
    case: &Case,
    kernel: &Kernel,
    geometry: Geometry,
    before: &[R],
    bytes: impl Fn(In<u8>, Out<R>),
    floats: impl Fn(In<f32>, Out<R>),
) -> Vec<R> {
    let emulator = Emulator::new(case.n as u64);
    let (narrow, wide) = (emulator.buffer("points", &case.bytes), emulator.buffer("points", &case.points));
    let (found, expected) = (emulator.buffer("result", before), emulator.buffer("result", before));
    launch(&emulator, kernel, geometry, || bytes(narrow.input(), found.output()));
    launch(&emulator, kernel, geometry, || floats(wide.input(), expected.output()));
    let raw = |values: &[R]| values.iter().map(|v| v.to_raw()).collect::<Vec<u64>>();
    let Case { n, k, d, .. } = case;
    assert_eq!(raw(&found.to_vec()), raw(&expected.to_vec()), "{}: n {n} k {k} d {d}", kernel.name);
    found.to_vec()
}

#[test]
fn a_byte_widens_to_its_number() {
    for byte in 0..=u8::MAX {
        assert_eq!(byte.load(), f32::from(byte));
        assert_eq!(bits(&[byte.load()]), bits(&[f32::from(byte)]));
    }
}

#[test]
fn labels_of_bytes_are_those_of_the_reference() {
    for case in cases().filter(|case| case.d <= contract::NARROW_COLUMNS as usize) {
        let Case { n, k, d, .. } = case;
        let emulator = Emulator::new(1);
        // Halves, so that there are ties, and more clusters than points.
        let centroids: Vec<f32> = (0..k * d).map(|i| f32::from(case.bytes[i * 7 % (n * d)]) + 0.5).collect();
        let buffer = emulator.buffer("centroids", &centroids);
        let (n64, k32, d32) = (n as u64, k as u32, d as u32);
        let found = compare(
            &case,
            &contract::ASSIGN_NARROW,
            contract::assign_narrow(n64, k32, d32),
            &vec![0_u32; n],
            |points, labels| assign::narrow::narrow(points, buffer.input(), labels, n64, k32, d32),
            |points, labels| assign::narrow::narrow(points, buffer.input(), labels, n64, k32, d32),
        );
        assert_eq!(found, reference::assign(&case.points, d, &centroids));
        let rows = n64.min(100);
        compare(
            &case,
            &contract::DISTANCE_COALESCED,
            contract::distance(rows, k32, 4),
            &vec![0.0_f64; rows as usize * k],
            |points, out| distance::coalesced::coalesced(points, buffer.input(), out, 0, rows, k32, d32),
            |points, out| distance::coalesced::coalesced(points, buffer.input(), out, 0, rows, k32, d32),
        );
        let own = emulator.buffer("labels", &case.labels);
        compare(
            &case,
            &contract::DISTANCE_OWN,
            contract::DISTANCE_OWN.thread_each(n64),
            &vec![0.0_f64; n],
            |points, out| distance::own::own(points, buffer.input(), own.input(), out, n64, d32),
            |points, out| distance::own::own(points, buffer.input(), own.input(), out, n64, d32),
        );
    }
}

#[test]
fn sums_of_bytes_are_those_of_their_numbers() {
    for case in cases() {
        let Case { n, k, d, .. } = case;
        let emulator = Emulator::new(1);
        let labels = emulator.buffer("labels", &case.labels);
        let weights = emulator.buffer("weights", &case.weights);
        let (n64, k32, d32) = (n as u64, k as u32, d as u32);
        let zeros = vec![0_u64; k * d];
        let sums = compare(
            &case,
            &contract::SUM_PER_BLOCK_NARROW,
            contract::sum_per_block(n64, k32, d32, 1),
            &zeros,
            |p, s| update::per_block::per_block::<u8, Narrow>(p, labels.input(), s, 0, 1, n64, k32, d32),
            |p, s| update::per_block::per_block::<f32, Narrow>(p, labels.input(), s, 0, 1, n64, k32, d32),
        );
        assert_eq!(sums.iter().sum::<u64>(), case.bytes.iter().map(|&b| u64::from(b)).sum::<u64>());
        let other = compare(
            &case,
            &contract::SUM_PER_ELEMENT_NARROW,
            contract::sum_per_element(n64, d32),
            &zeros,
            |p, s| update::per_element::per_element::<u8, Narrow>(p, labels.input(), s, 0, 1, n64, d32),
            |p, s| update::per_element::per_element::<f32, Narrow>(p, labels.input(), s, 0, 1, n64, d32),
        );
        assert_eq!(other, sums);
        let mut rows: Vec<u32> = (0..n as u32).collect();
        rows.sort_by_key(|&row| case.labels[row as usize]);
        let ends: Vec<u32> =
            (0..k as u32).map(|c| case.labels.iter().filter(|&&label| label <= c).count() as u32).collect();
        let (rows, ends) = (emulator.buffer("rows", &rows), emulator.buffer("places", &ends));
        let order = emulator.buffer("order", &[0, n64]);
        let (l, r, e, o) = (labels.input(), rows.input(), ends.input(), order.input());
        for each in [1, 16] {
            if d % each != 0 {
                continue;
            }
            let vectors = (each > 1) as u32;
            let other = compare(
                &case,
                &contract::SUM_SORTED_NARROW,
                contract::sum_sorted(n64, d32 / each as u32),
                &zeros,
                |p, s| update::sorted::sorted::<u8, Narrow>(p, l, l, r, e, o, s, 0, 1, 0, 1 << 20, vectors, d32),
                |p, s| update::sorted::sorted::<f32, Narrow>(p, l, l, r, e, o, s, 0, 1, 0, 1 << 20, 0, d32),
            );
            assert_eq!(other, sums);
        }
        let (w, l) = (weights.input(), labels.input());
        for words in [1, 2, 3] {
            let kernel =
                [contract::SUM_WEIGHTED_NARROW, contract::SUM_WEIGHTED_WIDE, contract::SUM_WEIGHTED_LIMBS][words - 1];
            let words = words as u32;
            compare(
                &case,
                &kernel,
                contract::sum_per_element(n64, d32),
                &vec![0_u64; k * d * words as usize],
                |p, s| match words {
                    1 => update::weighted::weighted::<u8, Narrow>(p, w, l, s, -24, words, n64, d32),
                    2 => update::weighted::weighted::<u8, Wide>(p, w, l, s, -24, words, n64, d32),
                    _ => update::weighted::weighted::<u8, Limbs>(p, w, l, s, -24, words, n64, d32),
                },
                |p, s| match words {
                    1 => update::weighted::weighted::<f32, Narrow>(p, w, l, s, -24, words, n64, d32),
                    2 => update::weighted::weighted::<f32, Wide>(p, w, l, s, -24, words, n64, d32),
                    _ => update::weighted::weighted::<f32, Limbs>(p, w, l, s, -24, words, n64, d32),
                },
            );
        }
    }
}

#[test]
fn squares_rows_and_seeding_read_bytes() {
    for case in cases() {
        let Case { n, d, .. } = case;
        let emulator = Emulator::new(1);
        let weights = emulator.buffer("weights", &case.weights);
        let (n64, d32, w) = (n as u64, d as u32, weights.input());
        for (weighted, narrow) in [(0, 1), (0, 0), (1, 0)] {
            compare(
                &case,
                &contract::SQUARE_SUM,
                contract::square_sum(n64, d32),
                &[0_u64; 6],
                |p, s| squares::<u8, Few>(p, w, s, -24, 6, weighted, narrow, n64, d32),
                |p, s| squares::<f32, Many>(p, w, s, -24, 6, weighted, narrow, n64, d32),
            );
        }
        let picked: Vec<u64> = (0..10).map(|i| i * 31 % n64).collect();
        let rows_in = emulator.buffer("rows", &picked);
        let gathered = compare(
            &case,
            &contract::ROWS_GATHER,
            contract::rows_gather(10),
            &vec![0.0_f32; 10 * d],
            |p, out| rows::gather::gather(p, rows_in.input(), out, n64, 10, d32),
            |p, out| rows::gather::gather(p, rows_in.input(), out, n64, 10, d32),
        );
        assert_eq!(gathered[..d], case.points[..d]);
        let largest = emulator.buffer("largest", &[0_u64]);
        let near = compare(
            &case,
            &contract::SEED_NEAREST,
            contract::seed_nearest(n64, 4),
            &vec![0.0_f64; n],
            |p, out| seeding::nearest::nearest(p, rows_in.input(), out, w, largest.output(), 0, 1, n64, d32),
            |p, out| seeding::nearest::nearest(p, rows_in.input(), out, w, largest.output(), 0, 1, n64, d32),
        );
        let near = emulator.buffer("nearest", &near);
        compare(
            &case,
            &contract::SEED_POTENTIALS,
            contract::seed_potentials(n64, 4),
            &[0_u64; 10],
            |p, out| {
                let (near, largest) = (near.input(), largest.input());
                seeding::potentials::potentials(p, rows_in.input(), near, w, largest, out, 0, 10, n64, d32);
            },
            |p, out| {
                let (near, largest) = (near.input(), largest.input());
                seeding::potentials::potentials(p, rows_in.input(), near, w, largest, out, 0, 10, n64, d32);
            },
        );
    }
}
