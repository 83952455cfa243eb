//! A saved and loaded model is the model that was saved, in a text and in a binary format; a damaged one is refused.

use kmeans_host::{Device, Element, Error, FittedKMeans, Init, KMeans, bf16, f16};
use kmeans_tests::compare::{assert_identical, assert_same, bits};
use kmeans_tests::data::{Kind, points};
use kmeans_tests::proptest_config;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn fitted<T: Element>(kind: Kind) -> FittedKMeans<T> {
    KMeans::new(7).seed(2).fit(&points::<T>(kind, 200, 3, 1)).unwrap()
}

fn assert_same_model<T: Element>(loaded: &FittedKMeans<T>, saved: &FittedKMeans<T>) {
    assert_identical(loaded, saved);
    assert_eq!(loaded, saved);
    assert_eq!(loaded.engine(), saved.engine());
    assert_eq!(loaded.notices(), saved.notices());
    let new_points = points::<T>(Kind::Uniform, 500, 3, 9);
    let (a, b) = (loaded.predict(&new_points).unwrap(), saved.predict(&new_points).unwrap());
    assert_same("labels", &a.to_vec(), &b.to_vec());
    let (a, b) = (loaded.transform(&new_points).unwrap(), saved.transform(&new_points).unwrap());
    assert_same("distances", &bits(&a), &bits(&b));
    assert_eq!(loaded.score(&new_points), saved.score(&new_points));
}

fn round_trips<T: Element + Serialize + DeserializeOwned>() {
    for kind in [Kind::Uniform, Kind::Wide, Kind::Subnormal, Kind::Offset, Kind::Equal] {
        let saved = fitted::<T>(kind);
        let text = serde_json::to_string(&saved).unwrap();
        assert_same_model(&serde_json::from_str(&text).unwrap(), &saved);
        let bytes = postcard::to_stdvec(&saved).unwrap();
        assert_same_model(&postcard::from_bytes(&bytes).unwrap(), &saved);
        // Saving what was loaded gives the same file.
        let again: FittedKMeans<T> = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(postcard::to_stdvec(&again).unwrap(), bytes);
    }
}

#[test]
fn f32_models_come_back() {
    round_trips::<f32>();
}

#[test]
fn f64_models_come_back() {
    round_trips::<f64>();
}

#[test]
fn f16_models_come_back() {
    round_trips::<f16>();
}

#[test]
fn bf16_models_come_back() {
    round_trips::<bf16>();
}

#[test]
fn a_model_of_another_type_is_loaded_only_with_the_same_values() {
    let saved = fitted::<f32>(Kind::Uniform);
    let wider: FittedKMeans<f64> = serde_json::from_str(&serde_json::to_string(&saved).unwrap()).unwrap();
    for (wide, narrow) in wider.centroids().iter().zip(saved.centroids()) {
        assert_eq!(*wide as f32, *narrow);
    }
}

/// Loads a model of four points and two clusters after `change`.
fn load_changed<T: Element + Serialize + DeserializeOwned>(
    change: impl FnOnce(&mut Value),
) -> Result<FittedKMeans<T>, serde_json::Error> {
    let points = ndarray::array![[0.0, 1.0], [0.0, 2.0], [5.0, 5.0], [5.0, 6.0]].mapv(T::from_f64);
    let model = KMeans::new(2).init(Init::EvenlySpaced).fit(&points).unwrap();
    let mut value = serde_json::to_value(&model).unwrap();
    change(&mut value);
    // By way of text, since that is what a file holds.
    serde_json::from_str(&value.to_string())
}

fn assert_refused(result: Result<FittedKMeans<f64>, serde_json::Error>, part: &str) {
    let message = result.unwrap_err().to_string();
    assert!(message.contains(part), "{part:?} is not in {message:?}");
}

#[test]
fn the_unchanged_model_is_accepted() {
    assert_eq!(load_changed::<f64>(|_| ()).unwrap().labels().to_vec(), [0, 0, 1, 1]);
}

#[test]
fn a_label_without_a_cluster_is_refused() {
    assert_refused(load_changed(|m| m["labels"]["data"][3] = json!(2)), "label of point 3 is 2");
}

