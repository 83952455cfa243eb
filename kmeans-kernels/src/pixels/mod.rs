//! Clustering the pixels of an image by colour, straight from its bytes: [n, 3] `u8` red, green, blue.
//!
//! | step | kernel |
//! |---|---|
//! | 1 | [`assign`]: labels, one thread per pixel, centroids in shared memory |
//! | 2 | [`sums`]: sums and counts per block in shared memory, one global addition per block and cluster |
//! | 3 | [`scale::divide`](crate::scale::divide) makes centroids of them: narrow sums with exponent 0 |
//! | end | [`recolour`]: every pixel takes its cluster's colour |
//!
//! [`features`] makes points of five columns, colour and position, for the general kernels.

pub mod assign;
pub mod features;
pub mod recolour;
pub mod sums;

/// Colours of a pixel.
pub(crate) const COLOURS: u32 = 3;
