//! The silhouette kernel gives the bits of the sums that the contract describes.

mod common;

use common::{Data, launch, numbers};
use kmeans_core::launch::{self as contract, SILHOUETTE_BLOCK, SILHOUETTE_LANES};
use kmeans_kernels::device::emulated::Emulator;
use kmeans_kernels::silhouette::samples::samples;

/// The coefficients of points that lie cluster after cluster, `[n, d]`.
fn expected(points: &[f64], d: usize, sizes: &[usize]) -> Vec<f64> {
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0, |sum, (x, y)| sum + (x - y) * (x - y)).sqrt();
    let mut out = Vec::new();
    for (i, point) in points.chunks_exact(d).enumerate() {
        let (mut a, mut b, mut start, mut alone) = (0.0, f64::INFINITY, 0, false);
        for &size in sizes {
            let mut sum = 0.0;
            for block in points[start * d..(start + size) * d].chunks(SILHOUETTE_BLOCK * d) {
                let mut lanes = [0.0; SILHOUETTE_LANES];
                for (j, other) in block.chunks_exact(d).enumerate() {
                    lanes[j % SILHOUETTE_LANES] += distance(point, other);
                }
                sum += lanes.iter().sum::<f64>();
            }
            if (start..start + size).contains(&i) {
                alone = size == 1;
                a = sum / (size as f64 - 1.0);
            } else {
                b = f64::min(b, sum / size as f64);
            }
            start += size;
        }
        let larger = f64::max(a, b);
        out.push(if alone || larger == 0.0 { 0.0 } else { (b - a) / larger });
    }
    out
}

/// Runs the kernel on all points, in launches of `together` rows.
fn check(data: Data, d: usize, sizes: &[usize], together: usize) {
    let n: usize = sizes.iter().sum();
    let points = numbers::<f64>(data, n * d, 3);
    let columns: Vec<f64> = (0..d).flat_map(|j| (0..n).map(move |i| (i, j))).map(|(i, j)| points[i * d + j]).collect();
    let ends: Vec<u64> = sizes
        .iter()
        .scan(0, |end, &size| {
            *end += size as u64;
            Some(*end)
        })
        .collect();
    let emulator = Emulator::new(d as u64);
    let (columns, ends) = (emulator.buffer("columns", &columns), emulator.buffer("ends", &ends));
    let mut found = Vec::new();
    for first in (0..n).step_by(together) {
        let rows = together.min(n - first);
        let part = emulator.uninitialised::<f64>("silhouettes", rows);
        launch(&emulator, &contract::SILHOUETTE, contract::silhouette(rows as u64), || {
            let (first, rows, n) = (first as u64, rows as u64, n as u64);
            samples(columns.input(), ends.input(), part.output(), first, rows, n, sizes.len() as u32, d as u32);
        });
        found.extend(part.to_vec());
    }
    let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&found), bits(&expected(&points, d, sizes)), "{data:?} d {d} {sizes:?}");
}

#[test]
fn coefficients_have_the_bits_of_the_sums_in_the_contract() {
    for d in [1, 3, 75, 256, 257, 600] {
        check(Data::Unit, d, &[20, 1, 17, 33], 1000);
        check(Data::Grid, d, &[16, 32, 5], 20);
    }
    check(Data::Offset, 4, &[1, 1, 1, 200], 129);
    check(Data::Same, 3, &[30, 30], 60);
}

#[test]
fn clusters_longer_than_a_block_of_sums_are_summed_block_by_block() {
    check(Data::Unit, 2, &[513, 100, 512], 2000);
    check(Data::Unit, 257, &[514, 2], 2000);
    check(Data::Unit, 1, &[1100], 64);
}
