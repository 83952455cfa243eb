//! The types that a channel of a pixel may have.

/// A channel of a pixel: `u8` (0 to 255), `u16` (0 to 65,535) or `f32` (0 to 1, more for highlights).
pub trait Sample: sealed::Sealed + Sized + Copy + PartialEq + Send + Sync + std::fmt::Debug + 'static {
    /// White, and opaque.
    const WHITE: f32;
    /// Bits of an integer type; 0 for `f32`, whose colours are too many to be counted.
    #[doc(hidden)]
    const BITS: u32;
    /// The value, in its own units.
    fn to_f32(self) -> f32;
    /// The nearest value to `value`, which is in the type's own units.
    fn from_f32(value: f32) -> Self;
    /// The integer, for types that are integers.
    #[doc(hidden)]
    fn bits(self) -> u64;
    /// The samples as bytes, if that is what they are.
    #[doc(hidden)]
    fn bytes(_samples: &[Self]) -> Option<&[u8]> {
        None
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for f32 {}
}

impl Sample for u8 {
    const WHITE: f32 = 255.0;
    const BITS: u32 = 8;

    fn to_f32(self) -> f32 {
        f32::from(self)
    }

    fn from_f32(value: f32) -> Self {
        // `as` saturates.
        value.round() as Self
    }

    fn bits(self) -> u64 {
        self.into()
    }

    fn bytes(samples: &[Self]) -> Option<&[u8]> {
        Some(samples)
    }
}

impl Sample for u16 {
    const WHITE: f32 = 65_535.0;
    const BITS: u32 = 16;

    fn to_f32(self) -> f32 {
        f32::from(self)
    }

    fn from_f32(value: f32) -> Self {
        value.round() as Self
    }

    fn bits(self) -> u64 {
        self.into()
    }
}

impl Sample for f32 {
    const WHITE: f32 = 1.0;
    const BITS: u32 = 0;

    fn to_f32(self) -> f32 {
        self
    }

    fn from_f32(value: f32) -> Self {
        value
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}
