//! CIELAB: a colour space in which equal distances look about equally different.
//!
//! Sources: IEC 61966-2-1:1999 (sRGB and its transfer function), CIE 15:2004 (CIE 1976 L*a*b*); white is D65, which is
//! what the primaries of sRGB add up to. Roots are computed with operations that IEEE 754 rounds correctly, and not with the
//! system's `pow`, so that features are the same bits on every machine.

/// sRGB primaries to CIE XYZ, D65 (Lindbloom's seven digits).
const TO_XYZ: [[f64; 3]; 3] = [
    [0.412_456_4, 0.357_576_1, 0.180_437_5],
    [0.212_672_9, 0.715_152_2, 0.072_175_0],
    [0.019_333_9, 0.119_192_0, 0.950_304_1],
];

/// Where the cube root of CIELAB gives way to a line.
const DELTA: f64 = 6.0 / 29.0;

/// L* (0 to 100), a* and b* of an sRGB colour with channels 0 to 1. Greys have a* = b* = 0.
///
/// ```
/// let red = kmeans_host::image::srgb_to_lab([1.0, 0.0, 0.0]);
/// assert_eq!(red.map(|v| (v * 10.0).round() / 10.0), [53.2, 80.1, 67.2]);
/// ```
pub fn srgb_to_lab(rgb: [f32; 3]) -> [f32; 3] {
    let linear = rgb.map(|c| to_linear(f64::from(c)));
    let [x, y, z] = TO_XYZ.map(|row| {
        let white = row[0] + row[1] + row[2];
        compress((row[0] * linear[0] + row[1] * linear[1] + row[2] * linear[2]) / white)
    });
    // A grey's three ratios differ by rounding alone.
    let grey = rgb[0] == rgb[1] && rgb[1] == rgb[2];
    let (a, b) = if grey { (0.0, 0.0) } else { (500.0 * (x - y), 200.0 * (y - z)) };
    [116.0 * y - 16.0, a, b].map(|v| v as f32)
}

/// The sRGB colour, channels 0 to 1, of L* (0 to 100), a* and b*; the nearest that there is in each channel.
pub fn lab_to_srgb(lab: [f32; 3]) -> [f32; 3] {
    let [l, a, b] = lab.map(f64::from);
    let y = (l + 16.0) / 116.0;
    let [x, y, z] = [y + a / 500.0, y, y - b / 200.0].map(expand);
    let scaled = [x, y, z].into_iter().zip(TO_XYZ).map(|(v, row)| v * (row[0] + row[1] + row[2]));
    let xyz: Vec<f64> = scaled.collect();
    solve(TO_XYZ, [xyz[0], xyz[1], xyz[2]]).map(|c| from_linear(c).clamp(0.0, 1.0) as f32)
}

/// sRGB's transfer function, from stored to linear.
fn to_linear(c: f64) -> f64 {
    if c <= 0.040_45 {
        return c / 12.92;
    }
    // t^2.4 = t² · (t^⅕)²
    let t = (c + 0.055) / 1.055;
    let fifth = root(t, 5);
    t * t * fifth * fifth
}

/// Its inverse.
fn from_linear(c: f64) -> f64 {
    if c <= 0.003_130_8 {
        return 12.92 * c;
    }
    // c^(1/2.4) = (c^(1/12))^5
    let twelfth = root(c.sqrt().sqrt(), 3);
    1.055 * (twelfth * twelfth * twelfth * twelfth * twelfth) - 0.055
}

fn compress(t: f64) -> f64 {
    if t > DELTA * DELTA * DELTA { root(t, 3) } else { t / (3.0 * DELTA * DELTA) + 4.0 / 29.0 }
}

fn expand(f: f64) -> f64 {
    if f > DELTA { f * f * f } else { 3.0 * DELTA * DELTA * (f - 4.0 / 29.0) }
}

/// The `degree`-th root of a positive normal number, by Newton's method from a guess with the exponent divided.
fn root(x: f64, degree: i32) -> f64 {
    const ONE: i64 = 1023 << 52;
    let mut y = f64::from_bits((ONE + (x.to_bits() as i64 - ONE) / i64::from(degree)) as u64);
    // The guess is right to a tenth; each step doubles the digits.
    for _ in 0..6 {
        let power = (1..degree).fold(1.0, |power, _| power * y);
        y += (x / power - y) / f64::from(degree);
    }
    y
}

/// The solution of m·x = v, by Cramer's rule.
fn solve(m: [[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    let determinant = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let whole = determinant(m);
    [0, 1, 2].map(|column| {
        let mut replaced = m;
        for (row, value) in replaced.iter_mut().zip(v) {
            row[column] = value;
        }
        determinant(replaced) / whole
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_colours_have_their_published_values() {
        // Lindbloom's CIE colour calculator, sRGB, D65.
        for (rgb, lab) in [
            ([1.0, 1.0, 1.0], [100.0, 0.0, 0.0]),
            ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
            ([1.0, 0.0, 0.0], [53.2408, 80.0925, 67.2032]),
            ([0.0, 1.0, 0.0], [87.7347, -86.1827, 83.1793]),
            ([0.0, 0.0, 1.0], [32.2970, 79.1875, -107.8602]),
        ] {
            let found = srgb_to_lab(rgb);
            assert!(found.iter().zip(lab).all(|(a, b): (&f32, f32)| (a - b).abs() < 2e-3), "{rgb:?}: {found:?}");
        }
    }

    #[test]
    fn every_eight_bit_colour_survives_the_way_there_and_back() {
        for step in 0..(1 << 24) / 1021 {
            let code = step * 1021;
            let rgb = [code >> 16, code >> 8 & 255, code & 255].map(|c| c as f32 / 255.0);
            let back = lab_to_srgb(srgb_to_lab(rgb));
            assert_eq!(back.map(|c| (c * 255.0).round()), rgb.map(|c| (c * 255.0).round()), "{code:06x}");
        }
    }

    #[test]
    fn roots_are_right_to_the_last_digits() {
        for i in 1..2000 {
            let x = f64::from(i) / 700.0;
            assert!((root(x, 3).powi(3) / x - 1.0).abs() < 1e-15);
            assert!((root(x, 5).powi(5) / x - 1.0).abs() < 2e-15);
        }
    }
}
