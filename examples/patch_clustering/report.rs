//! What the program does, in words, on stdout.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use image::RgbImage;
use kmeans_host::FittedKMeans;
use ndarray::Array2;

use crate::photo::Photo;
use crate::watch::Times;
use kmeans_examples::text::{counted, duration, grouped, percent};

/// The image.
pub fn image(photo: &Photo) {
    let (width, height) = photo.pixels.dimensions();
    say("image", format!("{}, {width} × {height} pixels", photo.name));
}

/// The patches, [n, d].
pub fn patches(patches: &Array2<f32>, side: u32) {
    let (n, d) = patches.dim();
    let mib = (size_of::<f32>() * patches.len()) as f64 / f64::from(1 << 20);
    say("patches", format!("N = {}, D = {side} × {side} × 3 = {d}, f32, {mib:.1} MiB", grouped(n as u64)));
}

/// The fit and its result; `whitened`: distances are not in the units of pixels.
pub fn fit(fitted: &FittedKMeans<f32>, times: &Times, start: &str, whitened: bool) {
    let (n, counts) = (fitted.labels().len() as u64, fitted.counts());
    say("clusters", format!("K = {}, from {start}", grouped(counts.len() as u64)));
    say("engine", fitted.engine());
    let end = match (times.interrupted, fitted.converged()) {
        (true, false) => "stopped by Ctrl-C",
        (_, true) => "converged",
        (_, false) => "not converged",
    };
    say("iterations", format!("{}, {end}", fitted.iterations()));
    let rms = (fitted.inertia() / (n as f64 * fitted.centroids().ncols() as f64)).sqrt();
    let unit = if whitened { "standard deviations" } else { "of 255" };
    say("inertia", format!("{:.1}, root mean square {rms:.2} {unit} per value", fitted.inertia()));
    for (name, count) in [("largest", counts.iter().max()), ("smallest", counts.iter().min())] {
        let count = *count.expect("k is at least 1");
        say(name, format!("{}, {}", counted(count, "patch", "patches"), percent(count, n)));
    }
    for notice in fitted.notices() {
        say("notice", notice);
    }
}

/// The picture, and where it is.
pub fn picture(picture: &RgbImage, path: &Path) {
    let (width, height) = picture.dimensions();
    say("picture", format!("{}, {width} × {height} pixels", path.display()));
}

/// How long each stage of the work took.
#[derive(Default)]
pub struct Stages(Vec<(&'static str, Duration)>);

impl Stages {
    /// Does `work` and notes its time.
    pub fn timed<R>(&mut self, stage: &'static str, work: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let result = work();
        self.0.push((stage, begun.elapsed()));
        result
    }

    /// Tells all of them, with `times` beside the stage "fit".
    pub fn tell(&self, times: &Times) {
        for (stage, time) in &self.0 {
            let detail = if *stage == "fit" { within_fit(times) } else { String::new() };
            say("time", format!("{stage:<8}{:>10}{detail}", duration(*time)));
        }
    }
}

/// One line. That nobody reads it any more, as with `| head`, is no reason to stop.
fn say(name: &str, text: impl Display) {
    let _ = writeln!(io::stdout(), "{name:<11} {text}");
}

/// The times of the start where it is known, of the first iteration, and of those after it.
fn within_fit(times: &Times) -> String {
    let Some((first, rest)) = times.iterations.split_first() else { return String::new() };
    let start = times.seeding.map_or("start and".into(), |time| format!("start {},", duration(time)));
    let first = format!("  {start} first iteration {}", duration(*first));
    let (Some(fastest), Some(slowest)) = (rest.iter().min(), rest.iter().max()) else { return first };
    let mean = rest.iter().sum::<Duration>() / rest.len() as u32;
    format!("{first}, then {} each ({} to {})", duration(mean), duration(*fastest), duration(*slowest))
}
