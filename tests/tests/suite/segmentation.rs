//! Segmentation: distinct colours give the bits of every pixel, and both those of the reference.

use kmeans_core::reference;
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::seeding;
use kmeans_host::image::{Alpha, Features, Sample, Segmentation, Segmented, srgb_to_lab};
use kmeans_host::select_k::Criterion;
use kmeans_host::{EmptyCluster, Error, Init, KMeans, Notice, Stop};
use kmeans_tests::compare::{Job, bits, with_threads};
use kmeans_tests::data::Numbers;
use kmeans_tests::files::Picture;
use ndarray::{Array1, Array2, Array3, Ix3, s};

/// A picture with `colours` distinct colours at most, some of them frequent.
fn picture<S: Sample>(shape: (usize, usize, usize), colours: usize, seed: u64) -> Array3<S> {
    let mut numbers = Numbers::new(seed);
    let white = S::WHITE;
    let mut colour = || (0..shape.2).map(|_| S::from_f32(numbers.below(256) as f32 / 255.0 * white)).collect();
    let palette: Vec<Vec<S>> = (0..colours).map(|_| colour()).collect();
    let mut numbers = Numbers::new(seed + 1);
    let chosen: Vec<usize> = (0..shape.0 * shape.1)
        .map(|_| {
            let bound = 1 + numbers.below(colours);
            numbers.below(bound)
        })
        .collect();
    Array3::from_shape_fn(shape, |(y, x, c)| palette[chosen[y * shape.1 + x]][c])
}

/// Asserts that two results are the same in every bit that a caller can see, but for how they were found.
fn assert_same<S: Sample>(a: &Segmented<S>, b: &Segmented<S>) {
    assert_eq!(a.labels(), b.labels());
    assert_eq!(bits(a.centroids()), bits(b.centroids()));
    assert_eq!(a.palette(), b.palette());
    assert_eq!(a.inertia().to_bits(), b.inertia().to_bits());
    assert_eq!((a.iterations(), a.converged()), (b.iterations(), b.converged()));
    assert_eq!(a.notices(), b.notices());
    assert_eq!(a.quantized(), b.quantized());
}

fn starts(k: usize, d: usize) -> Vec<Init> {
    vec![
        Init::FirstK,
        Init::EvenlySpaced,
        Init::RandomPoints,
        Init::RandomLabels,
        Init::KMeansPlusPlus,
        Init::KMeansParallel,
        Init::Centroids(Array2::from_shape_fn((k, d), |(i, j)| (40 * i + 3 * j) as f64)),
    ]
}

#[test]
fn distinct_colours_give_the_bits_of_every_pixel() {
    for (channels, k) in [(1, 3), (2, 4), (3, 5), (4, 6)] {
        let image = picture::<u8>((23, 31, channels), 90, channels as u64);
        let d = if channels < 3 { 1 } else { 3 };
        for init in starts(k, d) {
            for stop in
                [Stop::RelativeTolerance(1e-3), Stop::LabelsRepeat, Stop::Movement(2.0), Stop::LabelsChanged(0.02)]
            {
                for features in [Features::Rgb, Features::Lab] {
                    let kmeans = KMeans::new(k).init(init.clone()).stop(stop).n_init(2).seed(5);
                    let segmentation = Segmentation::new(k).kmeans(kmeans).features(features);
                    let fast = segmentation.segment(&image).unwrap();
                    let plain = segmentation.every_pixel(true).segment(&image).unwrap();
                    assert_same(&fast, &plain);
                    assert_eq!(plain.distinct_colours(), None);
                }
            }
        }
    }
}

/// The pixels of `image` as points of `f32`, and as weights their alpha, if it is to count.
fn as_points(image: &Array3<u8>, alpha: Alpha) -> (Array2<f32>, Option<Array1<f64>>) {
    let (h, w, c) = image.dim();
    let d = if c < 3 { 1 } else { 3 };
    let points = Array2::from_shape_fn((h * w, d), |(i, j)| f32::from(image[[i / w, i % w, j]]));
    let opacity = |i: usize| f64::from(f32::from(image[[i / w, i % w, c - 1]]) / 255.0);
    let weights = (c % 2 == 0 && alpha == Alpha::Weight).then(|| Array1::from_shape_fn(h * w, opacity));
    (points, weights)
}

