//! Frame after frame: each starts from the last one's centroids, and clusters keep their labels.

use kmeans_host::image::{Segmentation, Video};
use kmeans_host::{Error, Init, KMeans};
use kmeans_tests::compare::bits;
use ndarray::Array3;

/// A bright square moves over two grounds, with noise.
fn frame(t: usize) -> Array3<u8> {
    Array3::from_shape_fn((36, 48, 3), |(y, x, c)| {
        let noise = (x * 7 + y * 13 + t * 3 + c * 5) % 9;
        let base = if y < 8 && (x / 6) == t {
            220
        } else if y < 20 {
            40
        } else {
            120
        };
        (base + noise) as u8
    })
}

#[test]
fn a_frame_is_clustered_from_the_centroids_of_the_last() {
    let mut video = Video::new(Segmentation::new(3));
    let mut last = video.segment(&frame(0)).unwrap();
    let shares: Vec<f64> = last.palette().iter().map(|swatch| swatch.share).collect();
    assert!(shares.is_sorted_by(|a, b| a >= b), "the largest first: {shares:?}");
    for t in 1..8 {
        let found = video.segment(&frame(t)).unwrap();
        let warm = Segmentation::new(3).kmeans(KMeans::new(3).init(Init::centroids(&last.centroids())));
        let expected = warm.segment(&frame(t)).unwrap();
        assert_eq!(found, expected);
        assert!(found.palette().iter().zip(last.palette()).all(|(a, b)| a.colour[0].abs_diff(b.colour[0]) < 20));
        assert!(found.iterations() <= 4);
        last = found;
    }
}

#[test]
fn after_a_frame_of_few_colours_clusters_come_back_in_the_same_order() {
    let dark = Array3::<u8>::from_elem((36, 48, 3), 44);
    let mut video = Video::new(Segmentation::new(3));
    let before = video.segment(&frame(0)).unwrap();
    let between = video.segment(&dark).unwrap();
    assert_eq!(between.palette().iter().filter(|swatch| swatch.count > 0).count(), 1);
    let after = video.segment(&frame(0)).unwrap();
    assert_eq!(after.labels(), before.labels());

    let mut video = Video::new(Segmentation::new(3));
    assert_eq!(video.segment(&dark).unwrap().palette().len(), 1);
    let after = video.segment(&frame(0)).unwrap();
    assert_eq!(after.palette().len(), 3);
    // The dark cluster is what the dark frame's only one continues as.
    assert!(after.palette()[0].colour[0] < 60);
    let sorted = |s: &kmeans_host::image::Segmented<u8>| {
        let mut values = bits(s.centroids());
        values.sort_unstable();
        values
    };
    assert_eq!(sorted(&before), sorted(&after));
}

#[test]
fn frames_of_another_size_are_an_error_until_the_video_restarts() {
    let mut video = Video::new(Segmentation::new(2));
    video.segment(&frame(0)).unwrap();
    let other = Array3::from_shape_fn((4, 4, 3), |(y, x, _)| (y * 60 + x) as u8);
    let expected = Error::Shape { what: "the frame", expected: vec![36, 48, 3], found: vec![4, 4, 3] };
    assert_eq!(video.segment(&other).unwrap_err(), expected);
    video.segment(&frame(1)).unwrap();
    video.restart();
    video.segment(&other).unwrap();
}
