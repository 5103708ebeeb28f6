//! A = XᵀX + λI as an operator that is never formed, and its solves by conjugate gradients.
//!
//! A·B = Xᵀ(X·B) + λB costs two sparse products. A solve takes a panel of right-hand sides at
//! a time: every column has its own step lengths, and all share the passes over X. The
//! preconditioner is the diagonal of A, since A is ill-conditioned mostly because frequencies of
//! words differ. Steps stop when ‖b − A·z‖ ≤ tolerance·‖b‖ in every column; the residual is then
//! recomputed from its definition, and the steps continue if rounding has let the two drift apart.

use faer::Mat;
use rayon::prelude::*;

use super::columns::{added, ranges};
use super::orthonormal::gram;
use super::{Buffer, Dense};
use crate::dense::{PANEL, PanelRow};
use crate::sparse::{Csr, TaskedCsr, times_panel};
use crate::{Error, Result, Run};

/// Rows whose dot products are summed by one task.
const ROWS_PER_SUM: usize = 2048;
/// Restarts of a solve from the recomputed residual.
const RESTARTS: usize = 4;

/// A = XᵀX + λI, for products and solves.
pub struct RidgeSolver {
    x: TaskedCsr,
    x_t: TaskedCsr,
    lambda: f32,
    /// One over the diagonal of A; zero for a column of zeros without λ.
    inverse_diagonal: Vec<f32>,
}

/// When conjugate gradients stop.
#[derive(Debug, Clone, Copy)]
pub struct CgParams {
    /// ‖b − A·z‖/‖b‖ at which a column has converged.
    pub tolerance: f64,
    /// The most steps.
    pub max_steps: usize,
}

/// The cost and accuracy of a solve.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SolveStats {
    /// The most steps that a panel of columns took.
    pub steps: usize,
    /// The largest ‖b − A·z‖/‖b‖ of a column.
    pub residual: f64,
}

impl SolveStats {
    /// The larger of both figures.
    pub fn worst(self, other: SolveStats) -> SolveStats {
        SolveStats {
            steps: self.steps.max(other.steps),
            residual: self.residual.max(other.residual),
        }
    }
}

/// The buffers of a panel's solve, reusable for many panels.
pub struct RidgeWorkspace {
    b: Buffer,
    z: Buffer,
    residual: Buffer,
    direction: Buffer,
    product: Buffer,
    embeddings: Buffer,
}

impl RidgeWorkspace {
    /// Bytes of the workspace for `n` rows and `d` columns of X.
    pub fn bytes(n: usize, d: usize) -> u64 {
        4 * PANEL as u64 * (5 * d as u64 + n as u64)
    }

    /// The solutions, one row per column of X.
    pub fn solution(&self) -> &[PanelRow] {
        panel_rows(&self.z)
    }
}

impl RidgeSolver {
    /// The operator of X and λ.
    pub fn new(x: Csr, lambda: f64) -> Self {
        let x_t = x.transpose();
        let inverse_diagonal = x_t
            .rows()
            .map(|column| {
                let norm = column.norm();
                let entry = norm * norm + lambda;
                if entry > 0.0 { (1.0 / entry) as f32 } else { 0.0 }
            })
            .collect();
        let (x, x_t) = (TaskedCsr::new(x), TaskedCsr::new(x_t));
        RidgeSolver { x, x_t, lambda: lambda as f32, inverse_diagonal }
    }

    fn n_rows(&self) -> usize {
        self.x.matrix().n_rows()
    }

    fn n_cols(&self) -> usize {
        self.x.matrix().n_cols()
    }

