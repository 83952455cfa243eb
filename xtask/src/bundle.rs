//! A folder with all programs that a GPU machine without Rust needs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::ptx::output;

/// What runs there.
const RUN: &str = include_str!("bundle/run.sh");

/// The packages whose programs and tests go along. One call of cargo builds them, so that what they share is built once.
const WHAT: &[&str] = &[
    "-pkmeans-host",
    "-pkmeans-cli",
    "-pkmeans-tests",
    "-pkmeans-benches",
    "-pkmeans-examples",
    "--bins",
    "--examples",
    "--tests",
    "--profile=bundle",
    "--message-format=json-render-diagnostics",
];

/// Packages whose unit tests are for a GPU too.
const UNIT_TESTS: [&str; 1] = ["kmeans_host"];

/// The package whose tests are not: they run where they were built.
const NO_TESTS: &str = "kmeans-cli/Cargo.toml";

/// Folders of data, and where they go.
const DATA: [(&str, &str); 3] =
    [("tests/data", "data"), ("examples/data", "examples-data"), ("benches/peers", "peers")];

/// Builds everything and writes target/gpu-bundle.
pub fn write(root: &Path, cust: bool) -> Result<()> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let bundle = target.join("gpu-bundle");
    if bundle.exists() {
        fs::remove_dir_all(&bundle).with_context(|| format!("removing {}", bundle.display()))?;
    }
    let bin = bundle.join("bin");
    fs::create_dir_all(&bin)?;
    let mut found = programs(Command::new(env!("CARGO")).arg("build").args(WHAT), root)?;
    if cust {
        found.extend(programs(&mut with_cust(&target)?, root)?);
    }
    for (name, program) in found {
        fs::copy(&program, bin.join(&name)).with_context(|| format!("copying {}", program.display()))?;
    }
    for (from, to) in DATA {
        copy_folder(&root.join(from), &bundle.join(to))?;
    }
    fs::write(bundle.join("run.sh"), RUN)?;
    println!("{} ({} MiB): copy it, then `bash run.sh`", bundle.display(), size(&bundle)? >> 20);
    Ok(())
}

/// The call of cargo that builds the test with the crate `cust`.
///
/// That crate links the driver, which is not here: a library of the same name and without content stands in for it.
fn with_cust(target: &Path) -> Result<Command> {
    let folder = target.join("driver-stand-in");
    fs::create_dir_all(folder.join("lib64"))?;
    let library = folder.join("lib64/libcuda.so");
    let flags = ["-shared", "-Wl,-soname,libcuda.so.1", "-x", "c", "/dev/null", "-o"];
    output(Command::new("cc").args(flags).arg(&library)).context("making a stand-in for the driver")?;
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["rustc", "-p", "kmeans-tests", "--features", "cust", "--test", "cust", "--profile", "bundle"])
        .arg("--message-format=json-render-diagnostics")
        .args(["--", "-Clink-arg=-Wl,--no-as-needed", "-Clink-arg=-lcuda"])
        .arg("-Clink-arg=-Wl,--unresolved-symbols=ignore-all")
        .env("CUDA_LIBRARY_PATH", folder);
    Ok(command)
}

/// The programs that a call of cargo builds, by name; tests as `test-<name>`.
fn programs(command: &mut Command, root: &Path) -> Result<Vec<(String, PathBuf)>> {
    command.current_dir(root);
    let messages = output(command.stderr(Stdio::inherit()))?;
    let mut programs = Vec::new();
    for message in messages.lines() {
        let message: Value = serde_json::from_str(message).context("cargo prints a JSON object per line")?;
        let (Some(program), Some(name)) = (message["executable"].as_str(), message["target"]["name"].as_str()) else {
            continue;
        };
        let kind = message["target"]["kind"][0].as_str();
        let has_tests = message["manifest_path"].as_str().is_none_or(|path| !Path::new(path).ends_with(NO_TESTS));
        match (message["profile"]["test"].as_bool(), kind) {
            (Some(false), _) => programs.push((name.into(), program.into())),
            (_, Some("test")) if has_tests => programs.push((format!("test-{name}"), program.into())),
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
