//! Topics, and what a text weighs in them: the shared topics U₀ and those of its class U_p, to
//! which a row is fitted with all topics held.
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

use super::Rule;
use super::descent::Descent;
use crate::linalg::{Dense, add_scaled, gram, n_groups};
use crate::sparse::{Csr, Row};
use crate::{Error, Result, Run};

/// Topics of which more than this share is filled are multiplied as dense rows.
const DENSE: f64 = 0.1;
/// How long, and how exactly, a single text is fitted under NMF.
const PASSES: usize = 1000;
const TOLERANCE: f32 = 1e-6;
/// A pivot below this share of the largest is no direction of its own.
const LEAST_PIVOT: f64 = 1e-9;

/// U: terms × topics, those that all documents share and those of every class.
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

    /// How many topics all documents share.
    pub fn n_shared(&self) -> usize {
        self.shared.n_cols()
    }

    /// How many topics every class has.
    pub fn per_class(&self) -> usize {
        self.own.first().map_or(0, Csr::n_cols)
    }

    /// How many topics a document has.
    pub fn width(&self) -> usize {
        self.n_shared() + self.per_class()
    }

    /// How many numbers are not zero.
    pub fn filled(&self) -> usize {
        self.shared.nnz() + self.own.iter().map(Csr::nnz).sum::<usize>()
    }

    /// Σ|u|.
    pub(super) fn absolute(&self) -> f64 {
        let sum = |matrix: &Csr| matrix.values().iter().map(|&u| f64::from(u.abs())).sum::<f64>();
        sum(&self.shared) + self.own.iter().map(sum).sum::<f64>()
    }

    /// The rows of a term: shared topics, and those of `class`.
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

    /// [U₀ U_p] to multiply with.
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

/// The topics of one class, ready to be multiplied with.
pub(super) struct ClassTopics<'a> {
    topics: &'a Topics,
    class: usize,
    dense: Option<Dense>,
}

impl ClassTopics<'_> {
    /// How many topics a document has.
    pub fn width(&self) -> usize {
        self.topics.width()
    }

    /// Ũᵀd of one row; `out` is zero on entry.
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

    /// ŨᵀŨ, its lower triangle at least; `shared` is U₀ᵀU₀, which all classes have.
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

/// Adds up what `add` adds for every row, k × k. Rows are cut into groups by the shape alone and the
/// groups' sums are added in order.
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

/// Fits weights to Ũᵀd.
pub(super) enum Solver {
    /// The Cholesky factor of ŨᵀŨ + λ₂I.
    Ridge(Mat<f64>),
    NonNegative(Descent),
}

impl Solver {
    /// From ŨᵀŨ, of which the lower triangle is read.
    pub fn of(gram: &Mat<f64>, rule: Rule, passes: usize, tolerance: f32) -> Result<Self> {
        let k = gram.nrows();
        match rule {
            Rule::Sparse { lambda2, .. } => Ok(Solver::Ridge(cholesky(gram, lambda2)?)),
            Rule::NonNegative => {
                let full = lower_to_full(gram);
                Ok(Solver::NonNegative(Descent::new(full, k, passes, tolerance).non_negative()))
            }
        }
    }

    /// Fits the weights of some documents, row after row; `weights` holds where to begin.
    #[inline(always)]
    pub fn solve(&self, projected: &[f32], weights: &mut [f32], workspace: &mut SolverRoom) {
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

/// Workspace for a solver to work in.
#[derive(Default)]
pub(super) struct SolverRoom {
    wide: Vec<f64>,
    gradient: Vec<f32>,
}

/// Both triangles, by rows, in f32.
pub(super) fn lower_to_full(gram: &Mat<f64>) -> Vec<f32> {
    let k = gram.nrows();
    let at = |i: usize, j: usize| gram[(i.max(j), i.min(j))] as f32;
    (0..k * k).map(|cell| at(cell / k, cell % k)).collect()
}

/// The lower factor of `gram` + λI. Topics that say the same leave no pivot where λ is nearly 0; then
/// λ is raised to what rounding allows.
fn cholesky(gram: &Mat<f64>, lambda: f64) -> Result<Mat<f64>> {
    let k = gram.nrows();
    let largest = (0..k).map(|i| gram[(i, i)]).fold(0.0, f64::max);
    let mut lambda = lambda.max(LEAST_PIVOT * largest);
    if lambda == 0.0 {
        // No topic has a word: any factor says so.
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
    Err(Error::NotFinite {
        what: "the Gram matrix of the topics",
        step: 0,
        advice: "raise lambda2, or take fewer topics".into(),
    })
}

/// Folds texts into the topics of every class, all topics held.
pub struct Folding {
    solvers: Vec<Solver>,
}

impl Folding {
    /// Ready to fold texts into `topics`.
    pub fn new(topics: &Topics, rule: Rule, run: &Run<'_>) -> Result<Self> {
        let shared = topics.shared_gram(run)?;
        let solver = |class: usize| {
            let gram = topics.of_class(class).gram(&shared, run)?;
            Solver::of(&gram, rule, PASSES, TOLERANCE)
        };
        Ok(Folding { solvers: (0..topics.own.len()).map(solver).collect::<Result<_>>()? })
    }

    /// What `row` weighs in the shared topics and in those of `class`, and how much of it they say: the
    /// part of ‖d‖² by which ‖d − Ũv‖² + λ₂‖v‖² is less, which is vᵀŨᵀd at the best v.
    pub fn fold(&self, topics: &Topics, class: usize, row: Row<'_>) -> (Vec<f32>, f64) {
        let mut projected = vec![0.0; topics.width()];
        ClassTopics { topics, class, dense: None }.project(row, &mut projected);
        let mut weights = vec![0.0; projected.len()];
        self.solvers[class].solve(&projected, &mut weights, &mut SolverRoom::default());
        let product = |(&p, &v): (&f32, &f32)| f64::from(p) * f64::from(v);
        let said = projected.iter().zip(&weights).map(product).sum();
        (weights, said)
    }

    /// The class whose topics say most of `row`, and what it weighs in them.
    pub fn fold_best(&self, topics: &Topics, row: Row<'_>) -> (usize, Vec<f32>) {
        let mut best: Option<(f64, usize, Vec<f32>)> = None;
        for class in 0..self.solvers.len() {
            let (weights, said) = self.fold(topics, class, row);
            if best.as_ref().is_none_or(|(most, ..)| said > *most) {
                best = Some((said, class, weights));
            }
        }
        best.map_or((0, Vec::new()), |(_, class, weights)| (class, weights))
    }
}
