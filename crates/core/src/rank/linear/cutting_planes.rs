//! Cutting planes: minimises a convex function R that is known point by point, plus an ℓ2 penalty.
//!
//! ```text
//! min_w  P(w) = ½‖w‖² + C·R(w)
//! ```
//! Every point w_k at which R was evaluated gives a plane below it, b_k + ⟨a_k, w⟩ ≤ R(w). The
//! minimum over the planes, at which R is evaluated next, is a small problem in the weights α of the
//! planes,
//!
//! ```text
//! max_α  D(α) = Σ α_k b_k − ½‖Σ α_k a_k‖²,   α ≥ 0, Σα = C,   w = −Σ α_k a_k
//! ```
//! and every D(α) is below every P(w): their difference is the gap, the stopping criterion.
//! (Joachims, Finley and Yu 2009, one slack; Teo et al. 2010.)

use super::checks::not_finite;
use super::matrix::inner;
use super::optimum::Optimum;
use crate::{Result, Run};

/// Rounds after which a plane with weight 0 is dropped.
const IDLE: usize = 60;
/// Maximum number of exchanges between two planes in a round.
const EXCHANGES: usize = 3_000;

/// Planes below a function that is never below 0. They remain valid for any C.
pub(super) struct CuttingPlanes {
    slopes: Vec<Vec<f64>>,
    heights: Vec<f64>,
    /// Inner products of the slopes.
    gram: Vec<Vec<f64>>,
    alphas: Vec<f64>,
    idle: Vec<usize>,
}

impl CuttingPlanes {
    /// The plane 0 alone.
    pub fn new(n_features: usize) -> Self {
        CuttingPlanes {
            slopes: vec![vec![0.0; n_features]],
            heights: vec![0.0],
            gram: vec![vec![0.0]],
            alphas: vec![1.0],
            idle: vec![0],
        }
    }

    /// Minimises P until the gap is at most `tolerance` of it, or for `most` rounds. `ask` returns R
    /// and a subgradient.
    pub fn minimise(
        &mut self,
        c: f64,
        most: usize,
        tolerance: f64,
        run: &Run<'_>,
        mut ask: impl FnMut(&[f64]) -> (f64, Vec<f64>),
    ) -> Result<Optimum> {
        let total: f64 = self.alphas.iter().sum();
        self.alphas.iter_mut().for_each(|alpha| *alpha *= c / total);
        self.best_alphas(c, 1e-9);
        let mut best =
            Optimum { weights: vec![], objective: f64::INFINITY, gap: f64::INFINITY, steps: 0 };
        let mut lower = f64::NEG_INFINITY;
        for round in 1..=most {
            run.step("cutting planes", round as u64 - 1, Some(most as u64))?;
            let weights = self.weights();
            let (risk, slope) = ask(&weights);
            let objective = inner(&weights, &weights) / 2.0 + c * risk;
            if !objective.is_finite() {
                return Err(not_finite("the objective", round));
            }
            if objective < best.objective {
                (best.objective, best.weights) = (objective, weights.clone());
            }
            lower = lower.max(self.dual());
            best.gap = (best.objective - lower).max(0.0);
            best.steps = round;
            if best.reached(tolerance) {
                break;
            }
            let height = risk - inner(&slope, &weights);
            self.add(slope, height);
            self.best_alphas(c, (0.1 * best.gap / best.objective).min(1e-3));
            self.drop_idle();
        }
        Ok(best)
    }

    fn weights(&self) -> Vec<f64> {
        let mut weights = vec![0.0; self.slopes[0].len()];
        for (slope, &alpha) in self.slopes.iter().zip(&self.alphas) {
            if alpha > 0.0 {
                weights.iter_mut().zip(slope).for_each(|(w, a)| *w -= alpha * a);
            }
        }
        weights
    }

    fn dual(&self) -> f64 {
        let weights = self.weights();
        inner(&self.heights, &self.alphas) - inner(&weights, &weights) / 2.0
    }

