//! What several examples need: numbers as people write them, text in pictures, and saving these; real vectors.

pub mod picture;
pub mod text;
pub mod vectors;
