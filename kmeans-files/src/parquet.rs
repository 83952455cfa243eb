//! Parquet: columns of numbers, or one column of equally long lists, read without Arrow.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use half::f16;
use ndarray::Array2;
use parquet::basic::{LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::bytes::Bytes;
use crate::integers::exact;
use crate::read::typed;
use crate::{Error, Fault, Format, Matrix, Options, Place, Points, Table};

/// Rows read at once, so that a file that promises more than it holds costs no memory.
const BATCH: usize = 1 << 16;

/// Reads the columns asked for.
pub(crate) fn read(bytes: Bytes, options: &Options) -> Result<Table, Error> {
    // The Parquet crate answers some broken files with a panic.
    let result = without_panic_message(|| catch_unwind(AssertUnwindSafe(|| table(bytes, options))));
    result.unwrap_or_else(|_| Err(malformed("its parts contradict each other").into()))
}

thread_local! {
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; a panic in it is not reported, since it becomes an error. Panics elsewhere are reported as before.
fn without_panic_message<R>(work: impl FnOnce() -> R) -> R {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_READING.get() {
                before(info);
            }
        }));
    });
    IS_READING.set(true);
    let result = work();
    IS_READING.set(false);
    result
}

fn malformed(what: impl Into<String>) -> Fault {
    Fault::Malformed { format: "Parquet", what: what.into() }
}

fn broken(error: ParquetError) -> Error {
    malformed(error.to_string()).into()
}

fn table(bytes: Bytes, options: &Options) -> Result<Table, Error> {
    let reader = SerializedFileReader::new(bytes::Bytes::from_owner(bytes)).map_err(broken)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names: Vec<String> = schema.columns().iter().map(|c| c.path().string()).collect();
    let short = short_names(&names);
    let columns = match options.columns_among(Some(&short)) {
        Some(columns) => columns.resolve(names.len(), Some(&short))?,
        None => (0..names.len()).collect(),
    };
    if columns.is_empty() {
        return Err(Fault::Empty.into());
    }
    let kinds: Vec<Kind> = columns.iter().map(|&c| Kind::of(c, &schema.column(c))).collect::<Result<_, _>>()?;
    if let Some(position) = kinds.iter().position(|k| k.list)
        && columns.len() > 1
    {
        let (number, name) = (columns[position] as u64 + 1, names[columns[position]].clone());
        return Err(Fault::NotNumeric { number, name, holds: "lists, which must be the only column".into() }.into());
    }
    let is_list = kinds[0].list;

    // Row-major. f64 holds every value that is accepted, exactly.
    let mut values: Vec<f64> = Vec::new();
    let mut d = if is_list { None } else { Some(columns.len()) };
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(broken)?;
        if is_list {
            let row = d.map_or(0, |d| values.len() / d) as u64;
            let mut column = Column::new(group.get_column_reader(columns[0]).map_err(broken)?, kinds[0], row, 0);
            column.lists(&mut values, &mut d)?;
            continue;
        }
        let before = values.len() / columns.len();
        let mut rows = None;
        for (position, (&column, &kind)) in columns.iter().zip(&kinds).enumerate() {
            let reader = group.get_column_reader(column).map_err(broken)?;
            let numbers = Column::new(reader, kind, before as u64, position as u64).numbers()?;
            let rows = *rows.get_or_insert(numbers.len());
            if numbers.len() != rows {
                return Err(malformed("its columns differ in length").into());
            }
            if position == 0 {
                values.resize((before + rows) * columns.len(), 0.0);
            }
            let into = values[before * columns.len() + position..].iter_mut().step_by(columns.len());
            into.zip(numbers).for_each(|(value, number)| *value = number);
        }
    }
    let d = d.filter(|_| !values.is_empty()).ok_or(Fault::Empty)?;
    let n = values.len() / d;
    let values = Array2::from_shape_vec((n, d), values).map_err(|e| malformed(e.to_string()))?;
    let points = if kinds.iter().all(|k| k.fits_f32) {
        Points::F32(Matrix::Owned(values.mapv(|v| v as f32)))
    } else {
        Points::F64(Matrix::Owned(values))
    };
    let columns = (!is_list).then(|| columns.iter().map(|&c| short[c].clone()).collect());
    Ok(Table { points: typed(points, options)?, columns, format: Format::Parquet, remarks: Vec::new() })
}

/// The names as users know them: a list column `x` is stored as `x.list.element`.
fn short_names(paths: &[String]) -> Vec<String> {
    let ends = [".list.element", ".list.item", ".list.array", ".bag.array_element"];
    paths.iter().map(|p| ends.iter().find_map(|end| p.strip_suffix(end)).unwrap_or(p).to_string()).collect()
}

/// What a column holds and how it is read.
#[derive(Clone, Copy, Debug)]
struct Kind {
    list: bool,
    unsigned: bool,
    fits_f32: bool,
    /// Definition level of a value that is there.
    present: i16,
}

