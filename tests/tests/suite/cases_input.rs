//! Public cases, by number, in which the input broke k-means software: its size, type, values, weights or settings.
//!
//! Not here: 3 and 6 in part (limits of GPUs), 29 in part, 51 to 53 (pictures) and 49 (trees).

use half::f16;
use kmeans_host::{Element, EmptyCluster, Error, Init, KMeans, Stop};
use kmeans_tests::compare::{Job, assert_agreement, assert_close, assert_same, bits};
use kmeans_tests::data::{Kind, Numbers, blobs, points};
use kmeans_tests::layout::{LAYOUTS, with_layout};
use ndarray::{Array2, ArrayView1, Axis, array};

/// `k` places on a line, far apart, and `n` points in turn at each of them.
fn places<T: Element>(n: usize, k: usize, d: usize) -> Array2<T> {
    Array2::from_shape_fn((n, d), |(i, j)| T::from_f64((100 * (i % k)) as f64 + j as f64))
}

/// Asserts that the labels of `places(n, k, d)` from the first k rows are those of the places.
fn assert_labels_are_places(labels: ArrayView1<'_, u32>, k: usize) {
    assert_same("labels", &labels.to_vec(), &(0..labels.len()).map(|i| (i % k) as u32).collect::<Vec<_>>());
}

#[test]
fn case_01_fewer_than_16_columns() {
    for d in 1..=16 {
        let fitted = KMeans::new(5).init(Init::FirstK).fit(&places::<f32>(300, 5, d)).unwrap();
        assert_labels_are_places(fitted.labels(), 5);
        assert_eq!(fitted.inertia(), 0.0);
    }
}

#[test]
fn case_02_a_view_that_is_not_contiguous() {
    for layout in LAYOUTS {
        let fitted =
            with_layout(&places::<f32>(1000, 20, 8), layout, |view| KMeans::new(20).init(Init::FirstK).fit(&view));
        assert_labels_are_places(fitted.unwrap().labels(), 20);
    }
}

/// The limit was a GPU's; 20,000 columns must not be too many for any engine.
#[test]
fn case_03_twenty_thousand_columns() {
    let fitted = KMeans::new(3).init(Init::FirstK).fit(&places::<f32>(40, 3, 20_000)).unwrap();
    assert_labels_are_places(fitted.labels(), 3);
}

#[test]
fn case_04_clusters_that_do_not_fill_a_tile() {
    // All coordinates negative and far away: a phantom centroid of zeros would be nearer than any of the others.
    for k in (1..=100).chain([127, 129, 255, 257]) {
        let points = places::<f32>(3 * k, k, 3).mapv(|v| -1e6 - v);
        let fitted = KMeans::new(k).init(Init::FirstK).fit(&points).unwrap();
        assert_labels_are_places(fitted.labels(), k);
        // Likewise where everything is large and positive.
        let fitted = KMeans::new(k).init(Init::FirstK).fit(&points.mapv(|v| -v)).unwrap();
        assert_labels_are_places(fitted.labels(), k);
    }
}

/// 25 million rows would take 300 GB: 10,000 of them (120 MB) still update 1,536 columns in `f64`.
#[test]
fn case_05_f64_with_1536_columns() {
    let fitted = KMeans::new(4).init(Init::FirstK).fit(&places::<f64>(10_000, 4, 1536)).unwrap();
    assert_labels_are_places(fitted.labels(), 4);
    assert_eq!(fitted.centroids()[[3, 1535]], 300.0 + 1535.0);
}

#[test]
fn case_06_more_rows_than_65535() {
    let fitted = KMeans::new(3).init(Init::FirstK).fit(&places::<f32>(200_003, 3, 1)).unwrap();
    assert_labels_are_places(fitted.labels(), 3);
    assert_eq!(fitted.counts().to_vec(), [66_668, 66_668, 66_667]);
}

#[test]
fn case_07_f16_with_a_squared_norm_above_65504() {
    let fitted = KMeans::new(6).init(Init::FirstK).fit(&places::<f16>(600, 6, 4)).unwrap();
    assert_labels_are_places(fitted.labels(), 6);
    // 60,000 squared is far outside the type, and so is the difference of the two places.
    let far = array![[f16::from_f32(60_000.0)], [f16::from_f32(-60_000.0)], [f16::from_f32(59_000.0)]];
    assert_eq!(KMeans::new(2).init(Init::FirstK).fit(&far).unwrap().labels().to_vec(), [0, 1, 0]);
}

