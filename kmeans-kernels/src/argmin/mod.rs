//! Argmin: the label of each row, from a matrix of distances ([`distance`](crate::distance)).
//!
//! | rung | what it adds |
//! |---|---|
//! | [`serial`] | one thread per row |
//! | [`tree`] | 16 threads per row, which halve the candidates in shared memory |
//! | [`shuffle`] | a warp per row, which halves them in registers |
//!
//! The lowest label wins among equal distances, in whatever order threads see them.

pub mod serial;
pub mod shuffle;
pub mod tree;

use crate::device::shuffle_xor;

/// The nearest centroid so far.
#[derive(Clone, Copy)]
pub(crate) struct Nearest {
    pub label: u32,
    pub distance: f64,
}

impl Nearest {
    /// No centroid yet.
    pub const NONE: Self = Self { label: u32::MAX, distance: f64::INFINITY };

    /// Takes a centroid with a higher label than all before into account.
    #[inline(always)]
    pub fn offer(self, label: u32, distance: f64) -> Self {
        if distance < self.distance { Self { label, distance } } else { self }
    }

    /// The better of two, whatever their labels.
    #[inline(always)]
    pub fn merge(self, other: Self) -> Self {
        let better = other.distance < self.distance || (other.distance == self.distance && other.label < self.label);
        if better { other } else { self }
    }

    /// The best of a group of `lanes` lanes of a warp, a power of two; all lanes of the warp take part.
    #[inline(always)]
    pub fn merge_lanes(mut self, lanes: u32) -> Self {
        let mut mask = lanes / 2;
        while mask > 0 {
            let other = Self { label: shuffle_xor(self.label, mask), distance: shuffle_xor(self.distance, mask) };
            self = self.merge(other);
            mask /= 2;
        }
        self
    }

    /// The label: 0 where no distance was finite, as the definition has it.
    #[inline(always)]
    pub fn label(self) -> u32 {
        if self.label == u32::MAX { 0 } else { self.label }
    }
}
