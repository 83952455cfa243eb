//! Watching a fit: progress with rate and time left on a terminal, and Ctrl-C.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use kmeans_host::{Control, Progress};

use crate::interrupt;

/// Follows one fit. Clones follow the same one.
#[derive(Clone)]
pub struct Watch {
    // Draws on stderr, and only if that is a terminal.
    bar: ProgressBar,
    starts: usize,
    times: Arc<Mutex<Times>>,
}

/// What was seen of a fit.
struct Times {
    begun: Instant,
    /// The first report of a centroid that was drawn in the start that runs, and its number.
    drawn: Option<(usize, Instant)>,
    /// The first report of an iteration in the start that runs, and its number.
    first: Option<(usize, Instant)>,
    /// Whether a report was answered with the wish to finish.
    finished: bool,
}

/// How a watched fit ended.
pub struct Ended {
    /// How long it took.
    pub took: Duration,
    /// Whether Ctrl-C ended it: there was at least one report after it, to which the answer was to finish.
    pub interrupted: bool,
}

impl Watch {
    /// Starts the clock for a fit of this many starts.
    pub fn begin(quiet: bool, starts: usize) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style = ProgressStyle::with_template("{spinner} {wide_msg}").expect("the template is sound");
        let bar = ProgressBar::with_draw_target(None, target).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        let times = Times { begun: Instant::now(), drawn: None, first: None, finished: false };
        Self { bar, starts, times: Arc::new(Mutex::new(times)) }
    }

    /// Says what is being done.
    pub fn say(&self, what: String) {
        self.bar.set_message(what);
    }

    /// Notes and shows a report of the fit, and answers it.
    pub fn report(&self, progress: &Progress) -> Control {
        self.report_as("", progress)
    }

    /// The same, shown after `what` is fitted, if there are several fits.
    pub fn report_as(&self, what: &str, progress: &Progress) -> Control {
        let now = Instant::now();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        match *progress {
            Progress::Seeding { restart, done, total } => {
                times.first = None;
                times.drawn = times.drawn.filter(|&(first, _)| done > first);
                let (first, at) = *times.drawn.get_or_insert((done, now));
                let mut message = format!("{what}{}first centroids: {done}/{total}", self.start(restart));
                if done > first {
                    message.extend([pace((now - at) / (done - first) as u32, total.saturating_sub(done), "about")]);
                }
                self.say(message);
            }
            Progress::Iteration { restart, iteration, max_iter, record } => {
                // Another fit began without drawing centroids.
                times.first = times.first.filter(|&(first, _)| iteration > first);
                let (first, at) = *times.first.get_or_insert((iteration, now));
                let mut message = format!(
                    "{what}{}iteration {iteration}/{max_iter} · inertia {:.4e} · {} changed",
                    self.start(restart),
                    record.inertia,
                    record.labels_changed,
                );
                if iteration > first {
                    let each = (now - at) / (iteration - first) as u32;
                    message.extend([pace(each, max_iter.saturating_sub(iteration), "at most")]);
                }
                self.say(message);
            }
            Progress::Level { level, nodes, done, points } => {
                let percent = 100 * done / points.max(1);
                self.say(format!("{what}level {level}: {nodes} nodes of {points} points · {percent} %"));
            }
            _ => {}
        }
        times.finished |= interrupt::asked();
        if times.finished { Control::Finish } else { Control::Continue }
    }

    fn start(&self, restart: usize) -> String {
        if self.starts > 1 { format!("start {}/{} · ", restart + 1, self.starts) } else { String::new() }
    }

    /// Takes the progress off the terminal.
    pub fn end(&self) -> Ended {
        self.bar.finish_and_clear();
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        Ended { took: times.begun.elapsed(), interrupted: times.finished }
    }
}

/// The rate of steps that take so long `each`, and how long `rest` more take.
fn pace(each: Duration, rest: usize, how: &str) -> String {
    let rate = 1.0 / each.as_secs_f64().max(1e-9);
    let left = each.saturating_mul(rest.try_into().unwrap_or(u32::MAX));
    format!(" · {rate:.1}/s · {how} {} left", HumanDuration(left))
}