/// 12.5 million × 256 would take 12.8 GB: 200,000 × 256 in `f32` (205 MB).
#[test]
fn case_09_256_columns_and_many_rows() {
    let fitted = KMeans::new(2).init(Init::FirstK).fit(&places::<f32>(200_000, 2, 256)).unwrap();
    assert_labels_are_places(fitted.labels(), 2);
}

#[test]
fn case_14_more_clusters_than_points_is_an_error_with_both_numbers() {
    let error = KMeans::new(11).fit(&Array2::<f32>::zeros((10, 3))).unwrap_err();
    assert_eq!(error, Error::TooFewPoints { n: 10, k: 11 });
    assert!(error.to_string().contains("10") && error.to_string().contains("11"));
}

#[test]
fn case_15_one_nan_is_an_error_that_names_row_and_column() {
    let mut points = points::<f64>(Kind::Blobs, 500, 5, 1);
    points[[321, 4]] = f64::NAN;
    let error = KMeans::new(3).fit(&points).unwrap_err();
    assert!(matches!(error, Error::NonFinite { row: 321, column: 4, .. }), "{error}");
    assert!(error.to_string().contains("row 321, column 4"));
}

/// 100 million points would take long: 2^24 + 100 of them are beyond what an `f32` can count.
#[test]
fn case_17_counts_and_sums_beyond_2_to_the_24() {
    let n = (1 << 24) + 100;
    let points = Array2::from_shape_fn((n, 1), |(i, _)| f16::from_f32((i % 2) as f32 * 8.0));
    let fitted = KMeans::new(1).max_iter(1).fit(&points).unwrap();
    assert_eq!(fitted.counts().to_vec(), [n as u64]);
    assert_eq!(fitted.centroids()[[0, 0]], f16::from_f32(4.0));
    assert_eq!(fitted.inertia(), 16.0 * n as f64);
}

#[test]
fn case_21_nan_never_panics() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(KMeans::new(1).fit(&array![[value], [1.0]]).is_err());
    }
}

#[test]
fn case_23_no_clusters_is_an_error_and_no_point_is_left_out() {
    assert_eq!(KMeans::new(0).fit(&array![[1.0_f32]]).unwrap_err(), Error::ZeroClusters);
    // Far more than 256 points per cluster, the last of which moves a mean.
    let mut points = Array2::<f64>::zeros((10_000, 1));
    points[[9999, 0]] = 10_000.0;
    let fitted = KMeans::new(1).fit(&points).unwrap();
    assert_eq!(fitted.centroids()[[0, 0]], 1.0);
    assert_eq!(fitted.counts().to_vec(), [10_000]);
}

#[test]
fn case_25_points_near_1e7_with_differences_near_1() {
    let mut numbers = Numbers::new(25);
    let points = Array2::from_shape_fn((2000, 3), |_| (1e7 + f64::from(numbers.below(8) as u32)) as f32);
    assert_agreement(&Job::new(8, Init::FirstK), &points, None);
    // Two places one apart, however many dimensions share the offset.
    let pairs = Array2::from_shape_fn((100, 5), |(i, j)| 1e7_f32 + if j == 0 { (i % 2) as f32 } else { 3.0 });
    let fitted = KMeans::new(2).init(Init::FirstK).fit(&pairs).unwrap();
    assert_labels_are_places(fitted.labels(), 2);
    assert_eq!(fitted.inertia(), 0.0);
}

#[test]
fn case_32_k_of_1_half_most_and_all_of_the_points() {
    for d in [6, 1000] {
        let points = points::<f32>(Kind::Uniform, 1000, d, 3);
        for k in [1, 500, 900, 999, 1000] {
            let fitted = KMeans::new(k).init(Init::FirstK).max_iter(2).fit(&points).unwrap();
            assert_eq!(fitted.counts().sum(), 1000);
            assert!(fitted.counts().iter().all(|&c| c > 0), "every start is a point");
            if k == 1000 {
                assert_eq!(fitted.inertia(), 0.0);
            }
        }
    }
}

