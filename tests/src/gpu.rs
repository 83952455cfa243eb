//! Tests that need a GPU, on machines with and without one.

use kmeans_host::{Device, DeviceInfo};

/// The environment variable that turns the absence of a GPU into a failure.
pub const REQUIRE: &str = "KMEANS_REQUIRE_GPU";

/// The first GPU. Without one, says that the test was not run and how to demand it.
///
/// # Panics
/// If a GPU is demanded and there is none.
pub fn first_gpu() -> Option<DeviceInfo> {
    let found = Device::gpus().into_iter().next();
    let reason = match found {
        Some(Ok(gpu)) => return Some(gpu),
        Some(Err(error)) => error.to_string(),
        None => "no CUDA device is present".into(),
    };
    assert!(std::env::var_os(REQUIRE).is_none(), "{REQUIRE} is set, but {reason}");
    println!("not run: {reason}; set {REQUIRE}=1 to make that a failure");
    None
}
