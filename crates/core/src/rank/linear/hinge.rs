//! The exact optimum of the pairwise losses of support vector machines:
//!
//! ```text
//! min_w  P(w) = ½‖w‖² + C Σ_pairs cost·ℓ(1 − ⟨w, x_i − x_j⟩),   ℓ(u) = max(0, u) or max(0, u)²
//! ```
//! Newton's method on the loss with its corner rounded off over a width that shrinks step by step.
//! The slopes of the rounded losses are a point α of the dual problem
//!
//! ```text
//! max_α  D(α) = Σα − ½‖Σα(x_i − x_j)‖²,   0 ≤ α ≤ C·cost        (− Σα²/(4C·cost) when squared)
//! ```
//! so that the gap P(w) − D(α) bounds the distance of P(w) from the optimum; it is the stopping
//! criterion. At the rounded optimum only pairs within the rounding add to it: cost·u(1 − u/width)
//! each.

use faer::Mat;
use rayon::prelude::*;

use super::checks::not_finite;
use super::cholesky::solve;
use super::matrix::{FeatureMatrix, add_products, inner};
use super::optimum::Optimum;
use super::pairs::{HingeShape, Pairs, Sums};
use crate::{Result, Run};

/// The maximum number of features for an explicit Hessian; with more it is an operator.
const DENSE: usize = 64;
/// Rows whose products are computed at once.
const GROUP: usize = 8192;
/// The first width, the factor by which it shrinks, and the last.
const FIRST_WIDTH: f64 = 0.5;
const SHRINK: f64 = 0.25;
const LAST_WIDTH: f64 = 1e-9;
/// Maximum steps of conjugate gradients, and of a line search.
const INNER: usize = 250;
const ALONG: usize = 40;

/// Losses over the pairs of some rows.
pub(super) struct HingeProblem<'a> {
    pub rows: FeatureMatrix<'a>,
    pub pairs: Pairs,
    /// Whether the loss is squared.
    pub squared: bool,
    /// Maximum number of steps.
    pub steps: usize,
    /// Stop when the gap is at most this share of the objective.
    pub tolerance: f64,
}

/// An iterate of Newton's method.
struct Point {
    weights: Vec<f64>,
    scores: Vec<f64>,
    sums: Sums,
    gradient: Vec<f64>,
}

