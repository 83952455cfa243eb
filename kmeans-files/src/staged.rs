//! Output files that are there whole or not at all: written to a temporary file beside their place, then renamed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::{Builder, TempPath};

use crate::Error;

/// The temporary files there are, for a program that has to end at once.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes the temporary files of all outputs that are not finished. For a program about to end without unwinding; what is
/// written afterwards fails.
pub fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // The program ends: there is nobody to tell, and nothing more to try.
        let _ = fs::remove_file(path);
    }
}

/// A file being written. Dropped before [`finish`](Self::finish), it leaves nothing.
#[derive(Debug)]
pub struct Staged {
    name: String,
    writer: BufWriter<File>,
    /// The temporary file and its place; none for what is no regular file, such as a pipe, which is written directly.
    rename: Option<(TempPath, PathBuf)>,
}

impl Staged {
    /// Makes sure that the file can be written, and begins. What is there under that name stays until the end.
    ///
    /// # Errors
    /// If its folder does not exist or may not be written to.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let fail = |e| Error::io(&name, "write the file", e);
        // Through symbolic links, so that it is their target that is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if let Ok(metadata) = fs::metadata(&target) {
            if metadata.is_dir() {
                return Err(fail(io::ErrorKind::IsADirectory.into()));
            }
            if !metadata.is_file() {
                let file = File::options().write(true).open(&target).map_err(fail)?;
                return Ok(Self { name, writer: BufWriter::new(file), rename: None });
            }
        }
        let folder = match target.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        // The system's own words for a folder that is not there; those of the temporary file would name that one.
        fs::metadata(folder).map_err(fail)?;
        let mut prefix = target.file_name().ok_or_else(|| fail(io::ErrorKind::InvalidInput.into()))?.to_os_string();
        prefix.push(".");
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".unfinished");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any new file: what the umask leaves of this.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let (file, temporary) = builder.tempfile_in(folder).map_err(|e| fail(e.kind().into()))?.into_parts();
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).insert(temporary.to_path_buf());
        Ok(Self { name, writer: BufWriter::with_capacity(1 << 18, file), rename: Some((temporary, target)) })
    }

    /// The name it was asked for by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The error of a write to this file.
    pub fn failed(&self, error: io::Error) -> Error {
        Error::io(&self.name, "write the file", error)
    }

    /// Writes the rest and puts the file in its place.
    ///
    /// # Errors
    /// If the system refuses, as when the disk is full; then nothing is changed.
    pub fn finish(self) -> Result<(), Error> {
        Self::finish_all(vec![self])
    }

    /// Finishes several files: none is put in its place before all are written.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_all(files: Vec<Self>) -> Result<(), Error> {
        let mut ready = Vec::new();
        for mut staged in files {
            let fail = |e| Error::io(&staged.name, "write the file", e);
            staged.writer.flush().map_err(fail)?;
            if staged.rename.is_some() {
                staged.writer.get_ref().sync_data().map_err(fail)?;
            }
            ready.push(staged);
        }
        for mut staged in ready {
            if let Some((temporary, target)) = staged.rename.take() {
                let unfinished = temporary.to_path_buf();
                let result = temporary.persist(&target);
                UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).remove(&unfinished);
                result.map_err(|e| Error::io(&staged.name, "put the file in its place", e.error))?;
            }
        }
        Ok(())
    }
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.rename {
            UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).remove(&temporary.to_path_buf());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_there_before_the_end_and_everything_after() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&a, "old").unwrap();
        let mut files = vec![Staged::create(&a).unwrap(), Staged::create(&b).unwrap()];
        files[0].write_all(b"new").unwrap();
        assert_eq!(fs::read(&a).unwrap(), b"old");
        assert!(!b.exists());
        Staged::finish_all(files).unwrap();
        assert_eq!(fs::read(&a).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a", "b"]);
    }

    #[test]
    fn what_is_dropped_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = Staged::create(&folder.path().join("a")).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_place_that_cannot_be_is_told_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("no/such/file");
        let message = Staged::create(&missing).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{}: cannot write the file", missing.display())), "{message}");
        assert!(Staged::create(folder.path()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_its_target_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let mut file = Staged::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
    }
}
