//! What the PTX was made from, as one hash.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// The modules of kmeans-core that kernels use. What lies in a folder of the same name belongs to the module.
const CORE: [&str; 6] = ["amounts", "exact", "fixed", "launch", "rng", "scalar"];

/// The hash of all sources that kernels are compiled from. Comments and tests do not count, since they change nothing.
pub fn hash(root: &Path) -> Result<String> {
    hash_of(root, files(root)?)
}

/// The sources that kernels are compiled from.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for module in CORE {
        let folder = Path::new("kmeans-core/src").join(module);
        files.push(folder.with_extension("rs"));
        if root.join(&folder).is_dir() {
            collect(root, &folder, &mut files)?;
        }
    }
    collect(root, Path::new("kmeans-kernels/src"), &mut files)?;
    Ok(files)
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

    #[test]
    fn modules_that_sources_use_are_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for file in files(root).unwrap() {
            let text = fs::read_to_string(root.join(&file)).unwrap();
            let core = if file.starts_with("kmeans-core") { "crate::" } else { "kmeans_core::" };
            for line in code(&text) {
                for name in line.split(core).skip(1) {
                    let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                    // With a capital letter, it is a module's that the crate hands on.
                    let known = name.starts_with(char::is_uppercase) || CORE.contains(&name);
                    assert!(known, "{}: {line}", file.display());
                }
            }
        }
    }
}
