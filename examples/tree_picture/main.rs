//! Draws a k-means tree in the plane: the cells of its nodes, level after level, and the points in them.
//!
//! ```text
//! cargo run --release --example tree_picture -- [FILE.npy] [--k 4] [--depth 3] [--help]
//! ```

mod plane;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Parser;
use image::{Rgb, RgbImage};
use kmeans_examples::picture::{PAPER, SHARE, TEXT, save};
use kmeans_examples::text::{counted, say};
use kmeans_examples::vectors;
use kmeans_host::{FittedTree, KMeansTree};
use ndarray::Array2;

/// A k-means tree of points in the plane, level by level.
#[derive(Debug, Parser)]
#[command(name = "tree_picture", max_term_width = 100)]
struct Options {
    /// Points, [n, d] of f32, drawn by their two principal components [default: 1,797 handwritten digits]
    file: Option<PathBuf>,

    /// Children per node
    #[arg(long, default_value_t = 4)]
    k: usize,

    /// Levels to draw, 1 to 4
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=4))]
    depth: u32,

    /// Side of a panel, in pixels
    #[arg(long, default_value_t = 420, value_parser = clap::value_parser!(u32).range(64..=4096))]
    side: u32,

    /// The picture, a PNG
    #[arg(short, long, default_value = "out/tree.png", value_name = "FILE")]
    output: PathBuf,
}

/// Pixels between panels.
const GAP: u32 = 16;
/// Pixels below a panel for its captions.
const CAPTION: u32 = 56;

fn main() -> Result<()> {
    let options = Options::parse();
    let points = match &options.file {
        Some(path) => vectors::read(path)?,
        None => vectors::digits()?,
    };
    ensure!(points.nrows() > 0 && points.ncols() > 0, "there are no points to draw");
    let plane = plane::principal(&points);
    let depth = options.depth as usize;
    let tree = KMeansTree::new(options.k).depth(depth).max_iter(50).seed(7).fit(&plane)?;
    say(&tree);

    let side = options.side;
    let width = GAP + options.depth * (side + GAP);
    let mut canvas = RgbImage::from_pixel(width, side + 2 * GAP + CAPTION, PAPER);
    let frame = Frame::new(&plane, side);
    // Every pixel is a point of the plane, and goes down the tree like one.
    let pixels = Array2::from_shape_fn(((side * side) as usize, 2), |(i, axis)| {
        frame.value(if axis == 0 { i as u32 % side } else { i as u32 / side }, axis)
    });
    let (cells, own) = (tree.assign(&pixels)?, tree.leaf_labels());
    for (level, summary) in tree.levels().iter().enumerate().skip(1) {
        let left = GAP + (level as u32 - 1) * (side + GAP);
        let node = |leaf: u32| ancestor(&tree, leaf, level);
        for (i, &leaf) in cells.iter().enumerate() {
            let (x, y) = (i as u32 % side, i as u32 / side);
            // A pixel beside another cell is its border.
            let neighbour = |x: u32, y: u32| node(cells[(y.min(side - 1) * side + x.min(side - 1)) as usize]);
            let inside = neighbour(x + 1, y) == node(leaf) && neighbour(x, y + 1) == node(leaf);
            canvas.put_pixel(left + x, GAP + y, if inside { ground(colour(&tree, node(leaf))) } else { PAPER });
        }
        for (point, &leaf) in plane.rows().into_iter().zip(own) {
            let (x, y) = (frame.pixel(point[0], 0), frame.pixel(point[1], 1));
            for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                canvas.put_pixel(
                    left + (x + dx).min(side - 1),
                    GAP + (y + dy).min(side - 1),
                    colour(&tree, node(leaf)),
                );
            }
        }
        let nodes = summary.nodes + tree.levels()[..level].iter().map(|above| above.leaves).sum::<usize>();
        let share = 100.0 * summary.inertia / tree.levels()[0].inertia;
        TEXT.write(
            &mut canvas,
            (left, side + GAP + 8),
            &format!("level {level}: {}", counted(nodes as u64, "cell", "cells")),
        );
        SHARE.write(&mut canvas, (left, side + GAP + 32), &format!("{share:.1}% of the inertia is left"));
    }
    save(&canvas, &options.output)?;
    say(format!("picture     {}", options.output.display()));
    Ok(())
}

