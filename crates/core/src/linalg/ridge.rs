//! A = XᵀX + λI as an operator that is never formed, and its solves by conjugate gradients.
//!
//! A·B = Xᵀ(X·B) + λB costs two sparse products. A solve takes a block of right-hand sides at
//! a time: every column has its own step lengths, and they share the passes over X. Each step
//! is preconditioned with the diagonal of A: how often words occur is most of what makes A uneven.
//! Steps stop when ‖b − A·z‖ ≤ tolerance·‖b‖ in every column; the residual is then computed
//! once more from its definition, and the steps go on from there where rounding has let the
//! two drift apart.

use std::ops::Range;

use faer::Mat;
use rayon::prelude::*;

use super::orthonormal::gram;
use super::{Dense, chebyshev};
use crate::sparse::{Csr, csr_times_dense};
use crate::{Error, Result, Run};

/// Columns solved together: enough to share a pass over X, few enough for the cache.
pub(crate) const WIDTH: usize = 32;
/// Rows whose dot products are summed by one thread.
const ROWS_PER_SUM: usize = 2048;
/// How often a solve starts again from its true residual.
const RESTARTS: usize = 4;

/// A = XᵀX + λI.
pub(crate) struct Ridge<'m> {
    x: &'m Csr,
    x_t: Csr,
    lambda: f32,
    /// One over the diagonal of A; zero for a column of zeros without λ.
    inverse_diagonal: Vec<f32>,
}

/// How exactly to solve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    /// ‖b − A·z‖/‖b‖ at which a column is done.
    pub tolerance: f64,
    /// Steps after which to stop even so.
    pub most: usize,
}

/// What a solve did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Solved {
    /// The most steps that a block of columns took.
    pub steps: usize,
    /// The largest ‖b − A·z‖/‖b‖ of a column.
    pub residual: f64,
}

impl Solved {
    /// The worse of both.
    pub fn and(self, other: Solved) -> Solved {
        Solved { steps: self.steps.max(other.steps), residual: self.residual.max(other.residual) }
    }
}

impl<'m> Ridge<'m> {
    /// The operator of X and λ.
    pub fn new(x: &'m Csr, lambda: f64) -> Self {
        let x_t = x.transpose();
        let inverse_diagonal = x_t
            .rows()
            .map(|column| {
                let norm = column.norm();
                let entry = norm * norm + lambda;
                if entry > 0.0 { (1.0 / entry) as f32 } else { 0.0 }
            })
            .collect();
        Ridge { x, x_t, lambda: lambda as f32, inverse_diagonal }
    }

    /// X transposed.
    pub fn x_t(&self) -> &Csr {
        &self.x_t
    }

    /// Bᵀ·A·B in f64, its lower triangle alone.
    pub fn inner(&self, b: &Dense, run: &Run<'_>) -> Result<Mat<f64>> {
        let mut images = Dense::zeros(self.x.n_rows(), b.n_cols());
        let all = 0..b.n_cols();
        csr_times_dense(self.x, b.block(all.clone()), images.block_mut(all));
        let lambda = f64::from(self.lambda);
        let mut sum = gram(&images, run)?;
        if lambda > 0.0 {
            let own = gram(b, run)?;
            for j in 0..b.n_cols() {
                for i in j..b.n_cols() {
                    sum[(i, j)] += lambda * own[(i, j)];
                }
            }
        }
        Ok(sum)
    }

    /// bᵀ·A·b of every column b.
    pub fn squares(&self, b: &Dense) -> Vec<f64> {
        let mut squares = Vec::with_capacity(b.n_cols());
        for first in (0..b.n_cols()).step_by(WIDTH) {
            let columns = first..(first + WIDTH).min(b.n_cols());
            let mut images = Dense::zeros(self.x.n_rows(), columns.len());
            let all = 0..columns.len();
            csr_times_dense(self.x, b.block(columns.clone()), images.block_mut(all));
            squares.extend(column_sums(&images, |_, _, value| value * value));
        }
        let own = column_sums(b, |_, _, value| value * value);
        let lambda = f64::from(self.lambda);
        squares.iter_mut().zip(own).for_each(|(square, own)| *square += lambda * own);
        squares
    }

