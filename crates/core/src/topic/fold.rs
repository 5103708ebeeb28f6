//! The topics of a factorisation, and the weights of a text in them: it is folded into the shared
//! topics U₀ and those of its class U_p, Ũ = [U₀ U_p], with all topics fixed.
//!
//! ```text
//! RLSI  v = (ŨᵀŨ + λ₂I)⁻¹Ũᵀd         one Cholesky factor, two triangular solves
//! NMF   v = argmin ‖d − Ũv‖² over v ≥ 0    coordinate descent
//! ```

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Mat, MatMut, Par};
use rayon::prelude::*;

use super::descent::Descent;
use super::start::TopicStart;
use crate::linalg::{Dense, add_scaled, gram, n_groups};
use crate::sparse::{Csr, Row};
use crate::{Error, Result, Run};

/// Topics with more than this share of non-zero values are multiplied as dense rows.
const DENSE: f64 = 0.1;
/// The passes and the tolerance of NMF for a single text.
const PASSES: usize = 1000;
const TOLERANCE: f32 = 1e-6;
/// The least ridge, as a share of the largest diagonal entry.
const LEAST_PIVOT: f64 = 1e-9;

/// Kind of factorisation: its penalties or constraints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FactorKind {
    /// RLSI: penalties keep topics sparse and weights small.
    Rlsi {
        /// λ₁, the ℓ1 penalty of topics.
        lambda1: f64,
        /// λ₂, the ℓ2 penalty of weights.
        lambda2: f64,
        /// Initial weights.
        start: TopicStart,
    },
    /// NMF: topics and weights are not negative.
    Nmf,
}

/// U, terms × topics: those that all documents share and those of every class.
#[derive(Debug, Clone, PartialEq)]
pub struct Topics {
    /// Topics that all documents share.
    pub shared: Csr,
    /// The topics of every class.
    pub own: Vec<Csr>,
}

impl Topics {
    /// The number of terms.
    pub fn n_terms(&self) -> usize {
        self.shared.n_rows()
    }

    /// The number of shared topics.
    pub fn n_shared(&self) -> usize {
        self.shared.n_cols()
    }

    /// The number of topics per class.
    pub fn per_class(&self) -> usize {
        self.own.first().map_or(0, Csr::n_cols)
    }

    /// The number of topics of a document: the shared ones and those of its class.
    pub fn width(&self) -> usize {
        self.n_shared() + self.per_class()
    }

    /// The number of non-zero values.
    pub fn filled(&self) -> usize {
        self.shared.nnz() + self.own.iter().map(Csr::nnz).sum::<usize>()
    }

    /// Σ|u|.
    pub(super) fn absolute(&self) -> f64 {
        let sum = |matrix: &Csr| matrix.values().iter().map(|&u| f64::from(u.abs())).sum::<f64>();
        sum(&self.shared) + self.own.iter().map(sum).sum::<f64>()
    }

    /// The rows of a term in the shared topics and in those of `class`.
    fn rows(&self, class: usize, term: usize) -> (Row<'_>, Row<'_>) {
        (self.shared.row(term), self.own[class].row(term))
    }

    /// U₀ᵀU₀, its lower triangle.
    pub(super) fn shared_gram(&self, run: &Run<'_>) -> Result<Mat<f64>> {
        sums_of(self.n_terms(), self.n_shared(), run, |term, sum| {
            let row = self.shared.row(term);
            for (at, (i, a)) in row.iter().enumerate() {
                for (j, b) in row.iter().take(at + 1) {
                    sum[(i as usize, j as usize)] += f64::from(a) * f64::from(b);
                }
            }
        })
    }

    /// Ũ of a class, prepared for products.
    pub(super) fn of_class(&self, class: usize) -> ClassTopics<'_> {
        let filled = self.shared.nnz() + self.own[class].nnz();
        let dense = filled as f64 > DENSE * (self.n_terms() * self.width()) as f64;
        ClassTopics { topics: self, class, dense: dense.then(|| self.dense(class)) }
    }

    fn dense(&self, class: usize) -> Dense {
        let (n_shared, mut dense) =
            (self.n_shared(), Dense::zeros(self.n_terms(), self.width().max(1)));
        dense.rows_mut().enumerate().for_each(|(term, out)| {
            let (shared, own) = self.rows(class, term);
            shared.iter().for_each(|(k, u)| out[k as usize] = u);
            own.iter().for_each(|(k, u)| out[n_shared + k as usize] = u);
        });
        dense
    }
}