    /// Bᵀ·A·B in f64, its lower triangle alone.
    pub fn inner(&self, b: &Dense, run: &Run<'_>) -> Result<Mat<f64>> {
        let mut embeddings = Dense::zeros(self.n_rows(), b.n_cols());
        let mut panel = Buffer::zeros(self.n_cols() * PANEL)?;
        let mut product = Buffer::zeros(self.n_rows() * PANEL)?;
        for columns in ranges(b.n_cols(), PANEL) {
            b.copy_to_panel(columns.clone(), &mut panel);
            times(&self.x, &panel, &mut product);
            embeddings.copy_from_panel(columns, &product);
        }
        let lambda = f64::from(self.lambda);
        let mut sum = gram(&embeddings, run)?;
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
    pub fn squares(&self, b: &Dense) -> Result<Vec<f64>> {
        let mut panel = Buffer::zeros(self.n_cols() * PANEL)?;
        let mut product = Buffer::zeros(self.n_rows() * PANEL)?;
        let lambda = f64::from(self.lambda);
        let mut squares = Vec::with_capacity(b.n_cols());
        for columns in ranges(b.n_cols(), PANEL) {
            b.copy_to_panel(columns.clone(), &mut panel);
            times(&self.x, &panel, &mut product);
            let (embeddings, own) = (square_sums(&product, |_| 1.0), square_sums(&panel, |_| 1.0));
            squares.extend((0..columns.len()).map(|k| embeddings[k] + lambda * own[k]));
        }
        Ok(squares)
    }

    /// Buffers for [`RidgeSolver::solve_panel`].
    pub fn workspace(&self) -> Result<RidgeWorkspace> {
        let block = || Buffer::zeros(self.n_cols() * PANEL);
        Ok(RidgeWorkspace {
            b: block()?,
            z: block()?,
            residual: block()?,
            direction: block()?,
            product: block()?,
            embeddings: Buffer::zeros(self.n_rows() * PANEL)?,
        })
    }

    /// Solves A·Z = B; `z` holds the first guess on entry.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn solve(
        &self,
        b: &Dense,
        z: &mut Dense,
        params: CgParams,
        run: &Run<'_>,
    ) -> Result<SolveStats> {
        assert_eq!(b.n_rows(), self.n_cols(), "one row of B per column of X");
        assert_eq!((b.n_rows(), b.n_cols()), (z.n_rows(), z.n_cols()), "one solution each");
        let mut workspace = self.workspace()?;
        let mut worst = SolveStats::default();
        for columns in ranges(b.n_cols(), PANEL) {
            // Unused columns of a panel are zeros and need no steps.
            b.copy_to_panel(columns.clone(), &mut workspace.b);
            z.copy_to_panel(columns.clone(), &mut workspace.z);
            worst = worst.worst(PanelSolve::new(self, &mut workspace)?.solve(params, run)?);
            z.copy_from_panel(columns, &workspace.z);
        }
        Ok(worst)
    }

    /// Solves A·Z = Xᵀ·R for a panel R; [`RidgeWorkspace::solution`] then holds Z.
    ///
    /// # Panics
    /// If the panel has not one row per row of X.
    pub fn solve_panel(
        &self,
        r: &[f32],
        workspace: &mut RidgeWorkspace,
        params: CgParams,
        run: &Run<'_>,
    ) -> Result<SolveStats> {
        times(&self.x_t, r, &mut workspace.b);
        workspace.z.fill(0.0);
        PanelSolve::new(self, workspace)?.solve(params, run)
    }

    /// out = XᵀX·b; `embeddings` becomes X·b. The next pass over `out` adds λ·b.
    fn apply(&self, b: &[f32], embeddings: &mut [f32], out: &mut [f32]) {
        times(&self.x, b, embeddings);
        times(&self.x_t, embeddings, out);
    }
}

/// The solve of one panel. A step is two sparse products and three passes over rows of the panel,
/// each cut into fixed blocks of rows.
struct PanelSolve<'a> {
    ridge: &'a RidgeSolver,
    workspace: &'a mut RidgeWorkspace,
    /// ‖b‖² of every column.
    size: Sums,
}

/// One number per column.
type Sums = [f64; PANEL];

impl<'a> PanelSolve<'a> {
    fn new(ridge: &'a RidgeSolver, workspace: &'a mut RidgeWorkspace) -> Result<Self> {
        let size = square_sums(&workspace.b, |_| 1.0);
        if !size.iter().all(|size| size.is_finite()) {
            return Err(not_finite());
        }
        Ok(PanelSolve { ridge, workspace, size })
    }

    fn solve(mut self, params: CgParams, run: &Run<'_>) -> Result<SolveStats> {
        let mut steps = 0;
        for restart in 0.. {
            run.check()?;
            let squares = self.true_residual();
            let residual = largest(&squares, &self.size);
            if !residual.is_finite() {
                return Err(not_finite());
            }
            // Rounding may keep the true residual a little above the recurrence's.
            let slack = if restart > 0 { 1.5 } else { 1.0 };
            if residual <= slack * params.tolerance
                || steps >= params.max_steps
                || restart > RESTARTS
            {
                return Ok(SolveStats { steps, residual });
            }
            steps += self.descend(squares, params.tolerance, params.max_steps - steps, run)?;
        }
        unreachable!("the last restart returns")
    }