impl Kind {
    fn of(index: usize, column: &ColumnDescriptor) -> Result<Self, Fault> {
        let holds = |holds: &str| {
            let (number, name) = (index as u64 + 1, column.path().string());
            Err(Fault::NotNumeric { number, name, holds: holds.into() })
        };
        let list = match column.max_rep_level() {
            0 => false,
            1 => true,
            _ => return holds("lists of lists"),
        };
        let kind = |unsigned, fits_f32| Self { list, unsigned, fits_f32, present: column.max_def_level() };
        let logical = column.logical_type_ref().cloned();
        match (column.physical_type(), logical) {
            (Physical::FLOAT | Physical::BOOLEAN, None)
            | (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16)) => Ok(kind(false, true)),
            (Physical::DOUBLE | Physical::INT32 | Physical::INT64, None) => Ok(kind(false, false)),
            (Physical::INT32 | Physical::INT64, Some(LogicalType::Integer(integer))) => {
                Ok(kind(!integer.is_signed, integer.bit_width <= 16))
            }
            (_, Some(LogicalType::String | LogicalType::Enum | LogicalType::Json)) => holds("text"),
            (Physical::INT96, None)
            | (_, Some(LogicalType::Date | LogicalType::Time { .. } | LogicalType::Timestamp { .. })) => holds("times"),
            (_, Some(LogicalType::Decimal { .. })) => holds("decimals"),
            (_, Some(other)) => holds(&format!("{other:?}")),
            (_, None) => holds("bytes"),
        }
    }
}

/// A column of a row group.
struct Column {
    reader: ColumnReader,
    kind: Kind,
    /// Its first row in the file, and its place among the columns asked for.
    row: u64,
    position: u64,
}

/// A batch of a column: the values that are there, and where.
#[derive(Default)]
struct Batch {
    values: Vec<f64>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

impl Column {
    fn new(reader: ColumnReader, kind: Kind, row: u64, position: u64) -> Self {
        Self { reader, kind, row, position }
    }

    /// A number per row.
    fn numbers(mut self) -> Result<Vec<f64>, Error> {
        let mut numbers = Vec::new();
        loop {
            let batch = self.batch(numbers.len() as u64)?;
            let missing = batch.definition.iter().position(|&level| level != self.kind.present);
            if let Some(missing) = missing {
                return Err(Fault::Missing.at(self.cell(numbers.len() + missing)));
            }
            if batch.values.is_empty() {
                return Ok(numbers);
            }
            numbers.extend(batch.values);
        }
    }

    /// A list per row, all of one length.
    fn lists(&mut self, all: &mut Vec<f64>, d: &mut Option<usize>) -> Result<(), Error> {
        let mut row = self.row;
        loop {
            let batch = self.batch(row - self.row)?;
            if batch.repetition.is_empty() {
                return Ok(());
            }
            let starts: Vec<usize> = (0..batch.repetition.len())
                .filter(|&i| batch.repetition[i] == 0)
                .chain([batch.repetition.len()])
                .collect();
            if starts[0] != 0 {
                return Err(malformed("a list has no beginning").into());
            }
            let missing = batch.definition.iter().position(|&level| level != self.kind.present);
            if let Some(missing) = missing {
                let row = row + starts.iter().take_while(|&&s| s <= missing).count() as u64 - 1;
                return Err(Fault::Missing.at(Place::Row(row)));
            }
            for ends in starts.windows(2) {
                let found = ends[1] - ends[0];
                let expected = *d.get_or_insert(found);
                if found != expected {
                    let fault = Fault::Ragged { found: found as u64, expected: expected as u64 };
                    return Err(fault.at(Place::Row(row)));
                }
                row += 1;
            }
            all.extend(batch.values);
        }
    }

    fn cell(&self, index: usize) -> Place {
        Place::Cell { row: self.row + index as u64, column: self.position }
    }

    /// The next batch; empty at the end. `done` rows were read before.
    fn batch(&mut self, done: u64) -> Result<Batch, Error> {
        let mut batch = Batch::default();
        let unsigned = self.kind.unsigned;
        let numbers: Result<(), (usize, Fault)> = match &mut self.reader {
            ColumnReader::BoolColumnReader(r) => fill(r, &mut batch, |&v| Ok(f64::from(u8::from(v))))?,
            ColumnReader::FloatColumnReader(r) => fill(r, &mut batch, |&v| Ok(f64::from(v)))?,
            ColumnReader::DoubleColumnReader(r) => fill(r, &mut batch, |&v| Ok(v))?,
            ColumnReader::Int32ColumnReader(r) => {
                fill(r, &mut batch, |&v| Ok(if unsigned { f64::from(v as u32) } else { f64::from(v) }))?
            }
            ColumnReader::Int64ColumnReader(r) => {
                fill(r, &mut batch, |&v| exact(if unsigned { i128::from(v as u64) } else { i128::from(v) }))?
            }
            ColumnReader::FixedLenByteArrayColumnReader(r) => fill(r, &mut batch, half_value)?,
            _ => return Err(malformed("a column is not of the type that the schema says").into()),
        };
        numbers.map_err(|(index, fault)| fault.at(self.cell(done as usize + index)))?;
        Ok(batch)
    }
}

fn half_value(bytes: &FixedLenByteArray) -> Result<f64, Fault> {
    match *bytes.data() {
        [a, b] => Ok(f16::from_le_bytes([a, b]).into()),
        _ => Err(malformed("a half-precision value has not two bytes")),
    }
}

/// Reads a batch; the inner error is of one value, with its index among those that are there.
fn fill<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    batch: &mut Batch,
    number: impl Fn(&T::T) -> Result<f64, Fault>,
) -> Result<Result<(), (usize, Fault)>, Error> {
    let mut values = Vec::new();
    reader
        .read_records(BATCH, Some(&mut batch.definition), Some(&mut batch.repetition), &mut values)
        .map_err(broken)?;
    for (index, value) in values.iter().enumerate() {
        match number(value) {
            Ok(number) => batch.values.push(number),
            Err(fault) => return Ok(Err((index, fault))),
        }
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests;
