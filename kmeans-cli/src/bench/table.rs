//! The table of `kmeans bench`.

use super::measure::Row;
use crate::summary::csv_row;

/// For people: milliseconds, a block per job.
pub fn for_people(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.contender.len()).max().unwrap_or(0);
    let mut text = String::from(
        "Milliseconds, medians. All engines gave the same labels, centroids and iterations, bit for bit.\n",
    );
    let mut case = "";
    for row in rows {
        if row.case != case {
            case = row.case;
            text.extend([format!("\n{case}: {} × {}, {} iterations\n", row.n, row.d, row.iterations)]);
            text.extend([format!(
                "  {:width$}  {:>10}  {:>13}  {:>10}  {:>10}\n",
                "", "total", "per iteration", "fixed", "first run"
            )]);
        }
        let ms = |seconds: f64| format!("{:.3}", seconds * 1e3);
        let or_none = |seconds: Option<f64>| seconds.map_or_else(|| "–".into(), ms);
        let ran_on = if row.contender == "auto" { format!("  ran on {}", row.engine) } else { String::new() };
        text.extend([format!(
            "  {:width$}  {:>10}  {:>13}  {:>10}  {:>10}{ran_on}\n",
            row.contender,
            ms(row.total_seconds),
            or_none(row.iteration_seconds),
            or_none(row.fixed_seconds),
            ms(row.first_run_seconds),
        )]);
    }
    text
}

/// A header, and a record per row.
pub fn csv(rows: &[Row]) -> String {
    let values: Vec<_> = rows.iter().map(|row| serde_json::to_value(row).expect("rows are plain data")).collect();
    let names = values.first().and_then(|v| v.as_object()).map(|o| o.keys().cloned().collect::<Vec<_>>().join(","));
    let records: String = values.iter().map(csv_row).collect();
    names.unwrap_or_default() + "\n" + &records
}
