//! Every way to labels gives the reference's labels.

mod common;

use common::{Data, SHAPES, launch, numbers};
use kmeans_core::launch::{self as contract, ConstantParts, Geometry, Kernel};
use kmeans_core::{Scalar, reference};
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::device::{Half, In, Number, Out};
use kmeans_kernels::{argmin, assign, distance};

/// A problem and its right labels.
struct Case<T> {
    points: Vec<T>,
    centroids: Vec<T>,
    n: u64,
    k: u32,
    d: u32,
    expected: Vec<u32>,
    what: String,
}

/// All shapes and kinds of data for a type. Centroids are points, some of them twice, so that there are ties.
fn cases<T: Scalar>() -> Vec<Case<T>> {
    let mut cases = Vec::new();
    for (n, k, d) in SHAPES {
        for data in [Data::Grid, Data::Unit, Data::Offset, Data::Same, Data::Extreme] {
            let points = numbers::<T>(data, n * d, n as u64);
            let row = |c: usize| (c * 7 % k.min(n)) * d;
            let centroids: Vec<T> = (0..k).flat_map(|c| points[row(c)..row(c) + d].to_vec()).collect();
            let expected = reference::assign(&points, d, &centroids);
            let what = format!("{} {data:?} n {n} k {k} d {d}", T::NAME);
            cases.push(Case { points, centroids, n: n as u64, k: k as u32, d: d as u32, expected, what });
        }
    }
    cases
}

type Fused<T> = fn(In<T>, In<T>, Out<u32>, u64, u32, u32);

fn fused<T: Number>(kernel: &Kernel, geometry: impl Fn(u64) -> Geometry, body: Fused<T>) {
    fused_to(kernel, u32::MAX, |n, _, _| geometry(n), body);
}

/// Of all shapes, those of at most `columns` columns.
fn fused_to<T: Number>(kernel: &Kernel, columns: u32, geometry: impl Fn(u64, u32, u32) -> Geometry, body: Fused<T>) {
    for (seed, case) in cases::<T>().into_iter().enumerate().filter(|(_, case)| case.d <= columns) {
        let Case { n, k, d, .. } = case;
        let emulator = Emulator::new(seed as u64);
        let points = emulator.buffer("points", &case.points);
        let centroids = emulator.buffer("centroids", &case.centroids);
        let labels = emulator.uninitialised("labels", n as usize);
        launch(&emulator, kernel, geometry(n, k, d), || {
            body(points.input(), centroids.input(), labels.output(), n, k, d);
        });
        assert_eq!(labels.to_vec(), case.expected, "{} {}", kernel.name, case.what);
    }
}

fn direct<T: Number>() {
    fused::<T>(&contract::ASSIGN_DIRECT, |n| contract::ASSIGN_DIRECT.thread_each(n), assign::direct::direct);
}

fn tiled<T: Number>() {
    fused::<T>(&contract::ASSIGN_TILED, |n| contract::assign_tiled(n, T::SIZE), assign::tiled::tiled);
}

fn filtered<T: Number>() {
    fused::<T>(&contract::ASSIGN_FILTERED, contract::assign_filtered, assign::filtered::filtered);
}

#[test]
fn direct_gives_the_labels() {
    for_each_type!(direct());
}

#[test]
fn tiled_gives_the_labels() {
    for_each_type!(tiled());
}

#[test]
fn narrow_gives_the_labels() {
    fn narrow<T: Number>() {
        let kernel = &contract::ASSIGN_NARROW;
        fused_to::<T>(kernel, contract::NARROW_COLUMNS, contract::assign_narrow, assign::narrow::narrow);
    }
    narrow::<f32>();
    narrow::<half::f16>();
    narrow::<half::bf16>();
}

#[test]
fn narrow_takes_more_centroids_than_shared_memory_holds() {
    let (n, k) = (5, contract::NARROW_VALUES as usize + 300);
    let centroids = numbers::<f32>(Data::Unit, k, 1);
    let points = [centroids[3], centroids[k - 1], 0.25, -2.0, 2.0];
    let emulator = Emulator::new(1);
    let (x, c) = (emulator.buffer("points", &points), emulator.buffer("centroids", &centroids));
    let labels = emulator.uninitialised("labels", n);
    launch(&emulator, &contract::ASSIGN_NARROW, contract::assign_narrow(n as u64, k as u32, 1), || {
        assign::narrow::narrow(x.input(), c.input(), labels.output(), n as u64, k as u32, 1);
    });
    assert_eq!(labels.to_vec(), reference::assign(&points, 1, &centroids));
}

#[test]
fn filtered_gives_the_labels() {
    filtered::<f32>();
    filtered::<half::f16>();
    filtered::<half::bf16>();
}

