//! NVIDIA's assembler on the PTX: does it assemble, and do all values stay in registers?

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Tier, output};

/// Entry points that may spill so many bytes of registers, each with the reason. No others may.
const SPILLS_ALLOWED: &[(&str, u32, &str)] = &[
    ("groups_tensor_short_f32", 28, "on sm_80, what is stored before the first row and read once per 32 rows"),
    ("groups_tensor_long_f32", 28, "on sm_80, what is stored before the first row and read once per 32 rows"),
    ("groups_settle_f32", 12, "on sm_80, what is read once per row that is settled"),
    ("groups_settle_bf16", 20, "on sm_80, what is read once per row that is settled"),
    ("fit_narrow_sums_narrow_f32", 28, "on sm_75, what is stored before the first round and read outside its loops"),
    ("fit_narrow_sums_narrow_f16", 16, "on sm_75, what is stored before the first round and read outside its loops"),
    ("fit_narrow_sums_narrow_bf16", 16, "on sm_75, what is stored before the first round and read outside its loops"),
    ("fit_narrow_sums_wide_f32", 28, "on sm_75, what is stored before the first round and read outside its loops"),
    ("fit_narrow_sums_wide_f16", 16, "on sm_75, what is stored before the first round and read outside its loops"),
    ("fit_narrow_sums_wide_bf16", 16, "on sm_75, what is stored before the first round and read outside its loops"),
    ("scale_means_narrow_f64", 12, "on sm_75, for which the assembler prefers four blocks at a time"),
    ("scale_means_narrow_f32", 12, "on sm_75, for which the assembler prefers four blocks at a time"),
    ("scale_means_narrow_f16", 12, "on sm_75, for which the assembler prefers four blocks at a time"),
    ("scale_means_narrow_bf16", 12, "on sm_75, for which the assembler prefers four blocks at a time"),
];

/// Kernels, without their types, that keep an array in local memory, each with the reason.
const STACK_ALLOWED: &[(&str, &str)] = &[
    ("square_sum", "limbs that a value's exponent selects"),
    ("square_sum_many", "limbs that a value's exponent selects"),
    ("inertia_sums", "limbs that a value's exponent selects"),
    ("inertia_sums_many", "limbs that a value's exponent selects"),
    ("groups_squares", "limbs that a value's exponent selects"),
    ("groups_squares_many", "limbs that a value's exponent selects"),
    ("groups_inertia", "limbs that a value's exponent selects"),
    ("groups_inertia_many", "limbs that a value's exponent selects"),
];

/// Assembles a tier's file. Returns a table of every kernel's registers, and faults.
pub fn check(root: &Path, tier: &Tier) -> Result<(String, Vec<String>)> {
    let Some(ptxas) = find(root) else {
        let required = env::var_os("KMEANS_REQUIRE_PTXAS").is_some_and(|v| v == "1");
        let fault = required.then(|| "KMEANS_REQUIRE_PTXAS is set, and no ptxas was found".into());
        return Ok((
            format!("{}: not assembled, since there is no ptxas here\n", tier.name),
            fault.into_iter().collect(),
        ));
    };
    let mut command = Command::new(ptxas);
    command.arg(format!("-arch={}", tier.cpu)).args(["--verbose", "--output-file", "/dev/null"]).arg(tier.path(root));
    let report = match output(&mut command) {
        Ok(report) => report,
        Err(error) => return Ok((String::new(), vec![error.to_string()])),
    };
    let mut faults = Vec::new();
    let mut table = format!("{:45} registers  stack  spilled (bytes)\n", tier.name);
    for usage in usages(&report)? {
        writeln!(table, "{:45} {:9}  {:5}  {:7}", usage.kernel, usage.registers, usage.stack, usage.spilled)?;
        let allowed =
            STACK_ALLOWED.iter().any(|(kernel, _)| usage.kernel.rsplit_once('_').is_some_and(|k| k.0 == *kernel));
        let most = SPILLS_ALLOWED.iter().find(|(kernel, ..)| *kernel == usage.kernel).map_or(0, |(_, most, _)| *most);
        if usage.spilled > most || usage.stack > 0 && !allowed && most == 0 {
            let Usage { kernel, stack, spilled, .. } = &usage;
            faults.push(format!("{kernel}: spills {spilled} bytes of registers, has {stack} bytes of stack"));
        }
    }
    Ok((table, faults))
}

/// Where `ptxas` is: the environment's word, the path, or the package of `PyPI` in `.venv`.
pub fn find(root: &Path) -> Option<PathBuf> {
    if let Some(path) = env::var_os("PTXAS") {
        return Some(path.into());
    }
    let on_path = env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join("ptxas")).find(|p| p.exists());
    // .venv/lib/pythonX.Y/site-packages/nvidia/cuZZ/bin/ptxas
    let below = |folder: PathBuf, start: &'static str| {
        let entries = folder.read_dir().ok().into_iter().flatten().flatten();
        let mut named = entries.filter(move |e| e.file_name().to_string_lossy().starts_with(start));
        named.next().map(|e| e.path())
    };
    on_path.or_else(|| {
        let packages = below(root.join(".venv/lib"), "python")?.join("site-packages/nvidia");
        Some(below(packages, "cu")?.join("bin/ptxas")).filter(|p| p.exists())
    })
}

/// What one kernel uses.
struct Usage {
    kernel: String,
    registers: u32,
    stack: u32,
    spilled: u32,
}

/// Reads the report of `ptxas --verbose`.
fn usages(report: &str) -> Result<Vec<Usage>> {
    let number_before = |line: &str, what: &str| -> Option<u32> {
        line.split(what).next()?.split_whitespace().next_back()?.parse().ok()
    };
    let mut usages = Vec::new();
    for part in report.split("Compiling entry function '").skip(1) {
        let kernel = part.split('\'').next().unwrap_or_default().to_string();
        let stack = part.lines().find(|l| l.contains("bytes stack frame")).context("ptxas reports the stack")?;
        let used = part.lines().find(|l| l.contains("registers")).context("ptxas reports registers")?;
        usages.push(Usage {
            kernel,
            registers: number_before(used, " registers").context("a number of registers")?,
            stack: number_before(stack, " bytes stack frame").context("a size of the stack")?,
            spilled: number_before(stack, " bytes spill stores").context("a number of spills")?,
        });
    }
    Ok(usages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let report = "ptxas info    : Compiling entry function 'a' for 'sm_75'\n\
                      ptxas info    : Function properties for a\n\
                      \x20   8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n\
                      ptxas info    : Used 23 registers, used 0 barriers, 8 bytes cumulative stack size\n";
        let usages = usages(report).unwrap();
        let Usage { kernel, registers, stack, spilled } = &usages[0];
        assert_eq!((kernel.as_str(), registers, stack, spilled), ("a", &23, &8, &4));
    }
}
