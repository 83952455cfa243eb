//! Points from the file that the command line names.

use kmeans_files::{Columns, ElementType, Options, Table};
use kmeans_host::Element;

use crate::args::Input;
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

    /// Whether it is the standard input.
    pub fn is_stdin(&self) -> bool {
        self.input.as_os_str() == "-"
    }

    /// Reads the points.
    pub fn read(&self, watch: &Watch) -> Result<Table, Failure> {
        self.read_as(watch, self.element, self.columns.clone())
    }

    /// Reads the points in this type and these columns, whatever the command line says.
    pub fn read_as(
        &self,
        watch: &Watch,
        element: Option<ElementType>,
        columns: Option<Columns>,
    ) -> Result<Table, Failure> {
        watch.say(format!("reading {}", self.name()));
        let options = Options {
            format: self.format.map(Into::into),
            element,
            columns,
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

/// Tells something that is no error on standard error.
pub fn notice(text: &str) {
    eprintln!("notice: {text}");
}
