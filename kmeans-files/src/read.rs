//! Reading points from a file or from bytes: options, format, and what comes out.

use std::path::Path;

use crate::bytes::Bytes;
use crate::{Columns, ElementType, Error, Fault, Format, Pick, Points, csv, npy, parquet, text, vecs};

/// How a file is read. The default reads everything, as its name and content say.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format; if not given, by the file's name, else by its content.
    pub format: Option<Format>,
    /// The element type; if not given, that of the file, and `f64` for decimal numbers.
    pub element: Option<ElementType>,
    /// The columns to use; if not given, all. An index column is then one that is not chosen.
    pub columns: Option<Columns>,
    /// The names of the columns to use if none are asked for and the file has all of these names.
    pub prefer: Option<Vec<String>>,
    /// Whether text and CSV begin with an index column, which is left out.
    pub index: IndexColumn,
    /// Whether CSV begins with a header.
    pub header: Header,
    /// What separates the fields of CSV; if not given, a comma, a semicolon if the first line has one, a tab if the name ends in `.tsv`.
    pub delimiter: Option<u8>,
    /// Whether a file may be mapped into memory instead of being read. A mapped file must not change until the points are
    /// dropped: values would change under the algorithm, and if it gets shorter the system ends the process.
    pub map: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: None,
            element: None,
            columns: None,
            prefer: None,
            index: IndexColumn::No,
            header: Header::Auto,
            delimiter: None,
            map: true,
        }
    }
}

impl Options {
    /// The columns asked for, or those preferred if the file has them.
    pub(crate) fn columns_among(&self, names: Option<&[String]>) -> Option<Columns> {
        let all_there = |wanted: &&Vec<String>| names.is_some_and(|names| wanted.iter().all(|w| names.contains(w)));
        let preferred = || self.prefer.as_ref().filter(all_there);
        let by_name = |names: &Vec<String>| Columns(names.iter().cloned().map(Pick::Name).collect());
        self.columns.clone().or_else(|| preferred().map(by_name))
    }
}

/// Whether the first column is an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexColumn {
    /// No: it is data.
    No,
    /// Yes: whole numbers, left out.
    Yes,
    /// If the first row has one value more than this.
    IfMoreThan(usize),
}

impl IndexColumn {
    /// Whether rows of `fields` values begin with an index.
    pub(crate) fn leads(self, fields: usize) -> bool {
        match self {
            Self::No => false,
            Self::Yes => true,
            Self::IfMoreThan(d) => fields == d + 1,
        }
    }
}

/// Whether a CSV file begins with the names of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// If no field of the first row is a number, or if columns are asked for by name.
    Auto,
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// What a file holds.
#[derive(Debug)]
pub struct Table {
    /// The points.
    pub points: Points,
    /// The names of the points' columns, if the file gives names.
    pub columns: Option<Vec<String>>,
    /// The format it was read as.
    pub format: Format,
    /// What is right but may surprise, such as a column that looks like an index.
    pub remarks: Vec<String>,
}

/// Reads the points in a file; `-` is the standard input.
///
/// # Errors
/// An [`Error`] that names the file, the place in it and the fault.
pub fn read(path: &Path, options: &Options) -> Result<Table, Error> {
    let name = if path == Path::new("-") { "standard input".into() } else { path.display().to_string() };
    let bytes = Bytes::open(path, &name, options.map)?;
    let mut options = options.clone();
    options.format = options.format.or_else(|| Format::of_path(path));
    if options.delimiter.is_none() && path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tsv")) {
        options.delimiter = Some(b'\t');
    }
    table(bytes, &options).map_err(|e| e.in_file(&name))
}

/// Reads the points in these bytes.
///
/// # Errors
/// An [`Error`] that names the place and the fault.
pub fn parse(bytes: &[u8], options: &Options) -> Result<Table, Error> {
    table(Bytes::Read(std::sync::Arc::new(bytes.to_vec())), options)
}

fn table(bytes: Bytes, options: &Options) -> Result<Table, Error> {
    if bytes.is_empty() {
        return Err(Fault::Empty.into());
    }
    let format = options.format.or_else(|| Format::of_content(&bytes)).ok_or(Fault::UnknownFormat)?;
    let unused = |option| Fault::OptionUnused { option, format: format.name() };
    if !matches!(format, Format::Csv) {
        if options.header != Header::Auto {
            return Err(unused("a header").into());
        }
        if options.delimiter.is_some_and(|d| d != b'\t') {
            return Err(unused("a delimiter").into());
        }
    }
    if options.index == IndexColumn::Yes && !matches!(format, Format::Csv | Format::Text) {
        return Err(unused("an index column").into());
    }
    match format {
        Format::Text => text::read(&bytes, options),
        Format::Csv => csv::read(&bytes, options),
        Format::Npy => chosen(npy::read(bytes)?, format, options),
        Format::Fvecs | Format::Bvecs | Format::Ivecs => chosen(vecs::read(&bytes, format)?, format, options),
        Format::Parquet => parquet::read(bytes, options),
    }
}

/// The columns and the element type asked for, of a file that is read whole.
fn chosen(points: Points, format: Format, options: &Options) -> Result<Table, Error> {
    let points = match &options.columns {
        Some(columns) => points.select(&columns.resolve(points.dim().1, None)?),
        None => points,
    };
    Ok(Table { points: typed(points, options)?, columns: None, format, remarks: Vec::new() })
}

/// The points in the element type asked for. Finite values that have no finite counterpart are an error; NaN and infinity
/// of the file are left for whoever checks the points.
pub(crate) fn typed(points: Points, options: &Options) -> Result<Points, Error> {
    let Some(element) = options.element.filter(|&e| e != points.element()) else { return Ok(points) };
    let before = points.into_element(ElementType::F64);
    let Points::F64(exact) = &before else { unreachable!("just converted") };
    let limit = match element {
        ElementType::F16 => 65_520.0,
        ElementType::Bf16 => f64::from(half::bf16::MAX) * (1.0 + 1.0 / 512.0),
        ElementType::F32 => f64::from(f32::MAX) * (1.0 + f64::from(f32::EPSILON) / 4.0),
        ElementType::F64 => f64::INFINITY,
    };
    // NaN is not less than the limit either, but is not the conversion's fault.
    let lost = exact.view().indexed_iter().find(|(_, v)| v.is_finite() && v.abs() >= limit).map(|(at, v)| (at, *v));
    if let Some(((row, column), value)) = lost {
        let place = crate::Place::Cell { row: row as u64, column: column as u64 };
        return Err(Fault::NotFinite { text: format!("{value:e}"), element: element.name() }.at(place));
    }
    Ok(before.into_element(element))
}