impl HingeProblem<'_> {
    /// The optimum for the penalty `c`, from the weights `start`.
    pub fn minimise(&self, c: f64, start: Vec<f64>, run: &Run<'_>) -> Result<Optimum> {
        let mut width = FIRST_WIDTH;
        let mut shape = if self.squared { HingeShape::SQUARED } else { HingeShape::rounded(width) };
        let mut order = self.pairs.first_order();
        let mut point = self.point(start, c, shape, &mut order);
        let mut best = Optimum { weights: vec![], objective: f64::INFINITY, gap: 0.0, steps: 0 };
        let mut lower = f64::NEG_INFINITY;
        for step in 0.. {
            let norm = inner(&point.weights, &point.weights) / 2.0;
            let rest = inner(&point.gradient, &point.gradient) / 2.0;
            if !(norm.is_finite() && rest.is_finite()) {
                return Err(not_finite("a weight", step + 1));
            }
            let (objective, dual) = match self.squared {
                // Where α are the slopes at w, the gap is ½‖gradient‖².
                true => {
                    let objective = norm + c * point.sums.value;
                    (objective, objective - rest)
                }
                false => {
                    let losses = self.pairs.value(&point.scores, &order, HingeShape::HINGE);
                    let pulled = |(g, w): (&f64, &f64)| (g - w) * (g - w);
                    let pull: f64 = point.gradient.iter().zip(&point.weights).map(pulled).sum();
                    (norm + c * losses, c * point.sums.slope - pull / 2.0)
                }
            };
            lower = lower.max(dual);
            if objective < best.objective {
                (best.objective, best.weights) = (objective, point.weights.clone());
            }
            (best.gap, best.steps) = ((best.objective - lower).max(0.0), step);
            if best.reached(self.tolerance) || step >= self.steps {
                return Ok(best);
            }
            run.step("support vectors", step as u64, Some(self.steps as u64))?;
            let enough = (0.1 * best.gap).min(0.5 * self.tolerance * objective);
            if !self.squared && rest <= enough {
                width *= SHRINK;
                if width < LAST_WIDTH {
                    return Ok(best);
                }
                shape = HingeShape::rounded(width);
                point = self.point(point.weights, c, shape, &mut order);
                continue;
            }
            let direction = self.direction(&point, c, shape, &order, step)?;
            match self.line_search(&point, &direction, c, shape, &mut order) {
                Some(weights) => point = self.point(weights, c, shape, &mut order),
                // Only rounding errors are left at this width.
                None if self.squared || width * SHRINK < LAST_WIDTH => return Ok(best),
                None => {
                    width *= SHRINK;
                    shape = HingeShape::rounded(width);
                    point = self.point(point.weights, c, shape, &mut order);
                }
            }
        }
        Ok(best)
    }

    fn point(&self, weights: Vec<f64>, c: f64, shape: HingeShape, order: &mut [Vec<u32>]) -> Point {
        let scores = self.rows.times(&weights);
        let sums = self.pairs.sums(&scores, order, shape);
        let mut gradient = self.rows.transposed(&sums.by_row);
        gradient.iter_mut().zip(&weights).for_each(|(g, w)| *g = c * *g + w);
        Point { weights, scores, sums, gradient }
    }

    /// −H⁻¹g with H = I + C·XᵀLX, L the second derivatives by the scores.
    fn direction(
        &self,
        point: &Point,
        c: f64,
        shape: HingeShape,
        order: &[Vec<u32>],
        step: usize,
    ) -> Result<Vec<f64>> {
        let d = self.rows.n_features();
        let mut direction: Vec<f64> = point.gradient.iter().map(|g| -g).collect();
        if d <= DENSE {
            let mut hessian = self.curvature(point, shape, order);
            for j in 0..d {
                for i in 0..d {
                    hessian[(i, j)] = c * hessian[(i, j)] + if i == j { 1.0 } else { 0.0 };
                }
            }
            solve(&mut hessian, &mut direction).ok_or_else(|| not_finite("the curvature", step))?;
            return Ok(direction);
        }
        let times = |p: &[f64]| {
            let q = self.curvature_times(point, shape, order, &self.rows.times(p));
            let mut q = self.rows.transposed(&q);
            q.iter_mut().zip(p).for_each(|(q, p)| *q = c * *q + p);
            q
        };
        Ok(conjugate_gradients(times, &direction))
    }

    /// XᵀLX.
    fn curvature(&self, point: &Point, shape: HingeShape, order: &[Vec<u32>]) -> Mat<f64> {
        let d = self.rows.n_features();
        let mut sum = Mat::zeros(d, d);
        let (mut plain, mut times) = (vec![], vec![]);
        for group in self.pairs.groups(GROUP) {
            let ranges: Vec<_> = group.clone().map(|query| self.pairs.rows_of(query)).collect();
            let n: usize = ranges.iter().map(ExactSizeIterator::len).sum();
            plain.clear();
            for row in ranges.iter().cloned().flatten() {
                plain.extend(self.rows.row(row).iter().map(|&x| f64::from(x)));
            }
            times.resize(n * d, 0.0);
            let mut rest = &mut times[..n * d];
            let mut from = 0;
            let mut work = Vec::new();
            for (query, rows) in group.zip(&ranges) {
                let (part, others) = rest.split_at_mut(rows.len() * d);
                work.push((query, rows, &plain[from..from + part.len()], part));
                from += rows.len() * d;
                rest = others;
            }
            work.into_par_iter().for_each(|(query, rows, plain, part)| {
                let at = (&point.scores[rows.clone()], &order[query][..]);
                self.pairs.curvature_times::<8>(query, at, shape, (plain, d), part);
            });
            add_products(&mut sum, &plain, &times[..n * d], n);
        }
        sum
    }

    /// L·p for one number per row.
    fn curvature_times(
        &self,
        point: &Point,
        shape: HingeShape,
        order: &[Vec<u32>],
        p: &[f64],
    ) -> Vec<f64> {
        let part = |query: usize| {
            let rows = self.pairs.rows_of(query);
            let at = (&point.scores[rows.clone()], &order[query][..]);
            let mut product = vec![0.0; rows.len()];
            let column = (&p[rows.clone()], 1);
            self.pairs.curvature_times::<2>(query, at, shape, column, &mut product);
            (rows, product)
        };
        let parts: Vec<_> = (0..order.len()).into_par_iter().map(part).collect();
        let mut product = vec![0.0; p.len()];
        for (rows, part) in parts {
            product[rows].copy_from_slice(&part);
        }
        product
    }

    /// A line search: the weights near the minimum of the objective along `direction`, or nothing
    /// if it does not fall. It uses the derivative, which keeps its precision near the optimum.
    fn line_search(
        &self,
        point: &Point,
        direction: &[f64],
        c: f64,
        shape: HingeShape,
        order: &mut [Vec<u32>],
    ) -> Option<Vec<f64>> {
        let steepness = inner(&point.gradient, direction);
        if steepness.is_nan() || steepness >= 0.0 {
            return None;
        }
        let moved = self.rows.times(direction);
        let (by_weights, square) = (inner(&point.weights, direction), inner(direction, direction));
        let mut slope = |length: f64| {
            let scores: Vec<f64> =
                point.scores.iter().zip(&moved).map(|(s, m)| s + length * m).collect();
            let sums = self.pairs.sums(&scores, order, shape);
            by_weights + length * square + c * inner(&sums.by_row, &moved)
        };
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let (mut low_slope, mut high_slope) = (steepness, f64::NAN);
        let mut length = 1.0;
        for _ in 0..ALONG {
            let here = slope(length);
            if here.abs() <= 0.1 * steepness.abs() {
                break;
            }
            if here < 0.0 {
                (low, low_slope) = (length, here);
            } else {
                (high, high_slope) = (length, here);
            }
            length = if high.is_infinite() {
                2.0 * length
            } else {
                // The zero of the chord of the slopes, kept off the ends.
                let chord = low + (high - low) * low_slope / (low_slope - high_slope);
                chord.clamp(low + 0.1 * (high - low), high - 0.1 * (high - low))
            };
        }
        let next: Vec<f64> =
            point.weights.iter().zip(direction).map(|(w, p)| w + length * p).collect();
        (next != point.weights).then_some(next)
    }
}

/// Solves A·x = b approximately.
fn conjugate_gradients(times: impl Fn(&[f64]) -> Vec<f64>, b: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; b.len()];
    let mut rest = b.to_vec();
    let mut p = rest.clone();
    let mut norm = inner(&rest, &rest);
    let enough = 1e-4 * norm;
    for _ in 0..INNER {
        if norm <= enough {
            break;
        }
        let q = times(&p);
        let length = norm / inner(&p, &q);
        for k in 0..x.len() {
            x[k] += length * p[k];
            rest[k] -= length * q[k];
        }
        let next = inner(&rest, &rest);
        let ratio = next / norm;
        norm = next;
        p.iter_mut().zip(&rest).for_each(|(p, r)| *p = r + ratio * *p);
    }
    x
}
