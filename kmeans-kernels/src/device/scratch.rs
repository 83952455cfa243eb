//! Words of a thread's own, indexed at run time.

use core::cell::Cell;
use core::mem::MaybeUninit;

/// Memory for up to `N` words that only this thread sees. A GPU keeps them in local memory, where neighbouring threads'
/// words lie together: fast while they use the same index.
pub struct Scratch<const N: usize>([Cell<MaybeUninit<u64>>; N]);

/// A [`Scratch`] of some size.
pub trait ScratchMemory {
    /// Memory that holds nothing yet.
    fn new() -> Self;
    /// The first `len` words, zeros. The others are not touched, which is what makes a few of many cheap.
    fn zeros(&self, len: u32) -> ScratchWords<'_>;
}

/// Words of a [`Scratch`].
#[derive(Clone, Copy)]
pub struct ScratchWords<'a> {
    /// All of them have been written.
    words: &'a [Cell<MaybeUninit<u64>>],
}

impl<const N: usize> ScratchMemory for Scratch<N> {
    #[inline(always)]
    fn new() -> Self {
        Self([const { Cell::new(MaybeUninit::uninit()) }; N])
    }

    #[inline(always)]
    fn zeros(&self, len: u32) -> ScratchWords<'_> {
        debug_assert!(len as usize <= N, "{len} words of {N}");
        let words = self.0.get(..len as usize).unwrap_or(&[]);
        for word in words {
            word.set(MaybeUninit::new(0));
        }
        ScratchWords { words }
    }
}

impl ScratchWords<'_> {
    /// Word `index`.
    #[inline(always)]
    pub fn get(self, index: u32) -> u64 {
        debug_assert!((index as usize) < self.words.len(), "word {index} of {}", self.words.len());
        match self.words.get(index as usize) {
            // SAFETY: whoever made this wrote all of its words.
            Some(word) => unsafe { word.get().assume_init() },
            None => 0,
        }
    }

    /// Writes word `index`.
    #[inline(always)]
    pub fn set(self, index: u32, value: u64) {
        debug_assert!((index as usize) < self.words.len(), "word {index} of {}", self.words.len());
        if let Some(word) = self.words.get(index as usize) {
            word.set(MaybeUninit::new(value));
        }
    }
}