    /// Solves A·Z = B from what `z` holds as a first guess.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn solve(&self, b: &Dense, z: &mut Dense, how: Steps, run: &Run<'_>) -> Result<Solved> {
        assert_eq!(b.n_rows(), self.x.n_cols(), "one row of B per column of X");
        assert_eq!((b.n_rows(), b.n_cols()), (z.n_rows(), z.n_cols()), "one solution each");
        let mut worst = Solved::default();
        for first in (0..b.n_cols()).step_by(WIDTH) {
            let columns = first..(first + WIDTH).min(b.n_cols());
            let (part, solved) =
                Block::new(self, some(b, columns.clone()), some(z, columns.clone()))?
                    .solve(how, run)?;
            z.block_mut(columns).for_each_row(256, |i, row| row.copy_from_slice(part.row(i)));
            worst = worst.and(solved);
        }
        Ok(worst)
    }

    /// out = XᵀX·B for as many columns as `b` has; `images` is room for X·B. The λ is left to
    /// the pass over `out` that comes next.
    fn apply(&self, b: &Dense, images: &mut Dense, out: &mut Dense) {
        let all = 0..b.n_cols();
        csr_times_dense(self.x, b.block(all.clone()), images.block_mut(all.clone()));
        csr_times_dense(&self.x_t, images.block(all.clone()), out.block_mut(all));
    }
}

/// A few columns on their way to the solution. A step is two sparse products and three passes
/// over rows of the block, each cut into fixed blocks of rows.
struct Block<'a> {
    ridge: &'a Ridge<'a>,
    b: Dense,
    z: Dense,
    /// ‖b‖² of every column.
    size: Vec<f64>,
    residual: Dense,
    direction: Dense,
    product: Dense,
    images: Dense,
}

impl<'a> Block<'a> {
    fn new(ridge: &'a Ridge<'a>, b: Dense, z: Dense) -> Result<Self> {
        let (n_rows, width) = (b.n_rows(), b.n_cols());
        let new = || Dense::zeros(n_rows, width);
        let size = column_sums(&b, |_, _, b| b * b);
        if !size.iter().all(|size| size.is_finite()) {
            return Err(not_finite());
        }
        let images = Dense::zeros(ridge.x.n_rows(), width);
        Ok(Block { ridge, b, z, size, residual: new(), direction: new(), product: new(), images })
    }

    fn solve(mut self, how: Steps, run: &Run<'_>) -> Result<(Dense, Solved)> {
        let mut steps = 0;
        for restart in 0.. {
            run.check()?;
            let squares = self.true_residual();
            let residual = self.largest(&squares);
            if !residual.is_finite() {
                return Err(not_finite());
            }
            // Rounding may keep the true residual a little above what the steps believed.
            let slack = if restart > 0 { 1.5 } else { 1.0 };
            if residual <= slack * how.tolerance || steps >= how.most || restart > RESTARTS {
                return Ok((self.z, Solved { steps, residual }));
            }
            steps += self.descend(squares, how.tolerance, how.most - steps, run)?;
        }
        unreachable!("the last restart returns")
    }

    /// The largest ‖r‖/‖b‖.
    fn largest(&self, squares: &[f64]) -> f64 {
        squares
            .iter()
            .zip(&self.size)
            .map(|(&square, &size)| if size > 0.0 { (square / size).sqrt() } else { square })
            .fold(0.0, |worst, share| if share.is_nan() { share } else { worst.max(share) })
    }

    /// Sets the residual to b − A·z and returns its squares.
    fn true_residual(&mut self) -> Vec<f64> {
        self.ridge.apply(&self.z, &mut self.images, &mut self.product);
        let lambda = self.ridge.lambda;
        let (b, z, product) = (&self.b, &self.z, &self.product);
        self.residual.rows_mut().enumerate().for_each(|(i, row)| {
            let terms = b.row(i).iter().zip(z.row(i)).zip(product.row(i));
            row.iter_mut().zip(terms).for_each(|(r, ((&b, &z), &p))| *r = b - (p + lambda * z));
        });
        column_sums(&self.residual, |_, _, r| r * r)
    }

