//! What the program did, in words, on stdout.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use image::RgbImage;
use kmeans_host::FittedKMeans;
use ndarray::Array2;

use crate::photo::Photo;
use crate::text::{counted, duration, grouped, percent};
use crate::watch::Times;

/// Lines of a name and what is to be said about it, and the time of each stage.
#[derive(Default)]
pub struct Report {
    lines: Vec<(&'static str, String)>,
    stages: Vec<(&'static str, Duration)>,
    iterations: String,
}

impl Report {
    /// Does `work` and notes how long it took.
    pub fn timed<R>(&mut self, stage: &'static str, work: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let result = work();
        self.stages.push((stage, begun.elapsed()));
        result
    }

    fn say(&mut self, name: &'static str, text: impl Display) {
        self.lines.push((name, text.to_string()));
    }

    pub fn image(&mut self, photo: &Photo) {
        let (width, height) = photo.pixels.dimensions();
        self.say("image", format!("{}, {width} × {height} pixels", photo.name));
    }

    pub fn patches(&mut self, patches: &Array2<f32>, side: u32) {
        let (n, d) = patches.dim();
        let mib = (size_of::<f32>() * patches.len()) as f64 / f64::from(1 << 20);
        self.say("patches", format!("N = {}, D = {side} × {side} × 3 = {d}, f32, {mib:.1} MiB", grouped(n as u64)));
    }

    pub fn fit(&mut self, fitted: &FittedKMeans<f32>, times: &Times, start: &str) {
        let n = fitted.labels().len() as u64;
        let counts = fitted.counts();
        self.say("clusters", format!("K = {}, from {start}", grouped(counts.len() as u64)));
        self.say("engine", fitted.engine());
        let end = if fitted.converged() { "converged" } else { "not converged" };
        self.say("iterations", format!("{}, {end}", fitted.iterations()));
        let rms = (fitted.inertia() / (n as f64 * fitted.centroids().ncols() as f64)).sqrt();
        self.say("inertia", format!("{:.1}, that is {rms:.2} of 255 (root mean square) per value", fitted.inertia()));
        for (name, count) in [("largest", counts.iter().max()), ("smallest", counts.iter().min())] {
            let count = *count.expect("k is at least 1");
            self.say(name, format!("{} ({})", counted(count, "patch", "patches"), percent(count, n)));
        }
        for notice in fitted.notices() {
            self.say("notice", notice);
        }
        self.iterations = iterations(times);
    }

    pub fn picture(&mut self, picture: &RgbImage, path: &Path) {
        let (width, height) = picture.dimensions();
        self.say("picture", format!("{}, {width} × {height} pixels", path.display()));
    }

    /// Writes everything to stdout. A reader that has seen enough is no error.
    pub fn print(&self) -> Result<()> {
        let mut text = String::new();
        for (name, line) in &self.lines {
            text += &format!("{name:<11} {line}\n");
        }
        for (stage, time) in &self.stages {
            let detail = if *stage == "fit" { &self.iterations } else { "" };
            text += &format!("{:<11} {stage:<8}{:>10}{detail}\n", "time", duration(*time));
        }
        match io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// The times within the fit: of the start where it is known, of the first iteration, and of those after it.
fn iterations(times: &Times) -> String {
    let Some((first, rest)) = times.iterations.split_first() else { return String::new() };
    let begin = times.seeding.map_or("start and ".into(), |time| format!("start {}, ", duration(time)));
    let mut text = format!("  {begin}first iteration {}", duration(*first));
    if let (Some(fastest), Some(slowest)) = (rest.iter().min(), rest.iter().max()) {
        let mean = rest.iter().sum::<Duration>() / rest.len() as u32;
        let range = format!("{} to {}", duration(*fastest), duration(*slowest));
        text += &format!(", then {} each ({range})", duration(mean));
    }
    text
}
