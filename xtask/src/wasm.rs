//! The committed WebAssembly module of the page of `kmeans trace`: making it and checking it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::ptx::compile::Compiler;
use crate::ptx::sources::{collect, hash_of};

const CRATE: &str = "kmeans-trace";
const MODULE: &str = "kmeans-trace/wasm/kmeans_trace.wasm";
/// What the module was made by and from: a module has no comments.
const NOTE: &str = "kmeans-trace/wasm/made_from.txt";
const FLAGS: [&str; 4] = [
    "-Clinker=wasm-ld-19",
    // A panic is a trap: no messages, and so no names of folders of the machine that built it.
    "-Zunstable-options",
    "-Cpanic=immediate-abort",
    "-Cstrip=symbols",
];

/// `cargo xtask wasm`.
pub fn write(root: &Path) -> Result<()> {
    let compiler = Compiler::find()?;
    let module = compile(&compiler, root)?;
    fs::create_dir_all(root.join(MODULE).parent().context("a folder")?)?;
    fs::write(root.join(MODULE), &module)?;
    fs::write(root.join(NOTE), note(&compiler.version, &sources(root)?))?;
    println!("{MODULE}: {} KiB", module.len() / 1024);
    Ok(())
}

/// `cargo xtask check-wasm`.
pub fn check(root: &Path) -> Result<()> {
    let read = |name| fs::read(root.join(name)).with_context(|| format!("{name} is missing: run `cargo xtask wasm`"));
    let module = read(MODULE)?;
    let found = String::from_utf8(read(NOTE)?)?;
    let made_by = found.lines().find_map(|l| l.strip_prefix("compiler: ")).unwrap_or("?");
    ensure!(
        found == note(made_by, &sources(root)?),
        "sources or flags of {MODULE} changed since it was made: run `cargo xtask wasm`"
    );
    match Compiler::find() {
        Ok(compiler) if compiler.version == made_by => {
            ensure!(compile(&compiler, root)? == module, "a rebuild of {MODULE} is different: run `cargo xtask wasm`");
            println!("{MODULE}: rebuilt with {made_by}: the same");
        }
        _ => println!("{MODULE}: not rebuilt, since {made_by} is not here"),
    }
    Ok(())
}

fn note(compiler: &str, sources: &str) -> String {
    format!(
        "kmeans_trace.wasm, made by `cargo xtask wasm`; do not edit.\ncompiler: {compiler}\nflags: {}\nsources: sha256 {sources}\n",
        FLAGS.join(" ")
    )
}

/// The hash of what the page runs: all of kmeans-core but the launch contract, and kmeans-trace.
fn sources(root: &Path) -> Result<String> {
    let mut files = Vec::new();
    collect(root, Path::new("kmeans-core/src"), &mut files)?;
    files.retain(|file| !file.starts_with("kmeans-core/src/launch") && !file.ends_with("launch.rs"));
    collect(root, Path::new("kmeans-trace/src"), &mut files)?;
    hash_of(root, files)
}

fn compile(compiler: &Compiler, root: &Path) -> Result<Vec<u8>> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("wasm");
    let built = target.join("wasm32-unknown-unknown/release/kmeans_trace.wasm");
    let cargo = |arguments: &[&str], after: &[&str]| -> Result<()> {
        let mut command = Command::new(&compiler.cargo);
        command
            .current_dir(root)
            .args(arguments)
            .args(["--target", "wasm32-unknown-unknown", "--target-dir"])
            .arg(&target)
            .args(after)
            .stdout(Stdio::null())
            .env("RUSTC", &compiler.rustc)
            // Flags that are still unstable, with a compiler that need not be a nightly.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"))
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
            .env("CARGO_PROFILE_RELEASE_LTO", "fat")
            // Set by the cargo that runs xtask, for its own toolchain.
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("RUSTFLAGS");
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_PKG_")) {
            command.env_remove(name);
        }
        ensure!(command.status().with_context(|| format!("starting {command:?}"))?.success(), "{command:?} failed");
        Ok(())
    };
    // Whether a file on disk is of this compiler and these flags is hard to know: build this one crate anew.
    cargo(&["clean", "--quiet", "--release", "-p", CRATE], &[])?;
    let build =
        ["rustc", "--quiet", "--release", "--lib", "-p", CRATE, "--crate-type=cdylib", "-Zbuild-std=core,alloc"];
    cargo(&build, &[])?;
    let module = fs::read(&built).with_context(|| format!("reading {}", built.display()))?;
    let root = root.to_string_lossy();
    ensure!(!module.windows(root.len()).any(|w| w == root.as_bytes()), "the module names a folder of this machine");
    Ok(module)
}
