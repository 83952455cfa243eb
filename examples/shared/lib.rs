//! What several examples need: numbers as people write them, text in pictures, and saving these.

pub mod picture;
pub mod text;
