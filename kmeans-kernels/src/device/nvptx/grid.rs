//! A barrier of all blocks.

use core::arch::asm;

use super::{Out, grid_size, sync_block, thread_index};

/// The barrier of a grid whose blocks all run at once, in one dimension.
pub struct GridBarrier<'a> {
    /// Arrivals of blocks, from zero on.
    counter: Out<'a, u32>,
    /// Arrivals when all blocks have come to the last barrier passed.
    passed: u32,
}

impl<'a> GridBarrier<'a> {
    /// With this counter, which the host has set to zero.
    #[inline(always)]
    pub fn new(counter: Out<'a, u32>) -> Self {
        Self { counter, passed: 0 }
    }

    /// Waits until every thread of the grid is here; what they wrote before is visible after.
    // PTX has no numbered labels, and scopes named ones by braces.
    #[allow(named_asm_labels)]
    #[inline(always)]
    pub fn sync(&mut self) {
        self.passed += grid_size();
        sync_block();
        if thread_index() == 0 {
            // The block's writes happened before its barrier, so this thread's release passes them on, and its acquire
            // takes the other blocks' to the barrier after.
            // SAFETY: four bytes of an array that the launch contract names, which only barriers touch. The loop ends,
            // since all blocks run at once.
            unsafe {
                asm!("{{ .reg .pred less; .reg .b32 seen; .reg .b64 a; cvta.to.global.u64 a, {};",
                    "red.release.gpu.global.add.u32 [a], 1;",
                    "WAIT: ld.acquire.gpu.global.u32 seen, [a]; setp.lt.u32 less, seen, {}; @less bra WAIT; }}",
                    in(reg64) self.counter.address(0), in(reg32) self.passed, options(nostack));
            }
        }
        sync_block();
    }
}
