//! What the program does, in words, on stdout.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use image::RgbImage;
use kmeans_host::FittedKMeans;
use ndarray::Array2;

use crate::photo::Photo;
use crate::text::{counted, duration, grouped, percent};
use crate::watch::Times;

/// Tells as it goes, and keeps the time of each stage for the end.
#[derive(Default)]
pub struct Report {
    stages: Vec<(&'static str, Duration)>,
}

impl Report {
    /// Does `work` and notes how long it took.
    pub fn timed<R>(&mut self, stage: &'static str, work: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let result = work();
        self.stages.push((stage, begun.elapsed()));
        result
    }

    pub fn image(&self, photo: &Photo) {
        let (width, height) = photo.pixels.dimensions();
        say("image", format!("{}, {width} × {height} pixels", photo.name));
    }

    pub fn patches(&self, patches: &Array2<f32>, side: u32) {
        let (n, d) = patches.dim();
        let mib = (size_of::<f32>() * patches.len()) as f64 / f64::from(1 << 20);
        say("patches", format!("N = {}, D = {side} × {side} × 3 = {d}, f32, {mib:.1} MiB", grouped(n as u64)));
    }

    pub fn fit(&self, fitted: &FittedKMeans<f32>, times: &Times, start: &str) {
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
        say("inertia", format!("{:.1}, root mean square {rms:.2} of 255 per value", fitted.inertia()));
        for (name, count) in [("largest", counts.iter().max()), ("smallest", counts.iter().min())] {
            let count = *count.expect("k is at least 1");
            say(name, format!("{}, {}", counted(count, "patch", "patches"), percent(count, n)));
        }
        for notice in fitted.notices() {
            say("notice", notice);
        }
    }

    pub fn picture(&self, picture: &RgbImage, path: &Path) {
        let (width, height) = picture.dimensions();
        say("picture", format!("{}, {width} × {height} pixels", path.display()));
    }

    pub fn times(&self, times: &Times) {
        for (stage, time) in &self.stages {
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
    let mut text = format!("  {start} first iteration {}", duration(*first));
    if let (Some(fastest), Some(slowest)) = (rest.iter().min(), rest.iter().max()) {
        let mean = duration(rest.iter().sum::<Duration>() / rest.len() as u32);
        text += &format!(", then {mean} each ({} to {})", duration(*fastest), duration(*slowest));
    }
    text
}
