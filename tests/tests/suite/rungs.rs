//! Every rung of the kernels' ladders on a GPU, against the reference; most are not what a fit runs.

use kmeans_core::fixed::{ExponentRange, FixedPoint, Width};
use kmeans_core::launch::{self, ConstantParts, Geometry, Kernel};
use kmeans_core::{distance, exact, reference};
use kmeans_host::kernels::{Arg, Array, Gpu, Stored, Stream, read, write};
use kmeans_host::{Element, Error, bf16, f16};
use kmeans_tests::compare::{assert_same, bits};
use kmeans_tests::data::{Kind, points};
use kmeans_tests::gpu::first_gpu;

/// Shapes around the edges of tiles: (n, d, k).
const SHAPES: [(usize, usize, usize); 8] =
    [(1, 1, 1), (65, 17, 17), (63, 33, 15), (1003, 3, 8), (517, 75, 80), (257, 1, 1300), (70, 130, 66), (301, 4, 40)];

/// A problem on the device, and its right answers.
struct Case<T> {
    stream: Stream,
    shape: (u64, u32, u32),
    host: Vec<T>,
    centroids_host: Vec<T>,
    points: Array<T>,
    centroids: Array<T>,
    right: Array<u32>,
    expected: Vec<u32>,
    what: String,
}

impl<T: Element + Stored + Default> Case<T> {
    fn new(kind: Kind, (n, d, k): (usize, usize, usize)) -> Self {
        let stream = Gpu::open(0).unwrap().stream().unwrap();
        let host: Vec<T> = points::<T>(kind, n, d, (n + k) as u64).into_iter().collect();
        let centroids_host: Vec<T> = (0..k).flat_map(|c| host[c * 7 % k.min(n) * d..][..d].to_vec()).collect();
        let expected = reference::assign(&host, d, &centroids_host);
        Self {
            shape: (n as u64, d as u32, k as u32),
            points: stream.upload(&host).unwrap(),
            centroids: stream.upload(&centroids_host).unwrap(),
            right: stream.upload(&expected).unwrap(),
            stream,
            host,
            centroids_host,
            expected,
            what: format!("{n} × {d}, k = {k}, {kind:?}, {}", <T as kmeans_core::Scalar>::NAME),
        }
    }

