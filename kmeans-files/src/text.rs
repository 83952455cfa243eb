//! Text: numbers separated by blanks, one point per line. Empty lines are skipped, and `#` begins a comment.

use half::{bf16, f16};
use ndarray::Array2;
use rayon::prelude::*;

use crate::error::shown;
use crate::number::{self, Decimal};
use crate::{ElementType, Error, Fault, Format, Options, Place, Points, Table};

/// Bytes per parallel piece: long enough that starting one costs nothing, short enough to keep all threads at work.
const PIECE: usize = 1 << 20;

/// Reads a text file.
pub(crate) fn read(bytes: &[u8], options: &Options) -> Result<Table, Error> {
    let bytes = check(bytes)?;
    let first = bytes.split(|b| *b == b'\n').map(without_comment).find(|line| !line.is_empty()).ok_or(Fault::Empty)?;
    let total = fields(first).count();
    let use_of = match &options.columns {
        Some(columns) => Use::Some(columns.resolve(total, None)?),
        None if options.index.leads(total) && total == 1 => return Err(Fault::OnlyIndex.into()),
        None if options.index.leads(total) => Use::AllButIndex,
        None => Use::All,
    };
    let points = match options.element.unwrap_or(ElementType::F64) {
        ElementType::F16 => lines::<f16>(bytes, total, &use_of),
        ElementType::Bf16 => lines::<bf16>(bytes, total, &use_of),
        ElementType::F32 => lines::<f32>(bytes, total, &use_of),
        ElementType::F64 => lines::<f64>(bytes, total, &use_of),
    }?;
    Ok(Table { points, columns: None, format: Format::Text, remarks: Vec::new() })
}

/// The bytes without a byte order mark, if they can be text at all, and in lines.
fn check(bytes: &[u8]) -> Result<&[u8], Fault> {
    let bytes = check_encoding(bytes)?;
    if memchr::memchr(b'\n', bytes).is_none() && memchr::memchr(b'\r', bytes.trim_ascii_end()).is_some() {
        return Err(Fault::NotText("its lines end in a lone carriage return; convert the line ends"));
    }
    Ok(bytes)
}

/// The bytes without a byte order mark, if they can be text at all.
pub(crate) fn check_encoding(bytes: &[u8]) -> Result<&[u8], Fault> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Fault::NotText("it is UTF-16; save it as UTF-8"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if memchr::memchr(0, &bytes[..bytes.len().min(1 << 16)]).is_some() {
        return Err(Fault::NotText("it has zero bytes; name its format"));
    }
    Ok(bytes)
}

/// Which fields of a line are values.
enum Use {
    All,
    AllButIndex,
    Some(Vec<usize>),
}

/// All lines, in parallel pieces that end at line ends.
fn lines<T: Decimal>(bytes: &[u8], total: usize, use_of: &Use) -> Result<Points, Error> {
    let results: Vec<Piece<T>> = pieces(bytes).into_par_iter().map(|piece| parse(piece, total, use_of)).collect();
    let mut lines_before = 0;
    for piece in &results {
        lines_before += piece.lines;
        if piece.fault.is_some() {
            break;
        }
    }
    let mut values = Vec::with_capacity(results.iter().map(|p| p.values.len()).sum());
    for piece in results {
        if let Some((column, fault)) = piece.fault {
            // The piece with the fault counts its lines up to that one.
            return Err(fault.at(match column {
                Some(column) => Place::Field { line: lines_before, column },
                None => Place::Line(lines_before),
            }));
        }
        values.extend_from_slice(&piece.values);
    }
    let d = match use_of {
        Use::All => total,
        Use::AllButIndex => total - 1,
        Use::Some(columns) => columns.len(),
    };
    let n = values.len() / d;
    let values = Array2::from_shape_vec((n, d), values).expect("every line gave d values");
    Ok(T::points(values))
}

/// Splits the bytes at line ends.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while rest.len() > PIECE {
        let Some(end) = memchr::memchr(b'\n', &rest[PIECE..]) else { break };
        let (piece, after) = rest.split_at(PIECE + end + 1);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// What a piece of a file holds.