    /// Steps from the residual at hand; returns how many.
    fn descend(
        &mut self,
        mut squares: Vec<f64>,
        tolerance: f64,
        most: usize,
        run: &Run<'_>,
    ) -> Result<usize> {
        let width = self.b.n_cols();
        // Half the tolerance, so that the true residual is within it.
        let goal: Vec<f64> =
            self.size.iter().map(|size| size * (0.5 * tolerance).powi(2)).collect();
        self.direction.values_mut().fill(0.0);
        self.turn(&vec![0.0; width]);
        let inverse = &self.ridge.inverse_diagonal;
        let mut slopes = column_sums(&self.residual, |i, _, r| r * r * f64::from(inverse[i]));
        for step in 0..most {
            let open: Vec<bool> = squares.iter().zip(&goal).map(|(s, goal)| s > goal).collect();
            if !open.contains(&true) {
                return Ok(step);
            }
            run.check()?;
            self.ridge.apply(&self.direction, &mut self.images, &mut self.product);
            let curvature = self.curvature();
            let length: Vec<f32> = (0..width)
                .map(|k| {
                    let moves = open[k] && curvature[k] > 0.0;
                    if moves { (slopes[k] / curvature[k]) as f32 } else { 0.0 }
                })
                .collect();
            if !length.iter().all(|length| length.is_finite()) {
                return Err(not_finite());
            }
            if length.iter().all(|&length| length == 0.0) {
                // Nothing moves any more: what is left is rounding.
                return Ok(step + 1);
            }
            let fresh;
            (squares, fresh) = self.advance(&length);
            let turn: Vec<f32> = (0..width)
                .map(|k| if slopes[k] > 0.0 { (fresh[k] / slopes[k]) as f32 } else { 0.0 })
                .collect();
            slopes = fresh;
            self.turn(&turn);
        }
        Ok(most)
    }

    /// Completes the product to A·p and returns pᵀ·A·p of every column.
    fn curvature(&mut self) -> Vec<f64> {
        let (width, lambda) = (self.b.n_cols(), self.ridge.lambda);
        let shares: Vec<Vec<f64>> = self
            .product
            .values_mut()
            .par_chunks_mut(ROWS_PER_SUM * width)
            .zip(self.direction.values().par_chunks(ROWS_PER_SUM * width))
            .map(|(product, direction)| {
                let mut sums = vec![0.0; width];
                let rows = product.chunks_exact_mut(width).zip(direction.chunks_exact(width));
                for (product, direction) in rows {
                    for ((sum, ap), &p) in sums.iter_mut().zip(product).zip(direction) {
                        *ap += lambda * p;
                        *sum += f64::from(*ap) * f64::from(p);
                    }
                }
                sums
            })
            .collect();
        added(width, &shares)
    }

    /// z += length·p and r −= length·A·p; returns the squares of r, plain and preconditioned.
    fn advance(&mut self, length: &[f32]) -> (Vec<f64>, Vec<f64>) {
        let width = self.b.n_cols();
        let chunk = ROWS_PER_SUM * width;
        let shares: Vec<Vec<f64>> = self
            .z
            .values_mut()
            .par_chunks_mut(chunk)
            .zip(self.residual.values_mut().par_chunks_mut(chunk))
            .zip(self.direction.values().par_chunks(chunk))
            .zip(self.product.values().par_chunks(chunk))
            .zip(self.ridge.inverse_diagonal.par_chunks(ROWS_PER_SUM))
            .map(|((((z, r), p), ap), inverse)| {
                let mut sums = vec![0.0; 2 * width];
                let (plain, scaled) = sums.split_at_mut(width);
                for (i, &inverse) in inverse.iter().enumerate() {
                    let row = i * width..(i + 1) * width;
                    for ((z, &p), &a) in z[row.clone()].iter_mut().zip(&p[row.clone()]).zip(length)
                    {
                        *z += a * p;
                    }
                    let r = &mut r[row.clone()];
                    for ((r, &ap), &a) in r.iter_mut().zip(&ap[row]).zip(length) {
                        *r -= a * ap;
                    }
                    let inverse = f64::from(inverse);
                    for ((plain, scaled), &r) in plain.iter_mut().zip(&mut *scaled).zip(&*r) {
                        let square = f64::from(r) * f64::from(r);
                        *plain += square;
                        *scaled += inverse * square;
                    }
                }
                sums
            })
            .collect();
        let mut plain = added(2 * width, &shares);
        let scaled = plain.split_off(width);
        (plain, scaled)
    }

