//! The cases: sizes, caps on iterations, where the points come from.

/// One case: n points of d columns into k clusters, at most `iters` iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its name in rows, tables and file names.
    pub tag: &'static str,
    /// Points.
    pub n: usize,
    /// Columns.
    pub d: usize,
    /// Clusters.
    pub k: usize,
    /// Cap on iterations.
    pub iters: usize,
    /// What the points look like when they are not read from a file.
    pub points: Points,
}

/// What generated points look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Points {
    /// Every value uniform in [0, 1): no clusters at all, the hardest input for pruning.
    Uniform,
    /// k clusters of unit variance around uniform centres, which are well apart.
    Blobs,
}

/// The five CPU shapes: image patches, pixels, numbers, clustered points, embeddings.
pub const CPU: [Shape; 5] = [
    Shape { tag: "A patches", n: 63_504, d: 75, k: 80, iters: 14, points: Points::Uniform },
    Shape { tag: "B pixels", n: 2_073_600, d: 3, k: 8, iters: 20, points: Points::Uniform },
    Shape { tag: "C points", n: 100_000, d: 1, k: 100, iters: 31, points: Points::Uniform },
    Shape { tag: "blobs", n: 100_000, d: 32, k: 64, iters: 20, points: Points::Blobs },
    Shape { tag: "embed", n: 50_000, d: 256, k: 256, iters: 10, points: Points::Uniform },
];

/// The tag of the case whose points are the patches of an image.
pub const PHOTO: &str = "photo";

impl Shape {
    /// The case of an image's n patches of d values: clusters and cap as in "A patches".
    pub fn photo(n: usize, d: usize) -> Self {
        Self { tag: PHOTO, n, d, ..CPU[0] }
    }

    /// The name of its files, without extension: `A_patches` for "A patches".
    pub fn file_stem(&self) -> String {
        self.tag.replace(' ', "_")
    }
}
