//! Images: segmentation and palettes, patches, and video.
//!
//! An image is an ndarray view `[h, w, c]` of `u8`, `u16` or `f32`: grey (c = 1), grey and alpha (2), RGB (3) or RGBA (4).
//! With the crate feature `image` the functions also take and return `DynamicImage`s of the crate
//! `image`, and `open` reads PNG and JPEG files, turned upright.
//!
//! - [`Segmentation`] clusters the pixels: labels, a palette with shares, and the image in the palette's colours.
//! - [`Video`] does so frame after frame, each starting from the last one's centroids.
//! - [`Patches`] cuts an image into overlapping squares and rebuilds an image from centroids of them; [`Whitening`] takes
//!   the correlation of neighbouring pixels out of them, and puts it back.
//!
//! ```
//! use kmeans_host::image::Segmentation;
//! use ndarray::Array3;
//!
//! // Left half red, right half blue, [h, w, c] = [4, 6, 3].
//! let image = Array3::from_shape_fn((4, 6, 3), |(_, x, c)| if c == if x < 3 { 0 } else { 2 } { 200_u8 } else { 10 });
//! let segmented = Segmentation::new(2).segment(&image)?;
//! assert_eq!(segmented.labels().dim(), (4, 6));
//! assert_eq!(segmented.palette()[0].share, 0.5);
//! assert_eq!(segmented.quantized(), image);
//! # Ok::<(), kmeans_host::Error>(())
//! ```

mod colours;
#[cfg(feature = "image")]
mod dynamic;
mod features;
#[cfg(feature = "image")]
mod jpeg;
mod lab;
mod patches;
mod picture;
mod sample;
mod seeding;
mod segmentation;
mod segmented;
mod video;
mod whitening;

#[cfg(feature = "image")]
pub use dynamic::{SegmentedImage, decode, open};
pub use features::{Alpha, Features};
pub use lab::{lab_to_srgb, srgb_to_lab};
pub use patches::{Patches, psnr};
pub use sample::Sample;
pub use segmentation::Segmentation;
pub use segmented::{Segmented, Swatch};
pub use video::Video;
pub use whitening::Whitening;
