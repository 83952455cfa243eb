//! Choosing k: scores as scikit-learn computes them, and the choice.

use kmeans_host::select_k::{
    Criterion, SelectK, SilhouetteForm, calinski_harabasz, davies_bouldin, sampled_silhouette, silhouette,
    silhouette_samples, simplified_silhouette,
};
use kmeans_host::{Control, Device, EmptyCluster, Error, Init, KMeans, Progress, Stop};
use kmeans_tests::compare::{assert_close, with_threads};
use kmeans_tests::data::blobs;
use kmeans_tests::files::{self, digits, iris};
use kmeans_tests::gpu::first_gpu;
use ndarray::{Array2, Axis};

#[test]
fn scores_are_those_of_scikit_learn() {
    let recorded = files::reference("scores.json");
    for row in recorded["scores"].as_array().unwrap() {
        let points = if row["data"] == "iris" { iris() } else { digits() };
        let k = row["k"].as_u64().unwrap() as usize;
        // Labels by a rule that needs no fit: the nearest of k rows.
        let start = KMeans::new(k).init(Init::EvenlySpaced).empty_cluster(EmptyCluster::Keep).max_iter(0);
        let fitted = start.fit(&points).unwrap();
        let labels = fitted.labels().to_vec();
        // Sums of thousands of terms in another order.
        let check = |name: &str, found: f64| assert_close(found, row[name].as_f64().unwrap(), 1e-11);
        check("silhouette", silhouette(&points, &labels).unwrap());
        check("calinski_harabasz", calinski_harabasz(&points, &labels).unwrap());
        check("davies_bouldin", davies_bouldin(&points, &labels).unwrap());
        check("simplified_silhouette", simplified_silhouette(&points, &labels, &fitted.centroids()).unwrap());
        let samples = silhouette_samples(&points, &labels).unwrap();
        for (found, expected) in samples.iter().zip(row["silhouette_first"].as_array().unwrap()) {
            assert_close(*found, expected.as_f64().unwrap(), 1e-10);
        }
    }
}

/// The recorded table of a data set, and the k that it chooses.
fn check_table(name: &str, points: &Array2<f64>) {
    let more = files::reference("reference_more.json");
    let table = &more["silhouette"][name];
    let range = table["by_K"].as_object().unwrap().keys().map(|k| k.parse::<usize>().unwrap());
    let range = range.clone().min().unwrap()..=range.max().unwrap();
    let kmeans = KMeans::new(1).init(Init::EvenlySpaced).stop(Stop::LabelsRepeat).empty_cluster(EmptyCluster::Keep);
    for (form, key, best) in [
        (SilhouetteForm::Exact, "silhouette", "best_K"),
        (SilhouetteForm::Simplified, "simplified", "best_K_simplified"),
    ] {
        let selection = SelectK::new(range.clone()).kmeans(kmeans.clone()).silhouette(form).fit(points).unwrap();
        for scores in selection.table() {
            let expected = &table["by_K"][scores.k.to_string()];
            assert_close(scores.inertia, expected["inertia"].as_f64().unwrap(), 1e-9);
            assert_close(scores.silhouette.unwrap(), expected[key].as_f64().unwrap(), 1e-9);
        }
        assert_eq!(selection.k() as u64, table[best].as_u64().unwrap());
        assert_eq!(selection.fitted().counts().len(), selection.k());
    }
}

#[test]
fn iris_and_digits_have_their_recorded_tables_and_choices() {
    check_table("iris", &iris());
    check_table("digits", &digits());
}

#[test]
fn a_sample_is_the_silhouette_of_its_rows() {
    let (points, _) = blobs::<f32>(900, 3, 4, 5);
    let fitted = KMeans::new(4).fit(&points).unwrap();
    let labels = fitted.labels().to_vec();
    let sampled = sampled_silhouette(&points, &labels, 300, 7).unwrap();
    let random = kmeans_core::rng::Random::new(7, 0);
    let mut rows = kmeans_core::seeding::random_rows(900, 300, &random);
    rows.sort_unstable();
    let of_rows: Vec<u32> = rows.iter().map(|&i| labels[i]).collect();
    assert_eq!(sampled, silhouette(&points.select(Axis(0), &rows), &of_rows).unwrap());
    assert_close(sampled, silhouette(&points, &labels).unwrap(), 0.1);
    assert_eq!(sampled_silhouette(&points, &labels, 900, 7), silhouette(&points, &labels));
}

