//! What only a GPU can show. Without one each test says so; see `kmeans_tests::gpu`.
//!
//! The other tests of this program run on a GPU too, with `KMEANS_DEVICE=cuda`.

use std::thread;

use cudarc::driver::CudaContext;
use kmeans_host::{Device, DevicePoints, Element, EmptyCluster, Error, Init, KMeans, Stop, bf16, f16};
use kmeans_tests::compare::{Job, assert_identical, assert_same, assert_same_fit, bits};
use kmeans_tests::data::{Kind, Weighting, points, weights};
use kmeans_tests::gpu::first_gpu;
use ndarray::{Array1, Array2, array};
use rayon::prelude::*;

/// Asserts that the GPU makes the same of `points` as the processor, which other tests compare with the reference.
fn assert_like_the_processor<T: Element>(kmeans: &KMeans, points: &Array2<T>, weights: Option<&Array1<f64>>) {
    let fit = |device| {
        let kmeans = kmeans.clone().device(device);
        match weights {
            None => kmeans.fit(points),
            Some(weights) => kmeans.fit_weighted(points, weights),
        }
    };
    let (found, expected) = (fit(Device::Cuda(0)).unwrap(), fit(Device::Cpu).unwrap());
    assert!(found.engine().starts_with("cuda:0"), "{}", found.engine());
    assert_same("history", found.history(), expected.history());
    assert_same("labels", &found.labels().to_vec(), &expected.labels().to_vec());
    assert_same("centroid values", &bits(found.centroids()), &bits(expected.centroids()));
    assert_same("counts", &found.counts().to_vec(), &expected.counts().to_vec());
    assert_eq!(found.inertia().to_bits(), expected.inertia().to_bits(), "inertia");
}

/// Points that are quick to make: some thousand places, and a little of everything in the low bits.
fn many<T: Element>(n: usize, d: usize) -> Array2<T> {
    let mut points = Array2::from_elem((n, d), T::ZERO);
    let all = points.as_slice_mut().expect("made in standard layout");
    all.par_chunks_mut(d).enumerate().for_each(|(i, row)| {
        let mut state = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let place = (i % 1021) as f64;
        for value in row {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *value = T::from_f64(
                (place * ((state >> 60) + 1) as f64).rem_euclid(64.0) + (state >> 40) as f64 / f64::from(1 << 25),
            );
        }
    });
    points
}

