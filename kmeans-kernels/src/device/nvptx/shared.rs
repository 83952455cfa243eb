//! Arrays in shared memory, by 32-bit address: a generic pointer would compile to generic, slower loads and stores.

use core::arch::asm;
use core::marker::PhantomData;

use super::super::{Atomic, Element};
use super::In;

/// The block's shared memory, handed out piece by piece from its start.
pub struct SharedMemory {
    next: u32,
}

impl SharedMemory {
    /// All of it.
    #[inline(always)]
    pub fn new() -> Self {
        Self { next: 0 }
    }

    /// Leaves out bytes up to a multiple of `bytes`.
    #[inline(always)]
    pub fn align(&mut self, bytes: u32) {
        self.next = self.next.next_multiple_of(bytes);
    }

    /// The next `len` elements, from a multiple of 16 bytes on.
    #[inline(always)]
    pub fn array<'a, T: Element>(&mut self, len: u32) -> Shared<'a, T> {
        let offset = self.next.next_multiple_of(16);
        self.next = offset + len * T::SIZE;
        Shared { start: super::shared_base() + offset, lifetime: PhantomData }
    }
}

/// An array in shared memory.
#[derive(Clone, Copy)]
pub struct Shared<'a, T> {
    start: u32,
    lifetime: PhantomData<&'a T>,
}

impl<T: Element> Shared<'_, T> {
    /// Element `index`.
    #[inline(always)]
    pub fn get(self, index: u32) -> T {
        let address = self.start + index * T::SIZE;
        // SAFETY: the array lies within the bytes sized at launch and kernels stay inside it, as the emulator checks.
        unsafe {
            match T::SIZE {
                8 => {
                    let raw: u64;
                    asm!("ld.shared.b64 {}, [{}];", out(reg64) raw, in(reg32) address, options(pure, readonly, nostack));
                    T::from_raw(raw)
                }
                4 => {
                    let raw: u32;
                    asm!("ld.shared.b32 {}, [{}];", out(reg32) raw, in(reg32) address, options(pure, readonly, nostack));
                    T::from_raw(raw as u64)
                }
                2 => {
                    let raw: u16;
                    asm!("ld.shared.b16 {}, [{}];", out(reg16) raw, in(reg32) address, options(pure, readonly, nostack));
                    T::from_raw(raw as u64)
                }
                _ => {
                    let raw: u16;
                    asm!("ld.shared.u8 {}, [{}];", out(reg16) raw, in(reg32) address, options(pure, readonly, nostack));
                    T::from_raw(raw as u64)
                }
            }
        }
    }

    /// Writes element `index`.
    #[inline(always)]
    pub fn set(self, index: u32, value: T) {
        let (address, raw) = (self.start + index * T::SIZE, value.to_raw());
        // SAFETY: as for `get`.
        unsafe {
            match T::SIZE {
                8 => asm!("st.shared.b64 [{}], {};", in(reg32) address, in(reg64) raw, options(nostack)),
                4 => asm!("st.shared.b32 [{}], {};", in(reg32) address, in(reg32) raw as u32, options(nostack)),
                2 => asm!("st.shared.b16 [{}], {};", in(reg32) address, in(reg16) raw as u16, options(nostack)),
                _ => asm!("st.shared.u8 [{}], {};", in(reg32) address, in(reg16) raw as u16, options(nostack)),
            }
        }
    }
}

impl Shared<'_, f32> {
    /// Elements `index` to `index + 3`, a multiple of 16 bytes.
    #[inline(always)]
    pub fn get4(self, index: u32) -> [f32; 4] {
        let (a, b, c, d);
        // SAFETY: as for `get`.
        unsafe {
            asm!("ld.shared.v4.f32 {{{}, {}, {}, {}}}, [{}];", out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d,
                in(reg32) self.start + index * 4, options(pure, readonly, nostack));
        }
        [a, b, c, d]
    }

    /// Writes elements `index` to `index + 3`, a multiple of 16 bytes.
    #[inline(always)]
    pub fn set4(self, index: u32, values: [f32; 4]) {
        let [a, b, c, d] = values;
        // SAFETY: as for `get`.
        unsafe {
            asm!("st.shared.v4.f32 [{}], {{{}, {}, {}, {}}};", in(reg32) self.start + index * 4, in(reg32) a, in(reg32) b,
                in(reg32) c, in(reg32) d, options(nostack));
        }
    }
}

impl Shared<'_, u32> {
    /// Elements `index` and `index + 1`, a multiple of 8 bytes.
    #[inline(always)]
    pub fn get2(self, index: u32) -> [u32; 2] {
        let (a, b);
        // SAFETY: as for `get`.
        unsafe {
            asm!("ld.shared.v2.b32 {{{}, {}}}, [{}];", out(reg32) a, out(reg32) b, in(reg32) self.start + index * 4,
                options(pure, readonly, nostack));
        }
        [a, b]
    }
}

impl Shared<'_, u64> {
    /// Adds `values[i]` to element `indices[i]` for each i, as [`add`](Self::add) does, but the additions of all first halves are
    /// under way at the same time. A zero may have any index.
    // Loops over indices of constant length keep the arrays in registers.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    pub fn add_each<const N: usize>(self, indices: [u32; N], values: [u64; N]) {
        let mut before = [0_u32; N];
        for i in 0..N {
            // SAFETY: as for `get`; nothing is touched for a zero.
            unsafe {
                asm!("{{ .reg .pred some; setp.ne.u32 some, {low}, 0; mov.u32 {old}, 0;",
                    "@some atom.relaxed.cta.shared.add.u32 {old}, [{a}], {low}; }}",
                    old = out(reg32) before[i], a = in(reg32) self.start + indices[i] * 8,
                    low = in(reg32) values[i] as u32, options(nostack));
            }
        }
        for i in 0..N {
            let carry = before[i].checked_add(values[i] as u32).is_none() as u32;
            // SAFETY: as above.
            unsafe {
                asm!("{{ .reg .pred some; setp.ne.u32 some, {high}, 0; @some red.relaxed.cta.shared.add.u32 [{a}], {high}; }}",
                    a = in(reg32) self.start + indices[i] * 8 + 4,
                    high = in(reg32) ((values[i] >> 32) as u32).wrapping_add(carry), options(nostack));
            }
        }
    }
}

