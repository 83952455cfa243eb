//! Image files of every kind a person may have, each with its right behaviour.

use image::codecs::png::PngEncoder;
use image::{
    DynamicImage, ExtendedColorType, GrayAlphaImage, GrayImage, ImageBuffer, ImageEncoder, Luma, LumaA, Rgb, RgbImage,
};
use kmeans_host::image::{Segmentation, decode, open};
use kmeans_host::{Error, KMeans, Notice};
use kmeans_tests::files::path;

/// Means of red, green and blue of `pil_sample_cmyk.jpg` as Pillow converts it.
const CMYK_MEAN: [f64; 3] = [30.232, 5.444, 7.386];

fn png(image: &DynamicImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (width, height) = (image.width(), image.height());
    let colour: ExtendedColorType = image.color().into();
    PngEncoder::new(&mut bytes).write_image(image.as_bytes(), width, height, colour).unwrap();
    bytes
}

/// Through a file, to clusters and back: the type, the size and the alpha stay.
fn segment(image: impl Into<DynamicImage>, k: usize) -> DynamicImage {
    let image = image.into();
    let read = decode(&png(&image)).unwrap();
    assert_eq!(read, image);
    let segmented = Segmentation::new(k).segment_image(&read).unwrap();
    assert_eq!(segmented.labels.dim(), (image.height() as usize, image.width() as usize));
    assert_eq!(segmented.image.color(), image.color());
    segmented.image
}

#[test]
fn grey_stays_grey() {
    let image = GrayImage::from_fn(20, 10, |x, _| Luma([if x < 10 { 30 } else { 200 }]));
    assert_eq!(segment(image.clone(), 2), image.into());
}

#[test]
fn grey_with_alpha_keeps_its_alpha() {
    let image = GrayAlphaImage::from_fn(20, 10, |x, y| LumaA([if x < 10 { 30 } else { 200 }, 25 * y as u8]));
    assert_eq!(segment(image.clone(), 2), image.into());
}

#[test]
fn sixteen_bits_stay_sixteen_bits() {
    // Two greys that 8 bits cannot tell apart.
    let image = ImageBuffer::from_fn(20, 10, |x, _| Luma([if x < 10 { 51_200_u16 } else { 51_210 }]));
    assert_eq!(segment(image.clone(), 2), image.into());
    let rgb = ImageBuffer::from_fn(20, 10, |x, _| Rgb([if x < 10 { 256_u16 } else { 300 }, 7, 65_535]));
    assert_eq!(segment(rgb.clone(), 2), rgb.into());
}

#[test]
fn one_pixel_is_one_cluster_and_says_so() {
    let image = RgbImage::from_pixel(1, 1, Rgb([1, 2, 3]));
    let segmented = Segmentation::new(8).segment_image(&image.clone().into()).unwrap();
    assert_eq!(segmented.image, image.into());
    assert_eq!(segmented.palette.len(), 1);
    assert_eq!(segmented.palette[0].colour, [1, 2, 3]);
    assert!(segmented.notices.contains(&Notice::FewerColours { k: 8, found: 1 }));
}

#[test]
fn a_palette_file_has_its_colours() {
    // Pillow's test image: 8-bit palette with transparency.
    let image = open(path("edge/palette_alpha.png")).unwrap();
    assert!(image.color().has_alpha());
    let segmented = Segmentation::new(4).segment_image(&image).unwrap();
    let alpha = |image: &DynamicImage| image.to_rgba8().pixels().map(|p| p.0[3]).collect::<Vec<_>>();
    assert_eq!(alpha(&segmented.image), alpha(&image));
}

#[test]
fn transparent_pixels_add_no_black_to_the_palette() {
    let image = open(path("edge/pil123rgba.png")).unwrap();
    let clear = image.to_rgba8().pixels().filter(|p| p.0[3] == 0).count();
    assert!(clear > 1000);
    let share = Segmentation::new(4).segment_image(&image).unwrap().palette.iter().map(|s| s.share).sum::<f64>();
    assert!((share - 1.0).abs() < 1e-12);
}

#[test]
fn a_photograph_stored_sideways_is_turned_upright() {
    let upright = open(path("edge/hopper.jpg")).unwrap();
    let turned = open(path("edge/hopper_orientation_6.jpg")).unwrap();
    assert_eq!((upright.width(), upright.height()), (turned.width(), turned.height()));
    // JPEG loses a little each way.
    let apart =
        upright.to_rgb8().iter().zip(turned.to_rgb8().iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum::<u64>();
    assert!(apart / u64::from(3 * upright.width() * upright.height()) < 10);
}

#[test]
fn a_cmyk_photograph_is_not_read_inverted() {
    let image = open(path("edge/pil_sample_cmyk.jpg")).unwrap().to_rgb8();
    // Pillow's conversion of the same file has this mean.
    let mean =
        |c: usize| image.pixels().map(|p| f64::from(p.0[c])).sum::<f64>() / f64::from(image.width() * image.height());
    let found = [mean(0), mean(1), mean(2)];
    assert!(found.iter().zip(CMYK_MEAN).all(|(a, b)| (a - b).abs() < 0.5), "{found:?}");
}

#[test]
fn what_is_no_image_is_an_error_that_names_the_file() {
    let Err(Error::ImageFile { what, .. }) = open("Cargo.toml") else { panic!("read a text as an image") };
    assert_eq!(what, "Cargo.toml");
    assert!(matches!(open("no such file.png"), Err(Error::ImageFile { .. })));
    let cut = png(&RgbImage::new(50, 50).into());
    assert!(matches!(decode(&cut[..60]), Err(Error::ImageFile { .. })));
    let cut = std::fs::read(path("edge/hopper.jpg")).unwrap();
    assert!(matches!(decode(&cut[..cut.len() / 2]), Err(Error::ImageFile { .. })));
}

#[test]
fn every_start_and_seed_works_through_the_file_interface() {
    let image = open(path("edge/hopper_gray.jpg")).unwrap();
    let segmented = Segmentation::new(3).kmeans(KMeans::new(5).seed(2)).segment_image(&image).unwrap();
    assert_eq!(segmented.palette.len(), 5);
    assert!(segmented.palette.iter().all(|s| s.colour[0] == s.colour[1] && s.colour[1] == s.colour[2]));
}
