//! The functions between the matrix products.
//!
//! `exp` is our own: one loop without branches is several at a time on every processor, and it gives the same numbers on
//! all of them, which the system's does not.

use ndarray::{ArrayView1, ArrayViewMut1};

/// e to the `x`, to about 1e-7 of itself. What is below -87 counts as -87, what is above 88 as 88.
fn exp(x: f32) -> f32 {
    /// 1.5 times 2 to the 23rd: added and taken away, it rounds to an integer.
    const ROUND: f32 = 12_582_912.0;
    /// The logarithm of 2 in two parts, the first with few digits.
    const LOG_2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);

    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let rest = x - whole * LOG_2.0 - whole * LOG_2.1;
    // The series, its last terms as small as a float's last digit.
    let series = 1.0
        + rest
            * (1.0
                + rest
                    * (0.5
                        + rest
                            * (1.0 / 6.0
                                + rest * (1.0 / 24.0 + rest * (1.0 / 120.0 + rest * (1.0 / 720.0))))));
    let power = (shifted.to_bits() << 23).wrapping_add(127 << 23);
    series * f32::from_bits(power)
}

/// The error function, to about 1e-6 (Abramowitz and Stegun, 7.1.26).
fn erf(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let series =
        t * (0.254_829_6 + t * (-0.284_496_74 + t * (1.421_413_7 + t * (-1.453_152 + t * 1.061_405_4))));
    (1.0 - series * exp(-size * size)).copysign(x)
}

/// The unit between a layer's two large products.
pub(crate) fn gelu(numbers: &mut [f32]) {
    for x in numbers {
        *x *= 0.5 * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// Makes shares of numbers: positive, 1 together.
pub(crate) fn softmax(numbers: &mut [f32]) {
    let most = numbers.iter().copied().fold(f32::MIN, f32::max);
    for x in &mut *numbers {
        *x = exp(*x - most);
    }
    let sum: f32 = numbers.iter().sum();
    for x in numbers {
        *x /= sum;
    }
}

/// Brings a row to mean 0 and deviation 1, then scales and shifts it.
pub(crate) fn normalise(
    mut row: ArrayViewMut1<'_, f32>,
    scale: ArrayView1<'_, f32>,
    shift: ArrayView1<'_, f32>,
    epsilon: f32,
) {
    let length = row.len() as f32;
    let mean = row.sum() / length;
    let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / length;
    let factor = 1.0 / (variance + epsilon).sqrt();
    for ((x, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
        *x = (*x - mean) * factor * scale + shift;
    }
}

/// Brings a vector to length 1; one without length stays.
pub(crate) fn unit(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 && length.is_finite() {
        vector.iter_mut().for_each(|x| *x /= length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_e() {
        for step in -870..=880 {
            let x = step as f32 / 10.0;
            let (ours, right) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((ours / right - 1.0).abs() < 3e-7, "exp({x}) = {ours}, not {right}");
        }
        assert!(exp(-1000.0) < 1e-37 && exp(1000.0).is_finite());
    }

    #[test]
    fn the_unit_at_known_places() {
        // From tables of the normal distribution: x times the share of it below x.
        let known =
            [(0.0, 0.0), (1.0, 0.841_345), (-1.0, -0.158_655), (2.0, 1.954_5), (-3.0, -0.004_05), (9.0, 9.0)];
        for (x, right) in known {
            let mut ours = [x];
            gelu(&mut ours);
            assert!((ours[0] - right).abs() < 1e-5, "gelu({x}) = {}, not {right}", ours[0]);
        }
    }

    #[test]
    fn shares_add_up() {
        let mut shares = [1.0, 2.0, 3.0, -1e30];
        softmax(&mut shares);
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6 && shares[2] > shares[1]);
    }
}