    fn launch(&self, kernel: &Kernel, geometry: Geometry, arguments: &[Arg<'_>]) {
        self.stream.launch(kernel, T::STORED, geometry, arguments).unwrap();
    }

    fn assert_labels(&self, kernel: &Kernel, labels: &Array<u32>) {
        let found = self.stream.download(labels, self.expected.len()).unwrap();
        println!("{}: {}", self.what, kernel.name);
        assert_same("labels", &found, &self.expected);
    }

    /// Labels from one kernel.
    fn fused(&self) {
        let (n, d, k) = self.shape;
        let size = size_of::<T>() as u32;
        let mut rungs = vec![
            (&launch::ASSIGN_DIRECT, launch::ASSIGN_DIRECT.thread_each(n)),
            (&launch::ASSIGN_TILED, launch::assign_tiled(n, size)),
        ];
        if launch::SINGLE_TYPES.contains(&T::STORED) {
            rungs.push((&launch::ASSIGN_FILTERED, launch::assign_filtered(n)));
            if d <= launch::NARROW_COLUMNS {
                rungs.push((&launch::ASSIGN_NARROW, launch::assign_narrow(n, k, d)));
            }
        }
        for (kernel, geometry) in rungs {
            let mut labels = self.stream.upload(&vec![u32::MAX; n as usize]).unwrap();
            let sizes = [Arg::U64(n), Arg::U32(k), Arg::U32(d)];
            let [n, k, d] = sizes;
            self.launch(kernel, geometry, &[read(&self.points), read(&self.centroids), write(&mut labels), n, k, d]);
            self.assert_labels(kernel, &labels);
        }
    }

    /// Labels from tensor cores, on the tiers that have them.
    fn tensor(&self) {
        let (n, d, k) = self.shape;
        let tier = Gpu::open(0).unwrap().tier.name;
        if !launch::HALF_TYPES.contains(&T::STORED) || tier == "portable" {
            return;
        }
        let norms = |matrix: &Array<T>, rows: u64| {
            let mut norms = self.stream.array::<f32>(rows as usize).unwrap();
            let mut largest = self.stream.zeros::<u32>(1).unwrap();
            let arguments = [read(matrix), write(&mut norms), write(&mut largest), Arg::U64(rows), Arg::U32(d)];
            self.launch(&launch::NORMS, launch::NORMS.thread_each(rows), &arguments);
            (norms, largest)
        };
        let (x_norms, _) = norms(&self.points, n);
        let (c_norms, largest) = norms(&self.centroids, k as u64);
        let mut rungs = vec![(&launch::ASSIGN_MMA, launch::assign_mma(n))];
        if tier == "hopper" {
            rungs.push((&launch::ASSIGN_WGMMA, launch::assign_wgmma(n)));
        }
        for (kernel, geometry) in rungs {
            let mut labels = self.stream.upload(&vec![u32::MAX; n as usize]).unwrap();
            let arguments = [
                read(&self.points),
                read(&self.centroids),
                read(&x_norms),
                read(&c_norms),
                read(&largest),
                write(&mut labels),
                Arg::U64(n),
                Arg::U32(k),
                Arg::U32(d),
            ];
            self.launch(kernel, geometry, &arguments);
            self.assert_labels(kernel, &labels);
        }
    }

    /// Labels through a matrix of distances, in two chunks of rows.
    fn unfused(&self) {
        let (n, d, k) = self.shape;
        let chunk = n.div_ceil(2);
        let mut distances = self.stream.zeros::<f64>((chunk * k as u64) as usize).unwrap();
        let argmin = [
            (&launch::ARGMIN_SERIAL, launch::ARGMIN_SERIAL.thread_each(chunk)),
            (&launch::ARGMIN_TREE, launch::argmin_tree(chunk)),
            (&launch::ARGMIN_SHUFFLE, launch::argmin_shuffle(chunk)),
        ];
        let rungs = [
            &launch::DISTANCE_DIRECT,
            &launch::DISTANCE_TILED,
            &launch::DISTANCE_COALESCED,
            &launch::DISTANCE_CONSTANT,
        ];
        for (i, kernel) in rungs.into_iter().enumerate() {
            let (take, geometry) = argmin[i % argmin.len()];
            let mut labels = self.stream.upload(&vec![u32::MAX; n as usize]).unwrap();
            for first in (0..n).step_by(chunk as usize) {
                let rows = chunk.min(n - first);
                self.fill(kernel, &mut distances, first, rows);
                let arguments = [read(&distances), write(&mut labels), Arg::U64(first), Arg::U64(rows), Arg::U32(k)];
                self.launch(take, geometry, &arguments);
            }
            self.assert_labels(kernel, &labels);
        }
        let mut own = self.stream.zeros::<f64>(n as usize).unwrap();
        let arguments =
            [read(&self.points), read(&self.centroids), read(&self.right), write(&mut own), Arg::U64(n), Arg::U32(d)];
        self.launch(&launch::DISTANCE_OWN, launch::DISTANCE_OWN.thread_each(n), &arguments);
        let d = d as usize;
        let expected = self.host.chunks_exact(d).zip(&self.expected);
        let expected: Vec<f64> =
            expected.map(|(x, &label)| distance(x, &self.centroids_host[label as usize * d..][..d])).collect();
        assert_same("distances", &self.stream.download(&own, n as usize).unwrap(), &expected);
    }

    fn fill(&self, kernel: &Kernel, distances: &mut Array<f64>, first: u64, rows: u64) {
        let (_, d, k) = self.shape;
        let size = size_of::<T>() as u32;
        let sizes = [Arg::U64(first), Arg::U64(rows), Arg::U32(k), Arg::U32(d)];
        if kernel.name != launch::DISTANCE_CONSTANT.name {
            let mut arguments = vec![read(&self.points), read(&self.centroids), write(distances)];
            arguments.extend(sizes);
            return self.launch(kernel, launch::distance(rows, k, size), &arguments);
        }
        for part in ConstantParts::new(k, d, size) {
            let at = (part.cluster * d + part.column) as usize;
            let len = (part.clusters * part.columns) as usize;
            self.stream.set_constants(kernel, T::STORED, &self.centroids_host[at..at + len]).unwrap();
            let mut arguments = vec![read(&self.points), write(distances)];
            arguments.extend(sizes);
            arguments.extend([part.cluster, part.clusters, part.column, part.columns].map(Arg::U32));
            self.launch(kernel, kernel.thread_each(rows), &arguments);
        }
    }

    /// Points by columns: labels, changes, sums.
    fn transposed(&self) {
        let (n, d, k) = self.shape;
        let mut columns = self.stream.array::<T>(self.host.len()).unwrap();
        let arguments = [read(&self.points), write(&mut columns), Arg::U64(n), Arg::U32(d)];
        let geometry = launch::transposed_transpose(n, d, size_of::<T>() as u32);
        self.launch(&launch::TRANSPOSED_TRANSPOSE, geometry, &arguments);
        let geometry = launch::transposed_assign(n);
        let blocks = geometry.grid[0];
        let mut labels = self.stream.upload(&vec![u32::MAX; n as usize]).unwrap();
        let mut changed = self.stream.array::<u64>(blocks as usize).unwrap();
        let mut total = self.stream.array::<u64>(1).unwrap();
        let sizes = [Arg::U64(n), Arg::U32(k), Arg::U32(d)];
        let [n_, k_, d_] = sizes;
        let arguments = [read(&columns), read(&self.centroids), write(&mut labels), write(&mut changed), n_, k_, d_];
        self.launch(&launch::TRANSPOSED_ASSIGN, geometry, &arguments);
        self.assert_labels(&launch::TRANSPOSED_ASSIGN, &labels);
        let reduce = &launch::TRANSPOSED_REDUCE_CHANGES;
        self.launch(reduce, reduce.blocks(1, 256), &[read(&changed), write(&mut total), Arg::U64(blocks as u64)]);
        assert_eq!(self.stream.download(&total, 1).unwrap(), [n]);

        let format = self.format();
        let (kernel, reduce) = match format.width {
            Width::I64 => (&launch::TRANSPOSED_SUMS_NARROW, &launch::TRANSPOSED_REDUCE_SUMS_NARROW),
            Width::I128 => (&launch::TRANSPOSED_SUMS_WIDE, &launch::TRANSPOSED_REDUCE_SUMS_WIDE),
            Width::Limbs(_) => return,
        };
        let words = words(format);
        let geometry = launch::transposed_sums(n, k, d, words);
        let sums_len = (k * d * words) as usize;
        let mut partial = self.stream.array::<u64>(geometry.grid[0] as usize * sums_len).unwrap();
        let mut sums = self.stream.array::<u64>(sums_len).unwrap();
        let (exponent, words) = (Arg::I32(format.exponent), Arg::U32(words));
        let arguments = [read(&columns), read(&self.right), write(&mut partial), exponent, words, n_, k_, d_];
        self.launch(kernel, geometry, &arguments);
        let arguments = [read(&partial), write(&mut sums), Arg::U32(geometry.grid[0]), k_, d_];
        self.launch(reduce, reduce.blocks(k as u64, 0), &arguments);
        self.assert_sums(kernel, &sums, format);
    }

    fn format(&self) -> FixedPoint {
        let range = self.host.iter().fold(ExponentRange::ZERO, |r, v| r.union(ExponentRange::of(v.to_f64())));
        FixedPoint::for_sums(range, self.shape.0)
    }

    /// The rungs of the sum update, and of counting.
    fn sums(&self) {
        let (n, d, k) = self.shape;
        let format = self.format();
        let words = words(format);
        let elements = launch::sum_per_element(n, d);
        let blocks = launch::sum_per_block(n, k, d, words);
        let rungs = match format.width {
            Width::I64 => vec![
                (&launch::SUM_PER_SAMPLE_NARROW, launch::SUM_PER_SAMPLE_NARROW.thread_each(n), false),
                (&launch::SUM_PER_ELEMENT_NARROW, elements, false),
                (&launch::SUM_PER_BLOCK_NARROW, blocks, true),
            ],
            Width::I128 => {
                vec![(&launch::SUM_PER_ELEMENT_WIDE, elements, false), (&launch::SUM_PER_BLOCK_WIDE, blocks, true)]
            }
            Width::Limbs(_) => vec![(&launch::SUM_PER_ELEMENT_LIMBS, elements, false)],
        };
        for (kernel, geometry, takes_k) in rungs {
            let mut sums = self.stream.zeros::<u64>((k * d * words) as usize).unwrap();
            let mut arguments = vec![read(&self.points), read(&self.right), write(&mut sums)];
            arguments.extend([Arg::I32(format.exponent), Arg::U32(words), Arg::U64(n)]);
            arguments.extend(takes_k.then_some(Arg::U32(k)));
            arguments.push(Arg::U32(d));
            self.launch(kernel, geometry, &arguments);
            self.assert_sums(kernel, &sums, format);
        }
        let expected = self.counts();
        for (kernel, geometry) in [
            (&launch::COUNT_GLOBAL, launch::COUNT_GLOBAL.thread_each(n)),
            (&launch::COUNT_HISTOGRAM, launch::count_histogram(n, k)),
        ] {
            let mut counts = self.stream.zeros::<u64>(k as usize).unwrap();
            let mut arguments = vec![read(&self.right), write(&mut counts), Arg::U64(n)];
            arguments.extend((kernel.name == launch::COUNT_HISTOGRAM.name).then_some(Arg::U32(k)));
            self.launch(kernel, geometry, &arguments);
            assert_same(kernel.name, &self.stream.download(&counts, k as usize).unwrap(), &expected);
        }
    }

    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.shape.2 as usize];
        for &label in &self.expected {
            counts[label as usize] += 1;
        }
        counts
    }

    /// The means of `sums` are the reference's.
    fn assert_sums(&self, kernel: &Kernel, sums: &Array<u64>, format: FixedPoint) {
        let (_, d, k) = self.shape;
        let (d, words) = (d as usize, words(format) as usize);
        let found = self.stream.download(sums, k as usize * d * words).unwrap();
        let counts = self.counts();
        let mean = |(i, sum): (usize, &[u64])| {
            let count = counts[i / d];
            let limbs: Vec<i64> = match *sum {
                [low, high] => vec![low as u32 as i64, (low >> 32) as i64, high as u32 as i64, (high as i64) >> 32],
                [only] => vec![only as u32 as i64, (only as i64) >> 32],
                _ => sum.iter().map(|&limb| limb as i64).collect(),
            };
            if count == 0 { T::ZERO } else { exact::quotient((&limbs, format.exponent), (&[count as i64], 0)) }
        };
        let found: Vec<T> = found.chunks_exact(words).enumerate().map(mean).collect();
        let zeros = vec![T::ZERO; k as usize * d];
        let expected = reference::update(&self.host, d, None, &zeros, &self.expected);
        println!("{}: {}", self.what, kernel.name);
        assert_same("means", &bits(&found), &bits(&expected));
    }
}

