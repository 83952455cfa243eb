//! Ctrl-C: while a fit runs, a wish to finish it; at any other time, and the second time, the end.

use std::sync::atomic::{AtomicBool, Ordering};

/// What shells expect of a program that Ctrl-C ended.
pub const EXIT_CODE: u8 = 130;

static FITTING: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens from now on.
pub fn listen() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| {
        if FITTING.load(Ordering::SeqCst) && !ASKED.swap(true, Ordering::SeqCst) {
            return;
        }
        kmeans_files::remove_unfinished();
        std::process::exit(EXIT_CODE.into());
    })
}

/// While this lives, Ctrl-C only asks.
pub struct Fitting(());

impl Fitting {
    /// A fit begins.
    pub fn begin() -> Self {
        FITTING.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Fitting {
    fn drop(&mut self) {
        FITTING.store(false, Ordering::SeqCst);
    }
}

/// Whether Ctrl-C asked a fit to finish.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
