//! The leaves that points come to, greedily and along a beam, are those of the reference; and what is saved comes back.

use kmeans_core::distance;
use kmeans_core::tree::Plan;
use kmeans_host::{Element, FittedTree, KMeansTree, bf16, f16};
use kmeans_tests::compare::{assert_same, bits, with_threads};
use kmeans_tests::data::{KINDS, Kind, points};
use kmeans_tests::layout::{LAYOUTS, with_layout};
use kmeans_tests::tree::{assert_agreement, builder, plan};
use ndarray::{Array2, array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Compares the beams of `new` with the reference's.
fn check<T: Element>(plan: &Plan, fitted_on: &Array2<T>, new: &Array2<T>, widths: &[usize]) {
    let (found, expected) = assert_agreement(plan, fitted_on, fitted_on.view()).unwrap();
    assert_same("leaves of fitted points", &found.assign(fitted_on).unwrap().to_vec(), &expected.leaf_labels());
    let greedy: Vec<u32> = new.rows().into_iter().map(|x| expected.descend(&x.to_vec())).collect();
    assert_same("leaves", &found.assign(new).unwrap().to_vec(), &greedy);
    for &width in widths {
        let near = found.nearest_leaves(new, width).unwrap();
        let beams: Vec<(u32, f64)> = new.rows().into_iter().flat_map(|x| expected.beam(&x.to_vec(), width)).collect();
        let leaves: Vec<u32> = beams.iter().map(|b| b.0).collect();
        let distances: Vec<f64> = beams.iter().map(|b| b.1.sqrt()).collect();
        assert_eq!(near.leaves.dim(), (new.nrows(), width.min(expected.leaves.len())));
        assert_same("leaves of beams", &near.leaves.iter().copied().collect::<Vec<_>>(), &leaves);
        assert_same("distances of beams", &bits(&near.distances), &bits(&distances));
    }
}

#[test]
fn every_kind_of_points_in_every_type() {
    fn each_kind<T: Element>() {
        for (seed, kind) in KINDS.into_iter().enumerate() {
            let (old, new) = (points::<T>(kind, 250, 3, seed as u64), points::<T>(kind, 100, 3, seed as u64 + 50));
            check(&plan(3, 3), &old, &new, &[1, 2, 5, 1000]);
        }
    }
    each_kind::<f32>();
    each_kind::<f64>();
    each_kind::<f16>();
    each_kind::<bf16>();
}

#[test]
fn more_children_than_are_added_up_side_by_side() {
    for k in [2, 7, 8, 9, 16, 33] {
        let (old, new) = (points::<f32>(Kind::Uniform, 900, 5, k as u64), points::<f32>(Kind::Uniform, 60, 5, 1));
        check(&plan(k, 2), &old, &new, &[1, 3, 40]);
    }
}

#[test]
fn leaves_of_different_levels() {
    let old = points::<f32>(Kind::Wide, 400, 2, 1);
    check(&Plan { max_leaf: 4, ..plan(2, usize::MAX) }, &old, &points(Kind::Wide, 100, 2, 2), &[1, 4, 17]);
}

#[test]
fn a_beam_of_all_leaves_is_sorted_and_complete() {
    let old = points::<f64>(Kind::Uniform, 500, 3, 3);
    let tree = builder(&plan(4, 3)).fit(&old).unwrap();
    let near = tree.nearest_leaves(&old, usize::MAX).unwrap();
    let all: Vec<u32> = (0..tree.leaves().len() as u32).collect();
    for (x, (leaves, distances)) in
        old.rows().into_iter().zip(near.leaves.rows().into_iter().zip(near.distances.rows()))
    {
        let mut sorted = leaves.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, all);
        assert!(distances.iter().is_sorted());
        let nearest = tree.centroids().row(tree.leaves()[leaves[0] as usize]).to_vec();
        assert_eq!(distances[0], distance(&x.to_vec(), &nearest).sqrt());
    }
}

#[test]
fn ties_go_to_the_lowest_index() {
    let old = array![[0.0_f32], [2.0]];
    let tree = KMeansTree::new(2).depth(1).fit(&old).unwrap();
    assert_eq!(tree.assign(&array![[1.0_f32]]).unwrap().to_vec(), [0]);
    let near = tree.nearest_leaves(&array![[1.0_f32]], 2).unwrap();
    assert_eq!(near.leaves, array![[0, 1]]);
}

