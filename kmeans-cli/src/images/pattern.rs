//! Names of several images, and of what is written for each.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::failure::Failure;

/// The name of an output, in which `{}` stands for the name of the image without its end.
#[derive(Clone, Debug)]
pub struct Pattern(String);

impl FromStr for Pattern {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.into()))
    }
}

impl Pattern {
    /// The output's name for an image.
    pub fn of(&self, image: &Path) -> PathBuf {
        let stem = if image.as_os_str() == "-" { OsStr::new("stdin") } else { image.file_stem().unwrap_or_default() };
        self.0.replace("{}", &stem.to_string_lossy()).into()
    }

    /// Makes sure that each of several images has a file of its own.
    pub fn check(&self, images: usize) -> Result<(), Failure> {
        if images < 2 || self.0.contains("{}") {
            return Ok(());
        }
        let path = Path::new(&self.0);
        let end = path.extension().map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
        Err(Failure::usage(
            format!("{} would be written for each of {images} images", self.0),
            format!("write {{}} for the image's name: \"{}\"", path.with_file_name(format!("{{}}-out{end}")).display()),
        ))
    }
}

/// The images named; patterns that the shell left, such as `*.png`, stand for the files that match, in alphabetical order.
pub fn expand(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut images = Vec::new();
    for path in named {
        let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']) && !path.exists());
        let Some(pattern) = pattern else {
            images.push(path.clone());
            continue;
        };
        let matches = glob::glob(pattern).map_err(|e| {
            Failure::usage(format!("{pattern} is no pattern of names: {e}"), "* stands for any text, ? for a character")
        })?;
        let before = images.len();
        images.extend(matches.flatten());
        if images.len() == before {
            return Err(Failure::usage(format!("no file matches {pattern}"), "name the images, or another pattern"));
        }
    }
    Ok(images)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_named_after_their_images() {
        let pattern: Pattern = "out/{}.seg.png".parse().unwrap();
        assert_eq!(pattern.of(Path::new("a/photo.of me.jpg")), Path::new("out/photo.of me.seg.png"));
        assert_eq!(pattern.of(Path::new("-")), Path::new("out/stdin.seg.png"));
        assert!(pattern.check(7).is_ok());
        let fixed: Pattern = "x.png".parse().unwrap();
        assert!(fixed.check(1).is_ok() && fixed.check(2).is_err());
    }

    #[test]
    fn patterns_find_files_in_order_and_names_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["b.png", "a.png", "c.jpg", "[x].png"] {
            std::fs::write(path(name), "").unwrap();
        }
        let found = expand(&[path("?.png"), path("[x].png"), path("none.png")]).unwrap();
        assert_eq!(found, ["a.png", "b.png", "[x].png", "none.png"].map(path));
        assert!(expand(&[path("*.gif")]).is_err());
        assert!(expand(&[path("***")]).is_err());
    }
}