/// The node of `level` that a leaf is under; the leaf itself if it is above.
fn ancestor(tree: &FittedTree<f32>, leaf: u32, level: usize) -> usize {
    let mut node = tree.leaves()[leaf as usize];
    while tree.nodes()[node].level > level {
        node = tree.nodes()[node].parent.expect("only the root has none");
    }
    node
}

/// The colour of a node: children divide the hues of their parent, and alternate in brightness.
fn colour(tree: &FittedTree<f32>, node: usize) -> Rgb<u8> {
    let (mut hues, mut path, mut at) = ((0.0, 1.0), Vec::new(), node);
    while let Some(parent) = tree.nodes()[at].parent {
        let children = &tree.nodes()[parent].children;
        path.push((at - children.start, children.len()));
        at = parent;
    }
    let mut light = 0.62;
    for (depth, &(child, children)) in path.iter().rev().enumerate() {
        let width = hues.1 / children as f64;
        // Gaps between the hues of siblings keep them apart.
        hues = (hues.0 + width * (child as f64 + 0.1), 0.8 * width);
        if depth > 0 {
            light += (child as f64 / (children - 1).max(1) as f64 - 0.5) * 0.28 / depth as f64;
        }
    }
    hsl(hues.0 + hues.1 / 2.0, 0.72, light.clamp(0.35, 0.85))
}

/// A darker form, for the ground that points are drawn on.
fn ground(Rgb(colour): Rgb<u8>) -> Rgb<u8> {
    Rgb([0, 1, 2].map(|c| ((u32::from(colour[c]) * 2 + u32::from(PAPER.0[c]) * 3) / 5) as u8))
}

/// Hue from 0 to 1, saturation and lightness.
fn hsl(hue: f64, saturation: f64, lightness: f64) -> Rgb<u8> {
    let amplitude = saturation * lightness.min(1.0 - lightness);
    Rgb([0.0, 8.0, 4.0].map(|shift| {
        let k = (shift + hue * 12.0) % 12.0;
        ((lightness - amplitude * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0)) * 255.0).round() as u8
    }))
}

/// Between the plane and the pixels of a panel.
struct Frame {
    middle: [f32; 2],
    /// Length of a pixel.
    unit: f32,
    side: u32,
}

impl Frame {
    /// Holds all points, with a margin.
    fn new(points: &Array2<f32>, side: u32) -> Self {
        let bounds = [0, 1].map(|axis| {
            points.column(axis).iter().fold((f32::MAX, f32::MIN), |(low, high), &v| (low.min(v), high.max(v)))
        });
        let extent = bounds.iter().map(|(low, high)| high - low).fold(f32::MIN_POSITIVE, f32::max);
        Self { middle: bounds.map(|(low, high)| f32::midpoint(low, high)), unit: 1.06 * extent / side as f32, side }
    }

    fn value(&self, pixel: u32, axis: usize) -> f32 {
        self.middle[axis] + (pixel as f32 + 0.5 - self.side as f32 / 2.0) * self.unit
    }

    fn pixel(&self, value: f32, axis: usize) -> u32 {
        ((value - self.middle[axis]) / self.unit + self.side as f32 / 2.0).clamp(0.0, self.side as f32 - 1.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_and_values_are_inverse() {
        let frame = Frame::new(&ndarray::array![[0.0, 5.0], [10.0, 6.0]], 100);
        for pixel in 0..100 {
            assert_eq!(frame.pixel(frame.value(pixel, 0), 0), pixel);
        }
        assert!(frame.pixel(0.0, 0) > 0 && frame.pixel(10.0, 0) < 99);
        // One place is a panel, too.
        assert_eq!(Frame::new(&ndarray::array![[1.0, 1.0]], 100).pixel(1.0, 0), 50);
    }

    #[test]
    fn nodes_of_a_level_have_different_colours() {
        let points = plane::principal(&vectors::digits().unwrap());
        let tree = KMeansTree::new(4).depth(2).fit(&points).unwrap();
        let mut colours: Vec<_> =
            (0..tree.nodes().len()).filter(|&i| tree.nodes()[i].level == 2).map(|i| colour(&tree, i).0).collect();
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), 16);
    }
}
