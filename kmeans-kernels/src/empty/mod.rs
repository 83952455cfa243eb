//! Empty clusters: which they are ([`list`]), and the policy that gives each the farthest point ([`farthest`]), which
//! points without weight do not stand for ([`mask`]).
//!
//! The steps of `kmeans_core::reference::fill_empty_clusters`: members ([`count::members`](crate::count::members)), the list,
//! D to the own centroid ([`distance::own`](crate::distance::own)), the mask where there are weights, then for each cluster of
//! the list the farthest point and its move.

pub mod farthest;
pub mod list;
pub mod mask;
