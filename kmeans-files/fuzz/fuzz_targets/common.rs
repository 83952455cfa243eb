//! What all targets do: parse with options that the first bytes choose, and look at what came out.

use kmeans_files::{ElementType, Format, Header, IndexColumn, Options, Points, parse};

/// Parses what follows the first three bytes, which choose the options.
pub fn check(data: &[u8], formats: &[Format]) {
    let [choice, header, element, bytes @ ..] = data else { return };
    let options = Options {
        format: Some(formats[usize::from(*choice) % formats.len()]),
        element: [
            None,
            Some(ElementType::F16),
            Some(ElementType::Bf16),
            Some(ElementType::F32),
            Some(ElementType::F64),
        ][usize::from(*element) % 5],
        columns: if element & 0x80 != 0 { "2,1".parse().ok() } else { None },
        prefer: (element & 0x40 != 0).then(|| vec!["x".into()]),
        index: [IndexColumn::No, IndexColumn::Yes, IndexColumn::IfMoreThan(2)][usize::from(*header >> 4) % 3],
        header: [Header::Auto, Header::Yes, Header::No][usize::from(*header & 15) % 3],
        delimiter: None,
        map: false,
    };
    match parse(bytes, &options) {
        Ok(table) => {
            let (n, d) = table.points.dim();
            assert!(n > 0 && d > 0);
            assert!(options.element.is_none_or(|e| e == table.points.element()));
            // The text formats promise numbers; the others leave NaN to whoever checks the points.
            if matches!(table.format, Format::Text | Format::Csv) {
                let Points::F64(values) = table.points.into_element(ElementType::F64) else { unreachable!() };
                assert!(values.view().iter().all(|v| v.is_finite()));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