#[test]
fn bytes_give_the_bits_of_the_same_numbers_in_f32() {
    for (channels, k) in [(1, 3), (2, 4), (3, 5), (4, 6)] {
        let image = picture::<u8>((29, 41, channels), 400, 20 + channels as u64);
        let d = if channels < 3 { 1 } else { 3 };
        let more = [Init::Centroids(Array2::from_shape_fn((k, d), |(i, _)| if i < 2 { 90.0 * i as f64 } else { 7e3 }))];
        for init in starts(k, d).into_iter().chain(more) {
            for alpha in [Alpha::Weight, Alpha::Carry] {
                for stop in [Stop::RelativeTolerance(1e-4), Stop::LabelsChanged(0.02)] {
                    let kmeans = KMeans::new(k).init(init.clone()).stop(stop).n_init(2).seed(8);
                    let (points, weights) = as_points(&image, alpha);
                    let expected = match &weights {
                        None => kmeans.fit(&points),
                        Some(weights) => kmeans.fit_weighted(&points, weights),
                    };
                    let expected = expected.unwrap();
                    let segmentation = Segmentation::new(k).kmeans(kmeans).alpha(alpha).every_pixel(true);
                    let found = segmentation.segment(&image).unwrap();
                    assert!(found.labels().iter().eq(expected.labels()), "{channels} {init:?} {alpha:?}");
                    assert_eq!(bits(found.centroids()), bits(expected.centroids()));
                    assert_eq!(found.inertia().to_bits(), expected.inertia().to_bits());
                    assert_eq!(found.history(), expected.history());
                    assert!(found.palette().iter().map(|s| &s.count).eq(expected.counts()));
                }
            }
        }
    }
}

#[test]
fn bytes_of_many_pixels_and_many_clusters_do_too() {
    let mut numbers = Numbers::new(4);
    let image = Array3::from_shape_fn((150, 140, 3), |_| numbers.below(256) as u8);
    let (points, _) = as_points(&image, Alpha::Carry);
    for (k, rounds) in [(8, 30), (300, 6), (4500, 4)] {
        let kmeans = KMeans::new(k).init(Init::RandomPoints).max_iter(rounds).stop(Stop::LabelsRepeat);
        let expected = kmeans.fit(&points).unwrap();
        let found = Segmentation::new(k).kmeans(kmeans).every_pixel(true).segment(&image).unwrap();
        assert!(found.labels().iter().eq(expected.labels()), "k {k}");
        assert_eq!(bits(found.centroids()), bits(expected.centroids()));
        assert_eq!(found.inertia().to_bits(), expected.inertia().to_bits());
        assert_eq!(found.history(), expected.history());
    }
}

#[test]
fn fewer_colours_than_clusters_are_noticed_wherever_they_are() {
    // The third colour comes late, the fourth is not seen.
    let image = Array3::from_shape_fn((200, 300, 4), |(y, x, c)| match (y, c) {
        (0..=198, _) => [(x / 150 * 90) as u8, 10, 10, 255][c],
        (_, 3) => {
            if x < 150 {
                255
            } else {
                0
            }
        }
        _ => (x / 150 * 55 + 200) as u8,
    });
    for every_pixel in [false, true] {
        let segmented = Segmentation::new(6).every_pixel(every_pixel).segment(&image).unwrap();
        assert_eq!(segmented.palette().len(), 3);
        assert_eq!(segmented.notices(), [Notice::FewerColours { k: 6, found: 3 }]);
    }
}

