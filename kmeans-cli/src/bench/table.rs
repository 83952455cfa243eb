//! The table of `kmeans bench`.

use super::measure::Row;
use crate::summary::csv_row;

/// For people: milliseconds, a block per job. `missing` says what could not be measured.
pub fn for_people(rows: &[Row], missing: &[String]) -> String {
    let width = rows.iter().map(|row| row.contender.len()).max().unwrap_or(0);
    let mut lines =
        vec!["Milliseconds, medians. All engines gave the same labels, centroids and iterations, bit for bit.".into()];
    let mut case = "";
    for (number, row) in rows.iter().enumerate() {
        if row.case != case {
            case = &row.case;
            lines.push(format!("\n{case}: {} × {}, {} iterations", row.n, row.d, row.iterations));
            lines.push(format!(
                "  {:width$}  {:>10}  {:>13}  {:>10}  {:>10}",
                "", "total", "per iteration", "fixed", "first run"
            ));
        }
        let ran_on = if row.contender == "auto" { format!("  ran on {}", row.engine) } else { String::new() };
        lines.push(format!(
            "  {:width$}  {:>10}  {:>13}  {:>10}  {:>10}{ran_on}",
            row.contender,
            ms(Some(row.total_seconds)),
            ms(row.iteration_seconds),
            ms(row.fixed_seconds),
            ms(Some(row.first_run_seconds)),
        ));
        // The GPU's own work below the whole block.
        if rows.get(number + 1).is_none_or(|next| next.case != row.case) {
            rows.iter().filter(|r| r.case == row.case).for_each(|r| lines.extend(on_gpu(r)));
        }
    }
    if !missing.is_empty() {
        lines.push(String::new());
        lines.extend(missing.iter().map(|fault| format!("not measured: {fault}")));
    }
    lines.join("\n") + "\n"
}

/// What a GPU did for a row.
fn on_gpu(row: &Row) -> Vec<String> {
    let Some(tier) = &row.on_gpu.tier else { return Vec::new() };
    let gpu = &row.on_gpu;
    let width = gpu.kernels.iter().map(|k| k.kernel.len()).max().unwrap_or(0).max(24);
    let mut lines = vec![format!(
        "  {}: kernels and copies of one fit, by events on the device ({} ms between two events with nothing between)",
        row.contender,
        ms(gpu.empty_seconds),
    )];
    for kernel in &gpu.kernels {
        let each = kernel.seconds / kernel.launches as f64;
        let (all, each) = (ms(Some(kernel.seconds)), ms(Some(each)));
        lines.push(format!("    {:width$}  {all:>10}  {:>5} × {each}", kernel.kernel, kernel.launches));
    }
    let kilobytes = |bytes: Option<u64>| format!("{:.1} kB", bytes.unwrap_or(0) as f64 / 1e3);
    for (name, seconds, note) in [
        ("kernels, all together", gpu.kernels_seconds, String::new()),
        ("host to device", gpu.to_device_seconds, kilobytes(gpu.to_device_bytes)),
        ("device to host", gpu.to_host_seconds, kilobytes(gpu.to_host_bytes)),
        ("within the device", gpu.other_seconds, "copies, setting to zero".into()),
    ] {
        let line = format!("    {name:width$}  {:>10}  {note}", ms(seconds));
        lines.push(line.trim_end().into());
    }
    lines.push(format!(
        "    paid once per process: {} ms for opening the GPU, {} ms for loading the kernels for {tier}",
        ms(gpu.open_seconds),
        ms(gpu.load_seconds),
    ));
    lines
}

fn ms(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "–".into(), |seconds| format!("{:.3}", seconds * 1e3))
}

/// A header, and a record per row.
pub fn csv(rows: &[Row]) -> String {
    let values = rows.iter().cloned().map(|mut row| {
        // A list does not fit a record.
        row.on_gpu.kernels.clear();
        serde_json::to_value(row).expect("rows are plain data")
    });
    let values: Vec<_> = values.collect();
    let names = values.first().and_then(|v| v.as_object()).map(|o| o.keys().cloned().collect::<Vec<_>>().join(","));
    let records: String = values.iter().map(csv_row).collect();
    names.unwrap_or_default() + "\n" + &records
}

