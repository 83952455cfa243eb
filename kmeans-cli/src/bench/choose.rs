//! What `Device::Auto` should choose: the processor's and the GPU's times for fits of many sizes, and from how much work on the
//! GPU is the faster.

use std::time::Instant;

use kmeans_host::kernels::{WORTH_A_GPU, Work};
use kmeans_host::{Device, EmptyCluster, Init, KMeans, Stop};
use ndarray::Array2;
use serde::Serialize;

use crate::commands::generate;
use crate::failure::Failure;
use crate::summary::csv_row;
use crate::watch::Watch;

/// Rounds of every fit: as many as the choice expects.
const ROUNDS: usize = 20;
/// Fits of less and of more multiplications say nothing about the choice.
const WORK: std::ops::RangeInclusive<f64> = 1e5..=2e10;

/// A size of the grid, with its times in seconds: medians, from host memory to labels in host memory, on a GPU that is open.
#[derive(Clone, Debug, Serialize)]
pub struct Size {
    pub n: usize,
    pub d: usize,
    pub k: usize,
    /// n·k·d in all rounds.
    pub multiplications: f64,
    pub cpu_seconds: Option<f64>,
    pub gpu_seconds: Option<f64>,
    /// What `Device::Auto` takes where there is a GPU.
    pub auto: &'static str,
}

/// The sizes of the grid whose name contains `only`.
pub fn sizes(only: &str) -> Vec<Size> {
    let mut sizes = Vec::new();
    for d in [1, 3, 16, 128] {
        for n in [1_000, 10_000, 100_000, 1_000_000] {
            for k in [2, 16, 128, 1024] {
                let work = Work::new((n, d), k, ROUNDS);
                let auto = if work.is_worth_a_gpu() { "gpu" } else { "cpu" };
                let multiplications = work.multiplications;
                let size = Size { n, d, k, multiplications, cpu_seconds: None, gpu_seconds: None, auto };
                if WORK.contains(&multiplications) && 2 * k <= n && size.name().contains(only) {
                    sizes.push(size);
                }
            }
        }
    }
    sizes
}

impl Size {
    /// As `--only` finds it.
    pub fn name(&self) -> String {
        format!("{} × {}, K = {}", self.n, self.d, self.k)
    }

    /// Times the fit on the processor, and on the GPU of this index if there is one.
    pub fn measure(&mut self, gpu: Option<usize>, runs: usize, watch: &Watch) -> Result<(), Failure> {
        let points = generate::points(self.n, self.d, 0, 0.0, 1);
        watch.say(format!("{}: cpu", self.name()));
        self.cpu_seconds = Some(self.time(&points, Device::Cpu, runs)?);
        if let Some(index) = gpu {
            watch.say(format!("{}: {}", self.name(), Device::Cuda(index)));
            self.gpu_seconds = Some(self.time(&points, Device::Cuda(index), runs)?);
        }
        Ok(())
    }

    /// The median of some runs after a first one, which finds nothing ready.
    fn time(&self, points: &Array2<f32>, device: Device, runs: usize) -> Result<f64, Failure> {
        let kmeans = KMeans::new(self.k)
            .init(Init::FirstK)
            .stop(Stop::LabelsRepeat)
            .max_iter(ROUNDS)
            .empty_cluster(EmptyCluster::Keep)
            .device(device);
        let mut times = Vec::new();
        for _ in 0..=runs {
            let begun = Instant::now();
            kmeans.fit(points).map_err(|e| Failure::points(&self.name(), e))?;
            times.push(begun.elapsed().as_secs_f64());
        }
        times.remove(0);
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }

    /// How many times as long as the faster engine this one takes: None unless both are known.
    fn slowdown(&self, on_gpu: bool) -> Option<f64> {
        let (cpu, gpu) = (self.cpu_seconds?, self.gpu_seconds?);
        Some(if on_gpu { gpu } else { cpu } / cpu.min(gpu))
    }
}

