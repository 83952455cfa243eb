//! Images: files in and out, their pixels, and what is drawn of clusters of them.

mod file;
mod montage;
mod palette;
mod pattern;
mod pixels;

pub use file::{PictureFile, is_image, name, opaque, read};
pub use montage::montage;
pub use palette::{Entry, PaletteFile, Swatches, beside};
pub use pattern::{Pattern, expand};
pub use pixels::Pixels;
