//! Recorded results on real data: labels and counts equal, inertia within 1e-9.

use kmeans_core::settings::Settings;
use kmeans_host::{EmptyCluster, FittedKMeans, Init, Stop};
use kmeans_tests::compare::{Job, assert_close};
use kmeans_tests::files::{self, Picture, digits, iris, sha256, sha256_of_labels};
use ndarray::{Array2, Axis};
use serde_json::Value;

/// Plain Lloyd, as the values were recorded with: labels repeat or the cap, empty clusters keep their centroid.
fn plain(points: &Array2<f64>, k: usize, init: Init, max_iter: usize) -> FittedKMeans<f64> {
    let settings = Settings { max_iter, stop: Stop::LabelsRepeat, empty: EmptyCluster::Keep };
    Job { settings, ..Job::new(k, init) }.fit(points.view(), None).unwrap()
}

/// Asserts inertia, iterations, counts and labels as far as `expected` has them.
fn assert_recorded(fitted: &FittedKMeans<f64>, expected: &Value) {
    let iterations = expected.get("n_iter").unwrap_or(&expected["iterations_run"]);
    assert_eq!(fitted.iterations() as u64, iterations.as_u64().unwrap());
    assert_close(fitted.inertia(), expected["inertia"].as_f64().unwrap(), 1e-9);
    assert_eq!(fitted.counts().to_vec(), integers(&expected["counts"]));
    assert_eq!(sha256_of_labels(fitted.labels()), expected["labels_sha256"].as_str().unwrap());
}

fn integers(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect()
}

fn check_reference(name: &str, points: &Array2<f64>, init: Init) {
    let expected = &files::reference("reference.json")[name];
    let number = |key: &str| expected[key].as_u64().unwrap() as usize;
    assert_eq!(points.dim(), (number("N"), number("D")));
    assert_recorded(&plain(points, number("K"), init, number("max_iter")), expected);
}

fn check_run(name: &str, points: &Array2<f64>) {
    let run = &files::reference("reference_more.json")["runs"][name];
    let number = |key: &str| run[key].as_u64().unwrap() as usize;
    assert_eq!(points.dim(), (number("N"), number("D")));
    let init = if run["init"] == "first" { Init::FirstK } else { Init::EvenlySpaced };
    assert_recorded(&plain(points, number("K"), init, number("max_iter")), &run["plain"]);
}

/// Inertia and iterations for each k of a table, from evenly spaced rows.
fn check_table(name: &str, points: &Array2<f64>) {
    let more = files::reference("reference_more.json");
    for (k, expected) in more["silhouette"][name]["by_K"].as_object().unwrap() {
        let fitted = plain(points, k.parse().unwrap(), Init::EvenlySpaced, 300);
        assert_eq!(fitted.iterations() as u64, expected["n_iter"].as_u64().unwrap(), "k = {k}");
        assert_close(fitted.inertia(), expected["inertia"].as_f64().unwrap(), 1e-9);
    }
}

fn coffee() -> Picture {
    let coffee = Picture::read("coffee.png");
    assert_decoded("coffee.png", &coffee);
    coffee
}

fn assert_decoded(name: &str, picture: &Picture) {
    let more = files::reference("reference_more.json");
    assert_eq!(sha256(&picture.values), more["decoded_sha256"][name]["sha256"].as_str().unwrap());
}

/// Red, green, blue, column and row of every pixel.
fn coffee_rgbxy() -> Array2<f64> {
    let coffee = coffee();
    let pixels = coffee.pixels();
    Array2::from_shape_fn((pixels.nrows(), 5), |(i, j)| match j {
        3 => (i % coffee.width) as f64,
        4 => (i / coffee.width) as f64,
        channel => pixels[[i, channel]],
    })
}

#[test]
fn iris_from_the_first_rows() {
    check_reference("iris_k3", &iris(), Init::FirstK);
    check_run("iris_K3_first", &iris());
}

#[test]
fn iris_from_evenly_spaced_rows() {
    check_run("iris_K3_evenly", &iris());
    check_table("iris", &iris());
}

#[test]
fn digits_from_the_first_rows() {
    check_reference("digits_k10", &digits(), Init::FirstK);
    check_run("digits_K10_first", &digits());
}

