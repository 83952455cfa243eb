//! The formats, and how one is recognised.

use std::fmt;
use std::path::Path;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Numbers separated by blanks.
    Text,
    /// Comma-separated values.
    Csv,
    /// NumPy's array format.
    Npy,
    /// Rows of f32, each led by its length as i32.
    Fvecs,
    /// Rows of u8, each led by its length as i32.
    Bvecs,
    /// Rows of i32, each led by its length as i32.
    Ivecs,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Text, Self::Csv, Self::Npy, Self::Fvecs, Self::Bvecs, Self::Ivecs, Self::Parquet];

    /// Its name, as in messages and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Csv => "csv",
            Self::Npy => "npy",
            Self::Fvecs => "fvecs",
            Self::Bvecs => "bvecs",
            Self::Ivecs => "ivecs",
            Self::Parquet => "parquet",
        }
    }

    /// What the end of a file's name says.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "csv" | "tsv" => Some(Self::Csv),
            "npy" => Some(Self::Npy),
            "fvecs" => Some(Self::Fvecs),
            "bvecs" => Some(Self::Bvecs),
            "ivecs" => Some(Self::Ivecs),
            "parquet" | "pq" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// What the content says: a binary format by its magic bytes, CSV by a comma or semicolon in the first line with data, else text.
    pub fn of_content(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"\x93NUMPY") {
            return Some(Self::Npy);
        }
        if bytes.starts_with(b"PAR1") {
            return Some(Self::Parquet);
        }
        let start = &bytes[..bytes.len().min(1 << 16)];
        // UTF-16 is full of zeros too, but has a better message of its own.
        if memchr::memchr(0, start).is_some() && !start.starts_with(&[0xff, 0xfe]) && !start.starts_with(&[0xfe, 0xff])
        {
            return None;
        }
        let first = start.split(|b| *b == b'\n').find(|line| {
            let line = line.trim_ascii();
            !line.is_empty() && !line.starts_with(b"#")
        });
        let is_csv = first.is_some_and(|line| {
            let fields = || line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
            let decimal_commas = fields().count() > 1 && fields().all(is_decimal_comma);
            (line.contains(&b',') && !decimal_commas) || line.contains(&b';')
        });
        Some(if is_csv { Self::Csv } else { Self::Text })
    }
}

/// Whether a field looks like "1,5", which the text parser has a better message for than the CSV parser.
fn is_decimal_comma(field: &[u8]) -> bool {
    let digits =
        |part: &[u8]| part.iter().any(u8::is_ascii_digit) && part.iter().all(|b| b"+-.eE0123456789".contains(b));
    let mut parts = field.split(|b| *b == b',');
    let (before, after) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    digits(before) && digits(after) && parts.next().is_none()
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_the_format() {
        for (bytes, format) in [
            (&b"1 2\n"[..], Some(Format::Text)),
            (b"# a, b\n\n1 2\n", Some(Format::Text)),
            (b"x,y\n", Some(Format::Csv)),
            (b"1, 2, 3\n", Some(Format::Csv)),
            (b"1,5\n", Some(Format::Csv)),
            (b"1,5 2,5\n", Some(Format::Text)),
            (b"1,5;2,5\n", Some(Format::Csv)),
            (b"\x93NUMPY\x01", Some(Format::Npy)),
            (b"PAR1", Some(Format::Parquet)),
            (b"\x02\0\0\0\0\0\x80\x3f", None),
            (b"\xff\xfe1\0", Some(Format::Text)),
        ] {
            assert_eq!(Format::of_content(bytes), format, "{bytes:?}");
        }
    }
}
