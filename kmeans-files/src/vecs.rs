//! `.fvecs`, `.bvecs`, `.ivecs`: rows led by their length, the formats of nearest-neighbour benchmarks.

use ndarray::Array2;

use crate::{Error, Fault, Format, Matrix, Place, Points};

/// Reads rows of f32, u8 (as f32) or i32 (as f64).
pub(crate) fn read(bytes: &[u8], format: Format) -> Result<Points, Error> {
    match format {
        Format::Fvecs => Ok(Points::F32(Matrix::Owned(rows(bytes, f32::from_le_bytes)?))),
        Format::Bvecs => Ok(Points::F32(Matrix::Owned(rows(bytes, |[b]: [u8; 1]| f32::from(b))?))),
        _ => Ok(Points::F64(Matrix::Owned(rows(bytes, |b| f64::from(i32::from_le_bytes(b)))?))),
    }
}

fn rows<T, const W: usize>(bytes: &[u8], number: impl Fn([u8; W]) -> T) -> Result<Array2<T>, Error> {
    let first = length(bytes, 0)?;
    let d = match usize::try_from(first) {
        Ok(d) if d > 0 => d,
        _ => return Err(Fault::BadLength(first.into()).at(Place::Row(0))),
    };
    // At most 4 + 8·2³¹: no overflow in 64 bits.
    let row_bytes = 4 + d * W;
    let n = bytes.len() / row_bytes;
    let mut values = Vec::with_capacity(n * d);
    for (row, chunk) in bytes.chunks(row_bytes).enumerate() {
        let found = length(chunk, row * row_bytes)?;
        if found != first {
            let place = Place::Row(row as u64);
            return Err(match u64::try_from(found) {
                Ok(found @ 1..) => Fault::Ragged { found, expected: d as u64 }.at(place),
                _ => Fault::BadLength(found.into()).at(place),
            });
        }
        if chunk.len() < row_bytes {
            let expected = (row as u128 + 1) * row_bytes as u128;
            return Err(Fault::Truncated { expected, found: bytes.len() as u64 }.at(Place::Row(row as u64)));
        }
        values.extend(bytemuck::cast_slice::<u8, [u8; W]>(&chunk[4..]).iter().map(|b| number(*b)));
    }
    Ok(Array2::from_shape_vec((n, d), values).expect("every row gave d values"))
}

/// The length that leads a row.
fn length(row: &[u8], offset: usize) -> Result<i32, Error> {
    let Some(bytes) = row.first_chunk() else {
        let expected = offset as u128 + 4;
        return Err(Fault::Truncated { expected, found: (offset + row.len()) as u64 }.at(Place::Byte(offset as u64)));
    };
    Ok(i32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn row(values: &[f32]) -> Vec<u8> {
        let values = values.iter().flat_map(|v| v.to_le_bytes());
        ((values.clone().count() / 4) as i32).to_le_bytes().into_iter().chain(values).collect()
    }

    fn fvecs(bytes: &[u8]) -> Result<Array2<f32>, String> {
        match read(bytes, Format::Fvecs).map_err(|e| e.to_string())? {
            Points::F32(values) => Ok(values.view().to_owned()),
            _ => unreachable!(),
        }
    }

    #[test]
    fn rows_come_out_right() {
        let bytes = [row(&[1.0, 2.0]), row(&[3.0, -4.5])].concat();
        assert_eq!(fvecs(&bytes).unwrap(), array![[1.0, 2.0], [3.0, -4.5]]);
        let Ok(Points::F32(bytes)) = read(&[2, 0, 0, 0, 7, 255], Format::Bvecs) else { panic!() };
        assert_eq!(bytes.view(), array![[7.0, 255.0]]);
        let Ok(Points::F64(integers)) = read(&[1, 0, 0, 0, 254, 255, 255, 255], Format::Ivecs) else { panic!() };
        assert_eq!(integers.view(), array![[-2.0]]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let good = row(&[1.0, 2.0]);
        for (bytes, message) in [
            (good[..10].to_vec(), "row 0 (from 0): the file is cut short: 12 bytes are promised, 10 are there"),
            ([&good[..], &good[..3]].concat(), "byte 12: the file is cut short: 16 bytes are promised, 15 are there"),
            ([&good[..], &row(&[1.0])].concat(), "row 1 (from 0): 1 value but the first row has 2"),
            (row(&[]), "row 0 (from 0): a row length of 0: it must be at least 1; is this really such a file?"),
            (vec![255; 8], "row 0 (from 0): a row length of -1: it must be at least 1; is this really such a file?"),
            (
                vec![0xff, 0xff, 0xff, 0x7f, 1],
                "row 0 (from 0): the file is cut short: 8589934592 bytes are promised, 5 are there",
            ),
        ] {
            assert_eq!(fvecs(&bytes).unwrap_err(), message);
        }
    }
}
