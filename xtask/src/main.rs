//! Tasks for people who work on the project: `cargo xtask help`.

mod bundle;
mod ptx;

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
        Task::Bundle { cust } => bundle::write(root, cust),
    }
}