#[test]
fn distinct_colours_of_sixteen_bits_give_the_bits_of_every_pixel() {
    for channels in 1..=4 {
        let image = picture::<u16>((19, 40, channels), 60, 7);
        for alpha in [Alpha::Weight, Alpha::Carry] {
            let segmentation = Segmentation::new(7).alpha(alpha);
            let fast = segmentation.segment(&image).unwrap();
            assert_same(&fast, &segmentation.clone().every_pixel(true).segment(&image).unwrap());
            assert!(fast.distinct_colours().is_some_and(|m| m <= 60));
        }
    }
}

#[test]
fn every_policy_for_empty_clusters_ends_as_it_does_for_every_pixel() {
    let image = picture::<u8>((30, 30, 3), 40, 3);
    // Far from every colour, so that clusters are empty at once.
    let far = Init::Centroids(Array2::from_shape_fn((6, 3), |(i, _)| if i < 3 { 60.0 * i as f64 } else { 5000.0 }));
    for policy in [EmptyCluster::Keep, EmptyCluster::Farthest, EmptyCluster::Error] {
        let segmentation = Segmentation::new(6).kmeans(KMeans::new(6).init(far.clone()).empty_cluster(policy));
        match (segmentation.segment(&image), segmentation.clone().every_pixel(true).segment(&image)) {
            (Ok(fast), Ok(plain)) => assert_same(&fast, &plain),
            (fast, plain) => {
                assert_eq!(policy, EmptyCluster::Error);
                assert_eq!(fast.err(), plain.err());
            }
        }
    }
}

#[test]
fn a_photograph_is_clustered_as_the_reference_clusters_its_pixels() {
    let coffee = Picture::read("coffee.png").crop(100, 150, 120, 160);
    let image = Array3::from_shape_vec((120, 160, 3), coffee.values.clone()).unwrap();
    let points = coffee.pixels().mapv(|v| v as f32);
    for init in [Init::KMeansPlusPlus, Init::EvenlySpaced] {
        let job = Job { seed: 11, ..Job::new(8, init) };
        let expected = job.reference(&points, None).unwrap();
        let found = Segmentation::new(8).kmeans(job.kmeans()).segment(&image).unwrap();
        assert!(found.labels().iter().eq(&expected.labels));
        assert_eq!(bits(found.centroids()), bits(&expected.centroids));
        assert_eq!(found.inertia().to_bits(), expected.inertia.to_bits());
        assert_eq!(found.iterations(), expected.iterations);
        assert!(found.palette().iter().map(|swatch| swatch.count).eq(expected.counts));
    }
}

#[test]
fn transparent_pixels_have_no_say_or_the_same_say_by_choice() {
    let image = picture::<u8>((16, 20, 4), 50, 9);
    let points = Array2::from_shape_fn((320, 3), |(i, j)| f32::from(image[[i / 20, i % 20, j]]));
    let weights = Array1::from_shape_fn(320, |i| f64::from(f32::from(image[[i / 20, i % 20, 3]]) / 255.0));
    let random = Random::new(0, 0);
    let flat = points.as_slice().unwrap();
    for (alpha, weights) in [(Alpha::Weight, weights.as_slice()), (Alpha::Carry, None)] {
        let rows = seeding::plus_plus(flat, 3, weights, 4, seeding::trials(4), &random, Purpose::PlusPlus);
        let start: Vec<f32> = rows.iter().flat_map(|&row| points.row(row).to_vec()).collect();
        let expected = reference::lloyd(flat, 3, weights, &start, &kmeans_core::settings::Settings::default()).unwrap();
        let found = Segmentation::new(4).alpha(alpha).segment(&image).unwrap();
        assert!(found.labels().iter().eq(&expected.labels), "{alpha:?}");
        assert_eq!(bits(found.centroids()), bits(&expected.centroids));
        assert_eq!(found.inertia().to_bits(), expected.inertia.to_bits());
        assert_eq!(found.quantized().slice(s![.., .., 3]), image.slice(s![.., .., 3]));
    }
    // Black under full transparency, as most programs store it: the palette has none.
    let image = Array3::from_shape_fn((8, 8, 4), |(y, x, c)| match (x < 4, c) {
        (true, _) => 0_u8,
        (false, 3) => 255,
        _ => {
            if y < 4 {
                200
            } else {
                240
            }
        }
    });
    let found = Segmentation::new(2).segment(&image).unwrap();
    assert_eq!(found.palette().iter().map(|s| (s.colour[0], s.share)).collect::<Vec<_>>().len(), 2);
    assert!(found.palette().iter().all(|s| s.colour[0] >= 200 && s.share == 0.5));
    assert_eq!(Segmentation::new(2).segment(&Array3::<u8>::zeros((3, 3, 4))), Err(Error::Transparent));
    assert!(Segmentation::new(1).alpha(Alpha::Carry).segment(&Array3::<u8>::zeros((3, 3, 4))).is_ok());
}

