//! Charts are SVG; here they become files, as such or as PNG.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use kmeans_files::Staged;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::failure::Failure;

/// Pixels per unit of the chart: as screens have them now.
const SCALE: f32 = 2.0;

/// A chart's file, in the format that its name says.
pub struct ChartFile {
    staged: Staged,
    is_png: bool,
}

impl ChartFile {
    /// Makes sure that the name is one of these formats, and that the file can be written.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let is_png = match path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase).as_deref() {
            Some("svg") => false,
            Some("png") => true,
            _ => {
                return Err(Failure::usage(
                    format!("{}: the name of a chart ends in .svg or .png", path.display()),
                    "choose such a name",
                ));
            }
        };
        Ok(Self { staged: Staged::create(path)?, is_png })
    }

    /// Writes the chart and puts the file in its place; its name.
    pub fn write(mut self, svg: &str) -> Result<String, Failure> {
        let bytes = if self.is_png { png(svg)? } else { svg.as_bytes().to_vec() };
        self.staged.write_all(&bytes).map_err(|e| self.staged.failed(e))?;
        let name = self.staged.name().to_string();
        self.staged.finish()?;
        Ok(name)
    }
}

/// The chart as PNG, with the letters of a font that comes along: the same on every machine.
fn png(svg: &str) -> Result<Vec<u8>, Failure> {
    let failed = |what: String| Failure::Bug(format!("the chart cannot be drawn: {what}"));
    let mut options = Options { font_family: "Noto Sans".into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(ttf_noto_sans::REGULAR.to_vec());
    fonts.set_sans_serif_family("Noto Sans");
    let tree = Tree::from_str(svg, &options).map_err(|e| failed(e.to_string()))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| failed("it has no size".into()))?;
    let mut pixels =
        Pixmap::new(size.width(), size.height()).ok_or_else(|| failed("it does not fit into memory".into()))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| failed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_drawn_without_fonts_of_the_system() {
        let chart = |text: &str| {
            let svg = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"30\" font-family=\"sans-serif\">\
                 <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/><text x=\"5\" y=\"20\">{text}</text></svg>"
            );
            image::load_from_memory(&png(&svg).unwrap()).unwrap().to_luma8()
        };
        let drawn = chart("Kmeans");
        assert_eq!(drawn.dimensions(), (120, 60));
        assert!(drawn.pixels().filter(|p| p.0[0] < 100).count() > 100);
        assert!(chart("").pixels().all(|p| p.0[0] == 255));
    }
}
