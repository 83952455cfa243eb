//! A folder with all programs that a GPU machine without Rust needs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::ptx::output;

/// What runs there.
const RUN: &str = include_str!("bundle/run.sh");

/// Packages whose programs and tests go along. One call of cargo builds them, so that what they share is built once.
const PACKAGES: [&str; 4] = ["kmeans-host", "kmeans-tests", "kmeans-benches", "kmeans-examples"];

/// Packages whose unit tests are for a GPU too.
const UNIT_TESTS: [&str; 1] = ["kmeans_host"];

/// Folders of data, and where they go.
const DATA: [(&str, &str); 3] =
    [("tests/data", "data"), ("examples/data", "examples-data"), ("benches/peers", "peers")];

/// Builds everything and writes target/gpu-bundle.
pub fn write(root: &Path) -> Result<()> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let bundle = target.join("gpu-bundle");
    if bundle.exists() {
        fs::remove_dir_all(&bundle).with_context(|| format!("removing {}", bundle.display()))?;
    }
    let bin = bundle.join("bin");
    fs::create_dir_all(&bin)?;
    for (name, program) in programs(root)? {
        fs::copy(&program, bin.join(&name)).with_context(|| format!("copying {}", program.display()))?;
    }
    for (from, to) in DATA {
        copy_folder(&root.join(from), &bundle.join(to))?;
    }
    fs::write(bundle.join("run.sh"), RUN)?;
    println!("{} ({} MiB): copy it, then `bash run.sh`", bundle.display(), size(&bundle)? >> 20);
    Ok(())
}

/// All programs by name; tests as `test-<name>`.
fn programs(root: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["build", "--bins", "--examples", "--tests", "--profile", "bundle"]);
    command.args(PACKAGES.iter().flat_map(|package| ["-p", package])).arg("--message-format=json-render-diagnostics");
    let messages = output(command.stderr(Stdio::inherit()))?;
    let mut programs = Vec::new();
    for message in messages.lines() {
        let message: Value = serde_json::from_str(message).context("cargo prints a JSON object per line")?;
        let (Some(program), Some(name)) = (message["executable"].as_str(), message["target"]["name"].as_str()) else {
            continue;
        };
        let kind = message["target"]["kind"][0].as_str();
        match (message["profile"]["test"].as_bool(), kind) {
            (Some(false), _) => programs.push((name.into(), program.into())),
            (_, Some("test")) => programs.push((format!("test-{name}"), program.into())),
            _ if UNIT_TESTS.contains(&name) => programs.push((format!("test-{name}"), program.into())),
            // Unit tests of programs and of what needs no GPU.
            _ => {}
        }
    }
    ensure!(!programs.is_empty(), "cargo built no program");
    Ok(programs)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { size(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}