    /// Sets the residual to b − A·z and returns its squares.
    fn true_residual(&mut self) -> Sums {
        let RidgeWorkspace { b, z, residual, product, embeddings, .. } = &mut *self.workspace;
        self.ridge.apply(z, embeddings, product);
        let lambda = self.ridge.lambda;
        let shares: Vec<Sums> = panel_rows_mut(residual)
            .par_chunks_mut(ROWS_PER_SUM)
            .zip(panel_rows(b).par_chunks(ROWS_PER_SUM))
            .zip(panel_rows(z).par_chunks(ROWS_PER_SUM))
            .zip(panel_rows(product).par_chunks(ROWS_PER_SUM))
            .map(|(((r, b), z), product)| {
                let mut sums = [0.0; PANEL];
                for (((r, b), z), product) in r.iter_mut().zip(b).zip(z).zip(product) {
                    for k in 0..PANEL {
                        r[k] = b[k] - (product[k] + lambda * z[k]);
                        sums[k] += f64::from(r[k]) * f64::from(r[k]);
                    }
                }
                sums
            })
            .collect();
        added(&shares)
    }

    /// Takes steps from the current residual; returns their number.
    fn descend(
        &mut self,
        mut squares: Sums,
        tolerance: f64,
        max_steps: usize,
        run: &Run<'_>,
    ) -> Result<usize> {
        // Half the tolerance, so that the true residual is within it.
        let goal = self.size.map(|size| size * (0.5 * tolerance).powi(2));
        self.workspace.direction.fill(0.0);
        self.update_direction(&[0.0; PANEL]);
        let inverse = &self.ridge.inverse_diagonal;
        let mut slopes = square_sums(&self.workspace.residual, |i| f64::from(inverse[i]));
        for step in 0..max_steps {
            let open: [bool; PANEL] = std::array::from_fn(|k| squares[k] > goal[k]);
            if !open.contains(&true) {
                return Ok(step);
            }
            run.check()?;
            let RidgeWorkspace { direction, product, embeddings, .. } = &mut *self.workspace;
            self.ridge.apply(direction, embeddings, product);
            let curvature = self.curvature();
            let length: PanelRow = std::array::from_fn(|k| {
                let moves = open[k] && curvature[k] > 0.0;
                if moves { (slopes[k] / curvature[k]) as f32 } else { 0.0 }
            });
            if !length.iter().all(|length| length.is_finite()) {
                return Err(not_finite());
            }
            if length.iter().all(|&length| length == 0.0) {
                // No column moves any more: the rest is rounding.
                return Ok(step + 1);
            }
            let fresh;
            (squares, fresh) = self.advance(&length);
            let beta: PanelRow = std::array::from_fn(|k| {
                if slopes[k] > 0.0 { (fresh[k] / slopes[k]) as f32 } else { 0.0 }
            });
            slopes = fresh;
            self.update_direction(&beta);
        }
        Ok(max_steps)
    }

    /// Completes the product to A·p and returns pᵀ·A·p of every column.
    fn curvature(&mut self) -> Sums {
        let lambda = self.ridge.lambda;
        let RidgeWorkspace { direction, product, .. } = &mut *self.workspace;
        let shares: Vec<Sums> = panel_rows_mut(product)
            .par_chunks_mut(ROWS_PER_SUM)
            .zip(panel_rows(direction).par_chunks(ROWS_PER_SUM))
            .map(|(product, direction)| {
                let mut sums = [0.0; PANEL];
                for (ap, p) in product.iter_mut().zip(direction) {
                    for k in 0..PANEL {
                        ap[k] += lambda * p[k];
                        sums[k] += f64::from(ap[k]) * f64::from(p[k]);
                    }
                }
                sums
            })
            .collect();
        added(&shares)
    }

