//! Points from the file that the command line names.

use kmeans_files::{ElementType, Format, Options, Points, Table};
use kmeans_host::Element;
use ndarray::ArrayView2;

use crate::args::{HeaderArg, Input};
use crate::failure::Failure;
use crate::watch::Watch;

/// An element type that can be both clustered and stored.
pub trait Real: Element + kmeans_files::Value {}

impl<T: Element + kmeans_files::Value> Real for T {}

impl Input {
    /// How messages call it.
    pub fn name(&self) -> String {
        if self.is_stdin() { "standard input".into() } else { self.input.display().to_string() }
    }

    /// Whether options say how to read it.
    pub fn is_described(&self) -> bool {
        let Self { format, columns, index_column, header, delimiter, element, .. } = self;
        let described = format.is_some() || columns.is_some() || delimiter.is_some() || element.is_some();
        described || *index_column || *header != HeaderArg::Auto
    }

    /// Whether it is the standard input.
    pub fn is_stdin(&self) -> bool {
        self.input.as_os_str() == "-"
    }

    /// Reads the points of a fit.
    pub fn read(&self, watch: &Watch) -> Result<Table, Failure> {
        let table = self.read_as(watch, self.element, None)?;
        let is_text = matches!(table.format, Format::Text | Format::Csv);
        let all = self.columns.is_none() && !self.index_column;
        if is_text && all && table.remarks.is_empty() && begins_with_count(&table.points) {
            notice(&format!(
                "{}: the first column counts the rows and is clustered like the others: --index-column leaves it out",
                self.name()
            ));
        }
        Ok(table)
    }

    /// Reads the points in this type, and in the columns of these names if the file has them and the command line chooses none.
    pub fn read_as(
        &self,
        watch: &Watch,
        element: Option<ElementType>,
        prefer: Option<Vec<String>>,
    ) -> Result<Table, Failure> {
        watch.say(format!("reading {}", self.name()));
        let options = Options {
            format: self.format.map(Into::into),
            element,
            columns: self.columns.clone(),
            prefer,
            index: self.index(),
            header: self.header.into(),
            delimiter: self.delimiter,
            map: !self.no_map,
        };
        let table = kmeans_files::read(&self.input, &options)?;
        for remark in &table.remarks {
            notice(&format!("{}: {remark}", self.name()));
        }
        Ok(table)
    }
}

/// Whether the first of several columns is 0, 1, 2, … or 1, 2, 3, …, as an index is.
fn begins_with_count(points: &Points) -> bool {
    fn of<T: Real>(points: ArrayView2<'_, T>) -> bool {
        let (n, d) = points.dim();
        let first = points.column(0);
        let value = |i: usize| first[i].to_f64();
        n > 2 && d > 1 && (value(0) == 0.0 || value(0) == 1.0) && (1..n).all(|i| value(i) == value(0) + i as f64)
    }
    match points {
        Points::F16(m) => of(m.view()),
        Points::Bf16(m) => of(m.view()),
        Points::F32(m) => of(m.view()),
        Points::F64(m) => of(m.view()),
    }
}

/// Tells something that is no error on standard error.
pub fn notice(text: &str) {
    eprintln!("notice: {text}");
}