fn words(format: FixedPoint) -> u32 {
    match format.width {
        Width::I64 => 1,
        Width::I128 => 2,
        Width::Limbs(limbs) => limbs as u32,
    }
}

#[test]
fn every_rung_gives_the_bits_of_the_reference() {
    fn check<T: Element + Stored + Default>() {
        for shape in SHAPES {
            for kind in [Kind::Uniform, Kind::Grid, Kind::Wide] {
                let case = Case::<T>::new(kind, shape);
                case.fused();
                case.tensor();
                case.unfused();
                case.transposed();
                case.sums();
            }
        }
    }
    if first_gpu().is_none() {
        return;
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}

#[test]
fn pixels_are_clustered_from_their_bytes() -> Result<(), Error> {
    if first_gpu().is_none() {
        return Ok(());
    }
    let stream = Gpu::open(0)?.stream()?;
    for (n, k) in [(1, 1), (1000, 8), (3001, 5000), (50_001, 3)] {
        let points = points::<f32>(Kind::Uniform, n, 3, k as u64);
        let bytes: Vec<u8> = points.iter().map(|v| (v * 255.0) as u8).collect();
        let values: Vec<f32> = bytes.iter().map(|&b| b as f32).collect();
        let start: Vec<f32> = (0..k)
            .flat_map(|c| [values[c * 7 % n * 3] + 0.25, values[c * 7 % n * 3 + 1], values[c * 7 % n * 3 + 2]])
            .collect();
        let expected = reference::assign(&values, 3, &start);
        let (pixels, centroids) = (stream.upload(&bytes)?, stream.upload(&start)?);
        let mut labels = stream.upload(&vec![u32::MAX; n])?;
        let (n_, k_) = (Arg::U64(n as u64), Arg::U32(k as u32));
        let geometry = launch::pixel_assign(n as u64, k as u32);
        stream.launch(
            &launch::PIXEL_ASSIGN,
            "",
            geometry,
            &[read(&pixels), read(&centroids), write(&mut labels), n_, k_],
        )?;
        assert_same("labels", &stream.download(&labels, n)?, &expected);

        let (mut sums, mut counts) = (stream.zeros::<u64>(3 * k)?, stream.zeros::<u64>(k)?);
        let arguments = [read(&pixels), read(&labels), write(&mut sums), write(&mut counts), n_, k_];
        stream.launch(&launch::PIXEL_SUMS, "", launch::pixel_sums(n as u64, k as u32), &arguments)?;
        let mut updated = stream.array::<f32>(3 * k)?;
        let arguments = [read(&sums), read(&counts), read(&centroids), write(&mut updated), Arg::I32(0), Arg::U32(3)];
        let divide = &launch::SCALE_DIVIDE_NARROW;
        stream.launch(divide, "f32", divide.blocks(k as u64, 0), &arguments)?;
        let means = reference::update(&values, 3, None, &start, &expected);
        assert_same("means", &stream.download(&updated, 3 * k)?, &means);

        let mut recoloured = stream.array::<u8>(3 * n)?;
        let kernel = &launch::PIXEL_RECOLOUR;
        let arguments = [read(&labels), read(&updated), write(&mut recoloured), n_];
        stream.launch(kernel, "", kernel.thread_each(n as u64), &arguments)?;
        let colours: Vec<u8> = expected
            .iter()
            .flat_map(|&label| means[label as usize * 3..][..3].iter().map(|v| (v + 0.5).floor() as u8))
            .collect();
        assert_same("colours", &stream.download(&recoloured, 3 * n)?, &colours);

        let mut features = stream.array::<f32>(5 * n)?;
        let kernel = &launch::PIXEL_FEATURES;
        let arguments = [read(&pixels), write(&mut features), n_, Arg::U32(100), Arg::F32(0.5)];
        stream.launch(kernel, "", kernel.thread_each(n as u64), &arguments)?;
        let expected: Vec<f32> = values
            .chunks_exact(3)
            .enumerate()
            .flat_map(|(i, c)| [c[0], c[1], c[2], (i % 100) as f32 * 0.5, (i / 100) as f32 * 0.5])
            .collect();
        assert_same("features", &stream.download(&features, 5 * n)?, &expected);
    }
    Ok(())
}
