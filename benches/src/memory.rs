//! Peak memory of this process, as the operating system counts it. Linux only: elsewhere there is no figure.

use std::fs;

/// Bytes per MiB.
pub const MIB: f64 = (1 << 20) as f64;

/// Makes [`peak`] start from what is resident now, so that loading data does not count.
pub fn forget_peak() {
    // Without the right to do this the peak of loading stays in the figure, which only makes it larger.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The most memory, in bytes, that was resident since [`forget_peak`].
pub fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_includes_memory_already_given_back() {
        let before = peak().unwrap();
        drop(std::hint::black_box(vec![1_u8; 64 << 20]));
        assert!(peak().unwrap() >= before + (60 << 20));
    }
}
