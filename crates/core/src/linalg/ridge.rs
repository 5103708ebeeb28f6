//! A = XᵀX + λI as an operator that is never formed, and its solves by conjugate gradients.
//!
//! A·B = Xᵀ(X·B) + λB costs two sparse products. A solve takes a block of right-hand sides at
//! a time: every column has its own step lengths, and they share the passes over X. Each step
//! is preconditioned with the diagonal of A, because words are as uneven as the spectrum gets.
//! Steps stop when ‖b − A·z‖ ≤ tolerance·‖b‖ in every column; the residual is then computed
//! once more from its definition, and the steps go on from there where rounding has let the
//! two drift apart.

use std::ops::Range;

use faer::Mat;
use rayon::prelude::*;

use super::Dense;
use super::orthonormal::gram;
use crate::sparse::{Csr, csr_times_dense};
use crate::{Error, Result, Run};

/// Columns solved together: enough to share a pass over X, few enough for the cache.
pub(crate) const WIDTH: usize = 64;
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
            worst = worst.and(Block::new(self, b, z, columns)?.solve(how, run)?);
        }
        Ok(worst)
    }

    /// out = A·B for as many columns as `b` has; `images` is room for X·B.
    fn apply(&self, b: &Dense, images: &mut Dense, out: &mut Dense) {
        let all = 0..b.n_cols();
        csr_times_dense(self.x, b.block(all.clone()), images.block_mut(all.clone()));
        csr_times_dense(&self.x_t, images.block(all.clone()), out.block_mut(all));
        if self.lambda > 0.0 {
            out.values_mut().par_chunks_mut(1 << 16).zip(b.values().par_chunks(1 << 16)).for_each(
                |(out, b)| {
                    out.iter_mut().zip(b).for_each(|(out, &b)| *out += self.lambda * b);
                },
            );
        }
    }
}

/// A few columns on their way to the solution.
struct Block<'a> {
    ridge: &'a Ridge<'a>,
    b: &'a Dense,
    z: &'a mut Dense,
    columns: Range<usize>,
    /// ‖b‖² of every column.
    size: Vec<f64>,
    residual: Dense,
    direction: Dense,
    product: Dense,
    images: Dense,
}

impl<'a> Block<'a> {
    fn new(
        ridge: &'a Ridge<'a>,
        b: &'a Dense,
        z: &'a mut Dense,
        columns: Range<usize>,
    ) -> Result<Self> {
        let width = columns.len();
        let new = || Dense::zeros(b.n_rows(), width);
        let mut block = Block {
            ridge,
            b,
            z,
            columns,
            size: Vec::new(),
            residual: new(),
            direction: new(),
            product: new(),
            images: Dense::zeros(ridge.x.n_rows(), width),
        };
        let view = b.block(block.columns.clone());
        block.residual.rows_mut().enumerate().for_each(|(i, row)| row.copy_from_slice(view.row(i)));
        block.size = column_sums(&block.residual, |_, _, r| r * r);
        if block.size.iter().all(|size| size.is_finite()) { Ok(block) } else { Err(not_finite()) }
    }

    fn solve(mut self, how: Steps, run: &Run<'_>) -> Result<Solved> {
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
                return Ok(Solved { steps, residual });
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
        let (z, b) = (self.z.block(self.columns.clone()), self.b.block(self.columns.clone()));
        self.direction.rows_mut().enumerate().for_each(|(i, row)| row.copy_from_slice(z.row(i)));
        self.ridge.apply(&self.direction, &mut self.images, &mut self.product);
        let product = &self.product;
        self.residual.rows_mut().enumerate().for_each(|(i, row)| {
            for ((r, &b), &p) in row.iter_mut().zip(b.row(i)).zip(product.row(i)) {
                *r = b - p;
            }
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
        let ridge = self.ridge;
        let inverse = &ridge.inverse_diagonal;
        let (first, width) = (self.columns.start, self.columns.len());
        let mut slopes = column_sums(&self.residual, |i, _, r| r * r * f64::from(inverse[i]));
        let residual = &self.residual;
        self.direction.rows_mut().enumerate().for_each(|(i, row)| {
            row.iter_mut().zip(residual.row(i)).for_each(|(p, &r)| *p = inverse[i] * r);
        });
        // Half the tolerance, so that the true residual is within it.
        let goal: Vec<f64> =
            self.size.iter().map(|size| size * (0.5 * tolerance).powi(2)).collect();
        for step in 0..most {
            let open: Vec<bool> = squares.iter().zip(&goal).map(|(s, goal)| s > goal).collect();
            if !open.contains(&true) {
                return Ok(step);
            }
            run.check()?;
            ridge.apply(&self.direction, &mut self.images, &mut self.product);
            let direction = &self.direction;
            let curvature =
                column_sums(&self.product, |i, k, ap| ap * f64::from(direction.row(i)[k]));
            let length: Vec<f32> = (0..width)
                .map(|k| {
                    let moves = open[k] && curvature[k] > 0.0;
                    if moves { (slopes[k] / curvature[k]) as f32 } else { 0.0 }
                })
                .collect();
            if !length.iter().all(|length| length.is_finite()) {
                return Err(not_finite());
            }
            self.z.block_mut(first..first + width).for_each_row(256, |i, row| {
                for ((z, &a), &p) in row.iter_mut().zip(&length).zip(direction.row(i)) {
                    *z += a * p;
                }
            });
            let product = &self.product;
            self.residual.rows_mut().enumerate().for_each(|(i, row)| {
                for ((r, &a), &ap) in row.iter_mut().zip(&length).zip(product.row(i)) {
                    *r -= a * ap;
                }
            });
            squares = column_sums(&self.residual, |_, _, r| r * r);
            let fresh = column_sums(&self.residual, |i, _, r| r * r * f64::from(inverse[i]));
            let turn: Vec<f32> = (0..width)
                .map(|k| if slopes[k] > 0.0 { (fresh[k] / slopes[k]) as f32 } else { 0.0 })
                .collect();
            slopes = fresh;
            let residual = &self.residual;
            self.direction.rows_mut().enumerate().for_each(|(i, row)| {
                let scale = inverse[i];
                for ((p, &beta), &r) in row.iter_mut().zip(&turn).zip(residual.row(i)) {
                    *p = scale * r + beta * *p;
                }
            });
            if length.iter().all(|&length| length == 0.0) {
                // Nothing moves any more: what is left is rounding.
                return Ok(step + 1);
            }
        }
        Ok(most)
    }
}

/// Σ_i f(i, k, value) for every column k, over fixed blocks of rows.
fn column_sums(matrix: &Dense, f: impl Fn(usize, usize, f64) -> f64 + Sync) -> Vec<f64> {
    let width = matrix.n_cols();
    let shares: Vec<Vec<f64>> = matrix
        .values()
        .par_chunks(ROWS_PER_SUM * width.max(1))
        .enumerate()
        .map(|(chunk, rows)| {
            let mut sums = vec![0.0; width];
            for (i, row) in rows.chunks_exact(width).enumerate() {
                let i = chunk * ROWS_PER_SUM + i;
                for (k, (sum, &value)) in sums.iter_mut().zip(row).enumerate() {
                    *sum += f(i, k, f64::from(value));
                }
            }
            sums
        })
        .collect();
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
            let solved = ridge.solve(&b, &mut z, Steps { tolerance: 1e-5, most: 500 }, &Run::silent()).unwrap();
            prop_assert!(solved.residual <= 1.5e-5, "{solved:?}");
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