/// Tensor cores, on norms that a kernel computes.
type Tensor<T> = fn(In<T>, In<T>, In<f32>, In<f32>, In<u32>, Out<u32>, u64, u32, u32);

fn tensor<T: Half>(kernel: &Kernel, geometry: impl Fn(u64) -> Geometry, body: Tensor<T>) {
    for (seed, case) in cases::<T>().into_iter().enumerate() {
        let Case { n, k, d, .. } = case;
        let emulator = Emulator::new(seed as u64);
        let points = emulator.buffer("points", &case.points);
        let centroids = emulator.buffer("centroids", &case.centroids);
        let norms = |matrix: &Buffer<T>, rows: u64| {
            let norms = emulator.uninitialised::<f32>("norms", rows as usize);
            let largest = emulator.buffer("largest", &[0]);
            launch(&emulator, &contract::NORMS, contract::NORMS.thread_each(rows), || {
                assign::norms::norms(matrix.input(), norms.output(), largest.output(), rows, d);
            });
            (norms, largest)
        };
        let (x_norms, _) = norms(&points, n);
        let (c_norms, largest) = norms(&centroids, k as u64);
        let expected = c_norms.to_vec().into_iter().fold(0.0, f32::max);
        assert_eq!(largest.to_vec(), [expected.to_bits()]);
        let labels = emulator.uninitialised("labels", n as usize);
        launch(&emulator, kernel, geometry(n), || {
            body(
                points.input(),
                centroids.input(),
                x_norms.input(),
                c_norms.input(),
                largest.input(),
                labels.output(),
                n,
                k,
                d,
            );
        });
        assert_eq!(labels.to_vec(), case.expected, "{} {}", kernel.name, case.what);
    }
}

#[test]
fn tensor_cores_give_the_labels() {
    tensor::<half::f16>(&contract::ASSIGN_MMA, contract::assign_mma, assign::mma::mma);
    tensor::<half::bf16>(&contract::ASSIGN_MMA, contract::assign_mma, assign::mma::mma);
}

#[test]
fn tensor_cores_of_four_warps_give_the_labels() {
    tensor::<half::f16>(&contract::ASSIGN_WGMMA, contract::assign_wgmma, assign::wgmma::wgmma);
    tensor::<half::bf16>(&contract::ASSIGN_WGMMA, contract::assign_wgmma, assign::wgmma::wgmma);
}

type Matrix<T> = fn(In<T>, In<T>, Out<f64>, u64, u64, u32, u32);
type Argmin = fn(In<f64>, Out<u32>, u64, u64, u32);

/// Labels in chunks of `chunk` rows: `fill` computes the distances, `argmin` takes the labels.
fn unfused<T: Number>(
    case: &Case<T>,
    chunk: u64,
    fill: impl Fn(&Emulator, In<T>, In<T>, Out<f64>, u64, u64),
    (kernel, geometry, argmin): (&Kernel, Geometry, Argmin),
) {
    let emulator = Emulator::new(chunk);
    let points = emulator.buffer("points", &case.points);
    let centroids = emulator.buffer("centroids", &case.centroids);
    let labels = emulator.uninitialised("labels", case.n as usize);
    let mut first = 0;
    while first < case.n {
        let rows = chunk.min(case.n - first);
        let distances = emulator.uninitialised::<f64>("distances", (rows * case.k as u64) as usize);
        fill(&emulator, points.input(), centroids.input(), distances.output(), first, rows);
        launch(&emulator, kernel, geometry, || argmin(distances.input(), labels.output(), first, rows, case.k));
        first += rows;
    }
    assert_eq!(labels.to_vec(), case.expected, "{} {}", kernel.name, case.what);
}

const CHUNK: u64 = 150;

/// The steps to a matrix share their arithmetic: a third of the cases, of every shape and kind of data some, shows them.
const STEP: usize = 3;

fn matrix<T: Number>(kernel: &Kernel, body: Matrix<T>) {
    for case in cases::<T>().into_iter().step_by(STEP) {
        let fill = |emulator: &Emulator, points: In<T>, centroids: In<T>, distances: Out<f64>, first, rows| {
            let geometry = contract::distance(rows, case.k, T::SIZE);
            launch(emulator, kernel, geometry, || body(points, centroids, distances, first, rows, case.k, case.d));
        };
        let serial =
            (&contract::ARGMIN_SERIAL, contract::ARGMIN_SERIAL.thread_each(CHUNK), argmin::serial::serial as Argmin);
        unfused(&case, CHUNK, fill, serial);
    }
}

fn matrix_direct<T: Number>() {
    matrix::<T>(&contract::DISTANCE_DIRECT, distance::direct::direct);
}

fn matrix_tiled<T: Number>() {
    matrix::<T>(&contract::DISTANCE_TILED, distance::tiled::tiled);
}

