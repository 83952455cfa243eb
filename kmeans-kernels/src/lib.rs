//! GPU kernels of exact k-means.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics))]
// The intrinsics of barriers, shuffles and votes are to be had by link name only.
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]
#![deny(clippy::undocumented_unsafe_blocks)]

pub mod assign;
pub mod device;
pub mod update;
