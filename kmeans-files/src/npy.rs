//! `.npy`: NumPy's array format. A native-endian array of floats is used where it lies; everything else is converted.

use half::f16;
use ndarray::{Array2, ArrayView2, ShapeBuilder};
use num_traits::ToPrimitive;
use py_literal::Value;

use crate::bytes::Bytes;
use crate::error::shown;
use crate::integers::exact;
use crate::points::InFile;
use crate::{Error, Fault, Matrix, Place, Points};

/// NumPy itself reads no longer headers unless told to.
const LONGEST_HEADER: usize = 10_000;
/// Brackets within brackets in a header: a tuple in a dictionary, and a few for types that are refused with their name.
const DEEPEST: usize = 16;

/// Reads an array of one or two dimensions.
pub(crate) fn read(bytes: Bytes) -> Result<Points, Error> {
    let header = Header::parse(&bytes)?;
    let dim = match header.shape[..] {
        [n] => (n, 1),
        [n, d] => (n, d),
        _ => return Err(Fault::BadShape(header.shape_text()).into()),
    };
    let (order, kind) = header.descr.split_at_checked(1).unwrap_or(("", ""));
    let swapped = match order {
        "<" => cfg!(target_endian = "big"),
        ">" => cfg!(target_endian = "little"),
        "|" | "=" => false,
        _ => return Err(Fault::BadType(header.descr).into()),
    };
    let width = match kind {
        "b1" | "i1" | "u1" => 1_u64,
        "f2" | "i2" | "u2" => 2,
        "f4" | "i4" | "u4" => 4,
        "f8" | "i8" | "u8" => 8,
        _ => return Err(Fault::BadType(header.descr).into()),
    };
    let expected = u128::from(dim.0) * u128::from(dim.1) * u128::from(width);
    let found = (bytes.len() - header.data) as u64;
    if u128::from(found) < expected {
        return Err(Fault::Truncated { expected: expected + header.data as u128, found: bytes.len() as u64 }.into());
    }
    if u128::from(found) > expected {
        return Err(Fault::TrailingBytes(found - expected as u64).into());
    }
    if expected == 0 {
        return Err(Fault::Empty.into());
    }
    let place = InFile { bytes, offset: header.data, dim: (dim.0 as usize, dim.1 as usize), fortran: header.fortran };
    Ok(match kind {
        "f2" => Points::F16(floats(place, swapped, f16::from_ne_bytes)),
        "f4" => Points::F32(floats(place, swapped, f32::from_ne_bytes)),
        "f8" => Points::F64(floats(place, swapped, f64::from_ne_bytes)),
        // Every integer of 16 bits, and more, is exactly an f32.
        "b1" => Points::F32(Matrix::Owned(convert(&place, swapped, |[b]: [u8; 1]| f32::from(u8::from(b != 0))))),
        "i1" => Points::F32(Matrix::Owned(convert(&place, swapped, |b| f32::from(i8::from_ne_bytes(b))))),
        "u1" => Points::F32(Matrix::Owned(convert(&place, swapped, |b| f32::from(u8::from_ne_bytes(b))))),
        "i2" => Points::F32(Matrix::Owned(convert(&place, swapped, |b| f32::from(i16::from_ne_bytes(b))))),
        "u2" => Points::F32(Matrix::Owned(convert(&place, swapped, |b| f32::from(u16::from_ne_bytes(b))))),
        "i4" => Points::F64(Matrix::Owned(convert(&place, swapped, |b| f64::from(i32::from_ne_bytes(b))))),
        "u4" => Points::F64(Matrix::Owned(convert(&place, swapped, |b| f64::from(u32::from_ne_bytes(b))))),
        "i8" => Points::F64(Matrix::Owned(wide(&place, swapped, |b| i64::from_ne_bytes(b).into())?)),
        _ => Points::F64(Matrix::Owned(wide(&place, swapped, |b| u64::from_ne_bytes(b).into())?)),
    })
}

/// Floats in place, or a copy where their byte order or alignment forbids that.
fn floats<T: bytemuck::AnyBitPattern + Clone, const W: usize>(
    place: InFile,
    swapped: bool,
    number: impl Fn([u8; W]) -> T,
) -> Matrix<T> {
    if !swapped && place.view::<T>().is_some() {
        return Matrix::InFile(place);
    }
    Matrix::Owned(convert(&place, swapped, number))
}

