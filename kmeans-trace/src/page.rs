//! What the page calls: numbers in, addresses in the module's memory out.
//!
//! The page asks for room ([`room`]) and writes the bytes of its points there. Then it begins a run ([`begin`]), steps it
//! ([`step`]), and reads each round. One data set and one run at a time; addresses are good until the next call that is not
//! a read. A panic, which is a bug, is a trap that the page shows.

use alloc::boxed::Box;
use alloc::vec::Vec;

use half::{bf16, f16};
use kmeans_core::Scalar;
use kmeans_core::settings::{EmptyCluster, Settings, Stop};
use spin::Mutex;

use crate::{Run, Start};

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// What the calls share.
struct Page {
    bytes: Vec<u8>,
    run: Option<Box<dyn Steps>>,
    /// What was last asked for, at the address that was returned.
    labels: Vec<u32>,
    centroids: Vec<f64>,
    result_inertia: f64,
}

static PAGE: Mutex<Page> =
    Mutex::new(Page { bytes: Vec::new(), run: None, labels: Vec::new(), centroids: Vec::new(), result_inertia: 0.0 });

/// A run of points of any type.
trait Steps: Send {
    fn step(&mut self) -> bool;
    fn converged(&self) -> bool;
    fn rounds(&self) -> usize;
    fn record(&self, round: usize) -> kmeans_core::settings::Iteration;
    /// The labels that `round` gave.
    fn labels(&self, round: usize) -> Vec<u32>;
    /// The centroids after `round` rounds, as f64.
    fn centroids(&self, round: usize) -> Vec<f64>;
    fn result(&self) -> (Vec<u32>, f64);
}

impl<T: Scalar> Steps for Run<T> {
    fn step(&mut self) -> bool {
        Run::step(self)
    }
    fn converged(&self) -> bool {
        Run::converged(self)
    }
    fn rounds(&self) -> usize {
        Run::rounds(self).len()
    }
    fn record(&self, round: usize) -> kmeans_core::settings::Iteration {
        Run::rounds(self)[round].record
    }
    fn labels(&self, round: usize) -> Vec<u32> {
        Run::labels(self, round)
    }
    fn centroids(&self, round: usize) -> Vec<f64> {
        let centroids = Run::rounds(self).get(round).map_or(Run::centroids(self), |r| &r.centroids);
        centroids.iter().map(|c| c.to_f64()).collect()
    }
    fn result(&self) -> (Vec<u32>, f64) {
        Run::result(self)
    }
}

/// The address of room for this many bytes, which the page fills with its points, little-endian and row-major.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    let page = &mut *PAGE.lock();
    page.run = None;
    page.bytes = alloc::vec![0; bytes];
    page.bytes.as_mut_ptr()
}

/// Begins a run on the points in the room; 0 if the numbers make no sense.
///
/// `element`: 0 f16, 1 bf16, 2 f32, 3 f64. `stop`: the share of changed labels below which it ends. `keep`: whether an empty cluster keeps its
/// centroid or moves to the farthest point.
#[unsafe(no_mangle)]
pub extern "C" fn begin(
    element: u32,
    d: usize,
    k: usize,
    start: u32,
    seed_low: u32,
    seed_high: u32,
    stop: f64,
    max_iter: usize,
    keep: u32,
) -> u32 {
    let page = &mut *PAGE.lock();
    page.run = None;
    let Some(start) = Start::from_number(start) else { return 0 };
    let seed = u64::from(seed_high) << 32 | u64::from(seed_low);
    let empty = if keep == 0 { EmptyCluster::Farthest } else { EmptyCluster::Keep };
    let settings = Settings { max_iter, stop: Stop::LabelsChanged(stop), empty };
    let asked = Asked { d, k, start, seed, settings };
    let run = match element {
        0 => asked.run(&page.bytes, f16::from_le_bytes),
        1 => asked.run(&page.bytes, bf16::from_le_bytes),
        2 => asked.run(&page.bytes, f32::from_le_bytes),
        3 => asked.run(&page.bytes, f64::from_le_bytes),
        _ => None,
    };
    page.run = run;
    u32::from(page.run.is_some())
}

/// A run that the page asks for.
struct Asked {
    d: usize,
    k: usize,
    start: Start,
    seed: u64,
    settings: Settings,
}

impl Asked {
    fn run<T: Scalar, const W: usize>(self, bytes: &[u8], number: fn([u8; W]) -> T) -> Option<Box<dyn Steps>> {
        let points: Vec<T> = bytes.as_chunks::<W>().0.iter().map(|b| number(*b)).collect();
        let Self { d, k, start, seed, settings } = self;
        if d == 0 || points.len() % d != 0 || k == 0 || k > points.len() / d || !(settings.stop.parameter()? >= 0.0) {
            return None;
        }
        Some(Box::new(Run::new(points, d, k, start, seed, settings)))
    }
}

/// Makes a round; 0 if the run has ended.
#[unsafe(no_mangle)]
pub extern "C" fn step() -> u32 {
    PAGE.lock().run.as_mut().map_or(0, |run| run.step().into())
}

/// Whether the stop rule ended the run.
#[unsafe(no_mangle)]
pub extern "C" fn converged() -> u32 {
    PAGE.lock().run.as_ref().map_or(0, |run| run.converged().into())
}

/// Rounds made.
#[unsafe(no_mangle)]
pub extern "C" fn rounds() -> usize {
    PAGE.lock().run.as_ref().map_or(0, |run| run.rounds())
}

/// Inertia of the labels that this round gave, from 0.
#[unsafe(no_mangle)]
pub extern "C" fn inertia(round: usize) -> f64 {
    record(round, |r| r.inertia)
}

/// Squared movement of the centroids in this round's update.
#[unsafe(no_mangle)]
pub extern "C" fn movement(round: usize) -> f64 {
    record(round, |r| r.movement)
}

/// Points whose label this round changed.
#[unsafe(no_mangle)]
pub extern "C" fn changed(round: usize) -> f64 {
    record(round, |r| r.labels_changed as f64)
}

fn record(round: usize, number: fn(kmeans_core::settings::Iteration) -> f64) -> f64 {
    match &PAGE.lock().run {
        Some(run) if round < run.rounds() => number(run.record(round)),
        _ => f64::NAN,
    }
}

/// The address of the n labels, u32, that this round gave.
#[unsafe(no_mangle)]
pub extern "C" fn labels(round: usize) -> *const u32 {
    let page = &mut *PAGE.lock();
    match &page.run {
        Some(run) if round < run.rounds() => page.labels = run.labels(round),
        _ => return core::ptr::null(),
    }
    page.labels.as_ptr()
}

/// The address of the centroids after this many rounds, `[k, d]` f64.
#[unsafe(no_mangle)]
pub extern "C" fn centroids(round: usize) -> *const f64 {
    let page = &mut *PAGE.lock();
    let Some(run) = &page.run else { return core::ptr::null() };
    page.centroids = run.centroids(round);
    page.centroids.as_ptr()
}

/// The address of the n labels, u32, that belong to the centroids after the last round: the fit's result.
#[unsafe(no_mangle)]
pub extern "C" fn result() -> *const u32 {
    let page = &mut *PAGE.lock();
    let Some(run) = &page.run else { return core::ptr::null() };
    (page.labels, page.result_inertia) = run.result();
    page.labels.as_ptr()
}

/// The inertia of [`result`].
#[unsafe(no_mangle)]
pub extern "C" fn result_inertia() -> f64 {
    PAGE.lock().result_inertia
}