fn matrix_coalesced<T: Number>() {
    matrix::<T>(&contract::DISTANCE_COALESCED, distance::coalesced::coalesced);
}

#[test]
fn direct_distances_give_the_labels() {
    for_each_type!(matrix_direct());
}

#[test]
fn tiled_distances_give_the_labels() {
    for_each_type!(matrix_tiled());
}

#[test]
fn coalesced_distances_give_the_labels() {
    for_each_type!(matrix_coalesced());
}

fn constant_case<T: Number>(case: &Case<T>) {
    let Case { k, d, .. } = *case;
    let kernel = &contract::DISTANCE_CONSTANT;
    let fill = |emulator: &Emulator, points: In<T>, _: In<T>, distances: Out<f64>, first, rows| {
        for part in ConstantParts::new(k, d, T::SIZE) {
            let at = part.cluster as usize * d as usize + part.column as usize;
            emulator.fill_constants(&case.centroids[at..][..(part.clusters * part.columns) as usize]);
            launch(emulator, kernel, kernel.thread_each(rows), || {
                distance::constant::constant(
                    points,
                    distances,
                    first,
                    rows,
                    k,
                    d,
                    part.cluster,
                    part.clusters,
                    part.column,
                    part.columns,
                );
            });
        }
    };
    let serial =
        (&contract::ARGMIN_SERIAL, contract::ARGMIN_SERIAL.thread_each(CHUNK), argmin::serial::serial as Argmin);
    unfused(case, CHUNK, fill, serial);
}

fn constant<T: Number>() {
    cases::<T>().iter().step_by(STEP).for_each(constant_case);
}

#[test]
fn distances_from_constant_memory_give_the_labels() {
    for_each_type!(constant());
}

#[test]
fn centroids_larger_than_constant_memory_go_through_it_in_parts() {
    for (n, k, d) in [(20, 300, 200), (3, 2, 40_000)] {
        let points = numbers::<f32>(Data::Unit, n * d, 1);
        let centroids = numbers::<f32>(Data::Unit, k * d, 2);
        let expected = reference::assign(&points, d, &centroids);
        let case = Case { points, centroids, n: n as u64, k: k as u32, d: d as u32, expected, what: String::new() };
        constant_case(&case);
    }
}

#[test]
fn every_argmin_gives_the_labels() {
    for case in cases::<f32>() {
        let kernel = &contract::DISTANCE_COALESCED;
        let fill = |emulator: &Emulator, points: In<f32>, centroids: In<f32>, distances: Out<f64>, first, rows| {
            let geometry = contract::distance(rows, case.k, 4);
            launch(emulator, kernel, geometry, || {
                distance::coalesced::coalesced(points, centroids, distances, first, rows, case.k, case.d);
            });
        };
        let ladder: [(&Kernel, Geometry, Argmin); 3] = [
            (&contract::ARGMIN_SERIAL, contract::ARGMIN_SERIAL.thread_each(CHUNK), argmin::serial::serial),
            (&contract::ARGMIN_TREE, contract::argmin_tree(CHUNK), argmin::tree::tree),
            (&contract::ARGMIN_SHUFFLE, contract::argmin_shuffle(CHUNK), argmin::shuffle::shuffle),
        ];
        for rung in ladder {
            unfused(&case, CHUNK, fill, rung);
        }
    }
}

#[test]
fn more_clusters_than_16_bits_count() {
    let (n, k, d) = (40, 70_000, 1);
    let centroids: Vec<f32> = (0..k).map(|c| c as f32).collect();
    let points: Vec<f32> = (0..n).map(|i| (k - 1 - i * 1700) as f32 + 0.25).collect();
    let expected = reference::assign(&points, d, &centroids);
    let emulator = Emulator::new(1);
    let (x, c) = (emulator.buffer("points", &points), emulator.buffer("centroids", &centroids));
    let labels = emulator.uninitialised("labels", n);
    launch(&emulator, &contract::ASSIGN_FILTERED, contract::assign_filtered(n as u64), || {
        assign::filtered::filtered(x.input(), c.input(), labels.output(), n as u64, k as u32, d as u32);
    });
    assert_eq!(labels.to_vec(), expected);
}

#[test]
fn no_finite_distance_means_label_0() {
    let points = [1e200_f64, -1e200];
    let emulator = Emulator::new(1);
    let (x, c) = (emulator.buffer("points", &points), emulator.buffer("centroids", &[-1e200, -1e200]));
    let labels = emulator.uninitialised("labels", 2);
    launch(&emulator, &contract::ASSIGN_TILED, contract::assign_tiled(2, 8), || {
        assign::tiled::tiled(x.input(), c.input(), labels.output(), 2, 2, 1);
    });
    assert_eq!(labels.to_vec(), [0, 0]);
}
