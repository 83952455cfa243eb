//! What threads know of each other's past: the order that barriers in shared memory make.
//!
//! A thread's accesses are numbered by epochs, which end where it tells others. A thread knows of another all epochs up to
//! some number: what happened in them happened before. (The barrier of the block needs none of this: see `memory`.)

use std::cell::{Cell, Ref, RefCell};

/// For each thread of a block, what it knows.
pub(super) struct Order {
    epochs: Vec<Cell<u32>>,
    /// The last epoch known of each other thread; empty as long as nothing is known.
    known: RefCell<Vec<Vec<u32>>>,
}

impl Order {
    pub(super) fn new(threads: usize) -> Self {
        Self { epochs: vec![Cell::new(1); threads], known: RefCell::new(vec![Vec::new(); threads]) }
    }

    /// The epoch of a thread's next access.
    pub(super) fn epoch(&self, thread: usize) -> u32 {
        self.epochs[thread].get()
    }

    /// What a thread knows.
    pub(super) fn known(&self, thread: usize) -> Ref<'_, [u32]> {
        Ref::map(self.known.borrow(), |known| known[thread].as_slice())
    }

    /// What a thread knows, itself included, for others to learn; its epoch ends.
    pub(super) fn tell(&self, thread: usize, to: &mut Vec<u32>) {
        join(to, &self.known.borrow()[thread], self.epochs.len());
        to[thread] = to[thread].max(self.epochs[thread].get());
        self.epochs[thread].update(|e| e + 1);
    }

    /// Lets a thread know what others told.
    pub(super) fn learn(&self, thread: usize, told: &[u32]) {
        join(&mut self.known.borrow_mut()[thread], told, self.epochs.len());
    }

    /// Lets neighbouring threads know all of each other.
    pub(super) fn share(&self, threads: std::ops::Range<usize>) {
        let mut told = Vec::new();
        for thread in threads.clone() {
            self.tell(thread, &mut told);
        }
        for thread in threads {
            self.learn(thread, &told);
        }
    }
}

fn join(to: &mut Vec<u32>, from: &[u32], threads: usize) {
    to.resize(threads, 0);
    for (t, f) in to.iter_mut().zip(from) {
        *t = (*t).max(*f);
    }
}