/// A copy of the matrix, each value made from its bytes.
fn convert<T: Clone, const W: usize>(place: &InFile, swapped: bool, number: impl Fn([u8; W]) -> T) -> Array2<T> {
    let values = bytemuck::cast_slice::<u8, [u8; W]>(&place.bytes[place.offset..]);
    let view = ArrayView2::from_shape(place.dim.set_f(place.fortran), values).expect("the length was checked");
    view.map(|&bytes| {
        let mut bytes = bytes;
        if swapped {
            bytes.reverse();
        }
        number(bytes)
    })
}

/// 64-bit integers, if f64 holds them exactly.
fn wide(place: &InFile, swapped: bool, number: impl Fn([u8; 8]) -> i128) -> Result<Array2<f64>, Error> {
    let mut values = Array2::zeros(place.dim.set_f(place.fortran));
    let integers = convert(place, swapped, |b: [u8; 8]| b);
    for ((row, column), &bytes) in integers.indexed_iter() {
        let place = Place::Cell { row: row as u64, column: column as u64 };
        values[[row, column]] = exact(number(bytes)).map_err(|fault| fault.at(place))?;
    }
    Ok(values)
}

/// The part of an `.npy` file before its data.
#[derive(Debug)]
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<u64>,
    /// Where the data begins.
    data: usize,
}

