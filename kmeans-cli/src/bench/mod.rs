//! The parts of `kmeans bench`.

pub mod cases;
pub mod chart;
pub mod measure;
pub mod table;
