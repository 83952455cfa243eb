//! The lower half of the chart: where the time of each fit goes, a bar per job and engine.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::measure::Row;

/// Kernels that have a colour of their own; the others share one.
const KERNELS: usize = 8;
/// Left of the bars is their name; above, the heading.
const NAMES: i32 = 250;
const HEADING: i32 = 40;
const BAR: i32 = 20;
const LEGEND_LINE: i32 = 20;
const MARGIN: i32 = 16;
/// Columns of the legend.
const COLUMNS: usize = 3;

const ITERATIONS: RGBColor = RGBColor(10, 88, 202);
const FIXED: RGBColor = RGBColor(150, 180, 225);
const TO_DEVICE: RGBColor = RGBColor(230, 159, 0);
const TO_HOST: RGBColor = RGBColor(240, 205, 110);
const OTHER_KERNELS: RGBColor = RGBColor(120, 90, 140);
const REST: RGBColor = RGBColor(205, 210, 218);
const OF_KERNELS: [RGBColor; KERNELS] = [
    RGBColor(0, 121, 107),
    RGBColor(178, 58, 0),
    RGBColor(122, 61, 184),
    RGBColor(84, 145, 40),
    RGBColor(190, 70, 130),
    RGBColor(60, 120, 160),
    RGBColor(140, 110, 40),
    RGBColor(70, 80, 95),
];

/// A part of a bar, in seconds.
type Part = (String, RGBColor, f64);

/// The bars of a table.
pub struct Bars<'a> {
    rows: Vec<&'a Row>,
    kernels: Vec<String>,
}

impl<'a> Bars<'a> {
    /// Of all rows but the plain reference's, which are longer than all others, and those that repeat another.
    pub fn of(rows: &'a [Row]) -> Self {
        let shown = |row: &&Row| row.contender != "auto" && row.iteration_seconds.is_some();
        let rows: Vec<&Row> = rows.iter().filter(shown).collect();
        let mut times: Vec<(String, f64)> = Vec::new();
        for kernel in rows.iter().flat_map(|row| &row.on_gpu.kernels) {
            match times.iter_mut().find(|(name, _)| *name == kernel.kernel) {
                Some((_, seconds)) => *seconds += kernel.seconds,
                None => times.push((kernel.kernel.clone(), kernel.seconds)),
            }
        }
        times.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self { rows, kernels: times.into_iter().take(KERNELS).map(|(name, _)| name).collect() }
    }

    /// Pixels that they need.
    pub fn height(&self) -> u32 {
        let legend = LEGEND_LINE * self.legend().len().div_ceil(COLUMNS) as i32;
        let once = LEGEND_LINE * self.once().len() as i32;
        (HEADING + BAR * self.rows.len() as i32 + LEGEND_LINE + legend + once + MARGIN) as u32
    }

    fn parts(&self, row: &Row) -> Vec<Part> {
        let gpu = &row.on_gpu;
        if gpu.tier.is_none() {
            let fixed = row.fixed_seconds.unwrap_or(0.0);
            return vec![
                ("processor: iterations".into(), ITERATIONS, row.total_seconds - fixed),
                ("processor: everything else".into(), FIXED, fixed),
            ];
        }
        let mut others = gpu.kernels_seconds.unwrap_or(0.0);
        let mut parts: Vec<Part> = Vec::new();
        for (name, colour) in self.kernels.iter().zip(OF_KERNELS) {
            let seconds: f64 = gpu.kernels.iter().filter(|k| k.kernel == *name).map(|k| k.seconds).sum();
            others -= seconds;
            parts.push((name.clone(), colour, seconds));
        }
        let seconds = |seconds: Option<f64>| seconds.unwrap_or(0.0);
        let within = seconds(gpu.other_seconds);
        parts.push(("other kernels, work within the device".into(), OTHER_KERNELS, others.max(0.0) + within));
        parts.push(("host to device".into(), TO_DEVICE, seconds(gpu.to_device_seconds)));
        parts.push(("device to host".into(), TO_HOST, seconds(gpu.to_host_seconds)));
        let known: f64 = parts.iter().map(|(_, _, seconds)| seconds).sum();
        parts.push(("host, launches, waiting".into(), REST, (row.total_seconds - known).max(0.0)));
        parts
    }

