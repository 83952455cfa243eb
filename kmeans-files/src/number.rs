//! Decimal numbers, parsed from bytes and rounded once.

use half::{bf16, f16};
use ndarray::Array2;

use crate::error::shown;
use crate::{ElementType, Fault, Matrix, Points};

/// An element type that decimal numbers are read as.
pub(crate) trait Decimal: Copy + Send + Sync + 'static {
    const ELEMENT: ElementType;

    /// The number that `bytes` begin with, and how many of them it takes.
    fn parse_start(bytes: &[u8]) -> Option<(Self, usize)>;

    fn is_finite(self) -> bool;

    fn points(values: Array2<Self>) -> Points;
}

impl Decimal for f32 {
    const ELEMENT: ElementType = ElementType::F32;

    #[inline]
    fn parse_start(bytes: &[u8]) -> Option<(Self, usize)> {
        fast_float2::parse_partial(bytes).ok()
    }
    #[inline]
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
    fn points(values: Array2<Self>) -> Points {
        Points::F32(Matrix::Owned(values))
    }
}

impl Decimal for f64 {
    const ELEMENT: ElementType = ElementType::F64;

    #[inline]
    fn parse_start(bytes: &[u8]) -> Option<(Self, usize)> {
        fast_float2::parse_partial(bytes).ok()
    }
    #[inline]
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    fn points(values: Array2<Self>) -> Points {
        Points::F64(Matrix::Owned(values))
    }
}

// The half types are read through f64. A decimal that f64 rounds to just between two of them can come out as the other
// neighbour: they are read for their size, and 13 digits from such a tie nobody can tell.
impl Decimal for f16 {
    const ELEMENT: ElementType = ElementType::F16;

    #[inline]
    fn parse_start(bytes: &[u8]) -> Option<(Self, usize)> {
        f64::parse_start(bytes).map(|(value, used)| (f16::from_f64(value), used))
    }
    #[inline]
    fn is_finite(self) -> bool {
        f16::is_finite(self)
    }
    fn points(values: Array2<Self>) -> Points {
        Points::F16(Matrix::Owned(values))
    }
}

impl Decimal for bf16 {
    const ELEMENT: ElementType = ElementType::Bf16;

    #[inline]
    fn parse_start(bytes: &[u8]) -> Option<(Self, usize)> {
        f64::parse_start(bytes).map(|(value, used)| (bf16::from_f64(value), used))
    }
    #[inline]
    fn is_finite(self) -> bool {
        bf16::is_finite(self)
    }
    fn points(values: Array2<Self>) -> Points {
        Points::Bf16(Matrix::Owned(values))
    }
}

/// The finite number that a whole field is.
pub(crate) fn field<T: Decimal>(bytes: &[u8]) -> Result<T, Fault> {
    match T::parse_start(bytes) {
        Some((value, used)) if used == bytes.len() && value.is_finite() => Ok(value),
        _ => Err(fault::<T>(bytes)),
    }
}

/// Whether a whole field is a number, finite or not.
pub(crate) fn is_number(bytes: &[u8]) -> bool {
    f64::parse_start(bytes).is_some_and(|(_, used)| used == bytes.len())
}

/// Whether a field is a number, or one with a comma in it.
pub(crate) fn was_meant(bytes: &[u8]) -> bool {
    let has_comma = bytes.contains(&b',') && bytes.iter().any(u8::is_ascii_digit);
    is_number(bytes) || (has_comma && bytes.iter().all(|b| b.is_ascii_digit() || b"+-.,eE".contains(b)))
}

/// Whether a field is a whole number.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    let digits = bytes.strip_prefix(b"-").or(bytes.strip_prefix(b"+")).unwrap_or(bytes);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// What is wrong with a field that is no finite number.
#[cold]
pub(crate) fn fault<T: Decimal>(bytes: &[u8]) -> Fault {
    let text = shown(bytes);
    if bytes.is_empty() {
        Fault::Missing
    } else if is_number(bytes) {
        Fault::NotFinite { text, element: T::ELEMENT.name() }
    } else if was_meant(bytes) {
        Fault::Comma(text)
    } else {
        Fault::NotANumber(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_once_to_their_type() {
        // Halfway between two f32 in f64, above halfway as written.
        let text = "1.00000005960464477540";
        assert_eq!(field::<f32>(text.as_bytes()).unwrap(), text.parse::<f32>().unwrap());
        for text in ["0", "-0.5", "+2.5e-3", ".5", "5.", "1e22", "123456789012345678901234567890", "4.9e-324"] {
            assert_eq!(field::<f64>(text.as_bytes()).unwrap(), text.parse::<f64>().unwrap(), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_told_apart() {
        assert!(matches!(field::<f64>(b"").unwrap_err(), Fault::Missing));
        for text in ["nan", "-inf", "Infinity", "1e999"] {
            assert!(matches!(field::<f64>(text.as_bytes()).unwrap_err(), Fault::NotFinite { .. }), "{text}");
        }
        assert!(matches!(field::<f32>(b"1e39").unwrap_err(), Fault::NotFinite { .. }));
        for text in ["1,5", "1.000,5"] {
            assert!(matches!(field::<f64>(text.as_bytes()).unwrap_err(), Fault::Comma(_)), "{text}");
        }
        for text in ["x", "1x", "0x10", "1_000", "--1", "1e", "\u{661}"] {
            assert!(matches!(field::<f64>(text.as_bytes()).unwrap_err(), Fault::NotANumber(_)), "{text}");
        }
    }
}
