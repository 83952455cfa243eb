//! The chart of `kmeans bench`: the time of the one-dimensional jobs by K, a line per engine; below, where the time goes.

use plotters::prelude::*;

use super::bars::Bars;
use super::measure::Row;
use crate::failure::Failure;

/// Dark enough to read on white, and apart without red and green.
const COLOURS: [RGBColor; 6] = [
    RGBColor(87, 96, 106),
    RGBColor(178, 58, 0),
    RGBColor(10, 88, 202),
    RGBColor(122, 61, 184),
    RGBColor(0, 121, 107),
    RGBColor(190, 140, 0),
];
/// Width, and height of the upper half, in pixels.
const LINES: (u32, u32) = (900, 480);

/// The chart as SVG.
pub fn svg(rows: &[Row]) -> Result<String, Failure> {
    let mut text = String::new();
    draw(&mut text, rows).map_err(|e| Failure::Bug(format!("the chart cannot be drawn: {e}")))?;
    Ok(text)
}

fn draw(text: &mut String, rows: &[Row]) -> Result<(), Box<dyn std::error::Error>> {
    let on_line: Vec<&Row> = rows.iter().filter(|row| row.d == 1 && row.contender != "auto").collect();
    let times = || on_line.iter().map(|row| row.total_seconds * 1e3);
    let lowest = times().fold(f64::INFINITY, f64::min);
    let highest = times().fold(0.0, f64::max);
    // With no such job the chart is empty, but a chart.
    let range = if highest > 0.0 { lowest * 0.7..highest * 1.5 } else { 0.1..1.0 };
    let largest = on_line.iter().map(|row| row.k).max().unwrap_or(1);

    let bars = Bars::of(rows);
    let area = SVGBackend::with_string(text, (LINES.0, LINES.1 + bars.height())).into_drawing_area();
    area.fill(&WHITE)?;
    let (upper, lower) = area.split_vertically(LINES.1);
    bars.draw(&lower)?;
    let mut chart = ChartBuilder::on(&upper)
        .caption("k-means, 100,000 points on a line: time of a fit by K", ("sans-serif", 20))
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..largest as f64 * 1.05, range.log_scale())?;
    chart
        .configure_mesh()
        .x_desc("K")
        .y_desc("milliseconds")
        .light_line_style(WHITE)
        .x_label_formatter(&|k| format!("{k:.0}"))
        .draw()?;
    let mut contenders: Vec<&str> = Vec::new();
    for row in &on_line {
        if !contenders.contains(&row.contender.as_str()) {
            contenders.push(&row.contender);
        }
    }
    for (number, contender) in contenders.into_iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<(f64, f64)> = on_line
            .iter()
            .filter(|row| row.contender == contender)
            .map(|row| (row.k as f64, row.total_seconds * 1e3))
            .collect();
        chart
            .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(4))?
            .label(contender)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
    }
    chart.configure_series_labels().border_style(BLACK).background_style(WHITE).draw()?;
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::table::tests::rows;

    #[test]
    fn every_engine_and_kernel_is_named() {
        let svg = svg(&rows()).unwrap();
        for text in [
            "cuda:0, portable",
            "3-D, K = 4 · cuda:0, hopper",
            "assign_narrow_f32",
            "host to device",
            "opening the GPU",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        // For those who want to look at it.
        if let Some(path) = std::env::var_os("KMEANS_TEST_CHART") {
            crate::svg::ChartFile::create(path.as_ref()).unwrap().write(&svg).unwrap();
        }
    }
}
