//! Points and labels in device buffers of the crate `cust`. Needs its feature, and a GPU to show anything.

use cust::memory::{CopyDestination, DeviceBuffer};
use kmeans_host::{Device, DevicePoints, Error, Init, KMeans};
use kmeans_tests::compare::assert_identical;
use kmeans_tests::data::{Kind, points};
use kmeans_tests::gpu::first_gpu;

#[test]
fn buffers_of_cust_are_fitted_where_they_are() {
    if first_gpu().is_none() {
        return;
    }
    let _context = cust::quick_init().unwrap();
    let (n, d) = (5003, 6);
    let points = points::<f32>(Kind::Blobs, n, d, 1);
    let buffer = DeviceBuffer::from_slice(points.as_slice().unwrap()).unwrap();
    let kmeans = KMeans::new(9).init(Init::KMeansPlusPlus).device(Device::Cuda(0));
    let expected = kmeans.fit(&points).unwrap();

    let on_device = DevicePoints::from_cust(&buffer, (n, d), 0).unwrap();
    let fitted = kmeans.fit_on_device(&on_device).unwrap();
    let mut labels = DeviceBuffer::from_slice(&vec![u32::MAX; n]).unwrap();
    fitted.copy_labels_to(&mut labels).unwrap();
    let mut host = vec![0; n];
    labels.copy_to(&mut host).unwrap();
    assert_eq!(host, expected.labels().to_vec());
    assert_identical(&fitted.into_host().unwrap(), &expected);

    let wrong = DevicePoints::from_cust(&buffer, (n, d + 1), 0).err();
    assert_eq!(wrong, Some(Error::DeviceShape { n, d: d + 1, found: n * d }));
}
