//! Whether a JPEG file is whole: the decoder fills what is missing with grey, and says nothing.

/// Markers, which follow a byte 0xff (ITU-T T.81, table B.1).
const END: u8 = 0xd9;
const SCAN: u8 = 0xda;

/// Whether the bytes of a JPEG file reach the end of its image.
///
/// Segments are skipped by the lengths they begin with; in a scan, whose data are of unknown length, no 0xff is followed by
/// anything but zero or a restart unless it is the next marker.
pub fn is_whole(bytes: &[u8]) -> bool {
    // After the start of the image, which has no length.
    let mut at = 2;
    loop {
        // Any number of 0xff may lead a marker.
        while bytes.get(at) == Some(&0xff) {
            at += 1;
        }
        let Some(&marker) = bytes.get(at) else { return false };
        if marker == END {
            return true;
        }
        let Some(&[high, low]) = bytes.get(at + 1..at + 3) else { return false };
        at += 1 + usize::from(u16::from_be_bytes([high, low]));
        if marker == SCAN {
            let data = bytes.get(at..).unwrap_or_default();
            let is_next = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0 | 0xd0..=0xd7 | 0xff);
            let Some(length) = data.windows(2).position(is_next) else { return false };
            at += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment with a picture of its own, then two scans.
    const FILE: &[u8] = &[
        0xff, 0xd8, 0xff, 0xe1, 0, 8, 0xff, 0xd8, 0xff, SCAN, 0xff, END, 0xff, 0xff, SCAN, 0, 3, 7, 1, 0xff, 0, 2,
        0xff, 0xd3, 9, 0xff, 0xc4, 0, 2, 0xff, SCAN, 0, 2, 5, 0xff, END,
    ];

    #[test]
    fn a_file_is_whole_up_to_the_end_of_its_image_and_whatever_follows() {
        assert!(is_whole(FILE));
        assert!(is_whole(&[FILE, &[0xff, SCAN, 1]].concat()));
    }

    #[test]
    fn a_file_cut_anywhere_is_not() {
        for length in 0..FILE.len() {
            assert!(!is_whole(&FILE[..length]), "{length}");
        }
    }
}
