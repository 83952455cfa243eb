//! Palettes: as text for programs, and as a strip of colours.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use image::{DynamicImage, Rgb, RgbImage, imageops};
use kmeans_files::Staged;
use kmeans_host::image::Swatch;
use serde::Serialize;

use super::{PictureFile, opaque};
use crate::failure::Failure;

/// Width and height of a palette's picture, in pixels.
const STRIP: (u32, u32) = (640, 80);
/// The ground between pictures: neither black nor white, so that black and white parts keep their outline.
pub const PAPER: Rgb<u8> = Rgb([40, 44, 52]);

/// A palette, the largest share first, the lower label first among equals.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Swatches(pub Vec<Entry>);

/// A colour of a palette.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    pub label: usize,
    /// As the web writes it.
    pub colour: String,
    pub rgb: [u8; 3],
    pub count: u64,
    pub share: f64,
}

impl Swatches {
    /// That of a segmented image.
    pub fn of(palette: &[Swatch<u8>]) -> Self {
        let entry = |(label, swatch): (usize, &Swatch<u8>)| {
            let [r, g, b] = swatch.colour;
            Entry {
                label,
                colour: format!("#{r:02x}{g:02x}{b:02x}"),
                rgb: swatch.colour,
                count: swatch.count,
                share: swatch.share,
            }
        };
        let mut entries: Vec<Entry> = palette.iter().enumerate().map(entry).collect();
        entries.sort_by(|a, b| b.share.total_cmp(&a.share));
        Self(entries)
    }

    /// A header, and a record per colour.
    fn csv(&self) -> String {
        let line = |Entry { label, colour, rgb: [r, g, b], count, share }: &Entry| {
            format!("{label},{colour},{r},{g},{b},{count},{share}\n")
        };
        self.0.iter().map(line).fold("label,colour,red,green,blue,count,share\n".into(), |text, line| text + &line)
    }

    fn json(&self) -> String {
        let lines: Vec<String> =
            self.0.iter().map(|e| serde_json::to_string(e).expect("an entry is plain data")).collect();
        format!("[\n  {}\n]\n", lines.join(",\n  "))
    }

    /// A strip in which each colour is as wide as its share.
    fn strip(&self, width: u32, height: u32) -> RgbImage {
        let mut strip = RgbImage::new(width, height);
        let (mut share, mut from) = (0.0, 0);
        for entry in &self.0 {
            share += entry.share;
            let to = ((f64::from(width) * share).round() as u32).min(width);
            for y in 0..height {
                (from..to).for_each(|x| strip.put_pixel(x, y, Rgb(entry.rgb)));
            }
            from = to;
        }
        strip
    }
}

/// A palette's file, in the format that its name says.
pub enum PaletteFile {
    Csv(Staged),
    Json(Staged),
    Strip(PictureFile),
}

impl PaletteFile {
    /// Makes sure that the name is one of these formats, and that the file can be written.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase).as_deref() {
            Some("csv") => Ok(Self::Csv(Staged::create(path)?)),
            Some("json") => Ok(Self::Json(Staged::create(path)?)),
            Some("png" | "jpg" | "jpeg") => Ok(Self::Strip(PictureFile::create(path)?)),
            _ => Err(Failure::usage(
                format!("{}: the name of a palette ends in .json, .csv or .png", path.display()),
                "choose such a name",
            )),
        }
    }

    /// Writes the palette; the file is put in its place by [`Staged::finish_all`].
    pub fn write(self, palette: &Swatches) -> Result<Staged, Failure> {
        let (mut staged, text) = match self {
            Self::Csv(staged) => (staged, palette.csv()),
            Self::Json(staged) => (staged, palette.json()),
            Self::Strip(file) => return file.write(&palette.strip(STRIP.0, STRIP.1).into()),
        };
        staged.write_all(text.as_bytes()).map_err(|e| staged.failed(e))?;
        Ok(staged)
    }
}

/// The image beside the result, above the palette.
pub fn beside(image: &DynamicImage, result: &DynamicImage, palette: &Swatches) -> RgbImage {
    let (width, height) = (image.width(), image.height());
    let gap = (width.max(height) / 50).clamp(1, 40);
    let bar = (height / 10).clamp(8, 120);
    let all = 2 * width + gap;
    let mut canvas = RgbImage::from_pixel(all, height + gap + bar, PAPER);
    imageops::replace(&mut canvas, &opaque(image), 0, 0);
    imageops::replace(&mut canvas, &opaque(result), (width + gap).into(), 0);
    imageops::replace(&mut canvas, &palette.strip(all, bar), 0, (height + gap).into());
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;

    fn palette() -> Swatches {
        let swatch = |colour, count, share| Swatch { colour, count, share };
        Swatches::of(&[swatch([1, 2, 3], 1, 0.25), swatch([255, 0, 16], 2, 0.5), swatch([9, 9, 9], 1, 0.25)])
    }

    #[test]
    fn the_largest_share_comes_first_in_every_form() {
        let palette = palette();
        assert_eq!(
            palette.csv(),
            "label,colour,red,green,blue,count,share\n1,#ff0010,255,0,16,2,0.5\n0,#010203,1,2,3,1,0.25\n2,#090909,9,9,9,1,0.25\n"
        );
        let json: serde_json::Value = serde_json::from_str(&palette.json()).unwrap();
        assert_eq!(json[0]["colour"], "#ff0010");
        assert_eq!(json[2]["label"], 2);
        let strip = palette.strip(8, 1);
        let reds: Vec<u8> = strip.pixels().map(|p| p.0[0]).collect();
        assert_eq!(reds, [255, 255, 255, 255, 1, 1, 9, 9]);
    }

    #[test]
    fn pictures_stand_side_by_side() {
        let image = |v: u8| DynamicImage::from(RgbImage::from_pixel(100, 50, Rgb([v; 3])));
        let canvas = beside(&image(10), &image(200), &palette());
        assert_eq!(canvas.dimensions(), (202, 60));
        assert_eq!([(99, 49), (100, 0), (102, 0)].map(|(x, y)| canvas.get_pixel(x, y).0[0]), [10, 40, 200]);
        assert_eq!(canvas.get_pixel(0, 59).0, [255, 0, 16]);
    }
}
