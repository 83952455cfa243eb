//! The least two scores of a row: a filter is sure of the first if the second is far enough.

use crate::device::shuffle_xor;

/// The least two scores of a row so far, and whose the least is.
#[derive(Clone, Copy)]
pub(crate) struct Two {
    pub label: u32,
    pub best: f32,
    pub second: f32,
}

impl Two {
    /// No centroid yet.
    pub const NONE: Self = Self { label: u32::MAX, best: f32::INFINITY, second: f32::INFINITY };

    /// Takes a centroid into account.
    #[inline(always)]
    pub fn offer(self, label: u32, score: f32) -> Self {
        if score < self.best {
            Self { label, best: score, second: self.best }
        } else {
            Self { second: if score < self.second { score } else { self.second }, ..self }
        }
    }

    /// The least two of two pairs; which label is kept of two equal scores does not matter, since D will decide.
    #[inline(always)]
    pub fn merge(self, other: Self) -> Self {
        let (low, high) = if other.best < self.best { (other, self) } else { (self, other) };
        Self { second: if high.best < low.second { high.best } else { low.second }, ..low }
    }

    /// The least two of a group of `lanes` lanes of a warp, a power of two; all lanes of the warp take part.
    #[inline(always)]
    pub fn merge_lanes(mut self, lanes: u32) -> Self {
        let mut mask = lanes / 2;
        while mask > 0 {
            self = self.merge(Self {
                label: shuffle_xor(self.label, mask),
                best: shuffle_xor(self.best, mask),
                second: shuffle_xor(self.second, mask),
            });
            mask /= 2;
        }
        self
    }
}
