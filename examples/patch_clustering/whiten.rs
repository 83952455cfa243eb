//! Patches without their brightness, whitened, if asked for; and centroids turned back.

use kmeans_host::image::{Patches, Whitening};
use kmeans_host::{Error, FittedKMeans};
use ndarray::{Array1, Array2};

/// What was taken out of the patches.
pub struct Taken {
    means: Array1<f32>,
    whitening: Whitening,
}

/// The rows to cluster, and what was taken out of `patches` for them; `None` with no `epsilon`: the patches as they are.
pub fn whitened(patches: &Array2<f32>, epsilon: Option<f64>) -> Result<Option<(Array2<f32>, Taken)>, Error> {
    let Some(epsilon) = epsilon else { return Ok(None) };
    let mut rows = patches.clone();
    let means = Patches::remove_means(&mut rows);
    let whitening = Whitening::new(&rows, epsilon)?;
    Ok(Some((whitening.apply(&rows)?, Taken { means, whitening })))
}

impl Taken {
    /// The mean of each patch, `[n]`.
    pub fn means(&self) -> &Array1<f32> {
        &self.means
    }

    /// The centroids as patches without their brightness.
    pub fn centroids(&self, fitted: &FittedKMeans<f32>) -> Result<Array2<f32>, Error> {
        self.whitening.invert(&fitted.centroids())
    }

    /// The same, each as bright as its patches are on the average.
    pub fn bright(&self, mut centroids: Array2<f32>, fitted: &FittedKMeans<f32>) -> Array2<f32> {
        let mut sums = vec![0.0_f64; centroids.nrows()];
        for (&label, &mean) in fitted.labels().iter().zip(&self.means) {
            sums[label as usize] += f64::from(mean);
        }
        for ((mut centroid, sum), &count) in centroids.rows_mut().into_iter().zip(sums).zip(fitted.counts()) {
            centroid += (sum / count.max(1) as f64) as f32;
        }
        centroids
    }
}

#[cfg(test)]
mod tests {
    use kmeans_host::KMeans;

    use super::*;

    #[test]
    fn centroids_turned_back_are_the_means_of_their_patches() {
        let patches = Array2::from_shape_fn((60, 4), |(i, j)| ((i * 37 + j * j * 11 + i * j * 5) % 200) as f32);
        let (rows, taken) = whitened(&patches, Some(0.05)).unwrap().unwrap();
        let fitted = KMeans::new(3).fit(&rows).unwrap();
        let bright = taken.bright(taken.centroids(&fitted).unwrap(), &fitted);
        for (k, centroid) in bright.rows().into_iter().enumerate() {
            let members: Vec<usize> = (0..60).filter(|&i| fitted.labels()[i] as usize == k).collect();
            for j in 0..4 {
                let mean = members.iter().map(|&i| patches[[i, j]]).sum::<f32>() / members.len() as f32;
                assert!((centroid[j] - mean).abs() < 0.01, "{k} {j}: {} {mean}", centroid[j]);
            }
        }
        assert!(whitened(&patches, None).unwrap().is_none());
    }
}
