//! Machine code beside the PTX, for GPUs on which the driver's compiler is too slow.

use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::{env, fs, thread};

use anyhow::{Context, Result};
use kmeans_kernels::cubin::archive;
use kmeans_kernels::ptx::modules;
use sha2::{Digest, Sha256};

use super::sources::hex;
use super::{TIERS, output, ptxas};

/// The archive's path below the root.
const PATH: &str = "kmeans-kernels/cubin/sm_90.bin";

/// Assembles every kernel for compute capability 9.0. Without an assembler the archive stays as it is.
pub fn write(root: &Path) -> Result<()> {
    let Some(assembler) = ptxas::find(root) else {
        println!("no machine code made, since there is no ptxas here: {PATH} is out of date");
        return Ok(());
    };
    let mut texts = Vec::new();
    for tier in TIERS {
        let text = fs::read_to_string(tier.path(root))?;
        // Only code for sm_90a may use Hopper's own instructions; all of it runs there.
        let named = modules(&text).filter(|(name, _)| !name.starts_with('_'));
        texts.extend(named.map(|(name, module)| (name.to_string(), module())));
    }
    // An assembler uses one core.
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let assembled = thread::scope(|scope| {
        let parts = texts.chunks(texts.len().div_ceil(workers).max(1));
        let running: Vec<_> = parts.map(|part| scope.spawn(|| assemble(&assembler, part))).collect();
        running.into_iter().map(|part| part.join().expect("no panic in it")).collect::<Result<Vec<_>>>()
    })?;
    let assembled: Vec<_> = assembled.into_iter().flatten().collect();
    let version = output(Command::new(&assembler).arg("--version"))?;
    let version = version.lines().rfind(|line| line.starts_with("Build")).unwrap_or("?");
    let data = archive(&format!("{}\n// ptxas: {version}", stamp(root)?), &assembled);
    let path = root.join(PATH);
    fs::create_dir_all(path.parent().context("a folder")?)?;
    fs::write(&path, &data)?;
    println!("machine code for sm_90a: {} kernels, {} KiB", assembled.len(), data.len() / 1024);
    Ok(())
}

/// The names and machine code of some kernels.
fn assemble(assembler: &Path, texts: &[(String, String)]) -> Result<Vec<(String, Vec<u8>)>> {
    let Some((first, _)) = texts.first() else { return Ok(Vec::new()) };
    let folder = env::temp_dir().join(format!("kmeans-cubin-{}-{first}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let (source, target) = (folder.join("module.ptx"), folder.join("module.cubin"));
    let mut assembled = Vec::new();
    for (name, text) in texts {
        fs::write(&source, text)?;
        let mut command = Command::new(assembler);
        output(command.arg("-arch=sm_90a").arg("-o").arg(&target).arg(&source))
            .with_context(|| format!("assembling {name}"))?;
        assembled.push((name.clone(), fs::read(&target)?));
    }
    fs::remove_dir_all(&folder)?;
    Ok(assembled)
}

/// Returns a fault if the archive was made of other PTX than is there.
pub fn check(root: &Path) -> Result<Option<String>> {
    let data = fs::read(root.join(PATH)).with_context(|| format!("{PATH} is missing: run `cargo xtask ptx`"))?;
    let current = data.starts_with(stamp(root)?.as_bytes());
    println!("machine code for sm_90a: {}", if current { "made of this PTX" } else { "out of date" });
    Ok((!current).then(|| format!("{PATH}: made of other PTX: run `cargo xtask ptx` where there is a ptxas")))
}

/// What the archive begins with.
fn stamp(root: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    for tier in TIERS {
        hash.update(fs::read(tier.path(root))?);
    }
    let hash = hex(&hash.finalize());
    Ok(format!("// kmeans-kernels for sm_90a. Made by `cargo xtask ptx`; do not edit.\n// ptx: sha256 {hash}"))
}
