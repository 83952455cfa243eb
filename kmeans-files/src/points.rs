//! Points as a file gave them: a matrix of one of four element types, owned or still in the file's own memory.

use std::fmt;
use std::str::FromStr;

use half::{bf16, f16};
use ndarray::{Array2, ArrayView2, Axis, ShapeBuilder};

use crate::Value;
use crate::bytes::Bytes;

/// An element type of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl ElementType {
    /// As users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ElementType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::F16, Self::Bf16, Self::F32, Self::F64]
            .into_iter()
            .find(|e| e.name() == text)
            .ok_or_else(|| "use f16, bf16, f32 or f64".into())
    }
}

/// A matrix `[n, d]`.
#[derive(Debug)]
pub enum Matrix<T> {
    /// In memory of its own.
    Owned(Array2<T>),
    /// In the memory of a file, as it lies there.
    InFile(InFile),
}

/// A matrix within a file: where it begins, its shape and its order.
#[derive(Debug)]
pub struct InFile {
    pub(crate) bytes: Bytes,
    pub(crate) offset: usize,
    pub(crate) dim: (usize, usize),
    pub(crate) fortran: bool,
}

impl<T: Value> Matrix<T> {
    /// The matrix.
    ///
    /// # Panics
    /// Never: what is in a file was checked to be a matrix of this type when it was opened.
    pub fn view(&self) -> ArrayView2<'_, T> {
        match self {
            Self::Owned(array) => array.view(),
            Self::InFile(place) => place.view().expect("it was checked when the file was opened"),
        }
    }
}

impl InFile {
    /// The matrix, if the bytes are aligned for the type and there are as many as its shape needs.
    pub(crate) fn view<T: bytemuck::AnyBitPattern>(&self) -> Option<ArrayView2<'_, T>> {
        let values: &[T] = bytemuck::try_cast_slice(self.bytes.get(self.offset..)?).ok()?;
        ArrayView2::from_shape(self.dim.set_f(self.fortran), values).ok()
    }
}

/// Points of whichever element type the file has.
#[derive(Debug)]
pub enum Points {
    /// Half precision.
    F16(Matrix<f16>),
    /// bfloat16.
    Bf16(Matrix<bf16>),
    /// Single precision.
    F32(Matrix<f32>),
    /// Double precision.
    F64(Matrix<f64>),
}

impl Points {
    /// The element type.
    pub fn element(&self) -> ElementType {
        match self {
            Self::F16(_) => ElementType::F16,
            Self::Bf16(_) => ElementType::Bf16,
            Self::F32(_) => ElementType::F32,
            Self::F64(_) => ElementType::F64,
        }
    }

    /// n and d.
    pub fn dim(&self) -> (usize, usize) {
        match self {
            Self::F16(m) => m.view().dim(),
            Self::Bf16(m) => m.view().dim(),
            Self::F32(m) => m.view().dim(),
            Self::F64(m) => m.view().dim(),
        }
    }

    /// Whether the values still lie in the file's memory.
    pub fn is_in_file(&self) -> bool {
        matches!(
            self,
            Self::F16(Matrix::InFile(_))
                | Self::Bf16(Matrix::InFile(_))
                | Self::F32(Matrix::InFile(_))
                | Self::F64(Matrix::InFile(_))
        )
    }

    /// The values rounded to another type; themselves if they have it.
    #[must_use]
    pub fn into_element(self, element: ElementType) -> Self {
        if self.element() == element {
            return self;
        }
        match self {
            Self::F16(m) => rounded(m.view().mapv(f64::from), element),
            Self::Bf16(m) => rounded(m.view().mapv(f64::from), element),
            Self::F32(m) => rounded(m.view().mapv(f64::from), element),
            Self::F64(m) => rounded(m.view().to_owned(), element),
        }
    }

    /// These columns only, counted from 0, in this order; each must exist.
    #[must_use]
    pub fn select(&self, columns: &[usize]) -> Self {
        match self {
            Self::F16(m) => Self::F16(Matrix::Owned(m.view().select(Axis(1), columns))),
            Self::Bf16(m) => Self::Bf16(Matrix::Owned(m.view().select(Axis(1), columns))),
            Self::F32(m) => Self::F32(Matrix::Owned(m.view().select(Axis(1), columns))),
            Self::F64(m) => Self::F64(Matrix::Owned(m.view().select(Axis(1), columns))),
        }
    }

    /// The first rows only; `n` must not be larger than their number.
    #[must_use]
    pub fn first_rows(&self, n: usize) -> Self {
        let rows = ndarray::s![..n, ..];
        match self {
            Self::F16(m) => Self::F16(Matrix::Owned(m.view().slice(rows).to_owned())),
            Self::Bf16(m) => Self::Bf16(Matrix::Owned(m.view().slice(rows).to_owned())),
            Self::F32(m) => Self::F32(Matrix::Owned(m.view().slice(rows).to_owned())),
            Self::F64(m) => Self::F64(Matrix::Owned(m.view().slice(rows).to_owned())),
        }
    }
}

fn rounded(values: Array2<f64>, element: ElementType) -> Points {
    match element {
        ElementType::F16 => Points::F16(Matrix::Owned(values.mapv(f16::from_f64))),
        ElementType::Bf16 => Points::Bf16(Matrix::Owned(values.mapv(bf16::from_f64))),
        ElementType::F32 => Points::F32(Matrix::Owned(values.mapv(|v| v as f32))),
        ElementType::F64 => Points::F64(Matrix::Owned(values)),
    }
}
