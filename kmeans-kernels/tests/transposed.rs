//! The pipeline on points by columns gives the reference's labels, changes and sums.

mod common;

use common::{Data, SHAPES, bits, format, labels, launch, mean, numbers, words};
use kmeans_core::launch as contract;
use kmeans_core::reference;
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::scale::divide::Integer;
use kmeans_kernels::transposed;
use kmeans_kernels::update::fixed::{Narrow, Wide};

fn transpose<T: Number>(emulator: &Emulator, points: &[T], n: usize, d: usize) -> Buffer<T> {
    let rows = emulator.buffer("points", points);
    let columns = emulator.uninitialised("columns", n * d);
    let geometry = contract::transposed_transpose(n as u64, d as u32, T::SIZE);
    launch(emulator, &contract::TRANSPOSED_TRANSPOSE, geometry, || {
        transposed::transpose::transpose(rows.input(), columns.output(), n as u64, d as u32);
    });
    columns
}

fn transposes<T: Number>() {
    for (n, _, d) in SHAPES {
        let points = numbers::<T>(Data::Unit, n * d, 1);
        let expected: Vec<T> = (0..d).flat_map(|column| points[column..].iter().step_by(d).copied()).collect();
        let columns = transpose(&Emulator::new(n as u64), &points, n, d);
        assert_eq!(bits(&columns.to_vec()), bits(&expected), "{} n {n} d {d}", T::NAME);
    }
}

#[test]
fn columns_are_the_columns() {
    for_each_type!(transposes());
}

fn assigns<T: Number>() {
    for (n, k, d) in SHAPES {
        let points = numbers::<T>(Data::Grid, n * d, 2);
        let centroids = numbers::<T>(Data::Grid, k * d, 3);
        let before = labels(n, k, 4);
        let expected = reference::assign(&points, d, &centroids);
        let changes = before.iter().zip(&expected).filter(|(a, b)| a != b).count() as u64;
        let emulator = Emulator::new(n as u64);
        let columns = transpose(&emulator, &points, n, d);
        let c = emulator.buffer("centroids", &centroids);
        let assigned = emulator.buffer("labels", &before);
        let geometry = contract::transposed_assign(n as u64);
        let blocks = geometry.grid[0];
        let changed = emulator.uninitialised::<u64>("changed", blocks as usize);
        launch(&emulator, &contract::TRANSPOSED_ASSIGN, geometry, || {
            let (columns, c) = (columns.input(), c.input());
            transposed::assign::assign(columns, c, assigned.output(), changed.output(), n as u64, k as u32, d as u32);
        });
        let kernel = &contract::TRANSPOSED_REDUCE_CHANGES;
        let total = emulator.uninitialised::<u64>("total", 1);
        launch(&emulator, kernel, kernel.blocks(1, 256), || {
            transposed::reduce::changes(changed.input(), total.output(), blocks as u64);
        });
        assert_eq!(assigned.to_vec(), expected, "{} n {n} k {k} d {d}", T::NAME);
        assert_eq!(total.to_vec(), [changes], "{} n {n} k {k} d {d}", T::NAME);
    }
}

#[test]
fn labels_and_changes_are_the_references() {
    for_each_type!(assigns());
}

fn sum<T: Number, F: Integer>(
    most: u32,
    (n, k, d): (usize, usize, usize),
    data: Data,
    kernels: (&contract::Kernel, &contract::Kernel),
) {
    let points = numbers::<T>(data, n * d, 5);
    let format = format(&points);
    if words(format) > most {
        return;
    }
    let assigned = labels(n, k, 6);
    let old = vec![T::ZERO; k * d];
    let expected = reference::update(&points, d, None, &old, &assigned);
    let emulator = Emulator::new(n as u64);
    let columns = transpose(&emulator, &points, n, d);
    let labels = emulator.buffer("labels", &assigned);
    let geometry = contract::transposed_sums(n as u64, k as u32, d as u32, most);
    let blocks = geometry.grid[0];
    let partial = emulator.uninitialised::<u64>("partial", blocks as usize * k * d * most as usize);
    let sums = emulator.uninitialised::<u64>("sums", k * d * most as usize);
    launch(&emulator, kernels.0, geometry, || {
        let (columns, labels) = (columns.input(), labels.input());
        let (n, k, d) = (n as u64, k as u32, d as u32);
        transposed::sums::sums::<T, F>(columns, labels, partial.output(), format.exponent, most, n, k, d);
    });
    launch(&emulator, kernels.1, kernels.1.blocks(k as u64, 0), || {
        transposed::reduce::sums::<F>(partial.input(), sums.output(), blocks, k as u32, d as u32);
    });
    let count = |c: usize| assigned.iter().filter(|&&label| label as usize == c).count() as u64;
    let width = if most == 1 { kmeans_core::fixed::Width::I64 } else { kmeans_core::fixed::Width::I128 };
    let format = kmeans_core::fixed::FixedPoint { width, ..format };
    let means: Vec<T> = sums
        .to_vec()
        .chunks(most as usize)
        .enumerate()
        .map(|(at, sum)| if count(at / d) == 0 { T::ZERO } else { mean(sum, format, count(at / d)) })
        .collect();
    assert_eq!(bits(&means), bits(&expected), "{} {data:?} n {n} k {k} d {d}", T::NAME);
}

fn sums<T: Number>() {
    let narrow = (&contract::TRANSPOSED_SUMS_NARROW, &contract::TRANSPOSED_REDUCE_SUMS_NARROW);
    let wide = (&contract::TRANSPOSED_SUMS_WIDE, &contract::TRANSPOSED_REDUCE_SUMS_WIDE);
    for shape in SHAPES {
        sum::<T, Narrow>(1, shape, Data::Grid, narrow);
        sum::<T, Wide>(2, shape, Data::Unit, wide);
    }
}

#[test]
fn sums_of_two_stages_are_exact() {
    for_each_type!(sums());
}

#[test]
fn sums_of_many_blocks_and_windows_are_exact() {
    let narrow = (&contract::TRANSPOSED_SUMS_NARROW, &contract::TRANSPOSED_REDUCE_SUMS_NARROW);
    sum::<f32, Narrow>(1, (5000, 20, 3), Data::Grid, narrow);
    sum::<f32, Narrow>(1, (2100, 70, 100), Data::Grid, narrow);
}
