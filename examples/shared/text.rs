//! Text for the picture, and numbers as people write them.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use image::{Rgb, RgbImage};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

/// A size, weight and colour to write in.
#[derive(Clone, Copy)]
pub struct Pen {
    size: RasterHeight,
    weight: FontWeight,
    colour: Rgb<u8>,
}

impl Pen {
    /// A pen.
    pub const fn new(size: RasterHeight, weight: FontWeight, colour: Rgb<u8>) -> Self {
        Self { size, weight, colour }
    }

    /// The height of a line, in pixels.
    pub const fn height(&self) -> u32 {
        self.size.val() as u32
    }

    /// The width of `text`, in pixels.
    pub fn width(&self, text: &str) -> u32 {
        (text.chars().count() * get_raster_width(self.weight, self.size)) as u32
    }

    /// `text` if it is at most `width` pixels wide, else as much of its beginning as leaves room for "...".
    pub fn shortened(&self, text: &str, width: u32) -> String {
        if self.width(text) <= width {
            return text.into();
        }
        let room = width as usize / get_raster_width(self.weight, self.size);
        text.chars().take(room.saturating_sub(3)).chain("...".chars().take(room)).collect()
    }

    /// Writes `text` with its top left corner at (x, y). Characters that the font lacks become "?".
    pub fn write(&self, canvas: &mut RgbImage, (x, y): (u32, u32), text: &str) {
        for (i, c) in text.chars().enumerate() {
            let raster = [c, '?'].into_iter().find_map(|c| get_raster(c, self.weight, self.size));
            let Some(raster) = raster else { continue };
            for (j, &ink) in raster.pixels().iter().enumerate() {
                let (dx, dy) = ((i * raster.width() + j % raster.width()) as u32, (j / raster.width()) as u32);
                if let Some(pixel) = canvas.get_pixel_mut_checked(x + dx, y + dy) {
                    self.blend(pixel, ink);
                }
            }
        }
    }

    fn blend(&self, pixel: &mut Rgb<u8>, ink: u8) {
        for (below, above) in pixel.0.iter_mut().zip(self.colour.0) {
            let mix = u32::from(above) * u32::from(ink) + u32::from(*below) * (255 - u32::from(ink));
            *below = ((mix + 127) / 255) as u8;
        }
    }
}

/// One line on stdout. That nobody reads it any more, as with `| head`, is no reason to stop.
pub fn say(text: impl Display) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// An integer with a comma between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// "one patch", "1,200 patches".
pub fn counted(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(number)) }
}

/// `part` of `whole` in percent, one decimal.
pub fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole as f64;
    if part > 0 && share < 0.05 { "<0.1%".into() } else { format!("{share:.1}%") }
}

/// A time in the unit that suits it.
pub fn duration(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s < 0.001 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEN: Pen = Pen::new(RasterHeight::Size16, FontWeight::Regular, Rgb([255; 3]));

    #[test]
    fn text_fills_its_box_and_nothing_else() {
        let (width, height) = (PEN.width("Mg×"), PEN.height());
        let mut canvas = RgbImage::new(width + 20, height + 20);
        PEN.write(&mut canvas, (10, 10), "Mg×");
        let inked: Vec<_> = canvas.enumerate_pixels().filter(|(_, _, p)| p.0 != [0; 3]).collect();
        assert!(!inked.is_empty());
        assert!(inked.iter().all(|(x, y, _)| (10..10 + width).contains(x) && (10..10 + height).contains(y)));
    }

    #[test]
    fn text_over_the_edge_and_unknown_characters_are_no_panic() {
        let mut canvas = RgbImage::new(12, 8);
        PEN.write(&mut canvas, (4, 4), "漢字 and more");
        let mut expected = RgbImage::new(12, 8);
        PEN.write(&mut expected, (4, 4), "??");
        assert_eq!(canvas, expected);
    }

    #[test]
    fn long_text_is_shortened_to_fit() {
        assert_eq!(PEN.shortened("holiday.jpg", PEN.width("holiday.jpg")), "holiday.jpg");
        assert_eq!(PEN.shortened("holiday.jpg", PEN.width("holiday.jp")), "holiday...");
        assert_eq!(PEN.shortened("holiday.jpg", PEN.width("12")), "..");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 63_504, 1_234_567].map(grouped), ["0", "999", "1,000", "63,504", "1,234,567"]);
        assert_eq!([percent(0, 7), percent(1, 63_504), percent(1, 3)], ["0.0%", "<0.1%", "33.3%"]);
        assert_eq!(counted(1, "cluster", "clusters") + &counted(2, "iteration", "iterations"), "1 cluster2 iterations");
        assert_eq!([7, 1_500, 2_500_000].map(|us| duration(Duration::from_micros(us))), ["7 µs", "1.5 ms", "2.50 s"]);
    }
}