    /// p ← D⁻¹·r + turn·p.
    fn turn(&mut self, turn: &[f32]) {
        let width = self.b.n_cols();
        let chunk = ROWS_PER_SUM * width;
        self.direction
            .values_mut()
            .par_chunks_mut(chunk)
            .zip(self.residual.values().par_chunks(chunk))
            .zip(self.ridge.inverse_diagonal.par_chunks(ROWS_PER_SUM))
            .for_each(|((p, r), inverse)| {
                let rows = p.chunks_exact_mut(width).zip(r.chunks_exact(width));
                for ((p, r), &inverse) in rows.zip(inverse) {
                    for ((p, &r), &beta) in p.iter_mut().zip(r).zip(turn) {
                        *p = inverse * r + beta * *p;
                    }
                }
            });
    }
}

/// The columns `columns` as a matrix of their own.
fn some(matrix: &Dense, columns: Range<usize>) -> Dense {
    let view = matrix.block(columns);
    let mut part = Dense::zeros(view.n_rows(), view.width());
    part.rows_mut().enumerate().for_each(|(i, row)| row.copy_from_slice(view.row(i)));
    part
}

/// Σ_i f(i, k, value) for every column k.
fn column_sums(matrix: &Dense, f: impl Fn(usize, usize, f64) -> f64 + Sync) -> Vec<f64> {
    chebyshev::column_sums(matrix.n_rows(), matrix.n_cols(), |i, sums| {
        for (k, (sum, &value)) in sums.iter_mut().zip(matrix.row(i)).enumerate() {
            *sum += f(i, k, f64::from(value));
        }
    })
}

/// The sums of all blocks, added in their order.
fn added(width: usize, shares: &[Vec<f64>]) -> Vec<f64> {
    shares.iter().fold(vec![0.0; width], |mut total, share| {
        total.iter_mut().zip(share).for_each(|(total, share)| *total += share);
        total
    })
}

