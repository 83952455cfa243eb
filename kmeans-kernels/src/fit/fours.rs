//! Four neighbouring elements of points, loaded at once.

use half::{bf16, f16};

use crate::device::{In, Load, Number};

/// Points that are read four elements at a time.
pub trait Fours: Load {
    /// Four elements as they lie in memory.
    type Packed: Copy;
    /// Nothing loaded.
    const NONE: Self::Packed;
    /// What [`unpack`](Self::unpack) adds to each.
    const BIAS: f32;
    /// What every column's centre is, where it does not depend on the data.
    const CENTRE: Option<f32>;

    /// The four elements from `index` on, a multiple of four.
    fn load_four(points: In<Self>, index: u64) -> Self::Packed
    where
        Self: Sized;

    /// The four values plus [`BIAS`](Self::BIAS), none rounded.
    fn unpack(packed: Self::Packed) -> [f32; 4];
}

impl Fours for f32 {
    type Packed = [u32; 4];
    const NONE: [u32; 4] = [0; 4];
    const BIAS: f32 = 0.0;
    const CENTRE: Option<f32> = None;

    #[inline(always)]
    fn load_four(points: In<Self>, index: u64) -> [u32; 4] {
        points.get16(index)
    }

    #[inline(always)]
    fn unpack(packed: [u32; 4]) -> [f32; 4] {
        packed.map(f32::from_bits)
    }
}

macro_rules! sixteen_bits {
    ($($type:ty),*) => { $(
        impl Fours for $type {
            type Packed = [u32; 2];
            const NONE: [u32; 2] = [0; 2];
            const BIAS: f32 = 0.0;
            const CENTRE: Option<f32> = None;

            #[inline(always)]
            fn load_four(points: In<Self>, index: u64) -> [u32; 2] {
                points.get8(index)
            }

            #[inline(always)]
            fn unpack([low, high]: [u32; 2]) -> [f32; 4] {
                [low, low >> 16, high, high >> 16].map(|bits| Self::from_bits(bits as u16).single())
            }
        }
    )* };
}

sixteen_bits!(f16, bf16);

/// Bytes become the last bits of 2²³, which takes no conversion.
impl Fours for u8 {
    type Packed = u32;
    const NONE: u32 = 0;
    const BIAS: f32 = (1 << 23) as f32;
    const CENTRE: Option<f32> = Some(128.0);

    #[inline(always)]
    fn load_four(points: In<Self>, index: u64) -> u32 {
        points.get4(index)
    }

    #[inline(always)]
    fn unpack(packed: u32) -> [f32; 4] {
        [0, 8, 16, 24].map(|shift| f32::from_bits(Self::BIAS.to_bits() | (packed >> shift & 0xff)))
    }
}
