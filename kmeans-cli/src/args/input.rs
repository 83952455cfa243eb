//! The options of a file of points.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use kmeans_files::{Columns, ElementType, Format, Header, IndexColumn};

/// A file of points.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Input")]
pub struct Input {
    /// The points: text, CSV, .npy, .fvecs, .bvecs, .ivecs or Parquet; - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,

    /// Format of the file [default: by its name, else by its content]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<InputFormat>,

    /// Columns to use, by number from 1, range or name, such as 2,4-6,width [default: all]
    #[arg(long, value_name = "COLUMNS")]
    pub columns: Option<Columns>,

    /// The first column of text or CSV is an index: leave it out
    #[arg(long, conflicts_with = "columns")]
    pub index_column: bool,

    /// Whether CSV begins with the names of its columns; auto: if its first row has no number
    #[arg(long, value_enum, value_name = "WHETHER", default_value_t = HeaderArg::Auto)]
    pub header: HeaderArg,

    /// What separates the fields of CSV: one character, or tab [default: , or ; as the first line has it]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<u8>,

    /// Type to compute with [default: the file's own; f64 for decimal numbers]
    #[arg(long = "type", value_name = "TYPE", value_parser = element())]
    pub element: Option<ElementType>,

    /// Read the file into memory instead of mapping it; needed if another program may change it meanwhile
    #[arg(long)]
    pub no_map: bool,
}

impl Input {
    /// Whether the first column is an index.
    pub fn index(&self) -> IndexColumn {
        if self.index_column { IndexColumn::Yes } else { IndexColumn::No }
    }
}

/// [`Format`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    Text,
    Csv,
    Npy,
    Fvecs,
    Bvecs,
    Ivecs,
    Parquet,
}

impl From<InputFormat> for Format {
    fn from(format: InputFormat) -> Self {
        match format {
            InputFormat::Text => Self::Text,
            InputFormat::Csv => Self::Csv,
            InputFormat::Npy => Self::Npy,
            InputFormat::Fvecs => Self::Fvecs,
            InputFormat::Bvecs => Self::Bvecs,
            InputFormat::Ivecs => Self::Ivecs,
            InputFormat::Parquet => Self::Parquet,
        }
    }
}

/// [`Header`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HeaderArg {
    Auto,
    Yes,
    No,
}

impl From<HeaderArg> for Header {
    fn from(header: HeaderArg) -> Self {
        match header {
            HeaderArg::Auto => Self::Auto,
            HeaderArg::Yes => Self::Yes,
            HeaderArg::No => Self::No,
        }
    }
}

fn element() -> impl TypedValueParser<Value = ElementType> {
    PossibleValuesParser::new(["f16", "bf16", "f32", "f64"]).try_map(|name| name.parse())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if text == "tab" || text == "\\t" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] => Err("a quote or a line end separates no fields".into()),
        [byte] => Ok(*byte),
        _ => Err("give one ASCII character, or tab".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_one_byte() {
        assert_eq!(delimiter("tab"), Ok(b'\t'));
        assert_eq!(delimiter("|"), Ok(b'|'));
        assert!(["", "ab", "\"", "\n", "é"].iter().all(|text| delimiter(text).is_err()));
    }
}
