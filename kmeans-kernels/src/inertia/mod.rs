//! Inertia, exactly: Σ w·|x − c|² = Σ w·x² + Σ over clusters and columns of W·c² − 2·c·S, where S and W are the sums of w·x
//! and of w that the update has anyway. The first sum ([`squares`]) is the same all through a fit; the second ([`sums`])
//! costs k·d additions a round. So no pass over the points is spent on the inertia, and it is rounded once.
//!
//! All terms are added to one array of limbs of 32 bits, in an `i64` each: limb j counts 2^(exponent + 32·j). The host sees to
//! two things. The exponent is that of the lowest bit of any term or below: of w·x², of a sum's unit times the lowest bit of
//! c, of a total's unit times its square. And there are limbs, with one for the sign, for the total, for each term, and
//! where sums are limbs themselves for all of their limbs times c, or totals times c².
//!
//! Each thread adds up its share in limbs of its own ([`Scratch`]) and carries them, so that each is below 2³² but for
//! the last, which has the sign. A warp's sum of those adds less than 2³⁷ to a limb: 2²⁶ warps may do so before anyone
//! must carry, hundreds of launches.

pub mod squares;
pub mod sums;

use kmeans_core::Scalar;
use kmeans_core::launch::{INERTIA_FEW, INERTIA_LIMBS};
use kmeans_core::scalar::decode;

use crate::device::{Number, Out, Scratch, ScratchWords, lane};
use crate::together::sum_lanes;
use crate::update::fixed::Words;

/// Memory for a thread's limbs, of data whose exponents are not far apart. A GPU sets local memory aside for every thread
/// that it can hold, so the rare case has kernels of its own.
pub type Few = Scratch<{ INERTIA_FEW as usize }>;
/// Memory for the limbs of any data.
pub type Many = Scratch<{ INERTIA_LIMBS as usize }>;

impl Words for ScratchWords<'_> {
    #[inline(always)]
    fn add(self, index: u64, value: u64) {
        self.fetch_add(index, value);
    }
    #[inline(always)]
    fn fetch_add(self, index: u64, value: u64) -> u64 {
        let before = self.get(index as u32);
        self.set(index as u32, before.wrapping_add(value));
        before
    }
}

/// A centroid's element as an integer of no more bits than its type has, which keeps products short, and the exponent of its unit.
#[inline(always)]
pub(crate) fn integer<T: Number>(value: T) -> (i64, i32) {
    let (significand, exponent) = decode(value.double());
    let zeros = <f64 as Scalar>::DIGITS - T::DIGITS;
    (significand >> zeros, exponent + zeros)
}

/// Whether the square of an [`integer`] has at most 53 bits.
#[inline(always)]
pub(crate) fn squares_are_short<T: Number>() -> bool {
    2 * T::DIGITS <= 53
}

/// Adds the limbs of all lanes to those in `limbs` from `first` on, one addition per limb and warp. All lanes take part.
#[inline(always)]
pub(crate) fn add_warp(own: ScratchWords, limbs: Out<u64>, first: u64, words: u32) {
    let mut carried = 0_i64;
    for limb in 0..words {
        let value = own.get(limb) as i64 + carried;
        let last = limb + 1 == words;
        carried = if last { 0 } else { value >> 32 };
        let sum = sum_lanes(if last { value as u64 } else { value as u32 as u64 });
        if lane() == 0 && sum != 0 {
            limbs.add(first + limb as u64, sum);
        }
    }
}
