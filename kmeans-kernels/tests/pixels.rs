//! The pixel kernels do to bytes what the reference does to the same numbers as `f32`.

mod common;

use common::launch;
use kmeans_core::launch as contract;
use kmeans_core::reference;
use kmeans_core::rng::{Purpose, Random};
use kmeans_kernels::device::emulated::Emulator;
use kmeans_kernels::update::fixed::Narrow;
use kmeans_kernels::{pixels, scale};

fn image(n: usize) -> Vec<u8> {
    let random = Random::new(n as u64, 0);
    (0..n as u64 * 3).map(|i| random.below(256, Purpose::Point, 0, i) as u8).collect()
}

#[test]
fn a_round_on_pixels_is_a_round_of_the_reference() {
    for (n, k) in [(1, 1), (700, 8), (1000, 100), (300, 5000)] {
        let bytes = image(n);
        let points: Vec<f32> = bytes.iter().map(|&b| f32::from(b)).collect();
        let old: Vec<f32> = (0..k).flat_map(|c| points[c * n / k * 3..][..3].iter().map(|v| v + 0.25)).collect();
        let expected = reference::assign(&points, 3, &old);
        let centroids = reference::update(&points, 3, None, &old, &expected);

        let emulator = Emulator::new(n as u64);
        let image = emulator.buffer("pixels", &bytes);
        let before = emulator.buffer("centroids", &old);
        let labels = emulator.uninitialised::<u32>("labels", n);
        launch(&emulator, &contract::PIXEL_ASSIGN, contract::pixel_assign(n as u64, k as u32), || {
            pixels::assign::assign(image.input(), before.input(), labels.output(), n as u64, k as u32);
        });
        assert_eq!(labels.to_vec(), expected, "n {n} k {k}");

        let sums = emulator.buffer("sums", &vec![0_u64; k * 3]);
        let counts = emulator.buffer("counts", &vec![0_u64; k]);
        launch(&emulator, &contract::PIXEL_SUMS, contract::pixel_sums(n as u64, k as u32), || {
            let (sums, counts) = (sums.output(), counts.output());
            pixels::sums::sums(image.input(), labels.input(), sums, counts, n as u64, k as u32);
        });
        assert_eq!(counts.to_vec().iter().sum::<u64>(), n as u64);
        let after = emulator.uninitialised::<f32>("centroids", k * 3);
        let kernel = &contract::SCALE_DIVIDE_NARROW;
        launch(&emulator, kernel, kernel.blocks(k as u64, 0), || {
            let (sums, counts) = (sums.input(), counts.input());
            scale::divide::divide::<f32, Narrow>(sums, counts, before.input(), after.output(), 0, 3);
        });
        assert_eq!(after.to_vec(), centroids, "n {n} k {k}");

        let recoloured = emulator.uninitialised::<u8>("recoloured", n * 3);
        let kernel = &contract::PIXEL_RECOLOUR;
        launch(&emulator, kernel, kernel.thread_each(n as u64), || {
            pixels::recolour::recolour(labels.input(), after.input(), recoloured.output(), n as u64);
        });
        let colour = |i: usize| centroids[expected[i / 3] as usize * 3 + i % 3].round() as u8;
        assert_eq!(recoloured.to_vec(), (0..n * 3).map(colour).collect::<Vec<_>>());
    }
}

#[test]
fn features_are_colour_and_weighted_position() {
    let (width, height) = (13, 7);
    let bytes = image(width * height);
    let emulator = Emulator::new(1);
    let image = emulator.buffer("pixels", &bytes);
    let points = emulator.uninitialised::<f32>("points", width * height * 5);
    let kernel = &contract::PIXEL_FEATURES;
    launch(&emulator, kernel, kernel.thread_each((width * height) as u64), || {
        pixels::features::features(image.input(), points.output(), (width * height) as u64, width as u32, 0.5);
    });
    let expected: Vec<f32> = (0..width * height)
        .flat_map(|i| {
            let colour = [0, 1, 2].map(|channel| f32::from(bytes[i * 3 + channel]));
            [colour[0], colour[1], colour[2], (i % width) as f32 * 0.5, (i / width) as f32 * 0.5]
        })
        .collect();
    assert_eq!(points.to_vec(), expected);
}
