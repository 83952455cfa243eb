//! Where things go in the picture: a list of clusters in columns, all sizes in pixels.

use std::ops::Range;

/// The width of the picture, chosen for a README.
pub const WIDTH: u32 = 1120;
/// The frame around everything.
pub const MARGIN: u32 = 36;
/// The width inside the frame.
pub const INNER: u32 = WIDTH - 2 * MARGIN;
/// Between the two panels, and between columns of clusters.
pub const GUTTER: u32 = 24;

/// Between the parts of a tile, and between tiles of a column.
const GAP: u32 = 10;
/// Between sample patches.
const SEAM: u32 = 3;

/// The tiles of the clusters, row by row. A tile is a centroid, its label, and sample patches in rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    tiles: u32,
    columns: u32,
    /// The side of an enlarged centroid.
    pub centroid: u32,
    /// The side of an enlarged sample patch.
    pub sample: u32,
    /// The number of sample patches in a tile.
    pub samples: u32,
    label: (u32, u32),
    per_row: u32,
    width: u32,
    height: u32,
}

impl Layout {
    /// For a number of `tiles`, of patches of `side` pixels, with labels of the given width and height.
    ///
    /// `samples` per tile; if it is left open, what fits into two rows.
    pub fn new(tiles: u32, side: u32, label: (u32, u32), samples: Option<u32>) -> Self {
        // Few clusters get wide tiles, many get up to five columns.
        let columns = (f64::from(tiles) / 3.0).sqrt().round().clamp(1.0, 5.0) as u32;
        let width = (INNER + GUTTER) / columns - GUTTER;
        let (centroid, sample) = if columns < 3 { (72, 32) } else { (48, 24) };
        let (centroid, sample) = (enlarged(side, centroid), enlarged(side, sample));
        let room = width.saturating_sub(centroid + label.0 + 2 * GAP);
        let per_row = ((room + SEAM) / (sample + SEAM)).max(1);
        let samples = samples.unwrap_or(2 * per_row);
        let rows = samples.div_ceil(per_row);
        let height = centroid.max(label.1).max((rows * (sample + SEAM)).saturating_sub(SEAM));
        Self { tiles, columns, centroid, sample, samples, label, per_row, width, height }
    }

    /// The height of all tiles.
    pub fn height(&self) -> u32 {
        (self.tiles.div_ceil(self.columns) * (self.height + GAP)).saturating_sub(GAP)
    }

    /// The top left corner of tile `i`, from the top left corner of all.
    fn tile(&self, i: u32) -> (u32, u32) {
        let left = i % self.columns * (INNER + GUTTER) / self.columns;
        (left, i / self.columns * (self.height + GAP))
    }

    /// The corner of the centroid of tile `i`.
    pub fn centroid_of(&self, i: u32) -> (u32, u32) {
        let (x, y) = self.tile(i);
        (x, y + (self.height - self.centroid) / 2)
    }

    /// The columns of pixels that the label of tile `i` may use, and its top.
    pub fn label_of(&self, i: u32) -> (Range<u32>, u32) {
        let (x, y) = self.tile(i);
        let left = x + self.centroid + GAP;
        (left..left + self.label.0, y + (self.height - self.label.1) / 2)
    }

    /// The corner of sample patch `j` of tile `i`, of `count` patches there.
    pub fn sample_of(&self, i: u32, j: u32, count: u32) -> (u32, u32) {
        let pitch = self.sample + SEAM;
        let rows = count.div_ceil(self.per_row);
        let (x, y) = self.tile(i);
        // What is left of the width goes before the samples, so that the right edges of tiles and panels are in line.
        let left = x + self.width + SEAM - self.per_row * pitch;
        let top = y + (self.height + SEAM - rows * pitch) / 2;
        (left + j % self.per_row * pitch, top + j / self.per_row * pitch)
    }
}

/// The largest multiple of `side` up to `room`, so that every pixel of a patch becomes an equal square. Larger patches
/// are reduced to `room`.
fn enlarged(side: u32, room: u32) -> u32 {
    if side > room { room } else { room / side * side }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Left, top, width, height.
    type Box = (u32, u32, u32, u32);

    fn boxes(layout: &Layout, tiles: u32) -> Vec<Box> {
        let mut boxes = Vec::new();
        for i in 0..tiles {
            let (x, y) = layout.centroid_of(i);
            boxes.push((x, y, layout.centroid, layout.centroid));
            let (columns, y) = layout.label_of(i);
            boxes.push((columns.start, y, columns.len() as u32, layout.label.1));
            for j in 0..layout.samples {
                let (x, y) = layout.sample_of(i, j, layout.samples);
                boxes.push((x, y, layout.sample, layout.sample));
            }
        }
        boxes
    }

    fn overlap(a: &Box, b: &Box) -> bool {
        a.0 < b.0 + b.2 && b.0 < a.0 + a.2 && a.1 < b.1 + b.3 && b.1 < a.1 + a.3
    }

    #[test]
    fn nothing_overlaps_or_leaves_the_picture() {
        for tiles in [1, 2, 7, 12, 80, 300] {
            for (side, samples) in [(1, None), (5, None), (5, Some(0)), (8, Some(1)), (40, Some(50)), (500, None)] {
                let layout = Layout::new(tiles, side, (64, 36), samples);
                let boxes = boxes(&layout, tiles);
                assert!(boxes.iter().all(|b| b.0 + b.2 <= INNER && b.1 + b.3 <= layout.height()), "{layout:?}");
                // Tiles are alike, so the neighbours of the first stand for all.
                let near: Vec<&Box> = boxes.iter().filter(|b| b.1 < 400).collect();
                for (i, a) in near.iter().enumerate() {
                    assert!(near[..i].iter().all(|b| !overlap(a, b)), "{a:?} in {layout:?}");
                }
            }
        }
    }

    #[test]
    fn few_clusters_get_one_column_and_many_get_five() {
        let columns = |tiles| Layout::new(tiles, 5, (56, 36), None).columns;
        assert_eq!([1, 2, 8, 30, 80, 300].map(columns), [1, 1, 2, 3, 5, 5]);
    }

    #[test]
    fn enlarged_patches_keep_square_pixels() {
        assert_eq!([1, 5, 7, 24, 25, 100].map(|side| enlarged(side, 24)), [24, 20, 21, 24, 24, 24]);
    }
}
