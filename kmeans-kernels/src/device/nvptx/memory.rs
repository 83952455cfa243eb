//! Arrays in global and in constant memory.

use core::arch::{asm, global_asm};
use core::marker::PhantomData;

use super::super::{Argument, Atomic, Element, Unsigned};

/// An array that the kernel reads.
#[derive(Clone, Copy)]
pub struct In<'a, T> {
    start: *const T,
    lifetime: PhantomData<&'a T>,
}

impl<T: Element> Argument for In<'_, T> {
    type Raw = *const T;
    #[inline(always)]
    unsafe fn from_raw(start: *const T) -> Self {
        Self { start, lifetime: PhantomData }
    }
}

impl<T: Element> In<'_, T> {
    /// The address of element `index`.
    #[inline(always)]
    pub(super) fn address(self, index: u64) -> *const T {
        self.start.wrapping_add(index as usize)
    }

    /// The array without its first `elements`.
    #[inline(always)]
    pub fn skip(self, elements: u64) -> Self {
        Self { start: self.address(elements), lifetime: PhantomData }
    }

    /// The 16 bytes from element `index` on, a multiple of 16 bytes.
    #[inline(always)]
    pub fn get16(self, index: u64) -> [u32; 4] {
        let (a, b, c, d);
        // SAFETY: as for `get`; aligned, as the emulator checks.
        unsafe {
            asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; ld.global.v4.b32 {{{}, {}, {}, {}}}, [a]; }}",
                in(reg64) self.address(index), out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d,
                options(pure, readonly, nostack));
        }
        [a, b, c, d]
    }

    /// The 8 bytes from element `index` on, a multiple of 8 bytes.
    #[inline(always)]
    pub fn get8(self, index: u64) -> [u32; 2] {
        let (a, b);
        // SAFETY: as for `get`; aligned, as the emulator checks.
        unsafe {
            asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; ld.global.v2.b32 {{{}, {}}}, [a]; }}",
                in(reg64) self.address(index), out(reg32) a, out(reg32) b, options(pure, readonly, nostack));
        }
        [a, b]
    }

    /// The 4 bytes from element `index` on, a multiple of 4 bytes.
    #[inline(always)]
    pub fn get4(self, index: u64) -> u32 {
        let word;
        // SAFETY: as for `get`; aligned, as the emulator checks.
        unsafe {
            asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; ld.global.b32 {}, [a]; }}",
                in(reg64) self.address(index), out(reg32) word, options(pure, readonly, nostack));
        }
        word
    }

    /// Element `index`.
    #[inline(always)]
    pub fn get(self, index: u64) -> T {
        // SAFETY: the array is as long as the launch contract says, and kernels stay inside, as the emulator checks.
        unsafe { *self.start.add(index as usize) }
    }
}

/// An array that the kernel writes, and may read.
#[derive(Clone, Copy)]
pub struct Out<'a, T> {
    start: *mut T,
    lifetime: PhantomData<&'a T>,
}

impl<T: Element> Argument for Out<'_, T> {
    type Raw = *mut T;
    #[inline(always)]
    unsafe fn from_raw(start: *mut T) -> Self {
        Self { start, lifetime: PhantomData }
    }
}

impl<T: Element> Out<'_, T> {
    /// The array without its first `elements`.
    #[inline(always)]
    pub fn skip(self, elements: u64) -> Self {
        Self { start: self.start.wrapping_add(elements as usize), lifetime: PhantomData }
    }

    /// The address of element `index`.
    #[inline(always)]
    pub(super) fn address(self, index: u64) -> *mut T {
        self.start.wrapping_add(index as usize)
    }

    /// Element `index`.
    #[inline(always)]
    pub fn get(self, index: u64) -> T {
        // SAFETY: as for `In::get`; no other thread writes it between two barriers, as the emulator checks.
        unsafe { *self.start.add(index as usize) }
    }

    /// The 16 bytes from element `index` on, a multiple of 16 bytes.
    #[inline(always)]
    pub fn get16(self, index: u64) -> [u32; 4] {
        let (a, b, c, d);
        // SAFETY: as for `get`; aligned, as the emulator checks.
        unsafe {
            asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; ld.global.v4.b32 {{{}, {}, {}, {}}}, [a]; }}",
                in(reg64) self.address(index), out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d,
                options(pure, readonly, nostack));
        }
        [a, b, c, d]
    }

    /// Writes element `index`.
    #[inline(always)]
    pub fn set(self, index: u64, value: T) {
        // SAFETY: as for `get`.
        unsafe { *self.start.add(index as usize) = value }
    }

    /// Writes the 16 bytes from element `index` on, a multiple of 16 bytes.
    #[inline(always)]
    pub fn set16(self, index: u64, words: [u32; 4]) {
        let [a, b, c, d] = words;
        // SAFETY: as for `get`; aligned, as the emulator checks.
        unsafe {
            asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; st.global.v4.b32 [a], {{{}, {}, {}, {}}}; }}",
                in(reg64) self.start.wrapping_add(index as usize), in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                options(nostack));
        }
    }
}