    /// What a colour means, each once.
    fn legend(&self) -> Vec<(String, RGBColor)> {
        let mut legend: Vec<(String, RGBColor)> = Vec::new();
        for (name, colour, _) in self.rows.iter().flat_map(|row| self.parts(row)) {
            if !legend.iter().any(|(known, _)| *known == name) {
                legend.push((name, colour));
            }
        }
        legend
    }

    /// What each class of kernels costs once per process.
    fn once(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for row in &self.rows {
            let first = lines.iter().all(|line| !line.starts_with(&format!("{}:", row.contender)));
            if let (true, Some(open), Some(load)) = (first, row.on_gpu.open_seconds, row.on_gpu.load_seconds) {
                lines.push(format!(
                    "{}: once per process {:.1} ms for opening the GPU, {:.1} ms for loading the kernels of the first job",
                    row.contender,
                    open * 1e3,
                    load * 1e3
                ));
            }
        }
        lines
    }

    /// Draws them.
    pub fn draw<'b, B: DrawingBackend<ErrorType: 'static> + 'b>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), Box<dyn Error>> {
        let write = |text: &str, at: (i32, i32), size: u32| {
            area.draw(&Text::new(text.to_string(), at, ("sans-serif", size).into_font().color(&BLACK)))
        };
        let width = area.dim_in_pixel().0 as i32;
        write("where the time of a fit goes, milliseconds", (MARGIN, MARGIN), 16)?;
        let room = f64::from(width - NAMES - 90);
        let length = |row: &Row| self.parts(row).iter().map(|part| part.2).sum::<f64>();
        let longest = self.rows.iter().map(|row| length(row)).fold(1e-9, f64::max);
        let mut y = HEADING;
        for row in &self.rows {
            write(&format!("{} · {}", row.case, row.contender), (MARGIN, y + 4), 12)?;
            let (mut from, mut seconds) = (NAMES, 0.0);
            for (_, colour, part) in self.parts(row) {
                seconds += part;
                let to = NAMES + (seconds / longest * room).round() as i32;
                if to > from {
                    area.draw(&Rectangle::new([(from, y + 2), (to, y + BAR - 2)], colour.filled()))?;
                }
                from = to;
            }
            write(&format!("{:.3}", row.total_seconds * 1e3), (from + 6, y + 4), 12)?;
            y += BAR;
        }
        y += LEGEND_LINE / 2;
        let legend = self.legend();
        for (place, (name, colour)) in legend.iter().enumerate() {
            let x = MARGIN + (place % COLUMNS) as i32 * (width - 2 * MARGIN) / COLUMNS as i32;
            let y = y + (place / COLUMNS) as i32 * LEGEND_LINE;
            area.draw(&Rectangle::new([(x, y + 2), (x + 12, y + 14)], colour.filled()))?;
            write(name, (x + 18, y + 2), 12)?;
        }
        y += legend.len().div_ceil(COLUMNS) as i32 * LEGEND_LINE + LEGEND_LINE / 2;
        for line in self.once() {
            write(&line, (MARGIN, y), 12)?;
            y += LEGEND_LINE;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::table::tests::rows;

    #[test]
    fn the_parts_of_a_bar_are_its_total() {
        let rows = rows();
        let bars = Bars::of(&rows);
        assert_eq!(bars.rows.len(), 9);
        assert_eq!(bars.kernels, ["assign_narrow_f32", "sum_per_block_narrow_f32", "inertia_parts"]);
        for row in &bars.rows {
            let parts = bars.parts(row);
            let sum: f64 = parts.iter().map(|part| part.2).sum();
            assert!((sum / row.total_seconds - 1.0).abs() < 1e-9, "{}", row.contender);
            assert!(parts.iter().all(|part| part.2 >= 0.0));
        }
        assert_eq!(bars.once().len(), 2);
    }
}