/// N = 124,557 and K = 8,192 take minutes by k-means++: the same shape at a thirtieth, with few distinct rows, so that
/// the remaining sum of distances is 0 for most of the picks; and with values whose squares leave `f32`.
#[test]
fn case_33_plus_plus_when_nothing_remains_or_sums_are_huge() {
    let few = Array2::from_shape_fn((4157, 4), |(i, j)| ((i % 20) * (j + 1)) as f32);
    let fitted = KMeans::new(273).max_iter(1).fit(&few).unwrap();
    assert_eq!(fitted.inertia(), 0.0);
    assert_eq!(fitted.counts().iter().filter(|&&c| c > 0).count(), 20);
    let huge = points::<f32>(Kind::Uniform, 4157, 4, 1).mapv(|v| v * 3e38);
    let fitted = KMeans::new(273).max_iter(1).fit(&huge).unwrap();
    assert!(fitted.inertia().is_finite() && fitted.counts().iter().all(|&c| c > 0));
}

#[test]
fn case_35_shifting_all_rows_changes_no_label() {
    let probes = |off: f64, centroids: Array2<f64>| {
        let points = Array2::from_shape_fn((100, 1), |(i, _)| (off - 0.5 + 2.0 * i as f64 / 100.0) as f32);
        let job = Job::new(centroids.nrows(), Init::Centroids(centroids)).max_iter(0);
        assert_agreement(&job, &points, None);
        (points.clone(), job.fit(points.view(), None).unwrap().into_labels().to_vec())
    };
    for off in [0.0, 1e4, 1e5, 1e6] {
        let (points, labels) = probes(off, array![[off], [off + 1.0]]);
        let expected: Vec<u32> = points.iter().map(|&x| u32::from(f64::from(x) - off > 0.5)).collect();
        assert_same("labels", &labels, &expected);
        let (points, labels) = probes(off, array![[0.0], [1e4], [1e4 + 1.0]]);
        let nearest = |x: f64| u32::from(x > 5e3) + u32::from(x > 1e4 + 0.5);
        assert_same("labels", &labels, &points.iter().map(|&x| nearest(f64::from(x))).collect::<Vec<_>>());
    }
}

#[test]
fn case_36_a_thousand_small_differences_do_not_cancel() {
    let points = Array2::<f32>::ones((1, 1000));
    let fitted =
        KMeans::new(1).init(Init::Centroids(Array2::from_elem((1, 1000), 1.001))).max_iter(0).fit(&points).unwrap();
    let step = f64::from(1.001_f32) - 1.0;
    assert_close(fitted.inertia(), 1000.0 * step * step, 1e-12);
    assert!((1.0e-3..1.001e-3).contains(&fitted.inertia()), "{}", fitted.inertia());
    assert_close(fitted.transform(&points).unwrap()[[0, 0]], fitted.inertia().sqrt(), 1e-15);
}

#[test]
fn case_37_a_small_inertia_is_not_lost() {
    let points = array![[-1.0001_f32], [-0.9999], [0.9999], [1.0001]];
    let fitted = KMeans::new(2).n_init(5).fit(&points).unwrap();
    // The centroids are rounded to f32, so the exact answer is that of the reference, near 4·(1e-4)².
    assert!((4.0012e-8..4.0014e-8).contains(&fitted.inertia()), "{:e}", fitted.inertia());
}

#[test]
fn case_38_more_ones_than_f32_can_count() {
    let n = (1 << 24) + 1000;
    let fitted = KMeans::new(1).init(Init::FirstK).fit(&Array2::<f32>::ones((n, 1))).unwrap();
    assert_eq!(fitted.counts().to_vec(), [n as u64]);
    assert_eq!((fitted.centroids()[[0, 0]], fitted.inertia()), (1.0, 0.0));
}