impl<T: Atomic> Out<'_, T> {
    /// Adds to element `index`, wrapping.
    #[inline(always)]
    pub fn add(self, index: u64, value: T) {
        // SAFETY: in bounds as for `In::get`. Every pointer a kernel is passed is to global memory.
        unsafe {
            let address = self.start.add(index as usize);
            if T::SIZE == 4 {
                asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; red.relaxed.gpu.global.add.u32 [a], {}; }}",
                    in(reg64) address, in(reg32) value.to_raw() as u32, options(nostack));
            } else {
                asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; red.relaxed.gpu.global.add.u64 [a], {}; }}",
                    in(reg64) address, in(reg64) value.to_raw(), options(nostack));
            }
        }
    }

    /// Adds to element `index`, wrapping, and returns what it was.
    #[inline(always)]
    pub fn fetch_add(self, index: u64, value: T) -> T {
        // SAFETY: as for `add`.
        unsafe {
            let address = self.start.add(index as usize);
            if T::SIZE == 4 {
                let old: u32;
                asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; atom.relaxed.gpu.global.add.u32 {}, [a], {}; }}",
                    in(reg64) address, out(reg32) old, in(reg32) value.to_raw() as u32, options(nostack));
                T::from_raw(old as u64)
            } else {
                let old: u64;
                asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; atom.relaxed.gpu.global.add.u64 {}, [a], {}; }}",
                    in(reg64) address, out(reg64) old, in(reg64) value.to_raw(), options(nostack));
                T::from_raw(old)
            }
        }
    }
}

impl<T: Unsigned> Out<'_, T> {
    /// Raises element `index` to `value` if it is less.
    #[inline(always)]
    pub fn raise(self, index: u64, value: T) {
        // SAFETY: as for `add`.
        unsafe {
            let address = self.start.add(index as usize);
            if T::SIZE == 4 {
                asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; red.relaxed.gpu.global.max.u32 [a], {}; }}",
                    in(reg64) address, in(reg32) value.to_raw() as u32, options(nostack));
            } else {
                asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; red.relaxed.gpu.global.max.u64 [a], {}; }}",
                    in(reg64) address, in(reg64) value.to_raw(), options(nostack));
            }
        }
    }
}

global_asm!(".visible .const .align 16 .b8 constants[65536];");

/// The module's constant memory, which the host fills through the symbol `constants` before it launches.
#[derive(Clone, Copy)]
pub struct Constants<T>(PhantomData<T>);

impl<T: Element> Constants<T> {
    /// All of it.
    #[inline(always)]
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// Element `index`.
    #[inline(always)]
    pub fn get(self, index: u32) -> T {
        let offset = index * T::SIZE;
        // SAFETY: kernels stay within the 64 KiB that this module declares, as the emulator checks.
        unsafe {
            if T::SIZE == 8 {
                let raw: u64;
                asm!("{{ .reg .b32 a; mov.u32 a, constants; add.u32 a, a, {}; ld.const.b64 {}, [a]; }}",
                    in(reg32) offset, out(reg64) raw, options(pure, readonly, nostack));
                T::from_raw(raw)
            } else if T::SIZE == 4 {
                let raw: u32;
                asm!("{{ .reg .b32 a; mov.u32 a, constants; add.u32 a, a, {}; ld.const.b32 {}, [a]; }}",
                    in(reg32) offset, out(reg32) raw, options(pure, readonly, nostack));
                T::from_raw(raw as u64)
            } else {
                let raw: u16;
                asm!("{{ .reg .b32 a; mov.u32 a, constants; add.u32 a, a, {}; ld.const.b16 {}, [a]; }}",
                    in(reg32) offset, out(reg16) raw, options(pure, readonly, nostack));
                T::from_raw(raw as u64)
            }
        }
    }
}
