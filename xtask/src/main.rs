//! Tasks for people who work on the project: `cargo xtask help`.

mod bundle;
mod ptx;
mod wasm;

use std::path::Path;

use anyhow::{Context, Result};
use clap::Parser;

/// Tasks for people who work on the project.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Compile the GPU kernels to kmeans-kernels/ptx, one file per tier.
    ///
    /// Needs a compiler with the nvptx64-nvidia-cuda target and the sources of `core`: Debian's packages rustc-web,
    /// cargo-web and rust-web-src, or a rustup nightly with the component rust-src.
    Ptx,
    /// Check the committed PTX: up to date with the sources, as the launch contract says, no surprises inside.
    ///
    /// Rebuilds and compares where the compiler that made it is present. Runs `ptxas` where there is one: set PTXAS, or
    /// have it on PATH, or in a virtual environment `.venv` at the root (pip install nvidia-cuda-nvcc). Without one it
    /// says so, and fails only if `KMEANS_REQUIRE_PTXAS=1`.
    CheckPtx,
    /// Compile the module of the page of `kmeans trace` to kmeans-trace/wasm.
    ///
    /// Needs what `ptx` needs, and the linker wasm-ld: Debian's package lld-19.
    Wasm,
    /// Check the committed module of the page: up to date with the sources, and the same when it is rebuilt.
    CheckWasm,
    /// Build tests, benchmarks and examples into one folder, for a machine with a GPU and without Rust.
    ///
    /// Writes target/gpu-bundle: programs, the data they read, and `run.sh`, which says what it can do.
    Bundle {
        /// Also the test of device buffers of the crate `cust`, linked against a stand-in for the driver.
        #[arg(long)]
        cust: bool,
    },
}

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;
    match Task::parse() {
        Task::Ptx => ptx::write(root),
        Task::CheckPtx => ptx::check(root),
        Task::Wasm => wasm::write(root),
        Task::CheckWasm => wasm::check(root),
        Task::Bundle { cust } => bundle::write(root, cust),
    }
}
