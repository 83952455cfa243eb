//! The trial that leaves least is picked; what the next step adds to is set to zero.

use super::NO_ROW;
use crate::device::{self, In, Out, thread_index};

/// `row[0]` and `picked[step]`: the row with the lowest potential, the first among equals. Sets `potentials` and `largest`
/// to zero, unless there was nothing to draw from: then row and pick are `u64::MAX`. One thread's work.
#[inline(always)]
pub fn choose(
    rows: In<u64>,
    potentials: Out<u64>,
    largest: Out<u64>,
    picked: Out<u64>,
    row: Out<u64>,
    trials: u32,
    step: u32,
) {
    if thread_index() != 0 {
        return;
    }
    let (mut best, mut lowest) = (rows.get(0), potentials.get(0));
    if best != NO_ROW {
        for trial in 0..trials as u64 {
            let potential = potentials.get(trial);
            if potential < lowest {
                (best, lowest) = (rows.get(trial), potential);
            }
            potentials.set(trial, 0);
        }
        largest.set(0, 0);
    }
    row.set(0, best);
    picked.set(step as u64, best);
}

device::entries! {
    choose(
        rows: In<u64>, potentials: Out<u64>, largest: Out<u64>, picked: Out<u64>, row: Out<u64>, trials: u32, step: u32
    );
    seed_choose: (),
}
