//! What blocks of a grid know of each other: a barrier of all, and which comes last.

use core::arch::asm;

use super::{Out, Shared, grid_rows, grid_size, sync_block, thread_index};

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

/// Whether this block is the last of the grid to come here; what all blocks wrote before is visible to it after. `arrivals[0]` is
/// zero before, and again after the last block; `told` is a word of shared memory for this alone.
#[inline(always)]
pub fn is_last_block(arrivals: Out<u32>, told: Shared<u32>) -> bool {
    let last = grid_size() * grid_rows() - 1;
    sync_block();
    if thread_index() == 0 {
        let before: u32;
        // As at the barrier of a grid: this thread passes on what its block wrote, and takes what the others did.
        // SAFETY: four bytes of an array that the launch contract names, which nothing else touches.
        unsafe {
            asm!("{{ .reg .b64 a; cvta.to.global.u64 a, {}; atom.acq_rel.gpu.global.inc.u32 {}, [a], {}; }}",
                in(reg64) arrivals.address(0), out(reg32) before, in(reg32) last, options(nostack));
        }
        told.set(0, before);
    }
    sync_block();
    told.get(0) == last
}