#[test]
fn every_shape_gives_the_bits_of_the_reference() {
    fn check<T: Element>() {
        let shapes = [
            (1, 1, 1),
            (2, 1, 2),
            (31, 3, 31),
            (33, 2, 5),
            (64, 64, 64),
            (65, 63, 17),
            (127, 128, 33),
            (129, 129, 65),
            (257, 7, 100),
            (1000, 1, 300),
            (999, 16, 4),
            (501, 300, 3),
            (300, 1025, 12),
            (40, 4096, 9),
            (5000, 2, 64),
        ];
        for (n, d, k) in shapes {
            for kind in [Kind::Uniform, Kind::Grid, Kind::Duplicated, Kind::Offset] {
                let points = points::<T>(kind, n, d, (n + d) as u64);
                let mut job = Job::new(k, Init::EvenlySpaced).max_iter(4);
                job.settings.stop = Stop::LabelsRepeat;
                let fitted = job.kmeans().device(Device::Cuda(0)).fit(&points).unwrap();
                println!("{n} × {d}, k = {k}, {kind:?}, {}", T::NAME);
                assert_same_fit(&fitted, &job.reference(&points, None).unwrap());
            }
        }
    }
    if first_gpu().is_none() {
        return;
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}

#[test]
fn millions_of_points() {
    if first_gpu().is_none() {
        return;
    }
    let kmeans = KMeans::new(64).init(Init::EvenlySpaced).max_iter(4);
    assert_like_the_processor(&kmeans, &many::<f32>(2_000_003, 16), None);
    assert_like_the_processor(&kmeans, &many::<f16>(1_000_001, 24), None);
    assert_like_the_processor(&kmeans, &many::<bf16>(1_000_001, 9), None);
    assert_like_the_processor(&kmeans, &many::<f64>(1_000_001, 3), None);
    assert_like_the_processor(&kmeans, &many::<f32>(8_000_001, 1), None);
    let weights = weights(Weighting::Random, 1_000_001, 3);
    assert_like_the_processor(&kmeans, &many::<f32>(1_000_001, 5), weights.as_ref());
}

#[test]
fn more_than_2_31_values() {
    if first_gpu().is_none() {
        return;
    }
    let (n, d) = ((1 << 31) / 64 + 12_345, 64);
    let kmeans = KMeans::new(8).init(Init::EvenlySpaced).max_iter(2);
    assert_like_the_processor(&kmeans, &many::<f16>(n, d), None);
}

#[test]
fn a_hundred_thousand_clusters() {
    if first_gpu().is_none() {
        return;
    }
    let kmeans = KMeans::new(100_000).init(Init::FirstK).max_iter(2);
    assert_like_the_processor(&kmeans, &points::<f32>(Kind::Uniform, 120_000, 3, 1), None);
    let kmeans = kmeans.empty_cluster(EmptyCluster::Keep);
    assert_like_the_processor(&kmeans, &points::<f16>(Kind::Uniform, 110_000, 8, 1), None);
}

#[test]
fn four_thousand_columns() {
    if first_gpu().is_none() {
        return;
    }
    let kmeans = KMeans::new(50).init(Init::EvenlySpaced).max_iter(3);
    assert_like_the_processor(&kmeans, &many::<f32>(3001, 4096), None);
    assert_like_the_processor(&kmeans, &many::<bf16>(3001, 4095), None);
    assert_like_the_processor(&kmeans, &many::<f64>(1501, 4096), None);
}

#[test]
fn every_start_picks_the_rows_that_the_processor_picks() {
    if first_gpu().is_none() {
        return;
    }
    let points = many::<f32>(300_001, 20);
    let weights = weights(Weighting::WithZeros, 300_001, 5);
    for init in [
        Init::FirstK,
        Init::EvenlySpaced,
        Init::RandomPoints,
        Init::RandomLabels,
        Init::KMeansPlusPlus,
        Init::KMeansParallel,
    ] {
        let kmeans = KMeans::new(150).init(init).max_iter(1).seed(11);
        assert_like_the_processor(&kmeans, &points, None);
        assert_like_the_processor(&kmeans, &points, weights.as_ref());
    }
}

#[test]
fn threads_share_a_gpu() {
    if first_gpu().is_none() {
        return;
    }
    let points = many::<f32>(100_003, 12);
    let kmeans = KMeans::new(40).init(Init::KMeansPlusPlus).max_iter(6).device(Device::Cuda(0));
    let expected = kmeans.fit(&points).unwrap();
    thread::scope(|scope| {
        let fits: Vec<_> = (0..8).map(|_| scope.spawn(|| kmeans.fit(&points).unwrap())).collect();
        for fit in fits {
            assert_identical(&fit.join().unwrap(), &expected);
        }
    });
}

#[test]
fn points_that_do_not_fit_are_an_error_with_both_numbers() {
    let Some(gpu) = first_gpu() else { return };
    // One row, again and again: no machine has the memory for all of them.
    let row = Array2::<f64>::ones((1, 1000));
    let n = (gpu.memory / 8000 + 1) as usize;
    let points = row.broadcast((n, 1000)).unwrap();
    let error = KMeans::new(2).init(Init::FirstK).device(Device::Cuda(0)).fit(&points).unwrap_err();
    let Error::DeviceMemory { index: 0, needed, free } = error else { panic!("{error}") };
    assert!(needed > free && free <= gpu.memory && needed >= n as u64 * 8000, "{needed} needed, {free} free");
}

#[test]
fn the_tier_can_be_limited() {
    let Some(gpu) = first_gpu() else { return };
    if let Ok(tier) = std::env::var("KMEANS_CUDA_TIER") {
        assert_eq!(gpu.tier, tier);
    }
    let fitted = KMeans::new(1).device(Device::Cuda(0)).fit(&array![[1.0_f32], [2.0]]).unwrap();
    assert!(fitted.engine().contains(gpu.tier) && fitted.engine().contains(&gpu.name), "{}", fitted.engine());
}

#[test]
fn points_on_the_device_are_fitted_where_they_are() {
    fn check<T: Element + cudarc::driver::DeviceRepr>(n: usize, d: usize, k: usize) {
        let points = points::<T>(Kind::Blobs, n, d, 3);
        let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
        let slice = stream.clone_htod(points.as_slice().unwrap()).unwrap();
        let on_device = DevicePoints::new(&slice, (n, d)).unwrap();
        let kmeans = KMeans::new(k).init(Init::KMeansPlusPlus).n_init(2).max_iter(10).device(Device::Cuda(0));
        let expected = kmeans.fit(&points).unwrap();
        let fitted = kmeans.fit_on_device(&on_device).unwrap();
        assert_eq!(fitted.labels().len(), n);
        let labels = expected.predict_on_device(&on_device).unwrap();
        assert_eq!(labels.stream().clone_dtoh(&labels).unwrap(), expected.labels().to_vec());
        assert_identical(&fitted.into_host().unwrap(), &expected);
        let weights = Array1::from_shape_fn(n, |i| (i % 3) as f64);
        let fitted = kmeans.fit_on_device_weighted(&on_device, &weights).unwrap().into_host().unwrap();
        assert_identical(&fitted, &kmeans.fit_weighted(&points, &weights).unwrap());
    }
    if first_gpu().is_none() {
        return;
    }
    check::<f32>(5003, 7, 12);
    check::<f64>(2003, 3, 9);
    check::<f16>(3001, 64, 20);
    check::<bf16>(3001, 33, 20);
}

#[test]
fn points_on_the_device_are_checked() {
    if first_gpu().is_none() {
        return;
    }
    let stream = CudaContext::new(0).unwrap().default_stream();
    let mut values = vec![1.0_f64; 30];
    let fit = |values: &[f64], shape| {
        let slice = stream.clone_htod(values).unwrap();
        KMeans::new(2).fit_on_device(&DevicePoints::new(&slice, shape)?).map(|_| ())
    };
    assert_eq!(fit(&values, (10, 3)), Ok(()));
    assert_eq!(fit(&values, (10, 4)), Err(Error::DeviceShape { n: 10, d: 4, found: 30 }));
    assert_eq!(fit(&values[..3], (1, 3)), Err(Error::TooFewPoints { n: 1, k: 2 }));
    values[17] = f64::INFINITY;
    values[23] = f64::NAN;
    assert_eq!(fit(&values, (10, 3)), Err(Error::NonFinite { row: 5, column: 2, value: f64::INFINITY }));
    values[23] = 1.0;
    values[17] = -1e200;
    let host = Array2::from_shape_vec((10, 3), values.clone()).unwrap();
    assert_eq!(fit(&values, (10, 3)), KMeans::new(2).fit(&host).map(|_| ()));
    let tiny = Array2::from_elem((10, 3), 1e-300);
    assert_eq!(fit(tiny.as_slice().unwrap(), (10, 3)), KMeans::new(2).fit(&tiny).map(|_| ()));
}
