//! The picture: the image, the image rebuilt from centroids, and the clusters with some of their patches.

use image::RgbImage;
use kmeans_examples::picture::{BRIGHT, COUNT, PAPER, SHARE, TEXT, fitted_into, paste};
use kmeans_examples::text::{Pen, counted, grouped, percent};
use kmeans_host::FittedKMeans;
use kmeans_host::image::psnr;
use ndarray::Array2;
use noto_sans_mono_bitmap::{FontWeight, RasterHeight};

use crate::clusters::{self, Cluster};
use crate::layout::{GUTTER, INNER, Layout, MARGIN, WIDTH};
use crate::patches::{as_array, as_image};
use crate::photo::Photo;

const TITLE: Pen = Pen::new(RasterHeight::Size32, FontWeight::Bold, BRIGHT);

/// More clusters than this are not all shown: the picture would be too tall for any viewer.
const MOST_SHOWN: usize = 500;

/// What the picture is made of.
pub struct Montage<'a> {
    pub photo: &'a Photo,
    pub rebuilt: &'a RgbImage,
    pub patches: &'a Array2<f32>,
    /// What was clustered: the patches, or what was made of them.
    pub rows: &'a Array2<f32>,
    /// The centroids as patches.
    pub centroids: &'a Array2<f32>,
    /// The side of a patch, in pixels.
    pub side: u32,
    pub fitted: &'a FittedKMeans<f32>,
    /// For people, such as "k-means++".
    pub start: &'a str,
    /// Sample patches per cluster; `None` for what fits.
    pub samples: Option<u32>,
}

impl Montage<'_> {
    /// Draws it, from top to bottom.
    pub fn draw(&self) -> RgbImage {
        let (n, k) = (self.patches.nrows() as u64, self.fitted.counts().len());
        let shown = k.min(MOST_SHOWN);
        let side = self.side;

        let share = |count| if count == 0 { "empty".into() } else { percent(count, n) };
        let labels: Vec<_> = self.fitted.counts().iter().map(|&count| [grouped(count), share(count)]).collect();
        let label_width = labels.iter().flatten().map(|text| COUNT.width(text)).max().unwrap_or(0);
        let layout = Layout::new(shown as u32, side, (label_width, 2 * COUNT.height()), self.samples);
        let panel = ((INNER - GUTTER) / 2, (INNER - GUTTER) / 2);
        let panels = [&self.photo.pixels, self.rebuilt].map(|image| fitted_into(image, panel));

        let legend = MARGIN + TITLE.height() + 6;
        let captions = legend + TEXT.height() + 22;
        let pictures = captions + TEXT.height() + 6;
        let heading = pictures + panels[0].height() + 26;
        let tiles = heading + TEXT.height() + 14;
        let mut canvas = RgbImage::from_pixel(WIDTH, tiles + layout.height() + MARGIN, PAPER);

        let title = format!("{} of {side} × {side} patches", counted(k as u64, "cluster", "clusters"));
        TITLE.write(&mut canvas, (MARGIN, MARGIN), &title);
        write(&mut canvas, (MARGIN, legend), &self.legend(), INNER);

        let (width, height) = self.photo.pixels.dimensions();
        let source = format!(", {width} × {height}");
        let name = TEXT.shortened(&self.photo.name, panel.0 - TEXT.width(&source));
        let quality =
            psnr(&as_array(&self.photo.pixels), &as_array(self.rebuilt), 255.0).expect("two images of one size");
        let quality = if quality.is_finite() { format!("PSNR {quality:.1} dB") } else { "no difference".into() };
        let rebuilt = format!("rebuilt from {}, {quality}", counted(k as u64, "centroid", "centroids"));
        for (x, caption, picture) in
            [(MARGIN, name + &source, &panels[0]), (MARGIN + panel.0 + GUTTER, rebuilt, &panels[1])]
        {
            write(&mut canvas, (x, captions), &caption, panel.0);
            paste(&mut canvas, picture, (x, pictures));
        }

        let cut = if shown < k {
            format!("the {shown} largest clusters of {}", grouped(k as u64))
        } else {
            "clusters, largest first".into()
        };
        write(
            &mut canvas,
            (MARGIN, heading),
            &format!("{cut}: centroid, size, share, samples from nearest to farthest"),
            INNER,
        );
        let clusters = clusters::largest(self.fitted, self.rows, shown, layout.samples as usize);
        self.draw_clusters(&mut canvas, tiles, &layout, &clusters, &labels);
        canvas
    }

    /// Draws a tile for each of `clusters`, the first at the height `top`; `labels` are by label.
    fn draw_clusters(
        &self,
        canvas: &mut RgbImage,
        top: u32,
        layout: &Layout,
        clusters: &[Cluster],
        labels: &[[String; 2]],
    ) {
        let side = self.side;
        for (i, cluster) in (0..).zip(clusters) {
            let at = |(x, y): (u32, u32)| (MARGIN + x, top + y);
            let centroid = as_image(self.centroids.row(cluster.label), side);
            paste(canvas, &square(&centroid, layout.centroid), at(layout.centroid_of(i)));
            let (columns, line_top) = layout.label_of(i);
            for ((line, pen), text) in (0..).zip([COUNT, SHARE]).zip(&labels[cluster.label]) {
                // To the right, so that digits stand below digits.
                pen.write(canvas, at((columns.end - pen.width(text), line_top + line * pen.height())), text);
            }
            for (j, &row) in (0..).zip(&cluster.samples) {
                let sample = square(&as_image(self.patches.row(row), side), layout.sample);
                paste(canvas, &sample, at(layout.sample_of(i, j, cluster.samples.len() as u32)));
            }
        }
    }

    fn legend(&self) -> String {
        let (n, d) = self.patches.dim();
        format!(
            "N = {} patches{}   D = {d} values   K = {}   {} from {}   inertia {:.4e}",
            grouped(n as u64),
            if self.rows == self.patches { "" } else { ", whitened" },
            grouped(self.fitted.counts().len() as u64),
            counted(self.fitted.iterations() as u64, "iteration", "iterations"),
            self.start,
            self.fitted.inertia(),
        )
    }
}

