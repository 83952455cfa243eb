//! The silhouette coefficient of a clustering, from all distances between points, none of which is stored ([`samples`]).

pub mod samples;