/// Ũ of one class.
pub(super) struct ClassTopics<'a> {
    topics: &'a Topics,
    class: usize,
    dense: Option<Dense>,
}

impl ClassTopics<'_> {
    /// The number of topics of a document.
    pub fn width(&self) -> usize {
        self.topics.width()
    }

    /// Adds Ũᵀd to `out`.
    #[inline(always)]
    pub fn project(&self, row: Row<'_>, out: &mut [f32]) {
        if let Some(dense) = &self.dense {
            return row.iter().for_each(|(m, d)| add_scaled(out, d, dense.row(m as usize)));
        }
        let n_shared = self.topics.n_shared();
        for (term, d) in row.iter() {
            let (shared, own) = self.topics.rows(self.class, term as usize);
            shared.iter().for_each(|(k, u)| out[k as usize] += d * u);
            own.iter().for_each(|(k, u)| out[n_shared + k as usize] += d * u);
        }
    }

    /// The lower triangle of ŨᵀŨ; `shared` is U₀ᵀU₀, the same for all classes.
    pub fn gram(&self, shared: &Mat<f64>, run: &Run<'_>) -> Result<Mat<f64>> {
        if let Some(dense) = &self.dense {
            return gram(dense, run);
        }
        let n_shared = self.topics.n_shared();
        let own = &self.topics.own[self.class];
        let mut found = sums_of(self.topics.n_terms(), self.topics.width(), run, |term, sum| {
            let (mine, ours) = (own.row(term), self.topics.shared.row(term));
            for (at, (i, a)) in mine.iter().enumerate() {
                let (i, a) = (n_shared + i as usize, f64::from(a));
                ours.iter().for_each(|(j, b)| sum[(i, j as usize)] += a * f64::from(b));
                for (j, b) in mine.iter().take(at + 1) {
                    sum[(i, n_shared + j as usize)] += a * f64::from(b);
                }
            }
        })?;
        for j in 0..n_shared {
            for i in j..n_shared {
                found[(i, j)] = shared[(i, j)];
            }
        }
        Ok(found)
    }
}

/// The k × k sum that `add` accumulates over all rows. Rows are cut into groups by the shape alone and
/// the groups' sums are added in order.
fn sums_of(
    n_rows: usize,
    k: usize,
    run: &Run<'_>,
    add: impl Fn(usize, &mut Mat<f64>) + Sync,
) -> Result<Mat<f64>> {
    let group = n_rows.div_ceil(n_groups(k)).max(1);
    let sums: Vec<Mat<f64>> = (0..n_rows.div_ceil(group))
        .into_par_iter()
        .map(|g| {
            run.check()?;
            let mut sum = Mat::<f64>::zeros(k, k);
            (g * group..((g + 1) * group).min(n_rows)).for_each(|row| add(row, &mut sum));
            Ok(sum)
        })
        .collect::<Result<_>>()?;
    Ok(sums.into_iter().reduce(|total, sum| total + sum).unwrap_or_else(|| Mat::zeros(k, k)))
}

/// Computes weights from Ũᵀd.
pub(super) enum Solver {
    /// The Cholesky factor of ŨᵀŨ + λ₂I.
    Ridge(Mat<f64>),
    NonNegative(Descent),
}

impl Solver {
    /// From the lower triangle of ŨᵀŨ.
    pub fn of(gram: &Mat<f64>, kind: FactorKind, passes: usize, tolerance: f32) -> Result<Self> {
        Ok(match kind {
            FactorKind::Rlsi { lambda2, .. } => Solver::Ridge(cholesky(gram, lambda2)?),
            FactorKind::Nmf => {
                Solver::NonNegative(Descent::new(gram, passes, tolerance).non_negative())
            }
        })
    }