struct Piece<T> {
    values: Vec<T>,
    /// Lines, up to the one with the fault if there is one.
    lines: u64,
    /// The first fault, and its column if it has one.
    fault: Option<(Option<u64>, Fault)>,
}

/// Parses whole lines.
fn parse<T: Decimal>(bytes: &[u8], total: usize, use_of: &Use) -> Piece<T> {
    let mut piece = Piece { values: Vec::new(), lines: 0, fault: None };
    let mut rest = bytes;
    while !rest.is_empty() {
        piece.lines += 1;
        let before = rest.len();
        let parsed = match use_of {
            Use::All => line(&mut rest, total, false, &mut piece.values),
            Use::AllButIndex => line(&mut rest, total, true, &mut piece.values),
            Use::Some(columns) => line_with_columns(&mut rest, total, columns, &mut piece.values),
        };
        if let Err(fault) = parsed {
            piece.fault = Some(fault);
            return piece;
        }
        if piece.lines == 1 {
            // All lines will be about as long as the first.
            piece.values.reserve((bytes.len() / (before - rest.len()) + 1) * piece.values.len());
        }
    }
    piece
}

type LineFault = (Option<u64>, Fault);

/// Takes a line off `rest` and adds its values: the whole of a line in one pass.
#[inline]
fn line<T: Decimal>(rest: &mut &[u8], total: usize, index: bool, values: &mut Vec<T>) -> Result<(), LineFault> {
    let mut bytes = *rest;
    let mut found = 0;
    loop {
        while let [b' ' | b'\t' | b'\r' | 0x0c, after @ ..] = bytes {
            bytes = after;
        }
        match bytes {
            [b'\n', after @ ..] => {
                bytes = after;
                break;
            }
            [] => break,
            [b'#', ..] => {
                bytes = memchr::memchr(b'\n', bytes).map_or(&[][..], |end| &bytes[end + 1..]);
                break;
            }
            _ => {}
        }
        found += 1;
        // Values beyond the first line's number are counted, and told, but not parsed.
        if found > total || (index && found == 1) {
            let token = token(bytes);
            if found == 1 && !number::is_whole(token) {
                return Err((Some(1), Fault::BadIndex(shown(token))));
            }
            bytes = &bytes[token.len()..];
            continue;
        }
        match T::parse_start(bytes) {
            Some((value, used)) if value.is_finite() && ends_token(&bytes[used..]) => {
                values.push(value);
                bytes = &bytes[used..];
            }
            _ => return Err((Some(found as u64), number::fault::<T>(token(bytes)))),
        }
    }
    *rest = bytes;
    check_length(found, total)
}

/// As [`line`], for chosen columns: the others need not be numbers.
fn line_with_columns<T: Decimal>(
    rest: &mut &[u8],
    total: usize,
    columns: &[usize],
    values: &mut Vec<T>,
) -> Result<(), LineFault> {
    let end = memchr::memchr(b'\n', rest);
    let (line, after) = end.map_or((*rest, &[][..]), |end| (&rest[..end], &rest[end + 1..]));
    *rest = after;
    let line: Vec<&[u8]> = fields(without_comment(line)).collect();
    check_length(line.len(), total)?;
    if line.is_empty() {
        return Ok(());
    }
    for &column in columns {
        values.push(number::field(line[column]).map_err(|fault| (Some(column as u64 + 1), fault))?);
    }
    Ok(())
}

fn check_length(found: usize, total: usize) -> Result<(), LineFault> {
    if found == total || found == 0 {
        return Ok(());
    }
    Err((None, Fault::Ragged { found: found as u64, expected: total as u64 }))
}

/// The blanks of [`u8::is_ascii_whitespace`], which also decides what is trimmed.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0c)
}

fn ends_token(rest: &[u8]) -> bool {
    rest.first().is_none_or(|&b| is_blank(b) || b == b'\n')
}

fn token(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&b| is_blank(b) || b == b'\n').unwrap_or(bytes.len());
    &bytes[..end]
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&b| is_blank(b)).filter(|field| !field.is_empty())
}

