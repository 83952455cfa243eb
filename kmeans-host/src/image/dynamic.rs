//! Images of the crate `image`, and image files.

use std::fs;
use std::io::{self, Cursor};
use std::path::Path;

use image::{DynamicImage, ImageBuffer, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits, Pixel};
use ndarray::{Array2, ArrayView3};

use super::{Sample, Segmentation, Segmented, Swatch, jpeg};
use crate::{Error, Notice};

/// Reads a PNG or JPEG file (and whatever else the crate `image` was built to read), turned upright as its EXIF data
/// say. Grey stays grey, 16 bits stay 16 bits, palettes become colours. There is no limit on its size but memory.
///
/// # Errors
/// [`Error::ImageFile`], which names the file.
pub fn open(path: impl AsRef<Path>) -> Result<DynamicImage, Error> {
    let path = path.as_ref();
    let what = path.display().to_string();
    match fs::read(path) {
        Ok(bytes) => read(&bytes, what),
        Err(error) => Err(Error::ImageFile { what, reason: error.to_string() }),
    }
}

/// As [`open`], from the bytes of a file.
///
/// # Errors
/// [`Error::ImageFile`].
pub fn decode(bytes: &[u8]) -> Result<DynamicImage, Error> {
    read(bytes, format!("in {} bytes of memory", bytes.len()))
}

fn read(bytes: &[u8], what: String) -> Result<DynamicImage, Error> {
    let read = || {
        let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
        if reader.format() == Some(ImageFormat::Jpeg) && !jpeg::is_whole(bytes) {
            return Err(ImageError::IoError(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is cut short")));
        }
        reader.limits(Limits::no_limits());
        let mut decoder = reader.into_decoder()?;
        // Cameras store the sensor's rows and say in EXIF how to turn them.
        let orientation = decoder.orientation()?;
        // A header may claim any size: an error, where the allocation itself would end the program.
        let bytes = decoder.total_bytes();
        let room = usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
        if !room {
            let (width, height) = decoder.dimensions();
            let reason = format!("it claims {width} × {height} pixels, which do not fit into memory");
            return Err(ImageError::IoError(io::Error::new(io::ErrorKind::OutOfMemory, reason)));
        }
        let mut image = DynamicImage::from_decoder(decoder)?;
        image.apply_orientation(orientation);
        Ok(image)
    };
    read().map_err(|error: ImageError| Error::ImageFile { what, reason: error.to_string().trim_end().into() })
}

/// A segmented [`DynamicImage`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SegmentedImage {
    /// The cluster of each pixel, `[h, w]`: an index into the palette.
    pub labels: Array2<u32>,
    /// The colour of each cluster, by label, with 8 bits per channel.
    pub palette: Vec<Swatch<u8>>,
    /// The image in the colours of its clusters, of the type it had, its alpha unchanged.
    pub image: DynamicImage,
    /// The weighted sum over pixels of the squared distance to their centroid, in units of the features.
    pub inertia: f64,
    /// Rounds of assignment run.
    pub iterations: usize,
    /// The distinct colours, where these were clustered in place of every pixel.
    pub distinct_colours: Option<usize>,
    /// What is right but may surprise.
    pub notices: Vec<Notice>,
    /// What did the work, for people.
    pub engine: String,
}

impl Segmentation {
    /// Clusters the pixels of `image`, of any colour type.
    ///
    /// ```
    /// # #[cfg(feature = "image")] {
    /// use image::{DynamicImage, Rgb, RgbImage};
    /// use kmeans_host::image::Segmentation;
    ///
    /// let image = RgbImage::from_fn(40, 30, |x, _| Rgb(if x < 10 { [200, 30, 30] } else { [20, 20, 90] }));
    /// let segmented = Segmentation::new(2).segment_image(&DynamicImage::from(image.clone()))?;
    /// assert_eq!(segmented.image.to_rgb8(), image);
    /// # }
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`segment`](Self::segment).
    pub fn segment_image(&self, image: &DynamicImage) -> Result<SegmentedImage, Error> {
        match image {
            DynamicImage::ImageLuma8(i) => self.buffer(i),
            DynamicImage::ImageLumaA8(i) => self.buffer(i),
            DynamicImage::ImageRgb8(i) => self.buffer(i),
            DynamicImage::ImageRgba8(i) => self.buffer(i),
            DynamicImage::ImageLuma16(i) => self.buffer(i),
            DynamicImage::ImageLumaA16(i) => self.buffer(i),
            DynamicImage::ImageRgb16(i) => self.buffer(i),
            DynamicImage::ImageRgba16(i) => self.buffer(i),
            DynamicImage::ImageRgb32F(i) => self.buffer(i),
            DynamicImage::ImageRgba32F(i) => self.buffer(i),
            // A colour type that the crate will have one day.
            other => self.buffer(&other.to_rgba32f()),
        }
    }

    fn buffer<P>(&self, image: &ImageBuffer<P, Vec<P::Subpixel>>) -> Result<SegmentedImage, Error>
    where
        P: Pixel,
        P::Subpixel: Sample,
        DynamicImage: From<ImageBuffer<P, Vec<P::Subpixel>>>,
    {
        let (width, height) = image.dimensions();
        let shape = (height as usize, width as usize, usize::from(P::CHANNEL_COUNT));
        let samples = &image.as_raw()[..shape.0 * shape.1 * shape.2];
        let view = ArrayView3::from_shape(shape, samples).expect("a buffer of h·w·c samples");
        let segmented = self.segment(&view)?;
        let quantized = segmented.quantized().into_raw_vec_and_offset().0;
        let quantized = ImageBuffer::<P, _>::from_raw(width, height, quantized).expect("h·w·c samples");
        Ok(SegmentedImage {
            palette: segmented.palette().iter().map(eight_bits).collect(),
            image: quantized.into(),
            inertia: segmented.inertia(),
            iterations: segmented.iterations(),
            distinct_colours: segmented.distinct_colours(),
            notices: segmented.notices().to_vec(),
            engine: segmented.engine().into(),
            labels: Segmented::into_labels(segmented),
        })
    }
}

fn eight_bits<S: Sample>(swatch: &Swatch<S>) -> Swatch<u8> {
    let colour = swatch.colour.map(|c| u8::from_f32(c.to_f32() / S::WHITE * 255.0));
    Swatch { colour, count: swatch.count, share: swatch.share }
}
