//! The parts of `kmeans bench`.

mod bars;
pub mod cases;
pub mod chart;
pub mod choose;
pub mod gpu;
pub mod measure;
pub mod table;
