//! The bytes of a file: mapped where that can be, else read.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use crate::Error;

/// The bytes of an input. Clones share them.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    Read(Arc<Vec<u8>>),
    Mapped(Arc<memmap2::Mmap>),
}

impl Bytes {
    /// The bytes of a file, or of the standard input if the path is `-`. Only a regular file can be mapped.
    pub fn open(path: &Path, name: &str, map: bool) -> Result<Self, Error> {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map_err(|e| Error::io(name, "read the standard input", e))?;
            return Ok(Self::Read(Arc::new(bytes)));
        }
        let mut file = File::open(path).map_err(|e| Error::io(name, "open the file", e))?;
        let metadata = file.metadata().map_err(|e| Error::io(name, "look at the file", e))?;
        if metadata.is_dir() {
            return Err(Error::io(name, "open the file", io::ErrorKind::IsADirectory.into()));
        }
        if map && metadata.is_file() && metadata.len() > 0 {
            return Ok(Self::Mapped(Arc::new(map_file(&file).map_err(|e| Error::io(name, "map the file", e))?)));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|e| Error::io(name, "read the file", e))?;
        Ok(Self::Read(Arc::new(bytes)))
    }
}

/// The file's bytes as memory.
#[allow(unsafe_code)]
fn map_file(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the map is read-only and private to this process, and lives as long as what is made from it. What nobody can promise
    // is that no other program writes to the file meanwhile. The bytes are only ever read as numbers and text, for which every
    // bit pattern is valid, and every index is checked, so that a change gives wrong values and no wild access; a file cut
    // short ends the process with SIGBUS. `Options::map` turns mapping off, and its documentation says so.
    unsafe { memmap2::Mmap::map(file) }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}
