//! The tests that need no process of their own, in one program: it links the engines once.
//!
//! They run on the device that `KMEANS_DEVICE` names, or where the library itself would: `KMEANS_DEVICE=cuda cargo test -p
//! kmeans-tests` is the same suite on a GPU.

mod agreement;
mod agreement_directed;
mod agreement_scales;
mod batch;
mod cases_input;
mod cases_result;
mod control;
mod errors;
mod gpu;
mod image_files;
mod means;
mod minimum_size;
mod model;
mod pruning;
mod quality;
mod reference_values;
mod rungs;
mod sanitized;
mod saved;
mod segmentation;
mod select_k;
mod starts;
mod stops;
mod threads;
mod tree;
mod tree_assign;
mod tree_control;
mod video;
mod views;
