//! What a kernel is launched with, checked against the launch contract: number, types, and the length of every array.

use std::ffi::c_void;
use std::marker::PhantomData;

use cudarc::driver::DeviceRepr;
use half::{bf16, f16};
use kmeans_core::launch::{Geometry, Kernel, Kind, Type};

/// A type that device memory can hold: every bit pattern is a value, and `STORED` is its name in the launch contract.
pub trait Stored: DeviceRepr + Copy + Send + Sync + 'static {
    /// Its name in the names of kernels.
    const STORED: &'static str;
}

macro_rules! stored {
    ($($type:ty: $name:literal),* $(,)?) => { $(
        impl Stored for $type {
            const STORED: &'static str = $name;
        }
    )* };
}

stored! { u8: "u8", u32: "u32", i32: "i32", u64: "u64", i64: "i64", f32: "f32", f64: "f64", f16: "f16", bf16: "bf16" }

/// An argument of a kernel: a number, or an array that outlives the call.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// An array that is read.
    In(Span<'a>),
    /// An array that is written or added to.
    Out(Span<'a>),
    /// A number of 32 bits.
    U32(u32),
    /// A signed number of 32 bits.
    I32(i32),
    /// A number of 64 bits.
    U64(u64),
    /// An `f32`.
    F32(f32),
}

/// Where an array lies in device memory.
#[derive(Clone, Copy)]
pub struct Span<'a> {
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) element: &'static str,
    pub(super) life: PhantomData<&'a ()>,
}

impl Span<'_> {
    /// Without the first `elements`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn skip(self, elements: u64) -> Self {
        let bytes = elements * size_of_type(self.element);
        assert!(bytes <= self.bytes, "a part of an array lies within it");
        Self { address: self.address + bytes, bytes: self.bytes - bytes, ..self }
    }

    /// Whether kernels that copy 16 bytes at once can read it.
    pub fn is_aligned(self) -> bool {
        self.address.is_multiple_of(16)
    }
}

/// The instance of a kernel for points stored as `stored`: that of their values where it does not read the points.
fn instance(kernel: &Kernel, stored: &'static str) -> &'static str {
    if kernel.types.contains(&stored) { stored } else { value_of(stored) }
}

/// The element type that points stored as `stored` have.
fn value_of(stored: &'static str) -> &'static str {
    if stored == "u8" { "f32" } else { stored }
}

/// The entry point of a kernel for points stored as `stored`.
pub fn entry(kernel: &Kernel, stored: &'static str) -> String {
    if kernel.types.is_empty() {
        return kernel.name.to_string();
    }
    format!("{}_{}", kernel.name, instance(kernel, stored))
}

impl Arg<'_> {
    /// An array to read, without its first `elements`.
    pub fn skip(self, elements: u64) -> Self {
        if let Self::In(span) = self { Self::In(span.skip(elements)) } else { self }
    }

    /// An array, its bytes taken as values of another type.
    pub fn cast<E: Stored>(self) -> Self {
        match self {
            Self::In(span) => Self::In(Span { element: E::STORED, ..span }),
            Self::Out(span) => Self::Out(Span { element: E::STORED, ..span }),
            number => number,
        }
    }

    /// An array to write, or add to, as one to read.
    pub fn to_read(self) -> Self {
        if let Self::Out(span) = self { Self::In(span) } else { self }
    }

    /// Where the driver finds the value.
    pub(super) fn pointer(&self) -> *mut c_void {
        let pointer: *const c_void = match self {
            Self::In(span) | Self::Out(span) => (&raw const span.address).cast(),
            Self::U32(v) => (&raw const *v).cast(),
            Self::I32(v) => (&raw const *v).cast(),
            Self::U64(v) => (&raw const *v).cast(),
            Self::F32(v) => (&raw const *v).cast(),
        };
        pointer.cast_mut()
    }

    fn number(&self) -> Option<u64> {
        match *self {
            Self::U32(v) => Some(v as u64),
            Self::U64(v) => Some(v),
            _ => None,
        }
    }
}

/// Panics unless `arguments` are what the contract says.
pub fn check_arguments(kernel: &Kernel, stored: &'static str, geometry: Geometry, arguments: &[Arg<'_>]) {
    let (name, stored) = (kernel.name, instance(kernel, stored));
    assert_eq!(kernel.arguments.len(), arguments.len(), "{name}: number of arguments");
    let value = |wanted: &str| {
        kernel.arguments.iter().zip(arguments).find(|(a, _)| a.name == wanted).and_then(|(_, given)| given.number())
    };
    for (declared, given) in kernel.arguments.iter().zip(arguments) {
        let fits = match (declared.kind, given) {
            (Kind::In(of), Arg::In(span)) | (Kind::Out(of), Arg::Out(span)) => type_name(of, stored) == span.element,
            (Kind::Value(of), Arg::U32(_)) => of == Type::U32,
            (Kind::Value(of), Arg::I32(_)) => of == Type::I32,
            (Kind::Value(of), Arg::U64(_)) => of == Type::U64,
            (Kind::Value(of), Arg::F32(_)) => of == Type::F32,
            _ => false,
        };
        assert!(fits, "{name}: {} is not what the contract says", declared.name);
        let (Arg::In(span) | Arg::Out(span)) = given else { continue };
        // Without weights these arrays are not looked at.
        if matches!(declared.name, "weights" | "totals") && value("weighted") == Some(0) {
            continue;
        }
        // A size that is not an argument is not known here.
        let size = |part: &str| {
            let rounded_up = part.strip_prefix('⌈').and_then(|part| part.strip_suffix('⌉')?.split_once('/'));
            if let Some((size, unit)) = rounded_up {
                return value(size).unwrap_or(1).div_ceil(unit.parse().unwrap_or(1));
            }
            if let Some((size, more)) = part.split_once('+') {
                return value(size).unwrap_or(0) + more.parse().unwrap_or(0);
            }
            part.parse()
                .ok()
                .or_else(|| value(part))
                .or((part == "blocks").then_some(geometry.grid[0] as u64))
                .unwrap_or(1)
        };
        let least: u64 = declared.shape.trim_matches(['[', ']']).split(", ").map(size).product();
        let bytes = least * size_of_type(span.element);
        assert!(span.bytes >= bytes, "{name}: {} has {} bytes, {bytes} needed", declared.name, span.bytes);
    }
}