impl<'a, T: Element> Shared<'a, T> {
    /// Begins to copy 16 bytes from element `from` of `source` to element `to`, both at multiples of 16 bytes.
    #[inline(always)]
    pub fn copy_async(self, to: u32, source: In<T>, from: u64) {
        let address = self.start + to * T::SIZE;
        // SAFETY: in bounds and aligned, as the emulator checks; nobody reads the bytes before they are waited for.
        unsafe {
            asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; cp.async.cg.shared.global [{}], [a], 16; }}",
                in(reg64) source.address(from), in(reg32) address, options(nostack));
        }
    }

    /// Words of four squares of 8 rows of 16 bytes: squares 0 and 1 are the first and the next 8 rows of their left half, 2 and 3
    /// of their right half. `at` says where row y of 16 begins in half 0 or 1, a multiple of 16 bytes. Of each square the
    /// lane has word lane % 4 of row lane / 4. All 32 lanes take part.
    #[inline(always)]
    pub fn square(self, at: impl Fn(u32, u32) -> u32) -> [u32; 4] {
        let lane = super::super::lane();
        // A lane names a row: lanes 0 to 7 those of the first square, and so on.
        let address = self.start + at(lane % 16, lane / 16) * T::SIZE;
        let (a, b, c, d);
        // SAFETY: as for `get`; the whole warp takes part, as the emulator checks. Not `pure`, so that it stays where the warp passes.
        unsafe {
            asm!("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}, {}, {}, {}}}, [{}];", out(reg32) a, out(reg32) b,
                out(reg32) c, out(reg32) d, in(reg32) address, options(readonly, nostack));
        }
        [a, b, c, d]
    }

    /// Writes 16 bytes of zeros from element `to` on, a multiple of 16 bytes.
    #[inline(always)]
    pub fn clear16(self, to: u32) {
        // SAFETY: as for `set`.
        unsafe {
            asm!("st.shared.v4.b32 [{}], {{{z}, {z}, {z}, {z}}};", in(reg32) self.start + to * T::SIZE, z = in(reg32) 0,
                options(nostack));
        }
    }

    /// Its address in shared memory.
    #[inline(always)]
    pub fn address(self) -> u32 {
        self.start
    }

    /// The same bytes as elements of another type.
    #[inline(always)]
    pub fn cast<U: Element>(self) -> Shared<'a, U> {
        Shared { start: self.start, lifetime: PhantomData }
    }
}

/// Makes a group of the copies that this thread has begun.
#[inline(always)]
pub fn commit_copies() {
    // SAFETY: touches no memory by itself.
    unsafe { asm!("cp.async.commit_group;", options(nostack)) }
}

/// Waits until at most `PENDING` of this thread's groups of copies are under way.
#[inline(always)]
pub fn wait_copies<const PENDING: usize>() {
    // SAFETY: what arrives was begun by `copy_async`, which vouches for it.
    unsafe { asm!("cp.async.wait_group {};", const PENDING, options(nostack)) }
}

impl<T: Atomic> Shared<'_, T> {
    /// Adds to element `index`, wrapping. Between two barriers an element of 8 bytes takes part either in these additions or
    /// in those that [`fetch_add`](Self::fetch_add) makes.
    #[inline(always)]
    pub fn add(self, index: u32, value: T) {
        let (address, raw) = (self.start + index * T::SIZE, value.to_raw());
        // SAFETY: as for `get`.
        unsafe {
            if T::SIZE == 4 {
                asm!("red.relaxed.cta.shared.add.u32 [{}], {};", in(reg32) address, in(reg32) raw as u32, options(nostack));
            } else {
                // There is no addition of 64 bits in shared memory: the assembler would make it a loop of compare and
                // swap. Each overflow of the low half is seen by exactly one addition, which carries it.
                let (low, high) = (raw as u32, (raw >> 32) as u32);
                let old: u32;
                asm!("atom.relaxed.cta.shared.add.u32 {}, [{}], {};",
                    out(reg32) old, in(reg32) address, in(reg32) low, options(nostack));
                let high = high.wrapping_add(old.checked_add(low).is_none() as u32);
                if high != 0 {
                    asm!("red.relaxed.cta.shared.add.u32 [{}], {};", in(reg32) address + 4, in(reg32) high, options(nostack));
                }
            }
        }
    }

    /// Adds to element `index`, wrapping, and returns what it was.
    #[inline(always)]
    pub fn fetch_add(self, index: u32, value: T) -> T {
        let (address, raw) = (self.start + index * T::SIZE, value.to_raw());
        // SAFETY: as for `get`.
        unsafe {
            if T::SIZE == 4 {
                let old: u32;
                asm!("atom.relaxed.cta.shared.add.u32 {}, [{}], {};",
                    out(reg32) old, in(reg32) address, in(reg32) raw as u32, options(nostack));
                T::from_raw(old as u64)
            } else {
                let old: u64;
                asm!("atom.relaxed.cta.shared.add.u64 {}, [{}], {};",
                    out(reg64) old, in(reg32) address, in(reg64) raw, options(nostack));
                T::from_raw(old)
            }
        }
    }
}
