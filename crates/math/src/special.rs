//! Special functions of f64.

/// ln Γ(x) for x > 0 by Stirling's series, from x = 12 on, where it is exact to the last digits.
pub fn ln_gamma(mut x: f64) -> f64 {
    let mut product = 1.0;
    while x < 12.0 {
        product *= x;
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    // Bernoulli numbers B_2j / (2j (2j − 1)) for j = 1 to 6.
    let series =
        [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0]
            .iter()
            .rev()
            .fold(0.0, |sum, term| sum * square + term)
            * inverse;
    let half_ln_two_pi = 0.5 * std::f64::consts::TAU.ln();
    (x - 0.5) * x.ln() - x + half_ln_two_pi + series - f64::ln(product)
}

/// The digamma function ψ(x), the derivative of ln Γ(x), for x > 0: its asymptotic series from
/// x = 10 on, less 1/x + 1/(x + 1) + … for what x was moved up by.
pub fn digamma(mut x: f64) -> f64 {
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

    /// Golden values: scipy 1.17.1, `scipy.special.gammaln`.
    #[test]
    fn ln_gamma_agrees_with_scipy() {
        for (x, expected) in [
            (0.5, 0.5723649429247),
            (1.0, 0.0),
            (2.0, 0.0),
            (3.7, 1.428072326665388),
            (10.0, 12.801827480081469),
            (100.5, 361.43554046777757),
            (1e6, 12815504.569147611),
        ] {
            let got = ln_gamma(x);
            assert!((got - expected).abs() <= 3e-14 * f64::max(1.0, expected), "{x}: {got}");
        }
    }

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
            assert!((digamma(x) - psi).abs() < 1e-12 * psi.abs().max(1.0), "{x}");
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
            assert!((slope - digamma(x)).abs() < 1e-6 * (1.0 + slope.abs()), "{x}");
        }
    }
}
