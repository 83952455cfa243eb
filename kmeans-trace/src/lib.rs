//! A fit one round at a time: what `kmeans trace` shows in a page, and checks before it writes one.
//!
//! [`Run`] makes the rounds of [`kmeans_core::reference::lloyd`] from that module's own functions, and keeps each. The same
//! source is compiled twice: for this machine, where it is compared with the library, and to WebAssembly, where the page
//! runs it. `wasm/kmeans_trace.wasm` is the second, committed; `cargo xtask wasm` makes it.
//!
//! ```
//! use kmeans_trace::{Run, Start};
//! use kmeans_core::settings::{Settings, Stop};
//!
//! let settings = Settings { stop: Stop::LabelsChanged(0.001), ..Settings::default() };
//! let mut run = Run::new(vec![0.0_f32, 1.0, 10.0, 11.0], 1, 2, Start::FirstK, 0, settings);
//! while run.step() {}
//! assert_eq!(run.result().0, [0, 0, 1, 1]);
//! ```
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

// Exported names are unsafe attributes: another definition of the same name would be. There is no other code in the module.
#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code)]
mod page;
mod run;

pub use run::{Round, Run, Start};

/// The module that runs in the page: this crate for WebAssembly, as `cargo xtask wasm` made it.
#[cfg(not(target_arch = "wasm32"))]
pub const WASM: &[u8] = include_bytes!("../wasm/kmeans_trace.wasm");