#[cfg(test)]
pub mod tests {
    use super::super::gpu::{KernelTime, OnGpu};
    use super::*;

    /// Rows as a machine with a GPU would give them.
    pub fn rows() -> Vec<Row> {
        let row = |case: &str, k: usize, d: usize, contender: &str, total: f64| Row {
            case: case.into(),
            n: 100_000,
            d,
            k,
            contender: contender.into(),
            engine: "cpu".into(),
            iterations: 31,
            total_seconds: total,
            iteration_seconds: Some(total / 40.0).filter(|_| !contender.starts_with("reference")),
            fixed_seconds: Some(total / 5.0),
            first_run_seconds: 2.0 * total,
            result: "0".into(),
            on_gpu: OnGpu::default(),
        };
        let on_gpu = |tier: &str, scale: f64| OnGpu {
            tier: Some(tier.into()),
            open_seconds: Some(0.3),
            load_seconds: Some(0.025),
            kernels_seconds: Some(0.0009 * scale),
            to_device_seconds: Some(0.000_05),
            to_device_bytes: Some(400_000),
            to_host_seconds: Some(0.000_1),
            to_host_bytes: Some(404_000),
            other_seconds: Some(0.000_03),
            empty_seconds: Some(0.000_002),
            kernels: ["assign_narrow_f32", "sum_per_block_narrow_f32", "inertia_parts"]
                .into_iter()
                .zip([0.0005, 0.0003, 0.0001])
                .map(|(kernel, seconds)| KernelTime { kernel: kernel.into(), launches: 32, seconds: seconds * scale })
                .collect(),
        };
        let mut rows = Vec::new();
        for (case, k, d) in [("1-D, K = 2", 2, 1), ("1-D, K = 100", 100, 1), ("3-D, K = 4", 4, 3)] {
            rows.push(row(case, k, d, "reference, 1 thread", 0.05 + 0.006 * k as f64));
            rows.push(row(case, k, d, "cpu, all threads", 0.0015 + 0.000_01 * k as f64));
            for (tier, scale) in [("portable", 1.5), ("hopper", 1.0)] {
                let total = 0.0018 * scale + 0.000_002 * k as f64;
                rows.push(Row { on_gpu: on_gpu(tier, scale), ..row(case, k, d, &format!("cuda:0, {tier}"), total) });
            }
            rows.push(row(case, k, d, "auto", 0.0015));
        }
        rows
    }

    #[test]
    fn a_gpus_steps_stand_below_the_engines() {
        let text = for_people(&rows(), &["cuda:0, ampere: it failed".into()]);
        let lines: Vec<&str> = text.lines().collect();
        let at = |start: &str| lines.iter().position(|line| line.trim_start().starts_with(start)).unwrap();
        assert!(at("auto") < at("cuda:0, portable: kernels"));
        assert!(at("cuda:0, portable: kernels") < at("cuda:0, hopper: kernels"));
        assert_eq!(lines[at("assign_narrow_f32")].split_whitespace().nth(1), Some("0.750"));
        assert_eq!(lines[at("host to device")], "    host to device                 0.050  400.0 kB");
        assert_eq!(lines.last(), Some(&"not measured: cuda:0, ampere: it failed"));
    }

    #[test]
    fn records_have_as_many_fields_as_the_header() {
        let text = csv(&rows());
        let fields = |line: &str| {
            let mut quoted = false;
            line.chars()
                .filter(|&c| {
                    quoted ^= c == '"';
                    c == ',' && !quoted
                })
                .count()
        };
        let header = fields(text.lines().next().unwrap());
        assert!(text.lines().all(|line| fields(line) == header));
        assert!(text.starts_with("case,n,d,k,contender,engine,iterations,total_seconds"));
    }

    #[test]
    fn rows_are_read_back_as_they_were_written() {
        let written = serde_json::to_string(&rows()).unwrap();
        let read: Vec<Row> = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), written);
    }
}
