//! Choosing columns by number, range or name.

use std::str::FromStr;

use crate::Fault;

/// Columns to use, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(pub Vec<Pick>);

/// One choice of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// These columns, from 1, both ends included; with the text it was written as, in case a column has that for a name.
    Numbers(u64, u64, String),
    /// The column of this name.
    Name(String),
}

impl FromStr for Columns {
    type Err = String;

    /// "x,y,4-6": names, numbers from 1, and ranges of numbers.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u64>().ok();
        let pick = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (number(first.trim()), number(last.trim())) {
                _ if part.is_empty() => Err("a column's name or number is missing".to_string()),
                (Some(0), _) => Err("columns are counted from 1".into()),
                (Some(first), Some(last)) if first > last => Err(format!("{part} runs backwards")),
                (Some(first), Some(last)) => Ok(Pick::Numbers(first, last, part.into())),
                _ => Ok(Pick::Name(part.into())),
            }
        };
        text.split(',').map(|part| pick(part.trim())).collect::<Result<_, _>>().map(Self)
    }
}

impl Columns {
    /// Whether a header is needed to find them.
    pub(crate) fn has_names(&self) -> bool {
        self.0.iter().any(|pick| matches!(pick, Pick::Name(_)))
    }

    /// The columns as indices from 0, in a file of `have` columns with these names, if it has names.
    pub(crate) fn resolve(&self, have: usize, names: Option<&[String]>) -> Result<Vec<usize>, Fault> {
        let mut indices = Vec::new();
        for pick in &self.0 {
            match pick {
                // A name that looks like a number, such as a year, is a name first.
                Pick::Numbers(_, _, text) if names.is_some_and(|n| n.contains(text)) => {
                    indices.push(named(text, names)?);
                }
                &Pick::Numbers(first, last, _) => {
                    if last > have as u64 {
                        return Err(Fault::NoSuchColumn { wanted: last, have: have as u64 });
                    }
                    indices.extend(first as usize - 1..last as usize);
                }
                Pick::Name(name) => indices.push(named(name, names)?),
            }
        }
        Ok(indices)
    }
}

fn named(name: &str, names: Option<&[String]>) -> Result<usize, Fault> {
    let names = names.unwrap_or_default();
    let mut found = (0..names.len()).filter(|&i| names[i] == name);
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        (Some(_), Some(_)) => Err(Fault::AmbiguousName(name.into())),
        (None, _) => Err(Fault::NoSuchName { name: name.into(), known: names.to_vec() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str, names: &[&str]) -> Result<Vec<usize>, String> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let columns: Columns = text.parse()?;
        columns.resolve(5, (!names.is_empty()).then_some(&names)).map_err(|e| e.to_string())
    }

    #[test]
    fn numbers_ranges_and_names_can_be_mixed() {
        assert_eq!(resolve("b, 4-5,1", &["a", "b", "c", "d", "e"]), Ok(vec![1, 3, 4, 0]));
        assert_eq!(resolve("3", &[]), Ok(vec![2]));
    }

    #[test]
    fn a_name_that_is_a_number_is_a_name_first() {
        assert_eq!(resolve("2019,2", &["2018", "2019", "2020", "2021", "2022"]), Ok(vec![1, 1]));
    }

    #[test]
    fn what_cannot_be_found_is_said() {
        assert_eq!(resolve("6", &[]).unwrap_err(), "column 6 is asked for, but there are 5");
        assert_eq!(resolve("2-99999999999", &[]).unwrap_err(), "column 99999999999 is asked for, but there are 5");
        assert_eq!(resolve("z", &[]).unwrap_err(), "no column is named `z`: there is no header");
        assert_eq!(resolve("z", &["a", "b"]).unwrap_err(), "no column is named `z`; there are: a, b");
        assert_eq!(resolve("a", &["a", "a"]).unwrap_err(), "more than one column is named `a`: ask for it by number");
        for bad in ["", "1,,2", "0", "3-1"] {
            assert!(resolve(bad, &[]).is_err(), "{bad}");
        }
    }
}