fn type_name(of: Type, stored: &'static str) -> &'static str {
    match of {
        Type::T => value_of(stored),
        Type::P => stored,
        Type::U8 => "u8",
        Type::F16 => "f16",
        Type::U32 => "u32",
        Type::I32 => "i32",
        Type::U64 => "u64",
        Type::I64 => "i64",
        Type::F32 => "f32",
        Type::F64 => "f64",
    }
}

fn size_of_type(name: &str) -> u64 {
    match name {
        "u8" => 1,
        "f16" | "bf16" => 2,
        "u32" | "i32" | "f32" => 4,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked_against_the_contract() {
        let on_device = |bytes, element| Span { address: 0, bytes, element, life: PhantomData };
        let kernel = &kmeans_core::launch::COUNT_GLOBAL;
        let check = |arguments: &[Arg<'_>]| {
            let geometry = kernel.thread_each(100);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check_arguments(kernel, "", geometry, arguments)))
                .is_ok()
        };
        let (labels, counts) = (Arg::In(on_device(400, "u32")), Arg::Out(on_device(16, "u64")));
        assert!(check(&[labels, counts, Arg::U64(100)]));
        assert!(!check(&[labels, counts, Arg::U64(101)]));
        assert!(!check(&[labels, counts, Arg::U32(100)]));
        assert!(!check(&[labels, labels, Arg::U64(100)]));
        assert!(!check(&[labels, counts]));
        assert!(!check(&[Arg::In(on_device(400, "f32")), counts, Arg::U64(100)]));
    }

    #[test]
    fn a_kernel_without_an_instance_for_bytes_gets_no_bytes() {
        use kmeans_core::launch::{ASSIGN_DIRECT, ASSIGN_NARROW, SCALE_DIVIDE_NARROW};
        assert_eq!(entry(&ASSIGN_NARROW, "u8"), "assign_narrow_u8");
        assert_eq!(entry(&ASSIGN_NARROW, "f16"), "assign_narrow_f16");
        assert_eq!(entry(&SCALE_DIVIDE_NARROW, "u8"), "scale_divide_narrow_f32");
        let on_device = |bytes, element| Span { address: 0, bytes, element, life: PhantomData };
        let check = |kernel: &Kernel, points: &'static str| {
            let arguments = [
                Arg::In(on_device(4 * 3000, points)),
                Arg::In(on_device(4 * 6, "f32")),
                Arg::Out(on_device(4 * 1000, "u32")),
                Arg::U64(1000),
                Arg::U32(2),
                Arg::U32(3),
            ];
            let geometry = kernel.thread_each(1000);
            std::panic::catch_unwind(|| check_arguments(kernel, "u8", geometry, &arguments)).is_ok()
        };
        assert!(check(&ASSIGN_NARROW, "u8"));
        assert!(!check(&ASSIGN_NARROW, "f32"));
        assert!(!check(&ASSIGN_DIRECT, "u8"));
    }
}
