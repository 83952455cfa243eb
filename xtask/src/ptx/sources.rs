//! What the PTX was made from, as one hash.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// The modules of kmeans-core that kernels use.
const CORE: [&str; 12] = [
    "amounts",
    "exact",
    "exact/streamed",
    "fixed",
    "launch",
    "launch/empty",
    "launch/seeding",
    "launch/silhouette",
    "launch/stream",
    "launch/table",
    "rng",
    "scalar",
];

/// The hash of all sources that kernels are compiled from. Comments and tests do not count, since they change nothing.
pub fn hash(root: &Path) -> Result<String> {
    let mut files: Vec<PathBuf> =
        CORE.iter().map(|m| PathBuf::from("kmeans-core/src").join(m).with_extension("rs")).collect();
    collect(root, Path::new("kmeans-kernels/src"), &mut files)?;
    hash_of(root, files)
}

/// The hash of the code in these files.
pub fn hash_of(root: &Path, mut files: Vec<PathBuf>) -> Result<String> {
    files.sort();
    let mut hasher = Sha256::new();
    for file in files {
        let text = fs::read_to_string(root.join(&file)).with_context(|| format!("reading {}", file.display()))?;
        hasher.update(file.to_string_lossy().as_bytes());
        for line in code(&text) {
            hasher.update(b"\n");
            hasher.update(line.as_bytes());
        }
    }
    Ok(hex(&hasher.finalize()))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The lines of a file that are code, up to its tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"))
}

/// Files that include what is compiled.
const HOST_ONLY: [&str; 2] = ["src/ptx.rs", "src/cubin.rs"];

/// All Rust files under `folder` that the GPU's compiler reads: neither the emulator nor what includes the PTX.
pub fn collect(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(root.join(folder)).with_context(|| format!("reading {}", folder.display()))? {
        let path = folder.join(entry?.file_name());
        if root.join(&path).is_dir() {
            if !path.ends_with("device/emulated") {
                collect(root, &path, files)?;
            }
        } else if path.extension().is_some_and(|e| e == "rs") && !HOST_ONLY.iter().any(|file| path.ends_with(file)) {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_tests_do_not_count() {
        let text = "//! doc\nfn a() {\n    // why\n    b();\n}\n\n#[cfg(test)]\nmod tests { fn c() {} }\n";
        assert_eq!(code(text).collect::<Vec<_>>(), ["fn a() {", "b();", "}"]);
    }
}
