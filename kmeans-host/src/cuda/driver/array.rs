//! Values in device memory, and what a kernel is given of them.

use std::marker::PhantomData;
use std::ops::Range;

use cudarc::driver::{CudaSlice, DevicePtr};

use super::stream::Stream;
use crate::cuda::arguments::{Arg, Span, Stored};

/// Values in device memory.
pub struct Array<E> {
    pub(super) slice: CudaSlice<E>,
    pub(super) address: u64,
}

impl<E: Stored> Array<E> {
    /// What lies before `at`, to read, and the rest, to write or add to.
    pub fn split(&mut self, at: usize) -> (Arg<'_>, Arg<'_>) {
        let array = &*self;
        (Arg::In(span(array, 0..at)), Arg::Out(span(array, at..array.len())))
    }
}

impl<E> Array<E> {
    /// Values.
    pub fn len(&self) -> usize {
        self.slice.len()
    }

    /// Whether there are none: never, since an array has room for one value at least.
    #[cfg(feature = "kernels")]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slice, for callers who go on with it.
    pub fn into_slice(self) -> CudaSlice<E> {
        self.slice
    }
}

/// Points in device memory, which somebody else owns.
pub fn borrowed<'a, E: Stored>(slice: &'a (impl DevicePtr<E> + ?Sized), stream: &Stream) -> Span<'a> {
    let (address, _) = slice.device_ptr(&stream.inner);
    Span { address, bytes: (slice.len() * size_of::<E>()) as u64, element: E::STORED, life: PhantomData }
}

/// A part of the array.
pub(super) fn span<E: Stored>(array: &Array<E>, range: Range<usize>) -> Span<'_> {
    assert!(range.start <= range.end && range.end <= array.len(), "a part of an array lies within it");
    Span {
        address: array.address + (range.start * size_of::<E>()) as u64,
        bytes: ((range.end - range.start) * size_of::<E>()) as u64,
        element: E::STORED,
        life: PhantomData,
    }
}

/// The array to read.
pub fn read<E: Stored>(array: &Array<E>) -> Arg<'_> {
    Arg::In(span(array, 0..array.len()))
}

/// The array to write or add to.
pub fn write<E: Stored>(array: &mut Array<E>) -> Arg<'_> {
    Arg::Out(span(array, 0..array.len()))
}

/// Words of `array` as values of another type, to write or add to.
pub fn write_as<E: Stored>(array: &mut Array<u64>, words: Range<usize>) -> Arg<'_> {
    Arg::Out(Span { element: E::STORED, ..span(array, words) })
}

/// The array, its bytes taken as values of another type, to read.
pub fn read_as<E: Stored>(array: &Array<impl Stored>) -> Arg<'_> {
    Arg::In(Span { element: E::STORED, ..span(array, 0..array.len()) })
}

/// Parts of the array, in ascending order, to write or add to.
pub fn write_parts<const N: usize>(array: &mut Array<u64>, parts: [Range<usize>; N]) -> [Arg<'_>; N] {
    assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start), "parts do not overlap");
    let array = &*array;
    parts.map(|part| Arg::Out(span(array, part)))
}

/// Part of the array to read.
pub fn read_part<E: Stored>(array: &Array<E>, range: Range<usize>) -> Arg<'_> {
    Arg::In(span(array, range))
}

/// Part of the array to write or add to.
pub fn write_part<E: Stored>(array: &mut Array<E>, range: Range<usize>) -> Arg<'_> {
    Arg::Out(span(array, range))
}