    /// z += length·p and r −= length·A·p; returns the squares of r, plain and preconditioned.
    fn advance(&mut self, length: &PanelRow) -> (Sums, Sums) {
        let RidgeWorkspace { z, residual, direction, product, .. } = &mut *self.workspace;
        let (plain, scaled): (Vec<Sums>, Vec<Sums>) = panel_rows_mut(z)
            .par_chunks_mut(ROWS_PER_SUM)
            .zip(panel_rows_mut(residual).par_chunks_mut(ROWS_PER_SUM))
            .zip(panel_rows(direction).par_chunks(ROWS_PER_SUM))
            .zip(panel_rows(product).par_chunks(ROWS_PER_SUM))
            .zip(self.ridge.inverse_diagonal.par_chunks(ROWS_PER_SUM))
            .map(|((((z, r), p), ap), inverse)| {
                let (mut plain, mut scaled) = ([0.0; PANEL], [0.0; PANEL]);
                let rows = z.iter_mut().zip(r).zip(p).zip(ap).zip(inverse);
                for ((((z, r), p), ap), &inverse) in rows {
                    let inverse = f64::from(inverse);
                    for k in 0..PANEL {
                        z[k] += length[k] * p[k];
                        r[k] -= length[k] * ap[k];
                        let square = f64::from(r[k]) * f64::from(r[k]);
                        plain[k] += square;
                        scaled[k] += inverse * square;
                    }
                }
                (plain, scaled)
            })
            .unzip();
        (added(&plain), added(&scaled))
    }

    /// p ← D⁻¹·r + β·p.
    fn update_direction(&mut self, beta: &PanelRow) {
        let RidgeWorkspace { residual, direction, .. } = &mut *self.workspace;
        panel_rows_mut(direction)
            .par_chunks_mut(ROWS_PER_SUM)
            .zip(panel_rows(residual).par_chunks(ROWS_PER_SUM))
            .zip(self.ridge.inverse_diagonal.par_chunks(ROWS_PER_SUM))
            .for_each(|((p, r), inverse)| {
                for ((p, r), &inverse) in p.iter_mut().zip(r).zip(inverse) {
                    for k in 0..PANEL {
                        p[k] = inverse * r[k] + beta[k] * p[k];
                    }
                }
            });
    }
}

/// The largest ‖r‖/‖b‖, from the squares of both; NaN if any of them is.
fn largest(squares: &Sums, size: &Sums) -> f64 {
    squares
        .iter()
        .zip(size)
        .map(|(&square, &size)| if size > 0.0 { (square / size).sqrt() } else { square })
        .fold(0.0, |worst, share| if worst.is_nan() || worst >= share { worst } else { share })
}

fn panel_rows(panel: &[f32]) -> &[PanelRow] {
    panel.as_chunks::<PANEL>().0
}

fn panel_rows_mut(panel: &mut [f32]) -> &mut [PanelRow] {
    panel.as_chunks_mut::<PANEL>().0
}

/// out = matrix·panel.
fn times(matrix: &TaskedCsr, panel: &[f32], out: &mut [f32]) {
    times_panel(matrix, matrix.matrix().values(), panel, out);
}

/// Σ_i weight(i)·value² for every column.
fn square_sums(panel: &[f32], weight: impl Fn(usize) -> f64 + Sync) -> Sums {
    let shares: Vec<Sums> = panel_rows(panel)
        .par_chunks(ROWS_PER_SUM)
        .enumerate()
        .map(|(chunk, rows)| {
            let mut sums = [0.0; PANEL];
            for (i, row) in (chunk * ROWS_PER_SUM..).zip(rows) {
                let weight = weight(i);
                for (sum, &value) in sums.iter_mut().zip(row) {
                    *sum += weight * (f64::from(value) * f64::from(value));
                }
            }
            sums
        })
        .collect();
    added(&shares)
}

