//! Exponentials, logarithms and digamma of eight f32 at once, and digamma in f64.
//!
//! The loops have no branch and call nothing, so that the compiler can use vector registers; what
//! they compute is the same with any of them.

use super::bags::{LANES, Lane};

const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// Added to a small number and taken away again it rounds to a whole one, whose bits are the low
/// ones in between.
const ROUNDS: f32 = 12_582_912.0;
/// Beyond it 1/x + … + 1/(x + 3) is nothing beside ln x, and its square is still a number.
const LARGE: f32 = 1e8;
/// The least argument of digamma.
const LEAST: f32 = 1e-12;

/// eˣ for x from −87 to 88.
#[inline(always)]
pub fn exp(x: Lane) -> Lane {
    let mut out = Lane::default();
    for lane in 0..LANES {
        let x = x.0[lane];
        let shifted = x * std::f32::consts::LOG2_E + ROUNDS;
        let n = shifted - ROUNDS;
        let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
        // Taylor's series: |r| ≤ ½·ln 2, so that the next term is below 2⁻²⁶.
        let mut p = 1.0 / 5040.0;
        p = p * r + 1.0 / 720.0;
        p = p * r + 1.0 / 120.0;
        p = p * r + 1.0 / 24.0;
        p = p * r + 1.0 / 6.0;
        p = p * r + 0.5;
        p = p * r + 1.0;
        p = p * r + 1.0;
        out.0[lane] = p * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    }
    out
}

/// ln x of normal numbers above zero.
#[inline(always)]
pub fn ln(x: Lane) -> Lane {
    let mut out = Lane::default();
    for lane in 0..LANES {
        out.0[lane] = ln_of(x.0[lane]);
    }
    out
}

/// ln x = e·ln 2 + ln m with √½ ≤ m < √2, and ln m = 2·artanh((m − 1)/(m + 1)).
#[inline(always)]
fn ln_of(x: f32) -> f32 {
    const ROOT_HALF: u32 = 0x3f35_04f3;
    let bits = x.to_bits().wrapping_sub(ROOT_HALF);
    let e = (bits as i32 >> 23) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(ROOT_HALF));
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let series = s2 * (2.0 / 3.0 + s2 * (2.0 / 5.0 + s2 * (2.0 / 7.0 + s2 * (2.0 / 9.0))));
    e * LN_2_HIGH + (e * LN_2_LOW + (s * series + 2.0 * s))
}

/// ψ(x) for x above zero: ψ(x + 4) by its asymptotic series, less 1/x + … + 1/(x + 3).
#[inline(always)]
pub fn digamma(x: Lane) -> Lane {
    let mut out = Lane::default();
    for lane in 0..LANES {
        let x = x.0[lane].max(LEAST);
        let z = x + 4.0;
        let i = 1.0 / z;
        let i2 = i * i;
        let series = i2 * (1.0 / 12.0 - i2 * (1.0 / 120.0 - i2 * (1.0 / 252.0)));
        // With u = x·(x + 3) the four fractions are (2x + 3)·(1/u + 1/(u + 2)).
        let y = x.min(LARGE);
        let u = y * (y + 3.0);
        let four = (2.0 * y + 3.0) * (2.0 * u + 2.0) / (u * (u + 2.0));
        out.0[lane] = (ln_of(z) - 0.5 * i - series) - four;
    }
    out
}

/// ψ(x) for x above zero, in f64.
pub fn digamma_f64(mut x: f64) -> f64 {
    let mut less = 0.0;
    while x < 10.0 {
        less += 1.0 / x;
        x += 1.0;
    }
    let i2 = 1.0 / (x * x);
    let series = i2
        * (1.0 / 12.0
            - i2 * (1.0 / 120.0 - i2 * (1.0 / 252.0 - i2 * (1.0 / 240.0 - i2 * (1.0 / 132.0)))));
    x.ln() - 0.5 / x - series - less
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::ln_gamma;

    #[test]
    fn digamma_and_ln_gamma_have_their_known_values() {
        let euler = 0.577_215_664_901_532_9;
        let ln_2 = std::f64::consts::LN_2;
        let known = [
            (1.0, -euler),
            (2.0, 1.0 - euler),
            (0.5, -euler - 2.0 * ln_2),
            (0.25, -euler - std::f64::consts::FRAC_PI_2 - 3.0 * ln_2),
            (10.0, 2.251_752_589_066_721),
            (100.0, 4.600_161_852_738_087),
        ];
        for (x, psi) in known {
            assert!((digamma_f64(x) - psi).abs() < 1e-12 * psi.abs().max(1.0), "{x}");
        }
        let pi = std::f64::consts::PI;
        let known = [
            (1.0, 0.0),
            (2.0, 0.0),
            (0.5, 0.5 * pi.ln()),
            (5.0, 24f64.ln()),
            (11.0, 3_628_800f64.ln()),
        ];
        for (x, value) in known {
            assert!((ln_gamma(x) - value).abs() < 1e-12 * value.abs().max(1.0), "{x}");
        }
    }

    #[test]
    fn digamma_is_the_derivative_of_ln_gamma() {
        for i in 1..400 {
            let x = 0.05 * f64::from(i);
            let h = 1e-5 * x;
            let slope = (ln_gamma(x + h) - ln_gamma(x - h)) / (2.0 * h);
            assert!((slope - digamma_f64(x)).abs() < 1e-6 * (1.0 + slope.abs()), "{x}");
        }
    }

    #[test]
    fn eight_at_once_are_as_good_as_f32_can_be() {
        let near = |found: Lane, expected: f64, relative: f64, x: f32| {
            let found = f64::from(found.0[3]);
            let error = (found - expected).abs();
            assert!(error <= relative * expected.abs().max(1e-30), "{x}: {found} {expected}");
        };
        for i in -8600..8700 {
            let x = i as f32 / 100.0;
            near(exp(Lane([x; LANES])), f64::from(x).exp(), 4e-7, x);
        }
        let mut x = 1e-30f32;
        while x < 1e30 {
            let exact = f64::from(x).ln();
            let found = f64::from(ln(Lane([x; LANES])).0[0]);
            assert!((found - exact).abs() <= 1e-7 + 2e-7 * exact.abs(), "{x}: {found} {exact}");
            x *= 1.03;
        }
        let mut x = 1e-6f32;
        while x < 1e12 {
            let exact = digamma_f64(f64::from(x));
            let found = f64::from(digamma(Lane([x; LANES])).0[7]);
            assert!((found - exact).abs() <= 1e-6 + 4e-7 * exact.abs(), "{x}: {found} {exact}");
            x *= 1.01;
        }
        assert!(digamma(Lane([0.0; LANES])).0.iter().all(|psi| psi.is_finite()));
    }
}