fn write(canvas: &mut RgbImage, at: (u32, u32), text: &str, width: u32) {
    TEXT.write(canvas, at, &TEXT.shortened(text, width));
}

/// A square image at another size: with crisp pixels when enlarged.
fn square(image: &RgbImage, side: u32) -> RgbImage {
    fitted_into(image, (side, side))
}

#[cfg(test)]
mod tests {
    use image::Rgb;
    use kmeans_host::image::Patches;
    use kmeans_host::{EmptyCluster, Init, KMeans};

    use super::*;
    use crate::patches::from_array;

    fn montage(pixels: RgbImage, side: u32, k: usize, samples: Option<u32>) -> RgbImage {
        let grid = Patches::new(as_array(&pixels).dim(), side as usize, 1).unwrap();
        let patches = grid.extract(&as_array(&pixels)).unwrap();
        let model = KMeans::new(k).init(Init::FirstK).empty_cluster(EmptyCluster::Keep).max_iter(2);
        let fitted = model.fit(&patches).unwrap();
        let rebuilt = from_array(&grid.reconstruct(&fitted.centroids(), fitted.labels(), None).unwrap());
        let photo = Photo { name: "a".repeat(300), pixels };
        let centroids = fitted.centroids().to_owned();
        Montage {
            photo: &photo,
            rebuilt: &rebuilt,
            patches: &patches,
            rows: &patches,
            centroids: &centroids,
            side,
            fitted: &fitted,
            start: "here",
            samples,
        }
        .draw()
    }

    fn coloured(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| Rgb([(7 * x) as u8, (11 * y) as u8, (x * y) as u8]))
    }

    #[test]
    fn the_frame_stays_empty() {
        for (image, side, k) in [
            (coloured(30, 20), 3, 20),
            (coloured(5, 5), 5, 1),
            (coloured(40, 30), 1, 600),
            (coloured(900, 12), 12, 2),
            (RgbImage::from_pixel(12, 90, Rgb([9; 3])), 4, 7),
        ] {
            let picture = montage(image, side, k, None);
            let (width, height) = picture.dimensions();
            let outside = |x, y| x < MARGIN || y < MARGIN || x >= width - MARGIN || y >= height - MARGIN;
            assert!(picture.enumerate_pixels().all(|(x, y, p)| !outside(x, y) || *p == PAPER));
        }
    }

    #[test]
    fn a_number_of_samples_can_be_asked_for() {
        let tall = montage(coloured(40, 40), 5, 80, Some(40)).height();
        assert!(tall > montage(coloured(40, 40), 5, 80, Some(0)).height());
    }
}
