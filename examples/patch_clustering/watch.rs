//! Watching a fit: progress on the terminal, the time of each iteration, and Ctrl-C as a wish to finish.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use kmeans_host::{Control, Progress};

use kmeans_examples::text::grouped;

/// Follows one fit. Clones follow the same one.
#[derive(Clone)]
pub struct Watch {
    // Draws on stderr, and only if that is a terminal.
    bar: ProgressBar,
    finish: Arc<AtomicBool>,
    begun: Instant,
    ends: Arc<Mutex<Ends>>,
}

/// When the parts of the fit were done.
#[derive(Default)]
struct Ends {
    seeding: Option<Instant>,
    iterations: Vec<Instant>,
}

/// How long the parts of a fit took.
pub struct Times {
    /// Choosing the first centroids, where the fit tells when that was done.
    pub seeding: Option<Duration>,
    /// Each iteration; the first includes whatever the fit did before it and did not tell.
    pub iterations: Vec<Duration>,
    /// Whether Ctrl-C was pressed.
    pub interrupted: bool,
}

impl Watch {
    /// Starts the clock for a fit, and listens to Ctrl-C: the first asks the fit to finish, a second ends the program.
    pub fn begin() -> Result<Self> {
        let finish = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&finish);
        ctrlc::set_handler(move || {
            if asked.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        })?;
        let bar = ProgressBar::no_length().with_style(ProgressStyle::with_template("{prefix} {pos} {wide_msg}")?);
        Ok(Self { bar, finish, begun: Instant::now(), ends: Arc::default() })
    }

    /// Notes and shows a report of the fit, and answers it.
    pub fn report(&self, progress: &Progress) -> Control {
        let now = Instant::now();
        let mut ends = self.ends.lock().expect("no report panics");
        match *progress {
            Progress::Seeding { done, total, .. } => {
                ends.seeding = (done == total).then_some(now);
                self.show("first centroids", done, format!("of {total}"));
            }
            Progress::Iteration { iteration, record, .. } => {
                ends.iterations.push(now);
                let changed = grouped(record.labels_changed);
                let message = format!("  inertia {:.4e}  {changed} labels changed", record.inertia);
                self.show("iteration", iteration, message);
            }
            _ => {}
        }
        if self.finish.load(Ordering::Relaxed) { Control::Finish } else { Control::Continue }
    }

    fn show(&self, what: &'static str, position: usize, message: String) {
        self.bar.set_prefix(what);
        self.bar.set_message(message);
        self.bar.set_position(position as u64);
    }

    /// Takes the progress off the terminal and tells the times.
    pub fn end(&self) -> Times {
        self.bar.finish_and_clear();
        let ends = self.ends.lock().expect("no report panics");
        let seeded = ends.seeding.unwrap_or(self.begun);
        let starts = std::iter::once(&seeded).chain(&ends.iterations);
        Times {
            seeding: ends.seeding.map(|end| end - self.begun),
            iterations: ends.iterations.iter().zip(starts).map(|(end, start)| *end - *start).collect(),
            interrupted: self.finish.load(Ordering::Relaxed),
        }
    }
}
