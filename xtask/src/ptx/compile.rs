//! Kernels to PTX, with rustc's own nvptx64 target.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::{TIERS, Tier, expected, output};

/// A compiler that can build `core` for the GPU.
pub struct Compiler {
    /// `rustc --version` and its LLVM's version.
    pub version: String,
    /// Its cargo.
    pub cargo: PathBuf,
    /// The compiler itself.
    pub rustc: PathBuf,
}

/// Of `core` only what it says of its functions, without code of its own: what a kernel uses of it is generic or inlined, and so compiled
/// into this crate. Code for it would take longer than a tier's kernels, and is never linked.
const CORE: &str = r#"profile.release.package.core.rustflags=["-Zno-codegen"]"#;

/// The compiler's flags for all crates.
///
/// MIR jump threading copies barriers into both arms of a branch, where they deadlock; loops over arrays in registers
/// must unroll whole, or the arrays land in memory.
const FLAGS: [&str; 2] = ["-Zmir-enable-passes=-JumpThreading", "-Cllvm-args=-unroll-threshold=4000"];

/// The flag that chooses the GPU.
fn cpu(tier: &Tier) -> String {
    format!("-Ctarget-cpu={}", tier.cpu)
}

/// The compiler's flags for a tier.
pub fn flags(tier: &Tier) -> String {
    format!("{} {}", cpu(tier), FLAGS.join(" "))
}

/// The PTX with each kernel's threads per block, and blocks per multiprocessor, which rustc cannot be told: an assembler that does
/// not know them may give a thread so many registers that no block fits.
fn with_threads(mut text: String, tier: &Tier) -> String {
    for kernel in tier.kernels {
        for name in expected::entries(kernel) {
            let start = text.find(&format!(".visible .entry {name}("));
            if let Some(body) = start.and_then(|start| Some(start + text[start..].find("\n{")? + 1)) {
                let resident = match kernel.resident {
                    0 => String::new(),
                    blocks => format!(".minnctapersm {blocks}\n"),
                };
                text.insert_str(body, &format!(".maxntid {}, 1, 1\n{resident}", kernel.block));
            }
        }
    }
    text
}

impl Compiler {
    /// Debian's compiler if it is installed, else rustup's nightly.
    pub fn find() -> Result<Self> {
        let debian = (PathBuf::from("/usr/bin/cargo"), PathBuf::from("/usr/bin/rustc"));
        let nightly = |tool| {
            let path = output(Command::new("rustup").args(["which", "--toolchain", "nightly", tool])).ok()?;
            Some(PathBuf::from(path.trim()))
        };
        let candidates = [Some(debian), nightly("cargo").zip(nightly("rustc"))];
        for (cargo, rustc) in candidates.into_iter().flatten() {
            let Ok(sysroot) = output(Command::new(&rustc).args(["--print", "sysroot"])) else { continue };
            let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/core");
            if cargo.exists() && library.exists() {
                let verbose = output(Command::new(&rustc).arg("-vV"))?;
                let llvm = verbose.lines().find(|l| l.starts_with("LLVM")).unwrap_or_default();
                let version = format!("{}, {llvm}", verbose.lines().next().unwrap_or_default());
                return Ok(Self { version, cargo, rustc });
            }
        }
        bail!(
            "no compiler with the sources of `core` here: apt-get install --no-install-recommends rustc-web cargo-web \
             rust-web-src, or rustup toolchain install nightly --component rust-src"
        )
    }

    /// The PTX of all tiers, in one folder, so that what kernels depend on is built once.
    pub fn compile_all(&self, root: &Path) -> Result<Vec<String>> {
        TIERS.iter().map(|tier| self.compile(root, tier)).collect()
    }

    fn compile(&self, root: &Path, tier: &Tier) -> Result<String> {
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("ptx");
        let ptx = target.join(tier.name).with_extension("s");
        // Always build this one crate anew: whether a file on disk is of this compiler and these flags is hard to know.
        self.cargo(root, &target, &["clean", "--quiet", "--release", "-p", "kmeans-kernels"], &[])?;
        let emit = format!("--emit=asm={}", ptx.display());
        let crate_alone = ["rustc", "--quiet", "--release", "--lib", "-p", "kmeans-kernels"];
        let and_core = ["-Zbuild-std=core", "-Zprofile-rustflags", "--config", CORE];
        let feature = tier.feature.map(|f| format!("--features={f}"));
        let build: Vec<&str> = crate_alone.into_iter().chain(and_core).chain(feature.as_deref()).collect();
        self.cargo(root, &target, &build, &["--", &emit, &cpu(tier)])?;
        let text = fs::read_to_string(&ptx).with_context(|| format!("reading {}", ptx.display()))?;
        // The crate has no other way to name where it was built.
        ensure!(!text.contains(&*root.to_string_lossy()), "the PTX names a folder of this machine");
        Ok(with_threads(text, tier))
    }

    fn cargo(&self, root: &Path, target: &Path, before: &[&str], after: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.cargo);
        command
            .current_dir(root)
            .args(before)
            .args(["--target", "nvptx64-nvidia-cuda", "--target-dir"])
            .arg(target)
            .args(after)
            .stdout(Stdio::null())
            .env("RUSTC", &self.rustc)
            // Flags of the GPU target that are still unstable, with a compiler that need not be a nightly.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"))
            // One module, without the positions in the sources that the host's builds carry.
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
            // Set by the cargo that runs xtask, for its own toolchain.
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("RUSTFLAGS");
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_PKG_")) {
            command.env_remove(name);
        }
        ensure!(command.status().with_context(|| format!("starting {command:?}"))?.success(), "{command:?} failed");
        Ok(())
    }
}
