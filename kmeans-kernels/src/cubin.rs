//! Machine code of the kernels, for GPUs on which waiting for the driver's compiler was measured: a module takes it 20 to 100
//! milliseconds, and a fit needs a dozen. Every other GPU compiles the PTX.
//!
//! An archive is text, then data: comments, a line `name offset length` per kernel, an empty line, and the kernels, each
//! compressed by itself.

use std::fmt::Write;

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec;

/// Archives, and the compute capability of the GPUs that each is for.
const ARCHIVES: [((i32, i32), &[u8]); 1] = [((9, 0), include_bytes!("../cubin/sm_90.bin"))];

/// What parts the text of an archive from its data.
const END_OF_TEXT: &[u8] = b"\n\n";

/// The module of the entry point `name` as machine code, if there is one for GPUs of this compute capability. A driver
/// older than the assembler may refuse it: then take the PTX.
pub fn entry(name: &str, capability: (i32, i32)) -> Option<Vec<u8>> {
    let (_, archive) = ARCHIVES.iter().find(|(of, _)| *of == capability)?;
    let end = archive.windows(END_OF_TEXT.len()).position(|window| window == END_OF_TEXT)?;
    let (text, data) = (std::str::from_utf8(&archive[..end]).ok()?, &archive[end + END_OF_TEXT.len()..]);
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    let (offset, length) = line.split_once(' ')?;
    let offset: usize = offset.parse().ok()?;
    decompress_to_vec(data.get(offset..offset + length.parse::<usize>().ok()?)?).ok()
}

/// An archive of `modules`, by name, that begins with `comments`: lines, none of them empty.
pub fn archive(comments: &str, modules: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (mut text, mut data) = (comments.trim_end().to_string(), Vec::new());
    for (name, module) in modules {
        let compressed = compress_to_vec(module, 9);
        // Writing to a string does not fail.
        let _ = write!(text, "\n{name} {} {}", data.len(), compressed.len());
        data.extend(compressed);
    }
    [text.as_bytes(), END_OF_TEXT, &data].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kmeans_core::launch::{AMPERE_KERNELS, HOPPER_KERNELS, KERNELS};

    #[test]
    fn every_kernel_of_the_contract_is_there() {
        for kernel in KERNELS.iter().chain(AMPERE_KERNELS).chain(HOPPER_KERNELS) {
            let first = kernel.types.first().map_or(kernel.name.to_string(), |t| format!("{}_{t}", kernel.name));
            let module = entry(&first, (9, 0)).unwrap_or_default();
            assert_eq!(module.get(..4), Some(&b"\x7fELF"[..]), "{first}");
        }
        assert_eq!(entry("nothing", (9, 0)), None);
        assert_eq!(entry("count_global", (7, 5)), None);
    }
}
