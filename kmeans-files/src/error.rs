//! What can be wrong with a file: the file, the place in it, and the fault.

use std::fmt;
use std::io;

use thiserror::Error;

/// A file that cannot be read or written as asked.
#[derive(Debug, Error)]
#[error("{}{}{fault}", Prefix(file.as_ref()), Prefix(place.as_ref()))]
pub struct Error {
    /// The file's name as the caller gave it, if there is one.
    pub file: Option<String>,
    /// Where in the file.
    pub place: Option<Place>,
    /// What is wrong there.
    #[source]
    pub fault: Fault,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a text file, from 1.
    Line(u64),
    /// A field of a line, both from 1.
    Field {
        /// The line.
        line: u64,
        /// The field in it, whatever is left out counted too.
        column: u64,
    },
    /// An entry of a binary file's table, both from 0 as its users count.
    Cell {
        /// The row.
        row: u64,
        /// The column.
        column: u64,
    },
    /// A row of a binary file, from 0.
    Row(u64),
    /// A position in a binary file.
    Byte(u64),
}

/// What is wrong.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The system refused.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, such as "open the file".
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// No data at all.
    #[error("there are no points in it")]
    Empty,
    /// Bytes that no text file has.
    #[error("this is not text: {0}")]
    NotText(&'static str),
    /// A field that is no number.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// A number with a comma in it.
    #[error("`{0}` is not a number: the decimal separator is a point")]
    Comma(String),
    /// A missing value.
    #[error("there is no value: drop the row or fill it in")]
    Missing,
    /// NaN or infinity, or a number that is infinite in the type asked for.
    #[error("the value {text} is not finite as {element}: every value must be")]
    NotFinite {
        /// As the file has it.
        text: String,
        /// The type it was read as.
        element: &'static str,
    },
    /// A row of another length than the first.
    #[error("{found} value{} but the first row has {expected}", if *found == 1 { "" } else { "s" })]
    Ragged {
        /// Values in this row.
        found: u64,
        /// Values in the first row.
        expected: u64,
    },
    /// The first column should be an index.
    #[error("the index `{0}` is not a whole number")]
    BadIndex(String),
    /// A row of nothing but an index.
    #[error("there is an index column but no other")]
    OnlyIndex,
    /// A column asked for by a number that the file does not have.
    #[error("column {wanted} is asked for, but there are {have}")]
    NoSuchColumn {
        /// As asked.
        wanted: u64,
        /// Columns of the file.
        have: u64,
    },
    /// A column asked for by a name that the file does not have.
    #[error("no column is named `{name}`{}", Known(known))]
    NoSuchName {
        /// As asked.
        name: String,
        /// Names that there are.
        known: Vec<String>,
    },
    /// Two columns of the same name, one of them asked for.
    #[error("more than one column is named `{0}`: ask for it by number")]
    AmbiguousName(String),
    /// A column that is not made of numbers.
    #[error("column {number} (`{name}`) holds {holds}, not numbers")]
    NotNumeric {
        /// From 1.
        number: u64,
        /// Its name.
        name: String,
        /// What it holds, for people.
        holds: String,
    },
    /// An integer that no element type holds exactly.
    #[error("the integer {0} cannot be held exactly: f64 does so up to 2^53")]
    Inexact(i128),
    /// Fewer bytes than the file promises.
    #[error("the file is cut short: {expected} bytes are promised, {found} are there")]
    Truncated {
        /// Bytes promised.
        expected: u128,
        /// Bytes found.
        found: u64,
    },
    /// More bytes than the file promises.
    #[error("{0} bytes follow the end of the array")]
    TrailingBytes(u64),
    /// Values of a type that cannot be clustered.
    #[error("values of type {0} cannot be clustered: convert them to f16, f32, f64 or integers")]
    BadType(String),
    /// An array of another rank than one or two.
    #[error("the array has shape {0}: points are [n, d], or [n] for one column")]
    BadShape(String),
    /// A row length that cannot be.
    #[error("a row length of {0}: it must be at least 1; is this really such a file?")]
    BadLength(i64),
    /// Anything that a file of this format cannot be like.
    #[error("this is not a sound {format} file: {what}")]
    Malformed {
        /// The format.
        format: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The format must be named.
    #[error("the format cannot be told from the name or the content")]
    UnknownFormat,
    /// An option that this format has no use for.
    #[error("{option} has no meaning in {format} files")]
    OptionUnused {
        /// The option.
        option: &'static str,
        /// The format.
        format: &'static str,
    },
}

impl Fault {
    /// The error with its place.
    pub(crate) fn at(self, place: Place) -> Error {
        Error { file: None, place: Some(place), fault: self }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self { file: None, place: None, fault }
    }
}

impl Error {
    /// The system's refusal to do something with a file.
    pub(crate) fn io(file: &str, action: &'static str, source: io::Error) -> Self {
        Self::from(Fault::Io { action, source }).in_file(file)
    }

    /// The same error, said of this file.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.file.get_or_insert_with(|| file.into());
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Field { line, column } => write!(f, "line {line}, column {column}"),
            Self::Cell { row, column } => write!(f, "row {row}, column {column} (from 0)"),
            Self::Row(row) => write!(f, "row {row} (from 0)"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// "x: ", or nothing.
struct Prefix<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Prefix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |text| write!(f, "{text}: "))
    }
}

/// The first few names that there are.
struct Known<'a>(&'a [String]);

impl fmt::Display for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str(": there is no header"),
            names => {
                let more = if names.len() > 20 { ", …" } else { "" };
                write!(f, "; there are: {}{more}", names[..names.len().min(20)].join(", "))
            }
        }
    }
}

/// Bytes as an error shows them: short, on one line, whatever they are.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LONGEST)]);
    let mut shown = String::new();
    for c in text.chars().take(LONGEST) {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    if text.chars().count() > LONGEST || bytes.len() > 4 * LONGEST {
        shown.push('…');
    }
    shown
}