#[test]
fn any_layout_and_number_of_threads() {
    let old = points::<f32>(Kind::Blobs, 600, 4, 4);
    let tree = builder(&plan(5, 3)).fit(&old).unwrap();
    let one = with_threads(1, || tree.nearest_leaves(&old, 3).unwrap());
    for layout in LAYOUTS {
        for threads in [2, 5] {
            let again =
                with_threads(threads, || with_layout(&old, layout, |view| tree.nearest_leaves(&view, 3).unwrap()));
            assert_eq!(again, one);
        }
    }
}

#[test]
fn no_new_points_have_no_leaves() {
    let tree = builder(&plan(2, 2)).fit(&points::<f32>(Kind::Uniform, 9, 3, 1)).unwrap();
    assert_eq!(tree.assign(&Array2::zeros((0, 3))).unwrap().len(), 0);
    assert_eq!(tree.nearest_leaves(&Array2::zeros((0, 3)), 2).unwrap().leaves.dim(), (0, 2));
}

fn comes_back<T: Element + Serialize + DeserializeOwned>() {
    for kind in [Kind::Uniform, Kind::Wide, Kind::Equal, Kind::Subnormal] {
        let saved = KMeansTree::new(3).depth(3).max_leaf_size(5).fit(&points::<T>(kind, 200, 3, 1)).unwrap();
        let text: FittedTree<T> = serde_json::from_str(&serde_json::to_string(&saved).unwrap()).unwrap();
        let bytes: FittedTree<T> = postcard::from_bytes(&postcard::to_stdvec(&saved).unwrap()).unwrap();
        for loaded in [text, bytes] {
            assert_eq!(loaded, saved);
            assert_eq!(loaded.leaf_labels(), saved.leaf_labels());
            assert_eq!(loaded.notices(), saved.notices());
            let new = points::<T>(Kind::Uniform, 90, 3, 2);
            assert_eq!(loaded.nearest_leaves(&new, 4).unwrap(), saved.nearest_leaves(&new, 4).unwrap());
        }
    }
}

#[test]
fn saved_trees_come_back_in_every_type() {
    comes_back::<f32>();
    comes_back::<f64>();
    comes_back::<f16>();
    comes_back::<bf16>();
}

#[test]
fn damaged_files_are_refused() {
    let points = array![[0.0_f64], [1.0], [2.0], [3.0], [100.0], [101.0]];
    let tree = KMeansTree::new(2).depth(2).seed(1).fit(&points).unwrap();
    let load = |change: &dyn Fn(&mut Value)| {
        let mut value = serde_json::to_value(&tree).unwrap();
        change(&mut value);
        serde_json::from_str::<FittedTree<f64>>(&value.to_string())
    };
    assert_eq!(load(&|_| ()).unwrap(), tree);
    let refused: [(&dyn Fn(&mut Value), &str); 12] = [
        (&|t| t["nodes"] = json!([]), "0 nodes"),
        (&|t| t["order"] = json!([]), "all 0 points"),
        (&|t| t["order"][0] = json!(6), "row 6, at place 0"),
        (&|t| t["order"][1] = t["order"][0].clone(), "at place 1"),
        (&|t| t["centroids"]["data"][2] = json!(1e200), "node 2"),
        (&|t| t["nodes"][0]["level"] = json!(1), "root"),
        (&|t| t["nodes"][0]["children"] = json!({"start": 1, "end": 99}), "children of node 0"),
        (&|t| t["nodes"][2]["children"] = json!({"start": 0, "end": 0}), "no node's child"),
        (&|t| t["nodes"][2]["children"] = json!({"start": 1, "end": 3}), "children of node 2"),
        (&|t| t["nodes"][3]["parent"] = json!(0), "node 3"),
        (&|t| t["nodes"][3]["level"] = json!(1), "node 3"),
        (&|t| t["nodes"][6]["places"]["end"] = json!(5), "node 6"),
    ];
    for (change, part) in refused {
        let message = load(change).unwrap_err().to_string();
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}
