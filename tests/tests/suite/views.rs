//! A view in any memory layout gives exactly what a packed copy gives.

use kmeans_host::{Element, Error, Init, KMeans, bf16, f16};
use kmeans_tests::compare::{Job, assert_identical, assert_same, bits};
use kmeans_tests::data::{Kind, Weighting, points, weights};
use kmeans_tests::layout::{LAYOUTS, with_layout};
use ndarray::{Array1, Array2, ArrayView2, Axis, array, s};

const INITS: [Init; 6] = [
    Init::FirstK,
    Init::EvenlySpaced,
    Init::RandomPoints,
    Init::RandomLabels,
    Init::KMeansPlusPlus,
    Init::KMeansParallel,
];

/// Asserts that `view`, whose packed copy is `points`, is fitted and answered for as the copy is.
fn assert_view<T: Element>(job: &Job, view: ArrayView2<'_, T>, points: &Array2<T>, weights: Option<&Array1<f64>>) {
    let packed = job.fit(points.view(), weights).unwrap();
    assert_identical(&job.fit(view, weights).unwrap(), &packed);
    assert_same("labels", &packed.predict(&view).unwrap().to_vec(), &packed.predict(points).unwrap().to_vec());
    let (found, expected) = (packed.transform(&view).unwrap(), packed.transform(points).unwrap());
    assert_same("distances", &bits(&found), &bits(&expected));
    assert_eq!(packed.score(&view).unwrap().to_bits(), packed.score(points).unwrap().to_bits());
    if let Some(weights) = weights {
        let score = |points| packed.score_weighted(&points, weights).unwrap().to_bits();
        assert_eq!(score(view), score(points.view()));
    }
}

fn assert_layouts<T: Element>(n: usize, d: usize) {
    let points = points::<T>(Kind::Uniform, n, d, 3);
    let weights = weights(Weighting::Random, n, 3);
    for layout in LAYOUTS {
        for init in INITS {
            let job = Job { seed: 4, ..Job::new(6, init) }.max_iter(5);
            with_layout(&points, layout, |view| assert_view(&job, view, &points, weights.as_ref()));
        }
    }
}

#[test]
fn every_layout_and_start_in_f32() {
    assert_layouts::<f32>(3000, 3);
    assert_layouts::<f32>(150, 40);
    assert_layouts::<f32>(200, 1);
}

#[test]
fn every_layout_and_start_in_f64() {
    assert_layouts::<f64>(300, 5);
}

#[test]
fn every_layout_and_start_in_half_precision() {
    assert_layouts::<f16>(300, 9);
    assert_layouts::<bf16>(300, 2);
}

#[test]
fn the_same_row_broadcast_without_memory() {
    let row = array![0.1_f32, 0.7, -3.0];
    let view = row.broadcast((500, 3)).unwrap();
    let copy = view.to_owned();
    assert_view(&Job::new(4, Init::KMeansPlusPlus), view, &copy.as_standard_layout().into_owned(), None);
}

#[test]
fn the_same_column_broadcast_without_memory() {
    let column = points::<f64>(Kind::Uniform, 300, 1, 2);
    let view = column.broadcast((300, 7)).unwrap();
    assert_view(&Job::new(4, Init::FirstK), view, &view.as_standard_layout().into_owned(), None);
}

#[test]
fn a_slice_of_a_three_dimensional_array() {
    let volume = points::<f32>(Kind::Blobs, 40 * 30, 6, 2).into_shape_with_order((40, 30, 6)).unwrap();
    let view = volume.index_axis(Axis(1), 11);
    assert_view(&Job::new(3, Init::FirstK), view, &view.as_standard_layout().into_owned(), None);
}

#[test]
fn weights_that_are_a_strided_view() {
    let points = points::<f64>(Kind::Uniform, 200, 2, 5);
    let twice = weights(Weighting::Random, 400, 5).unwrap();
    let (strided, copied) = (twice.slice(s![..;-2]), twice.slice(s![..;-2]).to_owned());
    let kmeans = KMeans::new(5).init(Init::FirstK);
    let (found, expected) =
        (kmeans.fit_weighted(&points, &strided).unwrap(), kmeans.fit_weighted(&points, &copied).unwrap());
    assert_identical(&found, &expected);
    assert_eq!(expected.score_weighted(&points, &strided).unwrap(), expected.score_weighted(&points, &copied).unwrap());
}

#[test]
fn given_centroids_in_any_layout() {
    let points = points::<f32>(Kind::Uniform, 100, 3, 6);
    let given = points.slice(s![10..14, ..]).to_owned();
    let expected = Job::new(4, Init::centroids(&given)).fit(points.view(), None).unwrap();
    for layout in LAYOUTS {
        let init = with_layout(&given, layout, |view| Init::centroids(&view));
        assert_identical(&Job::new(4, init).fit(points.view(), None).unwrap(), &expected);
    }
}

#[test]
fn a_bad_value_is_named_by_its_place_in_the_view() {
    let mut points = points::<f32>(Kind::Uniform, 5000, 4, 7);
    points[[4321, 2]] = f32::NAN;
    points[[4700, 0]] = f32::INFINITY;
    for layout in LAYOUTS {
        let error = with_layout(&points, layout, |view| KMeans::new(2).fit(&view)).unwrap_err();
        assert!(matches!(error, Error::NonFinite { row: 4321, column: 2, value } if value.is_nan()), "{error:?}");
    }
}