fn malformed(what: impl Into<String>) -> Fault {
    Fault::Malformed { format: ".npy", what: what.into() }
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let short = || malformed("it ends within its header");
        let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or_else(|| malformed("it does not begin with \\x93NUMPY"))?;
        let (length, begin) = match rest {
            [1, _, a, b, ..] => (u16::from_le_bytes([*a, *b]) as usize, 10),
            [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12),
            [1..=3, ..] | [] => return Err(short()),
            [version, ..] => return Err(malformed(format!("its version is {version}; 1 to 3 are known"))),
        };
        if length > LONGEST_HEADER {
            return Err(malformed(format!("its header claims {length} bytes; NumPy's have at most {LONGEST_HEADER}")));
        }
        let text = bytes.get(begin..begin + length).ok_or_else(short)?;
        let text = std::str::from_utf8(text).map_err(|_| malformed("its header is not text"))?;
        // The parser of literals is recursive.
        let mut depth = 0_usize;
        for byte in text.bytes() {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > DEEPEST {
                return Err(malformed("its header has brackets within brackets within brackets"));
            }
        }
        let unreadable = || malformed(format!("its header cannot be read: {}", shown(text.trim().as_bytes())));
        let Ok(Value::Dict(entries)) = text.trim().parse::<Value>() else { return Err(unreadable()) };
        let entry = |key: &str| {
            let found = entries.iter().find(|(k, _)| k.as_string().is_some_and(|k| k == key));
            found.map(|(_, value)| value).ok_or_else(|| malformed(format!("its header has no '{key}'")))
        };
        let descr = match entry("descr")? {
            Value::String(descr) => descr.clone(),
            structured => return Err(Fault::BadType(shown(structured.to_string().as_bytes()))),
        };
        let Value::Boolean(fortran) = *entry("fortran_order")? else { return Err(unreadable()) };
        let shape: Option<Vec<u64>> = match entry("shape")? {
            Value::Tuple(lengths) => lengths.iter().map(|v| v.as_integer().and_then(ToPrimitive::to_u64)).collect(),
            _ => None,
        };
        Ok(Self { descr, fortran, shape: shape.ok_or_else(unreadable)?, data: begin + length })
    }

    fn shape_text(&self) -> String {
        let lengths: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        format!("({})", lengths.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ndarray::array;

    use super::*;

    fn file(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\0".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn parse(bytes: Vec<u8>) -> Result<Array2<f64>, String> {
        let points = read(Bytes::Read(Arc::new(bytes))).map_err(|e| e.to_string())?;
        let Points::F64(values) = points.into_element(crate::ElementType::F64) else { unreachable!() };
        Ok(values.view().to_owned())
    }

    fn bytes_of<const W: usize>(values: &[[u8; W]]) -> Vec<u8> {
        values.concat()
    }

    #[test]
    fn every_type_and_both_orders_come_out_right() {
        let c = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
        let numbers = [1_u8, 2, 3, 4, 5, 6];
        let f4 = bytes_of(&numbers.map(|v| f32::from(v).to_le_bytes()));
        assert_eq!(parse(file("'<f4'", "False", "(3, 2)", &f4)).unwrap(), c);
        assert_eq!(parse(file("'<f4'", "True", "(2, 3)", &f4)).unwrap(), c.t());
        let f8_big = bytes_of(&numbers.map(|v| f64::from(v).to_be_bytes()));
        assert_eq!(parse(file("'>f8'", "False", "(3, 2)", &f8_big)).unwrap(), c);
        let f2 = bytes_of(&numbers.map(|v| f16::from_f32(v.into()).to_le_bytes()));
        assert_eq!(parse(file("'<f2'", "False", "(3, 2)", &f2)).unwrap(), c);
        assert_eq!(parse(file("'|u1'", "False", "(3, 2)", &numbers)).unwrap(), c);
        assert_eq!(parse(file("'|i1'", "False", "(1,)", &[0xff])).unwrap(), array![[-1.0]]);
        assert_eq!(parse(file("'|b1'", "False", "(2,)", &[0, 1])).unwrap(), array![[0.0], [1.0]]);
        assert_eq!(parse(file("'<i2'", "False", "(1,)", &(-300_i16).to_le_bytes())).unwrap(), array![[-300.0]]);
        assert_eq!(parse(file("'>u4'", "False", "(1,)", &u32::MAX.to_be_bytes())).unwrap(), array![[4_294_967_295.0]]);
        let i8s = bytes_of(&[(1_i64 << 53).to_le_bytes(), (-7_i64).to_le_bytes()]);
        assert_eq!(parse(file("'<i8'", "False", "(2,)", &i8s)).unwrap(), array![[9_007_199_254_740_992.0], [-7.0]]);
    }

    #[test]
    fn native_floats_stay_where_they_are() {
        let data = bytes_of(&[1.5_f64.to_ne_bytes(), 2.5_f64.to_ne_bytes()]);
        let bytes = Arc::new(file("'<f8'", "True", "(1, 2)", &data));
        // A vector of bytes need not be aligned for f64: then it is a copy, which is right too.
        let aligned = (bytes.as_ptr() as usize + bytes.len() - 16).is_multiple_of(8);
        let points = read(Bytes::Read(bytes)).unwrap();
        assert_eq!(points.is_in_file(), aligned);
        assert_eq!(points.dim(), (1, 2));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let eight = [0_u8; 8];
        let malformed = "this is not a sound .npy file";
        for (bytes, message) in [
            (file("'<f4'", "False", "(3, 2)", &eight), "the file is cut short: 152 bytes are promised, 136 are there".into()),
            (file("'<f4'", "False", "(1, 1)", &eight), "4 bytes follow the end of the array".into()),
            (
                file("'<f4'", "False", "(4294967296, 4294967296)", &eight),
                format!("the file is cut short: {} bytes are promised, 136 are there", (1_u128 << 66) + 128),
            ),
            (file("'<f4'", "False", "(0, 3)", &[]), "there are no points in it".into()),
            (
                file("'<f4'", "False", "(1, 1, 2)", &eight),
                "the array has shape (1, 1, 2): points are [n, d], or [n] for one column".into(),
            ),
            (
                file("'<c8'", "False", "(1,)", &eight),
                "values of type <c8 cannot be clustered: convert them to f16, f32, f64 or integers".into(),
            ),
            (
                file("'|O'", "False", "(1,)", &eight),
                "values of type |O cannot be clustered: convert them to f16, f32, f64 or integers".into(),
            ),
            (
                file("[('x', '<f4'), ('y', '<f4')]", "False", "(1,)", &eight),
                "values of type [('x', '<f4'), ('y', '<f4')] cannot be clustered: convert them to f16, f32, f64 or integers".into(),
            ),
            (
                file("'<i8'", "False", "(1,)", &i64::MAX.to_le_bytes()),
                "row 0, column 0 (from 0): the integer 9223372036854775807 cannot be held exactly: f64 does so up to 2^53".into(),
            ),
            (b"\x93NUMPY\x01\0\x20".to_vec(), format!("{malformed}: it ends within its header")),
            (b"\x93NUMPY\x01\0\x20\0{".to_vec(), format!("{malformed}: it ends within its header")),
            (b"\x93NUMPY\x09\0\x20\0{".to_vec(), format!("{malformed}: its version is 9; 1 to 3 are known")),
            (
                b"\x93NUMPY\x02\0\xff\xff\xff\x7f{".to_vec(),
                format!("{malformed}: its header claims 2147483647 bytes; NumPy's have at most 10000"),
            ),
            (
                file(&"(".repeat(200), "False", "(1,)", &[]),
                format!("{malformed}: its header has brackets within brackets within brackets"),
            ),
            (file("1 2", "False", "(1,)", &[]), format!("{malformed}: its header cannot be read: {{'descr': 1 2, 'fortran_order': False, '…")),
        ] {
            assert_eq!(parse(bytes).unwrap_err(), message);
        }
    }
}
