//! CSV: with or without a header, any columns of it.

use csv::{ByteRecord, ErrorKind, ReaderBuilder};
use half::{bf16, f16};
use ndarray::Array2;

use crate::error::shown;
use crate::number::{self, Decimal};
use crate::text;
use crate::{ElementType, Error, Fault, Format, Header, Options, Place, Points, Table};

/// Reads a CSV file.
pub(crate) fn read(bytes: &[u8], options: &Options) -> Result<Table, Error> {
    let bytes = text::check_encoding(bytes)?;
    let delimiter = options.delimiter.unwrap_or_else(|| {
        let first =
            bytes.split(|b| matches!(b, b'\n' | b'\r')).find(|l| !l.trim_ascii().is_empty()).unwrap_or_default();
        if first.contains(&b';') { b';' } else { b',' }
    });
    let mut records = Records::new(bytes, delimiter);
    let Some(first) = records.next()? else { return Err(Fault::Empty.into()) };
    let has_header = match options.header {
        Header::Yes => true,
        Header::No => false,
        Header::Auto => {
            let names_wanted = options.columns.as_ref().is_some_and(crate::Columns::has_names);
            names_wanted
                || (!first.iter().any(|f| number::was_meant(f.trim_ascii()))
                    && !first.iter().all(|f| f.trim_ascii().is_empty()))
        }
    };
    let names: Option<Vec<String>> =
        has_header.then(|| first.iter().map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned()).collect());

    let total = first.len();
    let asked = options.columns_among(names.as_deref());
    let checks_index = asked.is_none() && options.index.leads(total);
    let columns: Vec<usize> = match &asked {
        Some(columns) => columns.resolve(total, names.as_deref())?,
        None => (usize::from(checks_index)..total).collect(),
    };
    if columns.is_empty() {
        return Err(Fault::OnlyIndex.into());
    }
    let mut remarks = Vec::new();
    if let Some(names) = &names
        && columns.first() == Some(&0)
        && names[0].is_empty()
        && total > 1
    {
        remarks.push("the first column has no name and is clustered like the others: is it an index?".into());
    }
    let used = names.map(|names| columns.iter().map(|&c| names[c].clone()).collect());
    let body = Body { records, has_header, checks_index, columns, names: used };
    let points = match options.element.unwrap_or(ElementType::F64) {
        ElementType::F16 => body.points::<f16>(),
        ElementType::Bf16 => body.points::<bf16>(),
        ElementType::F32 => body.points::<f32>(),
        ElementType::F64 => body.points::<f64>(),
    }?;
    Ok(Table { points: points.0, columns: points.1, format: Format::Csv, remarks })
}

/// The records of a file, each with its line.
struct Records<'a> {
    reader: csv::Reader<&'a [u8]>,
    record: ByteRecord,
    expected: Option<usize>,
}

impl<'a> Records<'a> {
    fn new(bytes: &'a [u8], delimiter: u8) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            // Ragged rows are told in our own words.
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(bytes);
        Self { reader, record: ByteRecord::new(), expected: None }
    }

    /// The next record, if there is one; as long as the first, or an error.
    fn next(&mut self) -> Result<Option<&ByteRecord>, Error> {
        let there_is = self.reader.read_byte_record(&mut self.record).map_err(|e| match e.into_kind() {
            ErrorKind::Io(source) => Error::from(Fault::Io { action: "read the records", source }),
            other => Fault::Malformed { format: "CSV", what: format!("{other:?}") }.into(),
        })?;
        if !there_is {
            return Ok(None);
        }
        let found = self.record.len();
        let expected = *self.expected.get_or_insert(found);
        if found != expected {
            let fault = Fault::Ragged { found: found as u64, expected: expected as u64 };
            return Err(fault.at(Place::Line(self.line())));
        }
        Ok(Some(&self.record))
    }

    fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    fn fault_in(&self, column: usize, fault: Fault) -> Error {
        fault.at(Place::Field { line: self.line(), column: column as u64 + 1 })
    }
}

/// The records with data.
struct Body<'a> {
    records: Records<'a>,
    has_header: bool,
    checks_index: bool,
    columns: Vec<usize>,
    names: Option<Vec<String>>,
}