#[test]
fn case_39_f16_pixels_whose_sums_leave_the_type() {
    let mut numbers = Numbers::new(39);
    let points = Array2::from_shape_fn((64 * 64, 3), |_| f16::from_f32(numbers.below(256) as f32));
    for init in [Init::FirstK, Init::KMeansPlusPlus] {
        assert_agreement(&Job::new(4, init), &points, None);
    }
    let all = KMeans::new(1).fit(&points).unwrap();
    let mean = points.column(0).iter().map(|v| v.to_f64()).sum::<f64>() / 4096.0;
    assert_eq!(all.centroids()[[0, 0]], f16::from_f64(mean));
    assert_eq!(all.counts()[0], 4096);
}

#[test]
fn case_40_values_whose_squares_leave_the_range() {
    let error = KMeans::new(2).fit(&array![[0.0], [1e164], [2e164], [3e164]]).unwrap_err();
    assert!(matches!(error, Error::ValuesTooLarge { row: 3, column: 0, value: 3e164, .. }), "{error}");
    let fitted = KMeans::new(2).n_init(10).fit(&array![[0.0_f32], [2e19], [4e19], [6e19]]).unwrap();
    assert!(fitted.labels()[0] == fitted.labels()[1] && fitted.labels()[2] == fitted.labels()[3]);
    assert_ne!(fitted.labels()[0], fitted.labels()[3]);
    assert_close(fitted.inertia(), 4e38, 1e-6);
}

/// N·D·K passes 2^31; one round suffices to see it.
#[test]
fn case_41_a_product_of_sizes_beyond_32_bits() {
    let points = places::<f32>(28_493, 2000, 64);
    let fitted = KMeans::new(2000).init(Init::FirstK).max_iter(1).fit(&points).unwrap();
    assert_labels_are_places(fitted.labels(), 2000);
}

/// 270,000 clusters would compare 73 billion pairs: 66,000 are beyond 16 bits too.
#[test]
fn case_42_more_clusters_than_65535_in_one_column() {
    let fitted = KMeans::new(66_000).init(Init::FirstK).max_iter(0).fit(&places::<f32>(66_001, 66_000, 1)).unwrap();
    assert_labels_are_places(fitted.labels(), 66_000);
}

#[test]
fn case_43_f16_with_any_k_and_rows_one_beside_a_block() {
    for n in [500, 127, 128, 129, 255, 257, 513] {
        let (points, _) = blobs::<f16>(n, 64, 5, 43);
        for k in [1, 3, 4, 31, 33, 80] {
            assert_agreement(&Job::new(k, Init::EvenlySpaced).max_iter(2), &points, None);
        }
    }
}

#[test]
fn case_47_weights_over_sixteen_orders_of_magnitude() {
    let points = array![[1.0], [1.0], [5.0], [5.0], [100.0], [100.0]];
    let weights = array![1e8, 1e8, 1e8, 1e8, 1e-8, 1e-8];
    let fitted = KMeans::new(2).n_init(10).fit_weighted(&points, &weights).unwrap();
    let mut centres = fitted.centroids().column(0).to_vec();
    centres.sort_by(f64::total_cmp);
    assert_close(centres[0], 1.0, 1e-6);
    assert_close(centres[1], 5.0, 1e-6);

    let twice = KMeans::new(1).fit_weighted(&array![[0.0], [1.0]], &array![2.0, 2.0]).unwrap();
    let doubled = KMeans::new(1).fit(&array![[0.0], [0.0], [1.0], [1.0]]).unwrap();
    assert_eq!((twice.inertia(), doubled.inertia()), (1.0, 1.0));
    assert_eq!(bits(twice.centroids()), bits(doubled.centroids()));
}

#[test]
fn case_50_more_clusters_than_distinct_rows_are_told_apart() {
    let rows: Vec<usize> = (0..100).map(|i| i % 7).collect();
    let points = points::<f32>(Kind::Uniform, 7, 3, 50).select(Axis(0), &rows);
    for empty in [EmptyCluster::Farthest, EmptyCluster::Keep] {
        let fitted = KMeans::new(20).stop(Stop::LabelsRepeat).empty_cluster(empty).fit(&points).unwrap();
        assert_eq!(fitted.counts().iter().filter(|&&c| c > 0).count(), 7);
        assert_eq!(fitted.inertia(), 0.0);
        assert!(fitted.notices().iter().any(|n| n.to_string().contains("7 of 20 clusters")), "{:?}", fitted.notices());
    }
}
