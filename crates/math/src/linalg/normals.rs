//! Random matrices that are computed on demand instead of stored.

use std::sync::{Arc, OnceLock};

use crate::dense::{PANEL, PanelRow};
use crate::random::{GOLDEN, mix64};

/// Standard normals as a function of (seed, row, column).
///
/// Sixteen bits choose among the quantiles of the normal distribution, four numbers at a time:
/// fine enough for a random start, and many times faster than a stream.
#[derive(Debug, Clone)]
pub struct NormalField {
    seed: u64,
    /// The quantiles above the median.
    quantiles: Arc<[f32]>,
}

impl NormalField {
    /// The field of a seed.
    pub fn new(seed: u64) -> Self {
        static QUANTILES: OnceLock<Arc<[f32]>> = OnceLock::new();
        let quantiles = QUANTILES.get_or_init(upper_quantiles).clone();
        NormalField { seed: mix64(seed), quantiles }
    }

    /// Row `row` of panel `p` of a matrix with `n_cols` columns; zeros beyond them.
    #[inline]
    pub fn row(&self, row: usize, p: usize, n_cols: usize) -> PanelRow {
        let mut values = [0.0; PANEL];
        let first = p * PANEL;
        let width = n_cols.saturating_sub(first).min(PANEL);
        for (k, four) in values[..width].chunks_mut(4).enumerate() {
            let place = ((row as u64) << 20).wrapping_add((first / 4 + k) as u64);
            let bits = mix64(self.seed.wrapping_add(place.wrapping_mul(GOLDEN)));
            for (j, value) in four.iter_mut().enumerate() {
                let sixteen = (bits >> (16 * j)) as usize & 0xffff;
                let size = self.quantiles[sixteen >> 1];
                *value = if sixteen & 1 == 0 { size } else { -size };
            }
        }
        values
    }
}

/// The quantiles of the normal distribution at p = 1/2 + (k + 1/2)/2¹⁶, by integrating
/// dx/dp = √(2π)·exp(x²/2) from the median, scaled to variance one.
fn upper_quantiles() -> Arc<[f32]> {
    const N: usize = 1 << 15;
    let slope = |x: f64| (2.0 * std::f64::consts::PI).sqrt() * (x * x / 2.0).exp();
    let step = |x: f64, h: f64| {
        let k1 = slope(x);
        let k2 = slope(x + h / 2.0 * k1);
        let k3 = slope(x + h / 2.0 * k2);
        let k4 = slope(x + h * k3);
        x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    };
    let h = 0.5 / N as f64;
    let mut x = step(0.0, h / 2.0);
    let mut quantiles = Vec::with_capacity(N);
    for _ in 0..N {
        quantiles.push(x);
        x = step(x, h);
    }
    let variance = quantiles.iter().map(|x| x * x).sum::<f64>() / N as f64;
    quantiles.iter().map(|x| (x / variance.sqrt()) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_normals_has_their_moments_and_no_two_places_agree_by_rule() {
        let field = NormalField::new(3);
        let (mut moments, mut beside, mut below) = ([0.0f64; 5], 0.0, 0.0);
        let (n_rows, n_cols) = (4000, 100);
        for i in 0..n_rows {
            for p in 0..4 {
                let lane = field.row(i, p, n_cols);
                let next = field.row(i + 1, p, n_cols);
                assert!(p < 3 || lane[4..].iter().all(|&v| v == 0.0));
                for k in 0..if p < 3 { 32 } else { 4 } {
                    let z = f64::from(lane[k]);
                    (0..5).for_each(|m| moments[m] += z.powi(m as i32));
                    beside += z * f64::from(lane[(k + 1) % 4]) * f64::from(u8::from(k % 4 != 3));
                    below += z * f64::from(next[k]);
                }
            }
        }
        let n = moments[0];
        assert_eq!(n, 400_000.0);
        for (m, expected) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)] {
            assert!((moments[m] / n - expected).abs() < 0.05, "{m}: {}", moments[m] / n);
        }
        assert!((beside / n).abs() < 0.01 && (below / n).abs() < 0.01);
    }
}
