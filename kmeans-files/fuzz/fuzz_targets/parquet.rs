#![no_main]
//! Whatever the bytes, reading them as Parquet gives points or an error.

use std::sync::Once;

use kmeans_files::Format;

/// The Parquet crate answers some broken files with a panic, which the parser turns into an error: libFuzzer, whose hook runs first
/// there, must not end at it.
static QUIET: Once = Once::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    // A panic that gets out of the parser is one too many.
    if std::panic::catch_unwind(|| kmeans_files_fuzz::check(data, &[Format::Parquet])).is_err() {
        std::process::abort();
    }
});