    fn add(&mut self, slope: Vec<f64>, height: f64) {
        let mut products: Vec<f64> = self.slopes.iter().map(|other| inner(other, &slope)).collect();
        for (row, &product) in self.gram.iter_mut().zip(&products) {
            row.push(product);
        }
        products.push(inner(&slope, &slope));
        self.gram.push(products);
        self.slopes.push(slope);
        self.heights.push(height);
        self.alphas.push(0.0);
        self.idle.push(0);
    }

    /// Drops planes whose weight was 0 for long; the plane 0 stays.
    fn drop_idle(&mut self) {
        for plane in (1..self.alphas.len()).rev() {
            self.idle[plane] = if self.alphas[plane] > 0.0 { 0 } else { self.idle[plane] + 1 };
            if self.idle[plane] > IDLE {
                self.slopes.remove(plane);
                self.heights.remove(plane);
                self.alphas.remove(plane);
                self.idle.remove(plane);
                self.gram.remove(plane);
                self.gram.iter_mut().for_each(|row| {
                    row.remove(plane);
                });
            }
        }
    }

    /// Maximises D by exchanges between the two planes that gain most, until no exchange can gain
    /// more than `tolerance` of its value.
    fn best_alphas(&mut self, c: f64, tolerance: f64) {
        let n = self.alphas.len();
        let mut slopes: Vec<f64> =
            (0..n).map(|k| self.heights[k] - inner(&self.gram[k], &self.alphas)).collect();
        for _ in 0..EXCHANGES {
            let (up, most) =
                (0..n).map(|k| (k, slopes[k])).fold((0, f64::NEG_INFINITY), |best, other| {
                    if other.1 > best.1 { other } else { best }
                });
            let carried: f64 = inner(&slopes, &self.alphas);
            // The upper bound of what is still to gain.
            let rest = c * most - carried;
            let value = carried
                + (0..n)
                    .fold(0.0, |sum, k| sum + self.alphas[k] * (self.heights[k] - slopes[k]) / 2.0);
            if rest <= tolerance * value.abs().max(1e-300) {
                break;
            }
            let mut down = None;
            let mut gain = 0.0;
            for (k, slope) in slopes.iter().enumerate() {
                let over = most - slope;
                if self.alphas[k] > 0.0 && over > 0.0 {
                    let bent = self.gram[up][up] + self.gram[k][k] - 2.0 * self.gram[up][k];
                    let step =
                        if bent > 0.0 { (over / bent).min(self.alphas[k]) } else { self.alphas[k] };
                    let won = step * (over - 0.5 * step * bent.max(0.0));
                    if won > gain {
                        (down, gain) = (Some((k, step)), won);
                    }
                }
            }
            let Some((down, step)) = down else { break };
            self.alphas[up] += step;
            self.alphas[down] =
                if step >= self.alphas[down] { 0.0 } else { self.alphas[down] - step };
            for (slope, products) in slopes.iter_mut().zip(&self.gram) {
                *slope -= step * (products[up] - products[down]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::close;
    use super::*;

    #[test]
    fn a_function_of_known_optimum() {
        // R(w) = |w₁ − 3| + |w₂ + 1|: with C = 2 both corners but the first are reached.
        let ask = |w: &[f64]| {
            let risk = (w[0] - 3.0).abs() + (w[1] + 1.0).abs();
            (risk, vec![(w[0] - 3.0).signum(), (w[1] + 1.0).signum()])
        };
        let mut planes = CuttingPlanes::new(2);
        for (c, expected) in [(2.0, [2.0, -1.0]), (5.0, [3.0, -1.0]), (0.5, [0.5, -0.5])] {
            let found = planes.minimise(c, 500, 1e-9, &Run::silent(), ask).unwrap();
            close(&found.weights, &expected, 1e-4);
            assert!(found.gap <= 1e-9 * found.objective, "{found:?}");
            let [x, y] = expected;
            let optimum = (x * x + y * y) / 2.0 + c * ((x - 3.0f64).abs() + (y + 1.0f64).abs());
            close(&[found.objective], &[optimum], 1e-8);
        }
    }
}
