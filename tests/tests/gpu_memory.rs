//! Nothing stays in a GPU's memory: not after a fit, an error, a cancel or a prediction. In a program of its own, since
//! free memory is counted.

use kmeans_host::{Control, Device, DevicePoints, EmptyCluster, Error, Init, KMeans, Progress};
use kmeans_tests::data::{Kind, points};
use kmeans_tests::gpu::first_gpu;
use ndarray::Array2;

fn free() -> u64 {
    Device::gpus().remove(0).unwrap().free_memory
}

#[test]
fn nothing_stays_on_the_device() {
    if first_gpu().is_none() {
        return;
    }
    let points = points::<f32>(Kind::Uniform, 1_000_000, 16, 1);
    let kmeans = KMeans::new(50).max_iter(5).device(Device::Cuda(0));
    let work = || {
        let fitted = kmeans.clone().init(Init::KMeansParallel).n_init(2).fit(&points).unwrap();
        fitted.predict(&points).unwrap();
        fitted.score(&points).unwrap();
        fitted.transform(&points.slice(ndarray::s![..1000, ..])).unwrap();

        let cancelled = kmeans.clone().on_progress(|progress| match progress {
            Progress::Iteration { iteration: 3, .. } => Control::Cancel,
            _ => Control::Continue,
        });
        assert_eq!(cancelled.fit(&points).unwrap_err(), Error::Cancelled { iterations: 3 });
        let while_seeding = kmeans.clone().on_progress(|_| Control::Cancel);
        assert_eq!(while_seeding.fit(&points).unwrap_err(), Error::Cancelled { iterations: 0 });

        let start = Init::Centroids(Array2::from_shape_fn((50, 16), |(i, _)| (i / 2) as f64));
        let failed = kmeans.clone().init(start).empty_cluster(EmptyCluster::Error).fit(&points);
        assert!(matches!(failed, Err(Error::EmptyCluster { .. })));

        let stream = cudarc::driver::CudaContext::new(0).unwrap().default_stream();
        let slice = stream.clone_htod(points.as_slice().unwrap()).unwrap();
        let on_device = DevicePoints::new(&slice, points.dim()).unwrap();
        drop(kmeans.fit_on_device(&on_device).unwrap());
        drop(slice);
        stream.synchronize().unwrap();
    };
    // The first time loads kernels and takes pinned buffers, which stay.
    work();
    let before = free();
    work();
    assert_eq!(free(), before);
}