#[test]
fn counts_that_are_not_those_of_the_labels_are_refused() {
    assert_refused(load_changed(|m| m["counts"]["data"][0] = json!(3)), "counts");
    assert_refused(load_changed(|m| m["labels"]["data"][0] = json!(1)), "counts");
}

#[test]
fn another_number_of_counts_is_refused() {
    let three = json!({"v": 1, "dim": [3], "data": [2, 2, 0]});
    assert_refused(load_changed(|m| m["counts"] = three), "2 centroids but 3 counts");
}

#[test]
fn no_centroids_are_refused() {
    for dim in [json!([0, 2]), json!([2, 0]), json!([0, 0])] {
        assert_refused(load_changed(|m| m["centroids"] = json!({"v": 1, "dim": dim, "data": []})), "needs centroids");
    }
}

#[test]
fn a_shape_that_is_not_that_of_the_values_is_refused() {
    for dim in [json!([2, 3]), json!([1, 2]), json!([u64::MAX, 2]), json!([1_u64 << 63, 1_u64 << 63])] {
        assert!(load_changed::<f64>(|m| m["centroids"]["dim"] = dim).is_err());
    }
}

#[test]
fn a_centroid_that_is_not_finite_is_refused() {
    let nan = f16::NAN.to_bits();
    let result = load_changed::<f16>(|m| m["centroids"]["data"][3] = json!(nan));
    let message = result.unwrap_err().to_string();
    assert!(message.contains("row 1, column 1 is NaN"), "{message}");
    let infinity = bf16::INFINITY.to_bits();
    assert!(load_changed::<bf16>(|m| m["centroids"]["data"][0] = json!(infinity)).is_err());
}

#[test]
fn a_centroid_too_large_to_square_is_refused() {
    assert_refused(load_changed(|m| m["centroids"]["data"][1] = json!(-1e160)), "too large to square");
}

#[test]
fn a_missing_field_is_refused() {
    for field in ["centroids", "labels", "counts", "inertia", "converged", "history", "device", "engine"] {
        let result = load_changed::<f64>(|m| _ = m.as_object_mut().unwrap().remove(field).expect("a saved field"));
        assert_refused(result, field);
    }
}

#[test]
fn a_model_from_a_device_that_is_gone_says_so_when_asked() {
    let device = serde_json::to_value(Device::Cuda(4711)).unwrap();
    let model = load_changed::<f64>(|m| m["device"] = device).unwrap();
    let error = model.predict(&ndarray::array![[0.0, 0.0]]).unwrap_err();
    assert!(matches!(error, Error::NoDevice { index: 4711, .. }), "{error:?}");
}

#[test]
fn a_file_cut_short_is_refused() {
    let bytes = postcard::to_stdvec(&fitted::<f32>(Kind::Uniform)).unwrap();
    let text = serde_json::to_string(&fitted::<f32>(Kind::Uniform)).unwrap();
    for length in 0..bytes.len() {
        assert!(postcard::from_bytes::<FittedKMeans<f32>>(&bytes[..length]).is_err(), "{length} bytes");
    }
    for length in (0..text.len()).step_by(7) {
        assert!(serde_json::from_str::<FittedKMeans<f32>>(&text[..length]).is_err(), "{length} characters");
    }
}

/// Damages bytes of a saved model; if it still loads, it answers without a panic.
fn damaged<T: Element + Serialize + DeserializeOwned>(changes: &[(usize, u8)]) {
    let mut bytes = postcard::to_stdvec(&fitted::<T>(Kind::Uniform)).unwrap();
    let length = bytes.len();
    for &(at, value) in changes {
        bytes[at % length] = value;
    }
    if let Ok(model) = postcard::from_bytes::<FittedKMeans<T>>(&bytes) {
        let k = model.centroids().nrows() as u32;
        assert!(model.labels().iter().all(|&label| label < k));
        if let Ok(labels) = model.predict(&points::<T>(Kind::Uniform, 50, 3, 9)) {
            assert!(labels.iter().all(|&label| label < k));
        }
    }
}

proptest! {
    #![proptest_config(proptest_config(500))]
    #[test]
    fn damaged_bytes_never_panic(changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4)) {
        damaged::<f32>(&changes);
        damaged::<f64>(&changes);
        damaged::<f16>(&changes);
        damaged::<bf16>(&changes);
    }
}