    /// Fits the weights of some documents, row after row; `weights` holds the start.
    #[inline(always)]
    pub fn solve(&self, projected: &[f32], weights: &mut [f32], workspace: &mut SolverScratch) {
        match self {
            Solver::Ridge(lower) => {
                let k = lower.nrows();
                workspace.wide.clear();
                workspace.wide.extend(projected.iter().map(|&p| f64::from(p)));
                let n = projected.len() / k;
                // A document is a row of ours and a column of faer's.
                let mut columns = MatMut::from_column_major_slice_mut(&mut workspace.wide, k, n);
                solve_lower_triangular_in_place(lower.as_ref(), columns.as_mut(), Par::Seq);
                solve_upper_triangular_in_place(lower.transpose(), columns, Par::Seq);
                weights.iter_mut().zip(&workspace.wide).for_each(|(v, &wide)| *v = wide as f32);
            }
            Solver::NonNegative(descent) => {
                let k = descent.width();
                for (projected, weights) in projected.chunks(k).zip(weights.chunks_mut(k)) {
                    workspace.gradient.clear();
                    workspace.gradient.extend_from_slice(projected);
                    descent.descend(weights, &mut workspace.gradient);
                }
            }
        }
    }
}

/// The buffers of a [`Solver`].
#[derive(Default)]
pub(super) struct SolverScratch {
    wide: Vec<f64>,
    gradient: Vec<f32>,
}

/// The lower Cholesky factor of `gram` + λI. If linearly dependent topics and a λ near 0 make it
/// singular, λ is raised.
fn cholesky(gram: &Mat<f64>, lambda: f64) -> Result<Mat<f64>> {
    let k = gram.nrows();
    let largest = (0..k).map(|i| gram[(i, i)]).fold(0.0, f64::max);
    let mut lambda = lambda.max(LEAST_PIVOT * largest);
    if lambda == 0.0 {
        // No topic has a word: any factor gives zero weights.
        lambda = 1.0;
    }
    let mut scratch =
        MemBuffer::new(cholesky_in_place_scratch::<f64>(k, Par::Seq, Default::default()));
    for _ in 0..6 {
        let mut factor = Mat::from_fn(k, k, |i, j| {
            if i < j { 0.0 } else { gram[(i, j)] + if i == j { lambda } else { 0.0 } }
        });
        let stack = MemStack::new(&mut scratch);
        let done = cholesky_in_place(
            factor.as_mut(),
            Default::default(),
            Par::Seq,
            stack,
            Default::default(),
        );
        if done.is_ok() && (0..k).all(|i| factor[(i, i)].is_finite()) {
            return Ok(factor);
        }
        lambda *= 100.0;
    }
    let advice = "raise lambda2, or take fewer topics";
    Err(Error::not_finite("the Gram matrix of the topics", 0, advice))
}

/// Folds texts into the topics of every class, all topics fixed.
pub struct Folding {
    solvers: Vec<Solver>,
}

impl Folding {
    /// Factorises the Gram matrices of `topics`.
    pub fn new(topics: &Topics, kind: FactorKind, run: &Run<'_>) -> Result<Self> {
        let shared = topics.shared_gram(run)?;
        let solver = |class: usize| {
            let gram = topics.of_class(class).gram(&shared, run)?;
            Solver::of(&gram, kind, PASSES, TOLERANCE)
        };
        Ok(Folding { solvers: (0..topics.own.len()).map(solver).collect::<Result<_>>()? })
    }

    /// The weights v of `row` in the shared topics and in those of `class`, and the explained part of
    /// ‖d‖²: ‖d‖² − ‖d − Ũv‖² − λ₂‖v‖², which is vᵀŨᵀd at the optimal v.
    pub fn fold(&self, topics: &Topics, class: usize, row: Row<'_>) -> (Vec<f32>, f64) {
        let mut projected = vec![0.0; topics.width()];
        ClassTopics { topics, class, dense: None }.project(row, &mut projected);
        let mut weights = vec![0.0; projected.len()];
        self.solvers[class].solve(&projected, &mut weights, &mut SolverScratch::default());
        let product = |(&p, &v): (&f32, &f32)| f64::from(p) * f64::from(v);
        let explained = projected.iter().zip(&weights).map(product).sum();
        (weights, explained)
    }

    /// The class whose topics explain most of `row`, and its weights in them.
    pub fn fold_best(&self, topics: &Topics, row: Row<'_>) -> (usize, Vec<f32>) {
        let mut best: Option<(f64, usize, Vec<f32>)> = None;
        for class in 0..self.solvers.len() {
            let (weights, explained) = self.fold(topics, class, row);
            if best.as_ref().is_none_or(|(most, ..)| explained > *most) {
                best = Some((explained, class, weights));
            }
        }
        best.map_or((0, Vec::new()), |(_, class, weights)| (class, weights))
    }
}