impl Body<'_> {
    fn points<T: Decimal>(mut self) -> Result<(Points, Option<Vec<String>>), Error> {
        let mut values = Vec::new();
        if !self.has_header {
            // The first record was read to see what it is.
            self.take::<T>(&mut values)?;
        }
        while self.records.next()?.is_some() {
            self.take::<T>(&mut values)?;
        }
        if values.is_empty() {
            return Err(Fault::Empty.into());
        }
        let d = self.columns.len();
        let values = Array2::from_shape_vec((values.len() / d, d), values).expect("every record gave d values");
        Ok((T::points(values), self.names))
    }

    /// Adds the values of the record just read.
    #[inline]
    fn take<T: Decimal>(&self, values: &mut Vec<T>) -> Result<(), Error> {
        let record = &self.records.record;
        if self.checks_index && !number::is_whole(record[0].trim_ascii()) {
            return Err(self.records.fault_in(0, Fault::BadIndex(shown(&record[0]))));
        }
        for &column in &self.columns {
            match number::field(record[column].trim_ascii()) {
                Ok(value) => values.push(value),
                Err(fault) => return Err(self.records.fault_in(column, fault)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IndexColumn, Matrix};

    fn values(text: &str, options: &Options) -> Result<(usize, Vec<f64>), String> {
        let table = read(text.as_bytes(), options).map_err(|e| e.to_string())?;
        let Points::F64(Matrix::Owned(values)) = table.points else { panic!("f64 was the default") };
        Ok((values.ncols(), values.iter().copied().collect()))
    }

    fn all(text: &str) -> Result<(usize, Vec<f64>), String> {
        values(text, &Options::default())
    }

    #[test]
    fn quotes_blanks_line_ends_and_a_mark_do_not_matter() {
        let expected = Ok((2, vec![1.0, 2.0, 3.0, 4.0]));
        for text in [
            "x,y\n1,2\n3,4\n",
            "1,2\n3,4",
            "\u{feff}x,y\r\n1,2\r\n3,4\r\n",
            "\"x, the first\",y\n\"1\", 2\n\n3 ,\"4\"\n",
            "1;2\n3;4\n",
            "x,y\r1,2\r3,4\r",
        ] {
            assert_eq!(all(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_first_row_with_a_number_in_it_is_data() {
        assert_eq!(all("1,2\n3,4\n").unwrap().1.len(), 4);
        assert_eq!(all("x,2\n3,4\n").unwrap_err(), "line 1, column 1: `x` is not a number");
        let header = Options { header: Header::Yes, ..Options::default() };
        assert_eq!(values("x,2\n3,4\n", &header), Ok((2, vec![3.0, 4.0])));
    }

    #[test]
    fn columns_can_be_chosen_by_name_and_number() {
        let options = |text: &str| Options { columns: Some(text.parse().unwrap()), ..Options::default() };
        let text = "id,x,y,name\n1,2,3,a\n4,5,6,b\n";
        assert_eq!(values(text, &options("y,x")), Ok((2, vec![3.0, 2.0, 6.0, 5.0])));
        assert_eq!(values(text, &options("2-3")), Ok((2, vec![2.0, 3.0, 5.0, 6.0])));
        assert_eq!(values(text, &options("name")).unwrap_err(), "line 2, column 4: `a` is not a number");
        assert_eq!(values(text, &options("z")).unwrap_err(), "no column is named `z`; there are: id, x, y, name");
    }

    #[test]
    fn an_index_column_is_left_out() {
        let options = Options { index: IndexColumn::Yes, ..Options::default() };
        assert_eq!(values(",x\n0,5\n1,6\n", &options), Ok((1, vec![5.0, 6.0])));
        assert_eq!(
            values("0,5\na,6\n", &options).unwrap_err(),
            "line 2, column 1: the index `a` is not a whole number"
        );
        let table = read(b",x\n0,5\n1,6\n", &Options::default()).unwrap();
        assert_eq!(table.remarks.len(), 1);
    }

    #[test]
    fn faults_name_line_and_column() {
        for (text, message) in [
            ("x,y\n1,2\n3\n", "line 3: 1 value but the first row has 2"),
            ("x,y\n1,2\n3,\n", "line 3, column 2: there is no value: drop the row or fill it in"),
            ("\"a\nb\",y\n1,2\n3,z\n", "line 4, column 2: `z` is not a number"),
            ("x,y\n1,inf\n", "line 2, column 2: the value inf is not finite as f64: every value must be"),
            ("1,5;2,5\n", "line 1, column 1: `1,5` is not a number: the decimal separator is a point"),
            ("x,y\n", "there are no points in it"),
            ("\n\n", "there are no points in it"),
        ] {
            assert_eq!(all(text).unwrap_err(), message, "{text:?}");
        }
    }
}
