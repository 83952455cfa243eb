//! `kmeans generate`: points to try things with, the same for the same seed on every machine.

use kmeans_core::rng::{Purpose, Random};
use kmeans_files::{Layout, Staged, write_points};
use ndarray::Array2;

use crate::args::Generate;
use crate::failure::{Done, Failure, print_with};

/// Side of the cube that blobs' centres, and uniform points, lie in.
const SIDE: f64 = 10.0;
/// What draws are for: centres, and coordinates.
const CENTRE: u32 = 0;
const POINT: u32 = 1;

/// Runs the subcommand.
pub fn run(args: &Generate) -> Result<Done, Failure> {
    let layout = Layout::of_path(&args.output);
    if layout == Layout::Npy && args.index_column {
        return Err(Failure::usage("an .npy file has no index column", "leave out --index-column"));
    }
    let to_stdout = args.output.as_os_str() == "-";
    let mut file = if to_stdout { None } else { Some(Staged::create(&args.output)?) };
    let points = points(args.n, args.d, args.blobs, args.spread, args.seed);
    if let Some(staged) = &mut file {
        write_points(staged, layout, points.view(), args.index_column).map_err(|e| staged.failed(e))?;
    } else {
        print_with(|out| write_points(out, layout, points.view(), args.index_column))?;
    }
    file.map_or(Ok(()), Staged::finish)?;
    Ok(Done::Whole)
}

/// Points around `blobs` centres, one after the other in turn, or uniform in the cube if there is none. As f32: that is
/// what examples use, and a file of them is read back exactly.
pub fn points(n: usize, d: usize, blobs: usize, spread: f64, seed: u64) -> Array2<f32> {
    let random = Random::new(seed, 0);
    let uniform =
        |step: u32, index: u64| (random.bits(Purpose::Point, step, index) >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
    Array2::from_shape_fn((n, d), |(i, j)| {
        let index = i as u64 * d as u64 + j as u64;
        if blobs == 0 {
            return (SIDE * uniform(POINT, index)) as f32;
        }
        let centre = SIDE * uniform(CENTRE, (i % blobs) as u64 * d as u64 + j as u64);
        // Irwin–Hall: the sum of twelve uniforms is close to a Gaussian, and made of additions, which round the same everywhere.
        let sum: f64 = (0..12).map(|term| uniform(POINT + term, index)).sum();
        (centre + spread * (sum - 6.0)) as f32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_points() {
        let a = points(100, 3, 4, 0.5, 7);
        assert_eq!(a, points(100, 3, 4, 0.5, 7));
        assert_ne!(a, points(100, 3, 4, 0.5, 8));
        // More points begin with the same ones.
        assert_eq!(points(200, 3, 4, 0.5, 7).slice(ndarray::s![..100, ..]), a);
    }

    #[test]
    fn spread_is_the_standard_deviation() {
        let values = points(100_000, 1, 1, 2.0, 1);
        let mean = values.mapv(f64::from).mean().unwrap();
        let variance = values.mapv(|v| (f64::from(v) - mean).powi(2)).mean().unwrap();
        assert!((variance.sqrt() - 2.0).abs() < 0.02, "{variance}");
    }
}
