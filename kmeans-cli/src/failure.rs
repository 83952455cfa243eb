//! How the program ends: what went wrong, what to do about it, and the exit code.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::process::ExitCode;

use kmeans_files::Fault;
use thiserror::Error;

use crate::interrupt;

/// A command that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// All of it.
    Whole,
    /// Until Ctrl-C: the best result so far was written.
    Interrupted,
}

/// A command that did not.
#[derive(Debug, Error)]
pub enum Failure {
    /// The command line asks for what cannot be, in a way that its parser cannot know.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to do.
        help: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] kmeans_files::Error),
    /// The points of this file cannot be clustered as asked.
    #[error("{file}: {error}")]
    Points {
        /// The file.
        file: String,
        /// The library's answer.
        error: kmeans_host::Error,
    },
    /// An image file is none, or not a sound one.
    #[error("{file}: the image cannot be read: {reason}")]
    Image {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that is not of points cannot be opened.
    #[error("{file}: cannot open the file: {error}")]
    Open {
        /// The file.
        file: String,
        /// The system's answer.
        error: io::Error,
    },
    /// A model file is none.
    #[error("{file}: this is not a model that `kmeans fit --model` saved: {what}")]
    Model {
        /// The file.
        file: String,
        /// What is wrong with it.
        what: String,
    },
    /// Something other than a file fails to be written or set up.
    #[error("cannot {action}: {error}")]
    System {
        /// What was tried.
        action: &'static str,
        /// The system's answer.
        error: io::Error,
    },
    /// Two computations that must agree do not.
    #[error("{0}: this is a bug in this program; nothing was written")]
    Bug(String),
    /// Ctrl-C, before there was anything to write.
    #[error("interrupted before there was a result: nothing was written")]
    Interrupted,
}

impl Failure {
    /// A wrong command line.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: help.into() }
    }

    /// What the library said about the points of a file.
    pub fn points(file: &str, error: kmeans_host::Error) -> Self {
        match error {
            kmeans_host::Error::Cancelled { .. } => Self::Interrupted,
            error => Self::Points { file: file.into(), error: counted_from_one(error) },
        }
    }

    /// What the library said about an image file.
    pub fn image(file: &str, error: kmeans_host::Error) -> Self {
        match error {
            kmeans_host::Error::ImageFile { reason, .. } => Self::Image { file: file.into(), reason },
            error => Self::points(file, error),
        }
    }

    /// The failure on standard error, and what to do about it where that can be known.
    pub fn tell(&self) {
        let mut text = format!("error: {self}\n");
        if let Some(help) = self.help() {
            text.extend([format!("help: {help}\n")]);
        }
        // With nowhere to write there is nobody to tell.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// 2 for the command line, as its parser has it, 130 after Ctrl-C, 1 for everything else.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage { .. } => ExitCode::from(2),
            Self::Interrupted => ExitCode::from(interrupt::EXIT_CODE),
            _ => ExitCode::FAILURE,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Usage { help, .. } => help,
            Self::File(error) => match &error.fault {
                Fault::NotANumber(_) | Fault::NotNumeric { .. } => {
                    "choose number columns with --columns; for a header that has numbers in it, --header yes"
                }
                Fault::Comma(_) => {
                    "write 1.5, not 1,5; where commas separate the values, say --format csv --delimiter ,"
                }
                Fault::UnknownFormat => "say it with --format (text, csv, npy, fvecs, bvecs, ivecs or parquet)",
                Fault::OnlyIndex | Fault::BadIndex(_) => "leave out --index-column if the first column is data",
                Fault::OptionUnused { .. } => "leave that option out, or name another --format",
                Fault::NotFinite { element: "f16" | "bf16" | "f32", .. } => {
                    "--type f64 holds larger numbers; drop rows with NaN or infinity"
                }
                Fault::NotFinite { .. } => "drop that row or replace the value",
                Fault::Ragged { .. } => "every row must have as many values as the first",
                _ => return None,
            },
            Self::Image { .. } => {
                "PNG and JPEG files can be read; convert others, and fetch files that are cut short again"
            }
            Self::Points { error: kmeans_host::Error::TreeInit { .. }, .. } => {
                "--init first, even, random-points, random-labels or k-means++"
            }
            Self::Points { error: kmeans_host::Error::EmptyKRange { .. }, .. } => {
                "a silhouette and its like compare at least two clusters, of fewer than there are points; an elbow needs three K"
            }
            Self::Points { error: kmeans_host::Error::NotWhitenable { .. }, .. } => {
                "--whiten 0.1 is enough unless all patches are the same"
            }
            Self::Points { error: kmeans_host::Error::Transparent, .. } => "--alpha carry clusters the colours beneath",
            Self::Points { error: kmeans_host::Error::NoDevice { .. }, .. } => "`kmeans devices` lists what there is",
            _ => return None,
        };
        Some(help.to_string())
    }
}

/// The same error for people who look at a file, whose rows and columns they count from 1.
fn counted_from_one(error: kmeans_host::Error) -> kmeans_host::Error {
    use kmeans_host::Error::{BadWeight, InitNotFinite, NonFinite, ValuesTooLarge};
    match error {
        NonFinite { row, column, value } => NonFinite { row: row + 1, column: column + 1, value },
        ValuesTooLarge { row, column, value, limit } => {
            ValuesTooLarge { row: row + 1, column: column + 1, value, limit }
        }
        InitNotFinite { row, column, value } => InitNotFinite { row: row + 1, column: column + 1, value },
        BadWeight { index, value } => BadWeight { index: index + 1, value },
        error => error,
    }
}

/// Writes to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    print_with(|out| out.write_all(text.as_bytes()))
}

/// Lets `write` write to standard output; whoever closed it, such as `head`, has seen enough.
pub fn print_with(write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::System { action: "write to standard output", error })
        }
        _ => Ok(()),
    }
}
