//! The table of scores as an SVG picture: a panel per score, no fonts but the viewer's.

use std::fmt::Write;

use super::selection::{Criterion, Scores, SilhouetteForm};

const PANEL: (f64, f64) = (430.0, 250.0);
const MARGIN: f64 = 24.0;
/// Within a panel: left, top, right, bottom of what is drawn.
const INSET: [f64; 4] = [64.0, 40.0, 14.0, 34.0];
const INK: &str = "#3a3f4b";
const GRID: &str = "#d9dce3";
const LINE: &str = "#2563a8";
const CHOICE: &str = "#c8432b";

/// A score's name, its values by k, and what decides by it.
struct Panel {
    title: String,
    better: &'static str,
    values: Vec<(usize, f64)>,
    criterion: Criterion,
}

pub fn svg(table: &[Scores], chosen: usize, criterion: Criterion, form: SilhouetteForm) -> String {
    let panel = |title: &str, better, criterion, value: &dyn Fn(&Scores) -> Option<f64>| Panel {
        title: title.into(),
        better,
        values: table.iter().filter_map(|s| Some((s.k, value(s)?))).collect(),
        criterion,
    };
    let silhouette = match form {
        SilhouetteForm::Exact => "Silhouette".into(),
        SilhouetteForm::Simplified => "Simplified silhouette".into(),
        SilhouetteForm::Sampled(rows) => format!("Silhouette of {rows} sampled rows"),
    };
    let panels = [
        panel(&silhouette, "larger is better", Criterion::Silhouette, &|s| s.silhouette),
        panel("Calinski-Harabasz", "larger is better", Criterion::CalinskiHarabasz, &|s| s.calinski_harabasz),
        panel("Davies-Bouldin", "smaller is better", Criterion::DaviesBouldin, &|s| s.davies_bouldin),
        panel("Inertia", "the knee", Criterion::Elbow, &|s| Some(s.inertia)),
    ];
    let (width, height) = (2.0 * PANEL.0 + 3.0 * MARGIN, 2.0 * PANEL.1 + 3.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"{INK}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for (i, panel) in panels.iter().enumerate() {
        let at = (MARGIN + (i % 2) as f64 * (PANEL.0 + MARGIN), MARGIN + (i / 2) as f64 * (PANEL.1 + MARGIN));
        draw(&mut out, panel, at, table, chosen, criterion);
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, panel: &Panel, at: (f64, f64), table: &[Scores], chosen: usize, criterion: Criterion) {
    let [left, top, right, bottom] = INSET;
    let (x0, x1) = (at.0 + left, at.0 + PANEL.0 - right);
    let (y0, y1) = (at.1 + PANEL.1 - bottom, at.1 + top);
    let decides = panel.criterion == criterion;
    let title = if decides { format!("{}: k = {chosen}", panel.title) } else { panel.title.clone() };
    let colour = if decides { CHOICE } else { INK };
    text(
        out,
        (at.0, at.1 + 15.0),
        "start",
        &format!("font-size=\"15\" font-weight=\"bold\" fill=\"{colour}\""),
        &title,
    );
    text(out, (x1, at.1 + 15.0), "end", "fill=\"#767c8a\"", panel.better);

    let (first, last) = (table[0].k, table[table.len() - 1].k);
    let span = (last - first).max(1) as f64;
    let x = |k: usize| if first == last { f64::midpoint(x0, x1) } else { x0 + (x1 - x0) * (k - first) as f64 / span };
    let (low, high) =
        panel.values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &(_, v)| (low.min(v), high.max(v)));
    let ticks = if panel.values.is_empty() { Vec::new() } else { ticks(low, high) };
    let (low, high) = match (ticks.first(), ticks.last()) {
        (Some(&a), Some(&b)) => (low.min(a), high.max(b)),
        _ => (0.0, 1.0),
    };
    let y = |v: f64| if high > low { y0 + (y1 - y0) * (v - low) / (high - low) } else { f64::midpoint(y0, y1) };
    for &tick in &ticks {
        let at = y(tick);
        let _ = writeln!(out, "<path d=\"M{x0:.1} {at:.1}H{x1:.1}\" stroke=\"{GRID}\"/>");
        text(out, (x0 - 8.0, at + 4.0), "end", "", &short(tick));
    }
    // As many numbers as have room.
    let every = table.len().div_ceil(12);
    for scores in table.iter().step_by(every) {
        text(out, (x(scores.k), y0 + 18.0), "middle", "", &scores.k.to_string());
    }
    if panel.values.is_empty() {
        text(out, (f64::midpoint(x0, x1), f64::midpoint(y0, y1)), "middle", "", "no score");
        return;
    }
    let _ = writeln!(
        out,
        "<path d=\"M{0:.1} {y1:.1}V{y0:.1}\" stroke=\"{CHOICE}\" stroke-dasharray=\"4 4\" opacity=\"0.6\"/>",
        x(chosen)
    );
    let points: Vec<String> = panel.values.iter().map(|&(k, v)| format!("{:.1},{:.1}", x(k), y(v))).collect();
    let _ =
        writeln!(out, "<polyline points=\"{}\" fill=\"none\" stroke=\"{LINE}\" stroke-width=\"2\"/>", points.join(" "));
    for &(k, v) in &panel.values {
        let (radius, fill) = if k == chosen { (6.0, CHOICE) } else { (3.5, LINE) };
        let _ = writeln!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"{fill}\"/>", x(k), y(v));
    }
}

fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, more: &str, text: &str) {
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {more}>{text}</text>");
}

/// About four round numbers that span `low` to `high`.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return vec![low];
    }
    let power = 10.0_f64.powf((span / 4.0).log10().floor());
    let step = power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| m * power >= span / 4.0).unwrap_or(10.0);
    let (from, to) = ((low / step).floor() as i64, (high / step).ceil() as i64);
    (from..=to).map(|i| i as f64 * step).collect()
}

/// A number with three or four digits.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if !(1e-3..1e5).contains(&v) => format!("{value:.1e}"),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