fn not_finite() -> Error {
    super::not_finite("a step of conjugate gradients", 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::{Naive, random_csr, same_at_any_thread_count};

    const EXACT: CgParams = CgParams { tolerance: 1e-6, max_steps: 500 };

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
            let ridge = RidgeSolver::new(x.clone(), lambda);
            let solved = ridge.solve(&b, &mut z, CgParams { tolerance: 5e-5, max_steps: 500 }, &Run::silent()).unwrap();
            prop_assert!(solved.residual <= 7.5e-5, "{solved:?}");
            a.times(&Naive::of_dense(&z)).assert_close(&b, 1e-3);
        }

        #[test]
        fn inner_products_agree_with_the_explicit_matrix(seed in 0u64..100, k in 1usize..8) {
            let x = random_csr(30, 12, 3, seed);
            let b = Dense::gaussian(12, k, seed);
            let naive = Naive::of_dense(&b);
            let expected = naive.transpose().times(&explicit(&x, 0.5)).times(&naive);
            let found = RidgeSolver::new(x.clone(), 0.5).inner(&b, &Run::silent()).unwrap();
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
        RidgeSolver::new(x.clone(), 0.0).solve(&b, &mut z, EXACT, &Run::silent()).unwrap();
        a.times(&Naive::of_dense(&z)).assert_close(&b, 1e-3);
    }

    #[test]
    fn too_few_steps_are_told_by_the_residual() {
        let x = random_csr(300, 100, 5, 1);
        let ridge = RidgeSolver::new(x.clone(), 1e-3);
        let b = Dense::gaussian(100, 3, 1);
        let few = CgParams { tolerance: 1e-6, max_steps: 2 };
        let solved = ridge.solve(&b, &mut Dense::zeros(100, 3), few, &Run::silent()).unwrap();
        assert!(solved.residual > 1e-3 && solved.steps == 2, "{solved:?}");
    }

    #[test]
    fn a_solution_as_first_guess_takes_no_step_and_zero_stays_zero() {
        let x = random_csr(300, 100, 5, 1);
        let ridge = RidgeSolver::new(x.clone(), 0.5);
        let mut z = Dense::zeros(100, 4);
        let zero = Dense::zeros(100, 4);
        let solved = ridge.solve(&zero, &mut z, EXACT, &Run::silent()).unwrap();
        assert_eq!((solved, &z), (SolveStats::default(), &zero));
        let b = Dense::gaussian(100, 4, 1);
        ridge
            .solve(&b, &mut z, CgParams { tolerance: 1e-5, max_steps: 500 }, &Run::silent())
            .unwrap();
        let loose = CgParams { tolerance: 1e-4, max_steps: 500 };
        assert_eq!(ridge.solve(&b, &mut z, loose, &Run::silent()).unwrap().steps, 0);
    }

    #[test]
    fn solutions_do_not_depend_on_the_threads() {
        let x = random_csr(9000, 5000, 4, 1);
        let b = Dense::gaussian(5000, 70, 2);
        let ridge = RidgeSolver::new(x.clone(), 1.0);
        same_at_any_thread_count(|| {
            let mut z = Dense::zeros(5000, 70);
            ridge
                .solve(&b, &mut z, CgParams { tolerance: 1e-3, max_steps: 50 }, &Run::silent())
                .unwrap();
            z
        });
    }

    #[test]
    fn numbers_that_overflow_are_an_error() {
        let x = Csr::from_triplets(1, 1, vec![(0, 0, 1e30)]).unwrap();
        let b = Dense::from_fn(1, 1, |_, _| 1.0);
        let mut z = Dense::from_fn(1, 1, |_, _| 1.0);
        let error =
            RidgeSolver::new(x.clone(), 1.0).solve(&b, &mut z, EXACT, &Run::silent()).unwrap_err();
        assert!(error.to_string().contains("not finite"), "{error}");
    }

    #[test]
    fn a_column_that_is_not_a_number_is_an_error_whatever_comes_after_it() {
        let x = random_csr(30, 12, 3, 1);
        let b = Dense::gaussian(12, 3, 1);
        let mut z = Dense::from_fn(12, 3, |_, k| if k == 0 { f32::NAN } else { 0.0 });
        let error = RidgeSolver::new(x, 1.0).solve(&b, &mut z, EXACT, &Run::silent()).unwrap_err();
        assert!(error.to_string().contains("not finite"), "{error}");
        for nan in [0, 7, PANEL - 1] {
            let squares = std::array::from_fn(|k| if k == nan { f64::NAN } else { 1.0 });
            assert!(largest(&squares, &[1.0; PANEL]).is_nan());
        }
    }

    #[test]
    fn scratch_is_used_again_without_a_trace_of_the_panel_before() {
        let x = random_csr(60, 25, 3, 1);
        let solver = RidgeSolver::new(x, 0.5);
        let how = CgParams { tolerance: 1e-4, max_steps: 100 };
        let panel = |seed| Dense::gaussian(60, PANEL, seed).into_values();
        let solve = |workspace: &mut RidgeWorkspace, seed| {
            let solved = solver.solve_panel(&panel(seed), workspace, how, &Run::silent()).unwrap();
            (solved, workspace.solution().to_vec())
        };
        let fresh = solve(&mut solver.workspace().unwrap(), 2);
        let mut workspace = solver.workspace().unwrap();
        solve(&mut workspace, 1);
        assert_eq!(solve(&mut workspace, 2), fresh);
    }
}