#[test]
fn an_opaque_image_is_an_image_without_alpha() {
    let rgb = picture::<u8>((20, 20, 3), 70, 4);
    let rgba = Array3::from_shape_fn((20, 20, 4), |(y, x, c)| if c == 3 { 255 } else { rgb[[y, x, c]] });
    let (a, b) = (Segmentation::new(5).segment(&rgb).unwrap(), Segmentation::new(5).segment(&rgba).unwrap());
    assert_eq!((a.labels(), bits(a.centroids()), a.inertia()), (b.labels(), bits(b.centroids()), b.inertia()));
}

#[test]
fn features_with_positions_are_those_of_the_reference() {
    let image = picture::<u8>((9, 12, 3), 30, 2);
    for (features, lab) in [(Features::RgbXy { weight: 0.5 }, false), (Features::LabXy { weight: 2.0 }, true)] {
        let step = if lab { 2.0 * 100.0 / 12.0 } else { 0.5 * 255.0 / 12.0 };
        // Rounded to 2⁻¹² in Lab, to a 64th of the power of two below a pixel in positions: steps of 10.6 and 16.7.
        let rounded = |v: f64, parts: f64| ((v * parts).round() / parts) as f32;
        let parts = if lab { 64.0 / 16.0 } else { 64.0 / 8.0 };
        let points = Array2::from_shape_fn((108, 5), |(i, j)| {
            let (y, x) = (i / 12, i % 12);
            let rgb = [0, 1, 2].map(|c| f32::from(image[[y, x, c]]));
            match j {
                3 => rounded(x as f64 * step, parts),
                4 => rounded(y as f64 * step, parts),
                _ if lab => rounded(f64::from(srgb_to_lab(rgb.map(|c| c / 255.0))[j]), 4096.0),
                _ => rgb[j],
            }
        });
        let expected = Job::new(6, Init::KMeansPlusPlus).reference(&points, None).unwrap();
        let found = Segmentation::new(6).features(features).segment(&image).unwrap();
        assert!(found.labels().iter().eq(&expected.labels));
        assert_eq!(bits(found.centroids()), bits(&expected.centroids));
    }
}

#[test]
fn fewer_colours_than_clusters_are_each_their_own_cluster() {
    let one = Array3::from_elem((1, 1, 3), 9_u8);
    let flat = Array3::from_elem((40, 40, 3), 77_u8);
    let three = Array3::from_shape_fn((30, 30, 3), |(_, x, _)| (x / 10 * 100) as u8);
    for (image, colours) in [(one, 1), (flat, 1), (three, 3)] {
        for every_pixel in [false, true] {
            let segmented = Segmentation::new(8).every_pixel(every_pixel).segment(&image).unwrap();
            assert_eq!(segmented.quantized(), image);
            assert_eq!(segmented.inertia(), 0.0);
            assert_eq!(segmented.palette().len(), colours);
            assert!(segmented.notices().contains(&Notice::FewerColours { k: 8, found: colours }));
        }
    }
    let float = Array3::from_shape_fn((5, 5, 1), |(_, x, _)| if x == 0 { -0.0_f32 } else { (x % 2) as f32 });
    assert_eq!(Segmentation::new(4).segment(&float).unwrap().palette().len(), 2);
}

