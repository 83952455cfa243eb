//! Sums as they lie in memory, whatever their format, for those who read them.

use kmeans_core::exact::LimbSum;

use crate::device::In;

/// One sum: 1 word is an `i64`, 2 are an `i128`, more are limbs of 32 bits in an `i64` each, not necessarily carried.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    sums: In<'a, u64>,
    at: u64,
    words: u32,
}

impl<'a> Stored<'a> {
    /// Sum number `index` of an array of sums.
    #[inline(always)]
    pub fn new(sums: In<'a, u64>, index: u64, words: u32) -> Self {
        Self { sums, at: index * words as u64, words }
    }

    /// As limbs, in units of 2^`exponent`.
    #[inline(always)]
    pub fn limbs(self, exponent: i32) -> LimbSum<impl Fn(u32) -> i64 + Copy + use<'a>> {
        let Self { sums, at, words } = self;
        let halves = words <= 2;
        let len = if halves { 2 * words } else { words };
        let limb = move |index: u32| {
            if !halves {
                return sums.get(at + index as u64) as i64;
            }
            let word = sums.get(at + (index / 2) as u64);
            match index % 2 {
                0 => word as u32 as i64,
                _ if index + 1 == len => word as i64 >> 32,
                _ => (word >> 32) as i64,
            }
        };
        LimbSum::new(limb, len, exponent)
    }

    /// How many parts it has.
    #[inline(always)]
    pub fn parts(self) -> u32 {
        self.words
    }

    /// Part `index`: an integer of at most 64 bits and a sign, and how many bits above the sum's unit it counts. Parts of
    /// one and two words are no larger than the sum; limbs may be, since those below may take them back.
    #[inline(always)]
    pub fn part(self, index: u32) -> (i128, i32) {
        match self.words {
            2 => {
                let sum = (self.sums.get(self.at + 1) as i64 as i128) << 64 | self.sums.get(self.at) as i128;
                let half = (sum.unsigned_abs() >> (64 * index)) as u64 as i128;
                (if sum < 0 { -half } else { half }, 64 * index as i32)
            }
            _ => (self.sums.get(self.at + index as u64) as i64 as i128, 32 * index as i32),
        }
    }
}
