//! Barriers in shared memory that copies and threads arrive at, and copies of whole tiles.

use core::arch::asm;
use core::marker::PhantomData;

use super::super::Element;
use super::In;
use super::shared::{Shared, SharedMemory};

/// Barriers of a block: see the table in [`device`](super::super).
#[derive(Clone, Copy)]
pub struct Barriers<'a> {
    start: u32,
    lifetime: PhantomData<&'a u64>,
}

impl SharedMemory {
    /// The next `count` barriers.
    #[inline(always)]
    pub fn barriers<'a>(&mut self, count: u32) -> Barriers<'a> {
        Barriers { start: self.array::<u64>(count).address(), lifetime: PhantomData }
    }
}

impl Barriers<'_> {
    #[inline(always)]
    fn address(self, index: u32) -> u32 {
        self.start + index * 8
    }

    /// Sets up barrier `index` for `arrivals` arrivals per phase; one thread does it, and then [`publish_barriers`].
    #[inline(always)]
    pub fn init(self, index: u32, arrivals: u32) {
        // SAFETY: eight bytes of the block's own shared memory, which nobody uses before the block's next barrier.
        unsafe {
            asm!("mbarrier.init.shared::cta.b64 [{}], {};", in(reg32) self.address(index), in(reg32) arrivals,
                options(nostack));
        }
    }

    /// Arrives: what this thread did before is seen by who waits for the phase.
    #[inline(always)]
    pub fn arrive(self, index: u32) {
        // SAFETY: the barrier was set up, as the emulator checks.
        unsafe {
            asm!("mbarrier.arrive.release.cta.shared::cta.b64 _, [{}];", in(reg32) self.address(index), options(nostack));
        }
    }

    /// Arrives, and lets the phase last until `bytes` more have been copied.
    #[inline(always)]
    pub fn arrive_expecting(self, index: u32, bytes: u32) {
        // SAFETY: as for `arrive`.
        unsafe {
            asm!("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [{}], {};",
                in(reg32) self.address(index), in(reg32) bytes, options(nostack));
        }
    }

    /// Waits until the phase of this parity is over: phases alternate, the first is 0, and the one before it counts as
    /// over.
    // PTX has no numbered labels, and scopes named ones by braces.
    #[allow(named_asm_labels)]
    #[inline(always)]
    pub fn wait(self, index: u32, parity: u32) {
        // SAFETY: as for `arrive`. The labels are local to the braces.
        unsafe {
            asm!("{{ .reg .pred done; WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [{}], {}; @!done bra WAIT; }}",
                in(reg32) self.address(index), in(reg32) parity, options(nostack));
        }
    }
}

/// Lets copies, and after the block's next barrier all threads, see the barriers that this thread has set up.
#[inline(always)]
pub fn publish_barriers() {
    // SAFETY: orders memory, touches none.
    unsafe { asm!("fence.mbarrier_init.release.cluster; fence.proxy.async;", options(nostack)) }
}

impl<T: Element> Shared<'_, T> {
    /// Begins to copy `len` elements from element `from` of `source` to element `to`, all multiples of 16 bytes, which
    /// arrive at barrier `index`.
    #[inline(always)]
    pub fn copy_bulk(self, to: u32, source: In<T>, from: u64, len: u32, barriers: Barriers, index: u32) {
        // SAFETY: in bounds and aligned, as the emulator checks; nobody reads the bytes before the barrier's phase is over.
        unsafe {
            asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [a], {}, [{}]; }}",
                in(reg64) source.address(from), in(reg32) self.address() + to * T::SIZE,
                in(reg32) len * T::SIZE, in(reg32) barriers.address(index), options(nostack));
        }
    }
}

impl<T: Element> In<'_, T> {
    /// Begins to bring `len` elements from element `from` on, all multiples of 16 bytes, to the cache that all blocks share; a
    /// hint.
    #[inline(always)]
    pub fn prefetch(self, from: u64, len: u32) {
        // SAFETY: in bounds and aligned, as the emulator checks.
        unsafe {
            asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; cp.async.bulk.prefetch.L2.global [a], {}; }}",
                in(reg64) self.address(from), in(reg32) len * T::SIZE, options(nostack));
        }
    }
}