#[test]
fn threads_change_no_bit_of_a_table() {
    let (points, _) = blobs::<f32>(700, 5, 6, 9);
    let run = |threads| with_threads(threads, || SelectK::new(1..=8).fit(&points).unwrap());
    let (one, three) = (run(1), run(3));
    assert_eq!(one.table(), three.table());
    assert_eq!(one.chart(), three.chart());
}

#[test]
fn every_criterion_finds_separate_groups_and_the_chart_shows_the_choice() {
    let points = Array2::from_shape_fn((300, 2), |(i, j)| (((i % 5) * (3 + 4 * j)) * 20 + (i * 7 + j * 3) % 11) as f64);
    for criterion in [Criterion::Silhouette, Criterion::CalinskiHarabasz, Criterion::DaviesBouldin] {
        let selection = SelectK::new(2..=9).criterion(criterion).fit(&points).unwrap();
        assert_eq!(selection.k(), 5, "{criterion:?}");
        assert!(selection.chart().contains("k = 5"));
    }
}

#[test]
fn a_k_that_cannot_be_scored_has_no_scores_and_is_not_chosen() {
    let (points, _) = blobs::<f64>(50, 2, 3, 1);
    let selection = SelectK::new(1..=4).fit(&points).unwrap();
    assert_eq!((selection.table()[0].silhouette, selection.table()[0].davies_bouldin), (None, None));
    assert!(selection.k() > 1);
    let equal = Array2::from_elem((20, 2), 3.0);
    assert_eq!(SelectK::new(1..=4).fit(&equal).unwrap_err(), Error::EmptyKRange { from: 1, to: 4 });
    assert_eq!(
        SelectK::new(std::ops::RangeInclusive::new(3, 2)).fit(&points).unwrap_err(),
        Error::EmptyKRange { from: 3, to: 2 }
    );
    assert_eq!(silhouette(&points, &[0; 50]), Err(Error::NotScorable { clusters: 1, n: 50 }));
    assert!(matches!(davies_bouldin(&points, &[0, 1]), Err(Error::Shape { .. })));
}

#[test]
fn a_gpu_gives_the_bits_of_the_processor() {
    let Some(gpu) = first_gpu() else { return };
    // Clusters of one point, of more than a block of sums, of more columns than a tile holds.
    for (n, d, k) in [(300, 1, 4), (2000, 3, 2), (1500, 64, 40), (700, 300, 5)] {
        let (mut points, _) = blobs::<f32>(n, d, k, 11);
        points.row_mut(n - 1).fill(900.0);
        let on = |device| {
            let kmeans = KMeans::new(k).device(device).seed(2);
            SelectK::new(k..=k + 2).kmeans(kmeans).fit(&points).unwrap()
        };
        let (here, there) = (on(Device::Cpu), on(Device::Cuda(gpu.index)));
        assert_eq!(here.table(), there.table(), "n {n} d {d} k {k}");
    }
}

#[test]
fn many_points_are_scored_without_a_matrix_of_distances() {
    // 20,000² distances would take 3 GB.
    let (points, _) = blobs::<f32>(20_000, 2, 5, 3);
    let fitted = KMeans::new(5).fit(&points).unwrap();
    let labels = fitted.labels().to_vec();
    let exact = silhouette(&points, &labels).unwrap();
    let sampled = sampled_silhouette(&points, &labels, 5000, 1).unwrap();
    assert_close(exact, sampled, 0.05);
}

#[test]
fn a_choice_that_is_ended_early_is_made_from_what_is_done() {
    let points = Array2::from_shape_fn((120, 2), |(i, j)| ((i % 3) * 50 + (i * 7 + j * 3) % 5) as f32);
    let ended_at = |end: usize| {
        let answer = move |k, _: &Progress| if k < end { Control::Continue } else { Control::Finish };
        SelectK::new(2..=6).on_progress(answer).fit(&points)
    };
    let selection = ended_at(5).unwrap();
    assert_eq!(selection.table().iter().map(|scores| scores.k).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(selection.k(), 3);
    assert_eq!(selection.table(), SelectK::new(2..=4).fit(&points).unwrap().table());
    assert!(matches!(ended_at(2), Err(Error::Cancelled { .. })));
    let cancelled =
        SelectK::new(2..=6).on_progress(|k, _| if k < 5 { Control::Continue } else { Control::Cancel }).fit(&points);
    assert!(matches!(cancelled, Err(Error::Cancelled { .. })));
}