#[test]
fn strided_and_flipped_views_are_read_in_place() {
    let image = picture::<u8>((20, 26, 4), 60, 6);
    let view = image.slice(s![..;-1, 2..;2, ..3]);
    let packed = view.to_owned();
    assert_eq!(Segmentation::new(4).segment(&view).unwrap(), Segmentation::new(4).segment(&packed).unwrap());
}

#[test]
fn floats_are_clustered_as_they_are() {
    let image = picture::<f32>((15, 15, 3), 40, 8);
    let points = image.to_shape((225, 3)).unwrap().to_owned();
    let expected = Job::new(5, Init::KMeansPlusPlus).reference(&points, None).unwrap();
    let found = Segmentation::new(5).segment(&image).unwrap();
    assert!(found.labels().iter().eq(&expected.labels));
    assert_eq!(found.palette()[2].colour.to_vec(), expected.centroids[6..9]);
}

#[test]
fn threads_change_no_bit() {
    let image = picture::<u8>((200, 300, 4), 5000, 1);
    let run = |threads| with_threads(threads, || Segmentation::new(6).features(Features::Lab).segment(&image).unwrap());
    assert_same(&run(1), &run(3));
}

#[test]
fn k_can_be_chosen() {
    let image = Array3::from_shape_fn((40, 40, 3), |(y, x, c)| ((x / 10) * 60 + (x * 3 + y * 5 + c) % 4) as u8);
    for criterion in [Criterion::Silhouette, Criterion::CalinskiHarabasz, Criterion::DaviesBouldin, Criterion::Elbow] {
        let segmented = Segmentation::new(1).choose_k(2..=8, criterion).segment(&image).unwrap();
        assert_eq!(segmented.palette().len(), 4, "{criterion:?}");
    }
    // There is nothing to choose from.
    let flat = Array3::from_elem((10, 10, 3), 5_u8);
    assert_eq!(Segmentation::new(1).choose_k(2..=8, Criterion::Silhouette).segment(&flat).unwrap().palette().len(), 1);
}

#[test]
fn what_is_wrong_with_an_image_is_named() {
    let segmentation = Segmentation::new(2);
    let shape = |h, w, c| segmentation.segment(&Array3::<u8>::zeros((h, w, c))).unwrap_err();
    assert_eq!(shape(0, 4, 3), Error::ImageShape { height: 0, width: 4, channels: 3 });
    assert_eq!(shape(4, 4, 5), Error::ImageShape { height: 4, width: 4, channels: 5 });
    let mut image = Array3::<f32>::zeros(Ix3(4, 6, 3));
    image[[2, 5, 1]] = f32::INFINITY;
    let expected = Error::PixelNotFinite { x: 5, y: 2, channel: 1, value: f32::INFINITY };
    assert_eq!(segmentation.segment(&image), Err(expected));
    let bad = segmentation.clone().features(Features::RgbXy { weight: 0.0 });
    assert_eq!(bad.segment(&Array3::<u8>::zeros((2, 2, 3))), Err(Error::BadSpatialWeight { weight: 0.0 }));
    let image = picture::<u8>((8, 8, 3), 9, 1);
    let kmeans = |kmeans: KMeans| segmentation.clone().kmeans(kmeans).segment(&image).unwrap_err();
    assert_eq!(kmeans(KMeans::new(0)), Error::ZeroClusters);
    assert_eq!(kmeans(KMeans::new(2).n_init(0)), Error::ZeroRestarts);
    assert_eq!(kmeans(KMeans::new(2).stop(Stop::RelativeTolerance(-1.0))), Error::BadStop { value: -1.0 });
    let nan = Init::Centroids(Array2::from_elem((2, 3), f64::NAN));
    assert!(matches!(kmeans(KMeans::new(2).init(nan)), Error::InitNotFinite { row: 0, column: 0, .. }));
}
