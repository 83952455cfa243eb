//! Centroids and labels as text, CSV or `.npy`.

use std::fmt::Display;
use std::io::{self, Write};

use half::{bf16, f16};
use ndarray::{ArrayView1, ArrayView2};

use crate::Format;

/// How results are laid out in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// An index and the values per line, separated by a blank: the two files of the classic parallel k-means programs.
    Text,
    /// A header, then one record per line.
    Csv,
    /// NumPy's array format.
    Npy,
}

impl Layout {
    /// The layout that the end of a file's name asks for: text, unless it is one of the others.
    pub fn of_path(path: &std::path::Path) -> Self {
        match Format::of_path(path) {
            Some(Format::Csv) => Self::Csv,
            Some(Format::Npy) => Self::Npy,
            _ => Self::Text,
        }
    }
}

/// A number that files can hold.
pub trait Value: bytemuck::AnyBitPattern + Display {
    /// NumPy's name of the type.
    const DESCR: &'static str;
    /// Adds its bytes, little-endian.
    fn bytes(self, out: &mut Vec<u8>);
}

// Numbers are written in the shortest way that reads back as the same number of the same type.
impl Value for f32 {
    const DESCR: &'static str = "<f4";
    fn bytes(self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
}

impl Value for f64 {
    const DESCR: &'static str = "<f8";
    fn bytes(self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
}

impl Value for f16 {
    const DESCR: &'static str = "<f2";
    fn bytes(self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
}

impl Value for u32 {
    const DESCR: &'static str = "<u4";
    fn bytes(self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
}

impl Value for u64 {
    const DESCR: &'static str = "<u8";
    fn bytes(self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
}

// NumPy has no bf16: the f32 of the same value.
impl Value for bf16 {
    const DESCR: &'static str = <f32 as Value>::DESCR;
    fn bytes(self, out: &mut Vec<u8>) {
        f32::from(self).bytes(out);
    }
}

/// Writes centroids, `[k, d]`. CSV takes the names of the columns; without them they are `x0`, `x1`, ….
///
/// # Errors
/// If the writer fails.
pub fn write_centroids<T: Value>(
    out: &mut impl Write,
    layout: Layout,
    centroids: ArrayView2<'_, T>,
    names: Option<&[String]>,
) -> io::Result<()> {
    let separator = match layout {
        Layout::Npy => {
            npy_header(out, T::DESCR, &[centroids.nrows(), centroids.ncols()])?;
            let mut bytes = Vec::new();
            centroids.iter().for_each(|v| v.bytes(&mut bytes));
            return out.write_all(&bytes);
        }
        Layout::Text => ' ',
        Layout::Csv => {
            write!(out, "cluster")?;
            for column in 0..centroids.ncols() {
                match names {
                    Some(names) => write!(out, ",{}", quoted(&names[column]))?,
                    None => write!(out, ",x{column}")?,
                }
            }
            writeln!(out)?;
            ','
        }
    };
    for (cluster, centroid) in centroids.outer_iter().enumerate() {
        write!(out, "{cluster}")?;
        for value in centroid {
            write!(out, "{separator}{value}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes points, `[n, d]`: as [`write_centroids`] does, or without the index and the header.
///
/// # Errors
/// If the writer fails.
pub fn write_points<T: Value>(
    out: &mut impl Write,
    layout: Layout,
    points: ArrayView2<'_, T>,
    index: bool,
) -> io::Result<()> {
    if index || layout == Layout::Npy {
        return write_centroids(out, layout, points, None);
    }
    let separator = if layout == Layout::Csv { ',' } else { ' ' };
    for point in points.outer_iter() {
        for (column, value) in point.iter().enumerate() {
            if column > 0 {
                write!(out, "{separator}")?;
            }
            write!(out, "{value}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the label of each point, `[n]`.
///
/// # Errors
/// If the writer fails.
pub fn write_labels(out: &mut impl Write, layout: Layout, labels: ArrayView1<'_, u32>) -> io::Result<()> {
    let separator = match layout {
        Layout::Npy => {
            npy_header(out, "<u4", &[labels.len()])?;
            for label in labels {
                out.write_all(&label.to_le_bytes())?;
            }
            return Ok(());
        }
        Layout::Text => ' ',
        Layout::Csv => {
            writeln!(out, "point,cluster")?;
            ','
        }
    };
    for (point, label) in labels.iter().enumerate() {
        writeln!(out, "{point}{separator}{label}")?;
    }
    Ok(())
}

/// Writes whole numbers, `[n, w]`, such as leaves of points: led by an index in text and CSV, where the header is `index` and `names`;
/// of one column, `.npy` has `[n]`.
///
/// # Errors
/// If the writer fails.
pub fn write_columns<T: Value>(
    out: &mut impl Write,
    layout: Layout,
    index: &str,
    names: &[String],
    values: ArrayView2<'_, T>,
) -> io::Result<()> {
    let separator = match layout {
        Layout::Npy => {
            let shape = [values.nrows(), values.ncols()];
            npy_header(out, T::DESCR, if shape[1] == 1 { &shape[..1] } else { &shape })?;
            let mut bytes = Vec::new();
            values.iter().for_each(|v| v.bytes(&mut bytes));
            return out.write_all(&bytes);
        }
        Layout::Text => ' ',
        Layout::Csv => {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            writeln!(out, "{index},{}", names.join(","))?;
            ','
        }
    };
    for (row, values) in values.outer_iter().enumerate() {
        write!(out, "{row}")?;
        values.iter().try_for_each(|value| write!(out, "{separator}{value}"))?;
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the label of each pixel of an image, `[h, w]`, as `.npy`.
///
/// # Errors
/// If the writer fails.
pub fn write_label_image(out: &mut impl Write, labels: ArrayView2<'_, u32>) -> io::Result<()> {
    npy_header(out, "<u4", &[labels.nrows(), labels.ncols()])?;
    labels.iter().try_for_each(|label| out.write_all(&label.to_le_bytes()))
}

/// A name as a CSV field.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.into() }
}

/// The header of version 1.0, padded so that the data is aligned to 64 bytes.
fn npy_header(out: &mut impl Write, descr: &str, shape: &[usize]) -> io::Result<()> {
    let shape: Vec<String> = shape.iter().map(|length| format!("{length},")).collect();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", shape.join(" "));
    let padding = (64 - (10 + header.len() + 1) % 64) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::{Options, Points, parse};

    #[test]
    fn every_layout_reads_back_as_the_same_bits() {
        let centroids = array![[0.1_f32, -3.0e-12], [f32::MAX, 16_777_216.0]];
        for (layout, format) in [(Layout::Text, Format::Text), (Layout::Csv, Format::Csv), (Layout::Npy, Format::Npy)] {
            let mut bytes = Vec::new();
            write_centroids(&mut bytes, layout, centroids.view(), None).unwrap();
            let mut options =
                Options { format: Some(format), element: Some(crate::ElementType::F32), ..Options::default() };
            if layout != Layout::Npy {
                options.columns = Some("2-3".parse().unwrap());
            }
            let Points::F32(read) = parse(&bytes, &options).unwrap().points else { panic!() };
            assert_eq!(read.view(), centroids, "{layout:?}");
        }
    }

    #[test]
    fn labels_have_an_index_in_text() {
        let mut text = Vec::new();
        write_labels(&mut text, Layout::Text, array![3, 0].view()).unwrap();
        assert_eq!(text, b"0 3\n1 0\n");
        text.clear();
        write_labels(&mut text, Layout::Csv, array![3, 0].view()).unwrap();
        assert_eq!(text, b"point,cluster\n0,3\n1,0\n");
    }

    #[test]
    fn columns_of_whole_numbers_have_an_index_and_one_alone_is_a_vector() {
        let mut text = Vec::new();
        let names = ["near".to_string(), "next".to_string()];
        write_columns(&mut text, Layout::Csv, "point", &names, array![[3_u32, 0], [1, 7]].view()).unwrap();
        assert_eq!(text, b"point,near,next\n0,3,0\n1,1,7\n");
        for (values, shape) in [(array![[3_u64], [9]], "(2,)"), (array![[3, 9]], "(1, 2,)")] {
            let mut bytes = Vec::new();
            write_columns(&mut bytes, Layout::Npy, "", &[], values.view()).unwrap();
            assert!(
                String::from_utf8_lossy(&bytes).contains(&format!("'<u8', 'fortran_order': False, 'shape': {shape}"))
            );
            assert_eq!(bytes[bytes.len() - 8..], 9_u64.to_le_bytes());
        }
    }

    #[test]
    fn names_that_need_quotes_get_them() {
        let mut text = Vec::new();
        let names = ["a,b".to_string(), "say \"x\"".to_string()];
        write_centroids(&mut text, Layout::Csv, array![[1.0, 2.0]].view(), Some(&names)).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "cluster,\"a,b\",\"say \"\"x\"\"\"\n0,1,2\n");
    }
}
