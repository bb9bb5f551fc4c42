//! An exponential that the compiler can vectorise.

/// e^x to a relative error of 2e-7, for x in [-87, 88]; beyond, the value at the nearest bound.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2, so that e^x = 2^n e^r. Adding 1.5 * 2^23 rounds x / ln 2 to the integer n and
/// leaves it in the low bits; ln 2 is subtracted in two parts so that r keeps its digits (Cody and Waite); e^r is its
/// Taylor polynomial of degree 7.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * LN2_HIGH - n * LN2_LOW;
    let mut sum = 1.0 / 5040.0;
    for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum * r + coefficient;
    }
    let power = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    sum * f32::from_bits(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_exponential() {
        for i in -8_600..8_700 {
            let x = i as f32 / 100.0;
            let (got, want) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((got - want).abs() <= 3e-7 * want, "exp({x}) = {got}, not {want}");
        }
        assert!(exp(f32::NEG_INFINITY) < 2e-38);
        assert!(exp(f32::INFINITY).is_finite());
    }
}