#[test]
fn digits_from_evenly_spaced_rows() {
    check_run("digits_K10_evenly", &digits());
    check_table("digits", &digits());
}

#[test]
fn colours_of_a_photograph() {
    let pixels = coffee().pixels();
    check_reference("coffee_rgb_k8_20it", &pixels, Init::EvenlySpaced);
    check_run("coffee_rgb_K8_first", &pixels);
    check_run("coffee_rgb_K8_evenly", &pixels);
}

#[test]
fn colours_of_a_photograph_for_each_k() {
    check_table("coffee_rgb", &coffee().pixels());
}

#[test]
fn colours_and_places_of_a_photograph() {
    check_run("coffee_rgbxy_K8_evenly", &coffee_rgbxy());
}

#[test]
fn patches_of_a_resized_photograph() {
    let patches = Picture::read("astronaut_256.png").patches();
    check_reference("patches_astronaut_k80_14it", &patches, Init::EvenlySpaced);
}

#[test]
fn patches_of_a_cropped_photograph_with_the_inertia_after_every_update() {
    let more = files::reference("reference_more.json");
    let job = &more["patch_job"];
    let astronaut = Picture::read("astronaut.png");
    assert_decoded("astronaut.png", &astronaut);
    let crop = astronaut.crop(0, 128, 256, 256);
    assert_eq!(sha256(&crop.values), job["crop_sha256"].as_str().unwrap());
    let patches = crop.patches();
    let as_bytes: Vec<u8> = patches.iter().map(|&v| v as u8).collect();
    assert_eq!(sha256(&as_bytes), job["patches_u8_sha256"].as_str().unwrap());

    let fitted = plain(&patches, 80, Init::EvenlySpaced, 14);
    let trace: Vec<f64> = fitted.history().iter().map(|r| r.inertia).chain([fitted.inertia()]).collect();
    let expected: Vec<f64> =
        job["inertia_trace_exact"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert_eq!(trace.len(), expected.len());
    assert_eq!(trace[0], expected[0], "integers: exact");
    for (found, expected) in trace.iter().zip(&expected) {
        assert_close(*found, *expected, 1e-9);
    }
    assert_close(fitted.inertia(), job["inertia_after_14"].as_f64().unwrap(), 1e-9);
    assert_eq!(fitted.counts().to_vec(), integers(&job["counts_after_14"]));
    assert_eq!(sha256_of_labels(fitted.labels()), job["labels_sha256"].as_str().unwrap());
}

/// Bytes are exact in every type that has room for them, so the labels of the first assignment are too.
#[test]
fn patches_in_f32_start_from_the_same_labels() {
    let patches = Picture::read("astronaut_256.png").patches();
    let job = Job::new(80, Init::EvenlySpaced).max_iter(0);
    let double = job.fit(patches.view(), None).unwrap();
    let single = job.fit(patches.mapv(|v| v as f32).view(), None).unwrap();
    assert_eq!(sha256_of_labels(single.labels()), sha256_of_labels(double.labels()));
    assert_eq!(single.inertia(), double.inertia());
}

#[test]
fn digits_split_in_eight_and_each_part_in_eight_again() {
    let more = files::reference("reference_more.json");
    let expected = &more["tree_digits_8x8"];
    let digits = digits();
    let root = plain(&digits, 8, Init::EvenlySpaced, 300);
    assert_close(root.inertia(), expected["level1_inertia"].as_f64().unwrap(), 1e-9);
    assert_eq!(root.iterations() as u64, expected["level1_n_iter"].as_u64().unwrap());
    assert_eq!(root.counts().to_vec(), integers(&expected["level1_counts"]));

    let children: Vec<FittedKMeans<f64>> = (0..8)
        .map(|c| {
            let rows: Vec<usize> = (0..digits.nrows()).filter(|&i| root.labels()[i] == c).collect();
            plain(&digits.select(Axis(0), &rows), 8, Init::EvenlySpaced, 300)
        })
        .collect();
    let sizes: Vec<u64> = children.iter().flat_map(|c| c.counts().to_vec()).collect();
    assert_eq!(sizes, integers(&expected["leaf_sizes"]));
    let total: f64 = children.iter().map(FittedKMeans::inertia).sum();
    assert_close(total, expected["leaf_inertia_total"].as_f64().unwrap(), 1e-9);
}
