use std::sync::Arc;

use parquet::data_type::{ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::*;

/// What is written into a column: values and, where the schema has them, levels.
enum Data<'a> {
    Float(&'a [f32]),
    Double(&'a [f64], Option<&'a [i16]>),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Text(&'a [&'a str]),
    List(&'a [f32], &'a [i16], &'a [i16]),
}

/// A file of one row group per entry of `groups`.
fn file(schema: &str, groups: &[&[Data<'_>]]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_compression(parquet::basic::Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    for columns in groups {
        let mut group = writer.next_row_group().unwrap();
        for data in *columns {
            let mut column = group.next_column().unwrap().unwrap();
            match data {
                Data::Float(v) => column.typed::<FloatType>().write_batch(v, None, None),
                Data::Double(v, levels) => column.typed::<DoubleType>().write_batch(v, *levels, None),
                Data::Int32(v) => column.typed::<Int32Type>().write_batch(v, None, None),
                Data::Int64(v) => column.typed::<Int64Type>().write_batch(v, None, None),
                Data::Text(v) => {
                    let v: Vec<_> = v.iter().map(|s| (*s).into()).collect();
                    column.typed::<ByteArrayType>().write_batch(&v, None, None)
                }
                Data::List(v, definition, repetition) => {
                    column.typed::<FloatType>().write_batch(v, Some(definition), Some(repetition))
                }
            }
            .unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn parse(bytes: Vec<u8>, columns: Option<&str>) -> Result<Table, String> {
    let options = Options { columns: columns.map(|c| c.parse().unwrap()), ..Options::default() };
    read(Bytes::Read(Arc::new(bytes)), &options).map_err(|e| e.to_string())
}

fn f64s(table: Table) -> Vec<Vec<f64>> {
    let Points::F64(values) = table.points.into_element(crate::ElementType::F64) else { unreachable!() };
    values.view().outer_iter().map(|row| row.to_vec()).collect()
}

const MIXED: &str = "message m { required float x; required int64 id; required int32 small (INTEGER(8, true)); \
                     required binary name (STRING); optional double y; }";

fn mixed() -> Vec<u8> {
    file(
        MIXED,
        &[
            &[
                Data::Float(&[0.5, 1.5]),
                Data::Int64(&[10, 11]),
                Data::Int32(&[-3, 4]),
                Data::Text(&["a", "b"]),
                Data::Double(&[2.5, 3.5], Some(&[1, 1])),
            ],
            &[
                Data::Float(&[7.0]),
                Data::Int64(&[i64::MAX]),
                Data::Int32(&[5]),
                Data::Text(&["c"]),
                Data::Double(&[], Some(&[0])),
            ],
        ],
    )
}

#[test]
fn columns_are_found_by_name_and_number_across_row_groups() {
    let table = parse(mixed(), Some("small,x")).unwrap();
    assert_eq!(table.columns.clone().unwrap(), ["small", "x"]);
    assert_eq!(table.points.element(), crate::ElementType::F32);
    assert_eq!(f64s(table), [[-3.0, 0.5], [4.0, 1.5], [5.0, 7.0]]);
}

#[test]
fn what_is_wrong_is_said() {
    for (columns, message) in [
        (None, "column 4 (`name`) holds text, not numbers"),
        (Some("y"), "row 2, column 0 (from 0): there is no value: drop the row or fill it in"),
        (
            Some("x,id"),
            "row 2, column 1 (from 0): the integer 9223372036854775807 cannot be held exactly: f64 does so up to 2^53",
        ),
        (Some("z"), "no column is named `z`; there are: x, id, small, name, y"),
    ] {
        assert_eq!(parse(mixed(), columns).unwrap_err(), message);
    }
}

#[test]
fn a_column_of_lists_is_a_matrix() {
    let schema = "message m { optional group v (LIST) { repeated group list { optional float element; } } }";
    let good = file(schema, &[&[Data::List(&[1.0, 2.0, 3.0, 4.0], &[3, 3, 3, 3], &[0, 1, 0, 1])]]);
    assert_eq!(f64s(parse(good.clone(), None).unwrap()), [[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(f64s(parse(good, Some("v")).unwrap()).len(), 2);
    let ragged = file(schema, &[&[Data::List(&[1.0, 2.0, 3.0], &[3, 3, 3], &[0, 1, 0])]]);
    assert_eq!(parse(ragged, None).unwrap_err(), "row 1 (from 0): 1 value but the first row has 2");
    let missing = file(schema, &[&[Data::List(&[1.0, 2.0, 3.0], &[3, 3, 3, 2], &[0, 1, 0, 1])]]);
    assert_eq!(parse(missing, None).unwrap_err(), "row 1 (from 0): there is no value: drop the row or fill it in");
}

#[test]
fn cut_or_changed_files_are_errors() {
    let good = mixed();
    for length in 0..good.len() {
        assert!(parse(good[..length].to_vec(), Some("x")).is_err(), "{length}");
    }
    // A changed byte may go unnoticed, where it is only a value, but must not end the program.
    for position in 0..good.len() {
        let mut changed = good.clone();
        changed[position] ^= 0xff;
        let _ = parse(changed, Some("x"));
    }
}