/// What a threshold costs: how many times as long as by the best choices the fits take, in the geometric mean. None if
/// nothing is known.
fn cost<'a>(sizes: impl Iterator<Item = &'a Size>, threshold: f64) -> Option<f64> {
    let logs: Vec<f64> =
        sizes.filter_map(|size| Some(size.slowdown(size.multiplications >= threshold)?.ln())).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// The threshold that costs least, the lowest among equals: between two neighbouring amounts of work, or beyond all.
fn best_threshold(sizes: &[&Size]) -> Option<(f64, f64)> {
    let mut amounts: Vec<f64> = sizes.iter().map(|size| size.multiplications).collect();
    amounts.sort_by(f64::total_cmp);
    amounts.dedup();
    let between = amounts.windows(2).map(|pair| (pair[0] * pair[1]).sqrt());
    let candidates = [0.0].into_iter().chain(between).chain([f64::INFINITY]);
    let mut best: Option<(f64, f64)> = None;
    for threshold in candidates {
        let cost = cost(sizes.iter().copied(), threshold)?;
        if best.is_none_or(|(_, least)| cost < least) {
            best = Some((threshold, cost));
        }
    }
    best
}

/// For people: a line per size, and what threshold would choose best.
pub fn for_people(sizes: &[Size], runs: usize) -> String {
    let mut lines = vec![
        format!(
            "Milliseconds of {ROUNDS} rounds on uniform points from the first K, medians of {runs} runs, labels and points in host memory."
        ),
        format!("Auto takes a GPU from {WORTH_A_GPU:.1e} multiplications on (n·k·d in {ROUNDS} rounds)."),
        String::new(),
        format!(
            "{:>9}  {:>4}  {:>5}  {:>15}  {:>10}  {:>10}  {:>7}  auto",
            "n", "d", "K", "multiplications", "cpu", "gpu", "cpu/gpu"
        ),
    ];
    let ms = |seconds: Option<f64>| seconds.map_or("–".into(), |s| format!("{:.3}", s * 1e3));
    for size in sizes {
        let ratio =
            size.cpu_seconds.zip(size.gpu_seconds).map_or("–".into(), |(cpu, gpu)| format!("{:.2}", cpu / gpu));
        let wrong = size.slowdown(size.auto == "gpu").is_some_and(|slowdown| slowdown > 1.0);
        lines.push(format!(
            "{:>9}  {:>4}  {:>5}  {:>15.1e}  {:>10}  {:>10}  {ratio:>7}  {}{}",
            size.n,
            size.d,
            size.k,
            size.multiplications,
            ms(size.cpu_seconds),
            ms(size.gpu_seconds),
            size.auto,
            if wrong { ", the slower" } else { "" },
        ));
    }
    lines.push(String::new());
    lines.extend(advice("all sizes", sizes.iter().collect()));
    for d in [1, 3, 16, 128] {
        lines.extend(advice(&format!("d = {d}"), sizes.iter().filter(|size| size.d == d).collect()));
    }
    if lines.last().is_some_and(String::is_empty) {
        lines.push("no GPU was measured: there is none to compare with".into());
    }
    lines.join("\n") + "\n"
}

/// What the present threshold costs, and which one would cost least.
fn advice(which: &str, sizes: Vec<&Size>) -> Option<String> {
    let now = cost(sizes.iter().copied(), WORTH_A_GPU)?;
    let (threshold, least) = best_threshold(&sizes)?;
    let best = match threshold {
        0.0 => "always a GPU".into(),
        f64::INFINITY => "never a GPU".into(),
        threshold => format!("a GPU from {threshold:.1e} on"),
    };
    Some(format!(
        "{which}: auto takes {now:.3} times as long as the faster engine each time; best is {best}, {least:.3} times"
    ))
}

/// A header, and a record per size.
pub fn csv(sizes: &[Size]) -> String {
    let records = sizes.iter().map(|size| csv_row(&serde_json::to_value(size).expect("sizes are plain data")));
    records.fold("n,d,k,multiplications,cpu_seconds,gpu_seconds,auto\n".into(), |text, record| text + &record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(multiplications: f64, cpu: f64, gpu: f64) -> Size {
        let auto = if multiplications >= WORTH_A_GPU { "gpu" } else { "cpu" };
        Size { n: 1, d: 1, k: 1, multiplications, cpu_seconds: Some(cpu), gpu_seconds: Some(gpu), auto }
    }

    #[test]
    fn the_best_threshold_lies_where_the_gpu_begins_to_win() {
        let sizes = [size(1e6, 1.0, 3.0), size(1e8, 2.0, 3.0), size(1e10, 30.0, 3.0), size(1e7, 1.0, 3.0)];
        let all: Vec<&Size> = sizes.iter().collect();
        assert_eq!(best_threshold(&all), Some((1e9, 1.0)));
        // One of four is chosen wrong, and takes ten times as long.
        assert_eq!(
            cost(sizes.iter(), f64::INFINITY).map(|c| (c * 1e6).round()),
            Some((10_f64.powf(0.25) * 1e6).round())
        );
        assert_eq!(best_threshold(&all[2..3]), Some((0.0, 1.0)));
        assert_eq!(best_threshold(&all[..1]), Some((f64::INFINITY, 1.0)));
    }

    #[test]
    fn without_a_gpu_there_is_a_table_but_no_advice() {
        let mut sizes = sizes("1000 × 3, K = 16");
        assert_eq!(sizes.len(), 1);
        sizes[0].measure(None, 1, &Watch::begin(true, 1)).unwrap();
        assert!(sizes[0].cpu_seconds > Some(0.0));
        let text = for_people(&sizes, 1);
        assert!(text.contains("–        –  cpu\n"), "{text}");
        assert!(text.ends_with("no GPU was measured: there is none to compare with\n"), "{text}");
    }

    #[test]
    fn what_auto_would_choose_and_should_not_is_told() {
        let text = for_people(&[size(1e5, 5.0, 1.0), size(1e10, 5.0, 1.0)], 3);
        assert_eq!(text.matches("cpu, the slower").count(), 1, "{text}");
        assert!(text.contains("best is always a GPU, 1.000 times"), "{text}");
    }

    #[test]
    fn the_grid_lies_on_both_sides_of_the_threshold_where_columns_are_few() {
        for d in [1, 3, 16] {
            let autos: Vec<&str> = sizes("").iter().filter(|size| size.d == d).map(|size| size.auto).collect();
            assert!(autos.contains(&"cpu") && autos.contains(&"gpu"), "{d}");
        }
    }
}
