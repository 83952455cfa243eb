//! Memory beyond the points is O(n + k·d), never n·k, measured by an allocator that counts.
//!
//! Each bound is below one byte per pair of point and cluster (or candidate), so that nothing of that size can have been
//! kept, and a small multiple of what the labels, bounds and sums need. Tests take turns, since the count is of the
//! whole process.

use std::sync::{Mutex, PoisonError};

use kmeans_host::image::{Alpha, Segmentation};
use kmeans_host::{Init, KMeans, Stop};
use kmeans_tests::data::{Kind, points};
use kmeans_tests::layout::{Layout, with_layout};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

static TURN: Mutex<()> = Mutex::new(());

const MIB: usize = 1 << 20;

/// The result of `f`, and the most bytes that were allocated during the call beyond those before it.
fn peak_of<R>(f: impl FnOnce() -> R) -> (R, usize) {
    // The threads of the pool are there before the measurement.
    rayon::broadcast(|_| ());
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let result = f();
    (result, ALLOCATOR.peak_usage().saturating_sub(before))
}

fn in_turn() -> impl Drop {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kmeans(k: usize, init: Init) -> KMeans {
    KMeans::new(k).init(init).max_iter(3).stop(Stop::LabelsRepeat).device(kmeans_host::Device::Cpu)
}

#[test]
fn a_fit_keeps_nothing_per_pair_of_point_and_cluster() {
    let _turn = in_turn();
    let (n, k) = (40_000, 500);
    let points = points::<f32>(Kind::Uniform, n, 4, 1);
    let (fitted, peak) = peak_of(|| kmeans(k, Init::FirstK).fit(&points).unwrap());
    assert_eq!(fitted.labels().len(), n);
    assert!(peak < 10 * MIB && 10 * MIB < n * k, "{peak} bytes");
}

#[test]
fn plus_plus_keeps_nothing_per_pair_of_point_and_cluster() {
    let _turn = in_turn();
    let (n, k) = (40_000, 500);
    let points = points::<f32>(Kind::Uniform, n, 4, 2);
    let (_, peak) = peak_of(|| kmeans(k, Init::KMeansPlusPlus).max_iter(0).fit(&points).unwrap());
    assert!(peak < 10 * MIB && 10 * MIB < n * k, "{peak} bytes");
}

/// About 8·k candidates: 160 million pairs with the points.
#[test]
fn parallel_seeding_keeps_nothing_per_pair_of_point_and_candidate() {
    let _turn = in_turn();
    let (n, k) = (40_000, 500);
    let points = points::<f32>(Kind::Uniform, n, 4, 3);
    let (_, peak) = peak_of(|| kmeans(k, Init::KMeansParallel).max_iter(0).fit(&points).unwrap());
    assert!(peak < 10 * MIB && 10 * MIB < n * k, "{peak} bytes");
}

#[test]
fn predicting_and_scoring_keep_little_more_than_the_labels() {
    let _turn = in_turn();
    let (n, k) = (100_000, 200);
    let points = points::<f32>(Kind::Uniform, n, 4, 4);
    let fitted = kmeans(k, Init::FirstK).fit(&points).unwrap();
    let (_, predicting) = peak_of(|| fitted.predict(&points).unwrap());
    let (_, scoring) = peak_of(|| fitted.score(&points).unwrap());
    assert!(predicting < 4 * MIB, "{predicting} bytes");
    assert!(scoring < 4 * MIB, "{scoring} bytes");
}

#[test]
fn transform_keeps_little_more_than_what_it_returns() {
    let _turn = in_turn();
    let (n, k) = (50_000, 20);
    let points = points::<f32>(Kind::Uniform, n, 4, 5);
    let fitted = kmeans(k, Init::FirstK).fit(&points).unwrap();
    let (distances, peak) = peak_of(|| fitted.transform(&points).unwrap());
    assert!(peak < distances.len() * size_of::<f64>() + MIB, "{peak} bytes");
}

/// The points take 24 MB; in place, labels, bounds and the like take 12 bytes per point.
#[test]
fn points_are_read_in_place_in_any_layout() {
    let _turn = in_turn();
    let points = points::<f32>(Kind::Uniform, 200_000, 30, 6);
    for layout in [Layout::Packed, Layout::Transposed, Layout::ColumnSlice] {
        with_layout(&points, layout, |view| {
            let (fitted, peak) = peak_of(|| kmeans(8, Init::FirstK).fit(&view).unwrap());
            assert!(peak < 8 * MIB, "{layout:?}: {peak} bytes to fit");
            let (_, peak) = peak_of(|| fitted.predict(&view).unwrap());
            assert!(peak < 4 * MIB, "{layout:?}: {peak} bytes to predict");
        });
    }
}

#[test]
fn nothing_is_left_behind() {
    let _turn = in_turn();
    let points = points::<f64>(Kind::Blobs, 20_000, 8, 7);
    let before = ALLOCATOR.current_usage();
    drop(kmeans(30, Init::KMeansParallel).fit(&points).unwrap());
    let after = ALLOCATOR.current_usage();
    assert!(after.saturating_sub(before) < 64 << 10, "{before} bytes before, {after} after");
}

/// 100 megapixels of three bytes: labels are four bytes per pixel, and nothing else grows with them.
#[test]
fn an_image_of_100_megapixels_takes_its_labels_and_little_more() {
    let _turn = in_turn();
    let side = 10_000;
    let image = ndarray::Array3::from_shape_fn((side, side, 3), |(y, x, c)| ((x >> 6) + (y >> 7) * (c + 1)) as u8);
    let segmentation = Segmentation::new(6).kmeans(kmeans(6, Init::KMeansPlusPlus));
    let (segmented, peak) = peak_of(|| segmentation.segment(&image).unwrap());
    assert_eq!(segmented.labels().dim(), (side, side));
    assert!(segmented.distinct_colours().is_some());
    assert!(peak < 4 * side * side + 64 * MIB, "{} MiB", peak / MIB);
}

/// Every pixel clustered: the labels of two rounds, 8 bytes per pixel; the features as `f32` would be another 12.
#[test]
fn pixels_are_clustered_from_their_bytes() {
    let _turn = in_turn();
    let side = 3_000;
    let image =
        ndarray::Array3::from_shape_fn((side, side, 4), |(y, x, c)| (x * 7 + y * (c + 3) + ((x * y) >> 4)) as u8);
    let segmentation = Segmentation::new(6).kmeans(kmeans(6, Init::EvenlySpaced)).alpha(Alpha::Carry).every_pixel(true);
    let (segmented, peak) = peak_of(|| segmentation.segment(&image).unwrap());
    assert_eq!(segmented.labels().dim(), (side, side));
    // The alpha channel is kept for the quantised image.
    assert!(peak < 9 * side * side + 16 * MIB, "{} MiB", peak / MIB);
}