/// A line up to its comment, without blanks at its ends. A `#` begins a comment only where a field could begin.
fn without_comment(line: &[u8]) -> &[u8] {
    let comment = (0..line.len()).find(|&i| line[i] == b'#' && (i == 0 || is_blank(line[i - 1])));
    line[..comment.unwrap_or(line.len())].trim_ascii()
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
    fn blanks_line_ends_comments_and_a_mark_do_not_matter() {
        let expected = Ok((2, vec![1.0, 2.0, 3.0, 4.0]));
        for text in [
            "1 2\n3 4\n",
            "1 2\n3 4",
            "\u{feff}1 2\r\n3 4\r\n",
            "# x y\n\n  1\t2  \n\n3   4 # last\n   \n",
            "1 2\n3 4\r",
        ] {
            assert_eq!(all(text), expected, "{text:?}");
        }
    }

    #[test]
    fn an_index_column_is_left_out_and_checked() {
        let with = Options { index: IndexColumn::Yes, ..Options::default() };
        assert_eq!(values("1 5.5\n2 6.5\n", &with), Ok((1, vec![5.5, 6.5])));
        assert_eq!(
            values("1 5\n2.5 6\n", &with).unwrap_err(),
            "line 2, column 1: the index `2.5` is not a whole number"
        );
        assert_eq!(values("1\n2\n", &with).unwrap_err(), "there is an index column but no other");
        let perhaps = Options { index: IndexColumn::IfMoreThan(2), ..Options::default() };
        assert_eq!(values("1 2\n3 4\n", &perhaps), all("1 2\n3 4\n"));
        assert_eq!(values("0 1 2\n1 3 4\n", &perhaps), all("1 2\n3 4\n"));
    }

    #[test]
    fn columns_that_are_not_chosen_need_not_be_numbers() {
        let options = Options { columns: Some("3,1".parse().unwrap()), ..Options::default() };
        assert_eq!(values("1 a 2\n3 b 4\n", &options), Ok((2, vec![2.0, 1.0, 4.0, 3.0])));
        assert_eq!(values("1 a 2\n3 b c\n", &options).unwrap_err(), "line 2, column 3: `c` is not a number");
    }

    #[test]
    fn faults_name_line_and_column() {
        for (text, message) in [
            ("1 2\n\n3\n", "line 3: 1 value but the first row has 2"),
            ("1 2\n3 4 5\n", "line 2: 3 values but the first row has 2"),
            ("1 2\n# c\n3 x4\n", "line 3, column 2: `x4` is not a number"),
            ("1 2\n3 4x\n", "line 2, column 2: `4x` is not a number"),
            ("1 2\n3 nan\n", "line 2, column 2: the value nan is not finite as f64: every value must be"),
            ("1,5 2\n", "line 1, column 1: `1,5` is not a number: the decimal separator is a point"),
            ("\n# nothing\n", "there are no points in it"),
            ("\u{b}\u{b}\n", "line 1, column 1: `\\u{b}\\u{b}` is not a number"),
            ("1 2\r3 4\r", "this is not text: its lines end in a lone carriage return; convert the line ends"),
        ] {
            assert_eq!(all(text).unwrap_err(), message, "{text:?}");
        }
        assert!(read(b"\xff\xfe1\0", &Options::default()).unwrap_err().to_string().contains("UTF-16"));
    }

    #[test]
    fn pieces_give_the_same_as_one_and_count_lines_across() {
        let line = "0.123456789 -987.654321 3e-5\n";
        let mut text = line.repeat(3 * PIECE / line.len());
        let (d, whole) = all(&text).unwrap();
        assert_eq!((d, whole.len()), (3, 3 * text.lines().count()));
        assert!(whole.chunks(3).all(|row| row == [0.123_456_789, -987.654_321, 3e-5]));
        let lines = text.lines().count();
        text.push_str("1 2 3\n1 two 3\n1 two 3\n");
        assert_eq!(all(&text).unwrap_err(), format!("line {}, column 2: `two` is not a number", lines + 2));
    }
}
