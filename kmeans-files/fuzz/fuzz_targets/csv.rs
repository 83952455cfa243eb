#![no_main]
//! Whatever the bytes, reading them as csv gives points or an error.

use kmeans_files::Format;

libfuzzer_sys::fuzz_target!(|data: &[u8]| kmeans_files_fuzz::check(data, &[Format::Csv]));