fn not_finite() -> Error {
    Error::NotFinite {
        what: "a step of conjugate gradients",
        sweep: 1,
        advice: "look for extreme values in the features and the click weights; \
                 rows of norm one and log clicks keep them small"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::oracle::{Naive, random_csr, same_at_any_thread_count};

    const EXACT: Steps = Steps { tolerance: 1e-6, most: 500 };

    fn explicit(x: &Csr, lambda: f64) -> Naive {
        let x = Naive::of(x);
        let a = x.transpose().times(&x);
        Naive::from_fn(a.n_rows, a.n_cols, |i, j| a.get(i, j) + if i == j { lambda } else { 0.0 })
    }

    proptest! {
        #[test]
        fn a_solution_times_a_is_the_right_hand_side(
            n in 1usize..40, d in 1usize..30, k in 1usize..70, seed in 0u64..500,
            lambda in prop_oneof![Just(0.01), Just(1.0), Just(100.0)],
        ) {
            let x = random_csr(n, d, 3, seed);
            let a = explicit(&x, lambda);
            let b = Dense::gaussian(d, k, seed + 1);
            // From any first guess.
            let mut z = Dense::gaussian(d, k, seed + 2);
            let ridge = Ridge::new(&x, lambda);
            let solved = ridge.solve(&b, &mut z, Steps { tolerance: 5e-5, most: 500 }, &Run::silent()).unwrap();
            prop_assert!(solved.residual <= 7.5e-5, "{solved:?}");
            a.times(&Naive::of_dense(&z)).assert_close(&b, 1e-3);
        }

        #[test]
        fn inner_products_agree_with_the_explicit_matrix(seed in 0u64..100, k in 1usize..8) {
            let x = random_csr(30, 12, 3, seed);
            let b = Dense::gaussian(12, k, seed);
            let naive = Naive::of_dense(&b);
            let expected = naive.transpose().times(&explicit(&x, 0.5)).times(&naive);
            let found = Ridge::new(&x, 0.5).inner(&b, &Run::silent()).unwrap();
            for j in 0..k {
                for i in j..k {
                    prop_assert!((found[(i, j)] - expected.get(i, j)).abs() < 1e-3);
                }
            }
        }
    }

    #[test]
    fn without_lambda_a_right_hand_side_in_the_range_is_solved() {
        // More columns than rows: A is singular.
        let x = random_csr(20, 50, 4, 3);
        let a = explicit(&x, 0.0);
        let w = Naive::of_dense(&Dense::gaussian(50, 5, 4));
        let exact = a.times(&w);
        let b = Dense::from_fn(50, 5, |i, j| exact.get(i, j) as f32);
        let mut z = Dense::zeros(50, 5);
        Ridge::new(&x, 0.0).solve(&b, &mut z, EXACT, &Run::silent()).unwrap();
        a.times(&Naive::of_dense(&z)).assert_close(&b, 1e-3);
    }

    #[test]
    fn too_few_steps_are_told_by_the_residual() {
        let x = random_csr(300, 100, 5, 1);
        let ridge = Ridge::new(&x, 1e-3);
        let b = Dense::gaussian(100, 3, 1);
        let few = Steps { tolerance: 1e-6, most: 2 };
        let solved = ridge.solve(&b, &mut Dense::zeros(100, 3), few, &Run::silent()).unwrap();
        assert!(solved.residual > 1e-3 && solved.steps == 2, "{solved:?}");
    }

    #[test]
    fn a_solution_as_first_guess_takes_no_step_and_zero_stays_zero() {
        let x = random_csr(300, 100, 5, 1);
        let ridge = Ridge::new(&x, 0.5);
        let mut z = Dense::zeros(100, 4);
        let zero = Dense::zeros(100, 4);
        let solved = ridge.solve(&zero, &mut z, EXACT, &Run::silent()).unwrap();
        assert_eq!((solved, &z), (Solved::default(), &zero));
        let b = Dense::gaussian(100, 4, 1);
        ridge.solve(&b, &mut z, Steps { tolerance: 1e-5, most: 500 }, &Run::silent()).unwrap();
        let loose = Steps { tolerance: 1e-4, most: 500 };
        assert_eq!(ridge.solve(&b, &mut z, loose, &Run::silent()).unwrap().steps, 0);
    }

    #[test]
    fn solutions_do_not_depend_on_the_threads() {
        let x = random_csr(9000, 5000, 4, 1);
        let b = Dense::gaussian(5000, 70, 2);
        let ridge = Ridge::new(&x, 1.0);
        same_at_any_thread_count(|| {
            let mut z = Dense::zeros(5000, 70);
            ridge.solve(&b, &mut z, Steps { tolerance: 1e-3, most: 50 }, &Run::silent()).unwrap();
            z
        });
    }

    #[test]
    fn numbers_that_overflow_are_an_error() {
        let x = Csr::from_triplets(1, 1, vec![(0, 0, 1e30)]).unwrap();
        let b = Dense::from_fn(1, 1, |_, _| 1.0);
        let mut z = Dense::from_fn(1, 1, |_, _| 1.0);
        let error = Ridge::new(&x, 1.0).solve(&b, &mut z, EXACT, &Run::silent()).unwrap_err();
        assert!(error.to_string().contains("not finite"), "{error}");
    }
}
