//! GPU kernels of exact k-means.
#![no_std]
