//! Words of a thread's own, indexed at run time.

use core::cell::Cell;
use core::mem::MaybeUninit;

/// Up to `N` words that only this thread sees. A GPU keeps them in local memory, where neighbouring threads' words lie
/// together: fast while they use the same index.
pub struct Scratch<const N: usize> {
    words: [Cell<MaybeUninit<u64>>; N],
    len: Cell<u32>,
}

impl<const N: usize> Scratch<N> {
    /// No words.
    #[inline(always)]
    pub fn new() -> Self {
        Self { words: [const { Cell::new(MaybeUninit::uninit()) }; N], len: Cell::new(0) }
    }

    /// `len` zeros. The others are not touched, which is what makes a few of many cheap. (Not part of `new`, whose result
    /// would be copied.)
    #[inline(always)]
    pub fn clear(&self, len: u32) {
        debug_assert!(len as usize <= N, "{len} words of {N}");
        for word in self.words.iter().take(len as usize) {
            word.set(MaybeUninit::new(0));
        }
        self.len.set(len);
    }

    /// Word `index`.
    #[inline(always)]
    pub fn get(&self, index: u32) -> u64 {
        match self.word(index) {
            // SAFETY: `clear` wrote the first `len` words.
            Some(word) => unsafe { word.get().assume_init() },
            None => 0,
        }
    }

    /// Writes word `index`.
    #[inline(always)]
    pub fn set(&self, index: u32, value: u64) {
        if let Some(word) = self.word(index) {
            word.set(MaybeUninit::new(value));
        }
    }

    #[inline(always)]
    fn word(&self, index: u32) -> Option<&Cell<MaybeUninit<u64>>> {
        debug_assert!(index < self.len.get(), "word {index} of {}", self.len.get());
        if index < self.len.get() { self.words.get(index as usize) } else { None }
    }
}

impl<const N: usize> Default for Scratch<N> {
    fn default() -> Self {
        Self::new()
    }
}
