//! Factorisations of the matrix of terms and documents into topics: RLSI and NMF, with topics that all
//! documents share, topics of classes of documents, or both (Wang, Xu, Li and Craswell, 2011; Wang,
//! Cao, Xu and Li, 2012).
//!
//! ```text
//! min Σ_p ‖D_p − U₀H_p − U_pW_p‖² + λ₁(|U₀|₁ + Σ_p |U_p|₁) + λ₂·Σ_p (‖H_p‖² + ‖W_p‖²)     RLSI
//! min Σ_p ‖D_p − U₀H_p − U_pW_p‖²  over U, H, W ≥ 0                                         NMF
//! ```
//! V_p = [H_p; W_p]. One class without topics of its own gives plain RLSI or NMF; no shared topics give
//! CRLSI and CNMF. A sweep updates U₀, and then for every class U_p and V_p. Each update is optimal
//! with the rest fixed (RLSI) or an improvement (NMF, by HALS), so the objective never rises:
//!
//! ```text
//! U₀    S = Σ_p H_pH_pᵀ, R = Σ_p (D_pH_pᵀ − U_p·W_pH_pᵀ)    a row of U₀ from S and its row of R alone
//! U_p   S = W_pW_pᵀ,     R = D_pW_pᵀ − U₀·H_pW_pᵀ
//! V_p   (ŨᵀŨ + λ₂I)⁻¹ŨᵀD_p,  Ũ = [U₀ U_p]
//! ```
//! Neither U_pW_p nor R is stored: a row of R is computed, used and dropped. S is computed once for all
//! terms and stays in the cache; terms, and then documents, are independent of each other.

use std::ops::Range;
use std::time::Instant;

use faer::Mat;
use rayon::prelude::*;

use super::corpus::Corpus;
use super::descent::Descent;
use super::fold::{ClassTopics, FactorKind, Solver, SolverScratch, Topics};
use super::momentum::Momentum;
use super::spectral::parts;
use super::start::{TopicStart, document_start, random_start};
use super::symmetric::{block, by_rows, inner_product};
use crate::linalg::{Dense, add_scaled, gram_of, widest};
use crate::sparse::{Csr, Row, RowBlock};
use crate::{Error, Result, Run};

/// Terms, and documents, per task.
const TERMS: usize = 64;
const DOCS: usize = 128;
/// Entries summed before they are added to a row of R, which limits the rounding error of f32.
const SEGMENT: usize = 1024;

/// A factorisation and its hyperparameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Factorise {
    /// Topics that all documents share.
    pub shared: usize,
    /// Topics of every class.
    pub own: usize,
    /// RLSI or NMF.
    pub kind: FactorKind,
    /// The most sweeps.
    pub sweeps: usize,
    /// Sweeps stop when one lowers the objective by less than this share.
    pub tolerance: f64,
    /// The most passes of coordinate descent over a row per sweep.
    pub passes: usize,
    /// The seed of the start.
    pub seed: u64,
}

/// The figures of a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sweep {
    /// The objective after it.
    pub objective: f64,
    /// ‖D − UV‖² after it.
    pub loss: f64,
    /// The share of non-zero values in the topics.
    pub filled: f64,
    /// The time of the sweep, in seconds.
    pub seconds: f64,
}

/// A fitted factorisation.
pub struct Factors {
    /// U.
    pub topics: Topics,
    /// V, one row per document in the order of the corpus: weights of the shared topics, and of those
    /// of its class.
    pub weights: Dense,
    /// The figures of every sweep.
    pub sweeps: Vec<Sweep>,
    /// Whether the last sweep lowered the objective by less than the tolerance.
    pub converged: bool,
}

impl Factorise {
    /// Topics of a document.
    pub fn width(&self) -> usize {
        self.shared + self.own
    }

    /// Factorises `corpus`. `after_sweep(sweep, topics, weights)` is called after every sweep.
    pub fn fit(
        &self,
        corpus: &Corpus,
        mut after_sweep: impl FnMut(usize, &Topics, &Dense) -> Result<()>,
        run: &Run<'_>,
    ) -> Result<Factors> {
        let mut state = FactoriseState::new(self, corpus, run)?;
        let mut sweeps: Vec<Sweep> = Vec::with_capacity(self.sweeps);
        let mut converged = false;
        for sweep in 0..self.sweeps {
            run.step("sweeps over topics", sweep as u64, Some(self.sweeps as u64))?;
            let began = Instant::now();
            let last = sweeps.last().map(|last| last.objective);
            let (objective, loss) = state.step(last, run)?;
            if !objective.is_finite() {
                let advice = "look for extreme weights of documents, or take fewer topics";
                return Err(Error::not_finite("the objective", sweep + 1, advice));
            }
            let cells = corpus.n_terms() * (self.shared + self.own * corpus.n_classes());
            let filled = state.topics.filled() as f64 / cells.max(1) as f64;
            sweeps.push(Sweep { objective, loss, filled, seconds: began.elapsed().as_secs_f64() });
            after_sweep(sweep, &state.topics, &state.weights)?;
            converged = last.is_some_and(|last| last - objective <= self.tolerance * last);
            if converged {
                break;
            }
        }
        Ok(Factors { topics: state.topics, weights: state.weights, sweeps, converged })
    }
}

/// The factors during a fit.
pub(super) struct FactoriseState<'a> {
    how: &'a Factorise,
    corpus: &'a Corpus,
    pub topics: Topics,
    pub weights: Dense,
    /// V_pV_pᵀ of every class.
    pub grams: Vec<Mat<f64>>,
    /// The extrapolation of NMF; `None` before its first sweep.
    momentum: Option<Momentum>,
}

impl<'a> FactoriseState<'a> {
    pub fn new(how: &'a Factorise, corpus: &'a Corpus, run: &Run<'_>) -> Result<Self> {
        let width = how.width();
        run.step("initial topics", 0, None)?;
        let scratch = run.scratch();
        let bytes = 4 * corpus.n_docs() as u64 * width as u64;
        let folder = (bytes > run.memory_left() / 2).then_some(scratch.as_path());
        let mut weights = Dense::placed(corpus.n_docs(), width, folder)?;
        match how.kind {
            FactorKind::Rlsi { start: TopicStart::Random, .. } => {
                random_start(&mut weights, how.seed, run)?;
            }
            FactorKind::Rlsi { .. } => {
                document_start(corpus, (how.shared, how.own), &mut weights, how.seed, run)?;
            }
            FactorKind::Nmf => {}
        }
        let empty = |n: usize| Csr::empty(corpus.n_terms(), n);
        let own = (0..corpus.n_classes()).map(|_| empty(how.own)).collect();
        let topics = Topics { shared: empty(how.shared), own };
        let mut state =
            FactoriseState { how, corpus, topics, weights, grams: Vec::new(), momentum: None };
        if how.kind == FactorKind::Nmf && !state.start_with_parts(run)? {
            // There are fewer parts than topics: the other topics start with documents.
            let (topics, parts) = (state.topics.clone(), state.weights.values().to_vec());
            document_start(corpus, (how.shared, how.own), &mut state.weights, how.seed, run)?;
            state.overlay(&topics, &parts);
        }
        state.grams =
            (0..corpus.n_classes()).map(|class| state.gram(class, run)).collect::<Result<_>>()?;
        Ok(state)
    }

    /// One sweep, extrapolated for NMF. Returns the objective, which never exceeds `last`, the one
    /// before, and the loss.
    fn step(&mut self, last: Option<f64>, run: &Run<'_>) -> Result<(f64, f64)> {
        if self.how.kind != FactorKind::Nmf {
            return self.sweep(run);
        }
        let (Some(last), Some(mut momentum)) = (last, self.momentum.take()) else {
            let scratch = run.scratch();
            let folder = self.weights.is_on_disk().then_some(scratch.as_path());
            self.momentum = Some(Momentum::new(&self.weights, folder)?);
            return self.sweep(run);
        };
        let (topics, grams) = (self.topics.clone(), self.grams.clone());
        momentum.extrapolate(&mut self.weights);
        for class in 0..self.grams.len() {
            self.grams[class] = self.gram(class, run)?;
        }
        let found = self.sweep(run)?;
        if found.0 <= last {
            momentum.accept();
            self.momentum = Some(momentum);
            return Ok(found);
        }
        momentum.undo(&mut self.weights);
        (self.topics, self.grams) = (topics, grams);
        self.momentum = Some(momentum);
        self.sweep(run)
    }

    /// Replaces the weights of topics that have a part by those of the part.
    fn overlay(&mut self, topics: &Topics, parts: &[f32]) {
        let has = |matrix: &Csr| matrix.columns_of(0..matrix.n_rows());
        let (width, shared) = (self.how.width(), has(&topics.shared));
        for class in 0..self.corpus.n_classes() {
            let mut taken = shared.clone();
            taken.extend(has(&topics.own[class]));
            for doc in self.corpus.class(class) {
                let row = self.weights.row_mut(doc).iter_mut().zip(&parts[doc * width..]);
                row.zip(&taken).filter(|(_, taken)| **taken).for_each(|((v, &part), _)| *v = part);
            }
        }
    }

    /// Starts with parts of singular vectors, of all documents and of every class, and with weights that
    /// fit them. Returns whether there were enough parts for all topics.
    fn start_with_parts(&mut self, run: &Run<'_>) -> Result<bool> {
        let (corpus, shared, own) = (self.corpus, self.how.shared, self.how.own);
        let mut enough = true;
        let mut initial = |weights: &mut Dense, docs: Range<usize>, columns: Range<usize>| {
            let found = parts(corpus, docs.clone(), columns.len(), self.how.seed, run)?;
            let n = found.docs.n_cols();
            enough &= n == columns.len();
            for (at, doc) in docs.enumerate() {
                weights.row_mut(doc)[columns.start..][..n].copy_from_slice(found.docs.row(at));
            }
            let (terms, mut rows) = (corpus.n_terms(), RowBlock::default());
            (0..terms).for_each(|term| rows.push(non_zero(found.terms.row(term))));
            Csr::from_blocks(columns.len(), terms, vec![rows], 0..terms)
        };
        if shared > 0 {
            self.topics.shared = initial(&mut self.weights, 0..corpus.n_docs(), 0..shared)?;
        }
        if own > 0 {
            for class in 0..corpus.n_classes() {
                let docs = corpus.class(class);
                self.topics.own[class] = initial(&mut self.weights, docs, shared..shared + own)?;
            }
        }
        if enough {
            let shared = self.topics.shared_gram(run)?;
            for class in 0..corpus.n_classes() {
                self.fit_weights(class, &shared, run)?;
            }
        }
        Ok(enough)
    }

    /// V_pV_pᵀ of a class.
    pub fn gram(&self, class: usize, run: &Run<'_>) -> Result<Mat<f64>> {
        let (docs, width) = (self.corpus.class(class), self.how.width());
        gram_of(&self.weights.values()[docs.start * width..docs.end * width], width, run)
    }

    /// One plain sweep. Returns the objective and the loss after it.
    pub fn sweep(&mut self, run: &Run<'_>) -> Result<(f64, f64)> {
        if self.how.shared > 0 {
            self.topics.shared = self.shared_topics(run)?;
        }
        let mut loss = self.corpus.squares();
        let shared = self.topics.shared_gram(run)?;
        for class in 0..self.corpus.n_classes() {
            run.check()?;
            if self.how.own > 0 {
                self.topics.own[class] = self.own_topics(class, run)?;
            }
            let (gram, inner) = self.fit_weights(class, &shared, run)?;
            self.grams[class] = self.gram(class, run)?;
            loss += inner_product(&gram, &self.grams[class]) - 2.0 * inner;
        }
        let objective = match self.how.kind {
            FactorKind::Rlsi { lambda1, lambda2, .. } => {
                let squares =
                    |gram: &Mat<f64>| (0..gram.nrows()).map(|k| gram[(k, k)]).sum::<f64>();
                let weights: f64 = self.grams.iter().map(squares).sum();
                loss + lambda1 * self.topics.absolute() + lambda2 * weights
            }
            FactorKind::Nmf => loss,
        };
        Ok((objective, loss))
    }

    /// Coordinate descent with S = `gram`.
    fn descent(&self, gram: &Mat<f64>) -> Descent {
        let with_tolerance = |tolerance| Descent::new(gram, self.how.passes, tolerance);
        // Topics of RLSI are solved to convergence; those of NMF only have to improve.
        match self.how.kind {
            FactorKind::Rlsi { lambda1, .. } => with_tolerance(1e-4).with_penalty(lambda1),
            FactorKind::Nmf => with_tolerance(0.01).non_negative(),
        }
    }

    /// The new U₀.
    pub fn shared_topics(&self, run: &Run<'_>) -> Result<Csr> {
        let shared = 0..self.how.shared;
        let mut gram = block(&self.grams[0], &shared, &shared);
        for other in &self.grams[1..] {
            gram += block(other, &shared, &shared);
        }
        let own = self.how.shared..self.how.width();
        // W_pH_pᵀ by rows.
        let crosses: Vec<Vec<f32>> =
            self.grams.iter().map(|gram| by_rows(&block(gram, &own, &shared))).collect();
        let descent = self.descent(&gram);
        let terms = self.all_terms();
        self.terms(&self.topics.shared, shared, &terms, &descent, run, |term, r| {
            for (own, cross) in self.topics.own.iter().zip(&crosses) {
                subtract(own.row(term), cross, r);
            }
        })
    }

    /// The new U_p.
    pub fn own_topics(&self, class: usize, run: &Run<'_>) -> Result<Csr> {
        let (shared, own) = (0..self.how.shared, self.how.shared..self.how.width());
        let gram = &self.grams[class];
        let cross = by_rows(&block(gram, &shared, &own));
        let descent = self.descent(&block(gram, &own, &own));
        let terms = self.terms_of(class);
        self.terms(&self.topics.own[class], own, &terms, &descent, run, |term, r| {
            subtract(self.topics.shared.row(term), &cross, r);
        })
    }

    /// All terms with their documents.
    fn all_terms(&self) -> Vec<(u32, Row<'_>)> {
        (0..self.corpus.n_terms()).map(|term| (term as u32, self.corpus.term(term))).collect()
    }

    /// The terms that may have a weight in topics of `class`, each with its documents of that class:
    /// those of the class and, if weights may be negative, those of shared topics, which topics of
    /// the class may cancel.
    fn terms_of(&self, class: usize) -> Vec<(u32, Row<'_>)> {
        if self.corpus.n_classes() == 1 {
            return self.all_terms();
        }
        let mut own = self.corpus.terms_of(class).iter().peekable();
        let entries = |place: &Range<u64>| self.corpus.entries(place);
        if self.how.kind == FactorKind::Nmf {
            return own.map(|(term, place)| (*term, entries(place))).collect();
        }
        let none = Row { indices: &[], values: &[] };
        (0..self.corpus.n_terms())
            .filter_map(|term| match own.next_if(|(next, _)| *next as usize == term) {
                Some((_, place)) => Some((term as u32, entries(place))),
                None if self.topics.shared.row(term).is_empty() => None,
                None => Some((term as u32, none)),
            })
            .collect()
    }

    /// New topics, whose weights are the `columns` of V: a row for each of `terms` from its row of R, from
    /// which `correct` subtracts the share of other topics. Other terms have empty rows.
    fn terms(
        &self,
        old: &Csr,
        columns: Range<usize>,
        terms: &[(u32, Row<'_>)],
        descent: &Descent,
        run: &Run<'_>,
        correct: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Result<Csr> {
        let k = columns.len();
        let task = TermTask { old, columns, descent, correct: &correct };
        let blocks: Vec<RowBlock> = terms
            .par_chunks(TERMS)
            .map_init(
                || RowBuffers::new(k),
                |buffers, terms| {
                    run.check()?;
                    Ok(widest(|| self.some_terms(&task, terms, buffers)))
                },
            )
            .collect::<Result<_>>()?;
        let numbers = terms.iter().map(|&(term, _)| term as usize);
        Csr::from_blocks(k, self.corpus.n_terms(), blocks, numbers)
    }

    /// The new rows of some terms.
    #[inline(always)]
    fn some_terms(
        &self,
        task: &TermTask<'_, impl Fn(usize, &mut [f32])>,
        terms: &[(u32, Row<'_>)],
        buffers: &mut RowBuffers,
    ) -> RowBlock {
        let mut found = RowBlock::default();
        for &(term, docs) in terms {
            let term = term as usize;
            buffers.r.fill(0.0);
            self.gather(docs, &task.columns, buffers);
            (task.correct)(term, &mut buffers.r);
            buffers.u.fill(0.0);
            task.old.row(term).iter().for_each(|(k, u)| buffers.u[k as usize] = u);
            task.descent.descend(&mut buffers.u, &mut buffers.r);
            found.push(non_zero(&buffers.u));
        }
        found
    }

    /// r += Σ_n d_n·v_n over the documents of a term.
    #[inline(always)]
    fn gather(&self, row: Row<'_>, columns: &Range<usize>, buffers: &mut RowBuffers) {
        let mut left = row.indices.len();
        let mut entries = row.iter();
        while left > 0 {
            let some = left.min(SEGMENT);
            buffers.segment.fill(0.0);
            for (doc, d) in entries.by_ref().take(some) {
                let weights = &self.weights.row(doc as usize)[columns.clone()];
                add_scaled(&mut buffers.segment, d, weights);
            }
            add_scaled(&mut buffers.r, 1.0, &buffers.segment);
            left -= some;
        }
    }

    /// Updates V_p. Returns ŨᵀŨ, and ⟨D_p, ŨV_p⟩ with the new weights; `shared` is U₀ᵀU₀.
    pub fn fit_weights(
        &mut self,
        class: usize,
        shared: &Mat<f64>,
        run: &Run<'_>,
    ) -> Result<(Mat<f64>, f64)> {
        let (docs, width) = (self.corpus.class(class), self.how.width());
        let topics = self.topics.of_class(class);
        let gram = topics.gram(shared, run)?;
        let solver = Solver::of(&gram, self.how.kind, self.how.passes, 0.01)?;
        let rows = &mut self.weights.values_mut()[docs.start * width..docs.end * width];
        let corpus = self.corpus;
        let inner: Vec<f64> = rows
            .par_chunks_mut(DOCS * width)
            .enumerate()
            .map_init(Default::default, |workspace, (b, weights)| {
                run.check()?;
                let first = docs.start + b * DOCS;
                Ok(widest(|| some_weights(corpus, first, &topics, &solver, weights, workspace)))
            })
            .collect::<Result<_>>()?;
        Ok((gram, inner.iter().sum()))
    }
}

/// The inputs that the rows of new topics share.
struct TermTask<'a, F> {
    /// The topics before, where descent starts.
    old: &'a Csr,
    /// Their columns of V.
    columns: Range<usize>,
    descent: &'a Descent,
    /// Subtracts the share of other topics from a row of R.
    correct: &'a F,
}

/// Fits the weights of some documents, from number `first` on. Returns the sum of their products with
/// Ũᵀd.
#[inline(always)]
fn some_weights(
    corpus: &Corpus,
    first: usize,
    topics: &ClassTopics<'_>,
    solver: &Solver,
    weights: &mut [f32],
    (projected, workspace): &mut (Vec<f32>, SolverScratch),
) -> f64 {
    projected.clear();
    projected.resize(weights.len(), 0.0);
    let width = topics.width();
    for (at, projected) in projected.chunks_mut(width).enumerate() {
        topics.project(corpus.doc(first + at), projected);
    }
    solver.solve(projected, weights, workspace);
    let product = |(&p, &v): (&f32, &f32)| f64::from(p) * f64::from(v);
    projected.iter().zip(&*weights).map(product).sum()
}

/// r −= Σ_k u_k·(row k of `cross`).
#[inline(always)]
fn subtract(u: Row<'_>, cross: &[f32], r: &mut [f32]) {
    let n = r.len();
    u.iter().for_each(|(k, u)| add_scaled(r, -u, &cross[k as usize * n..][..n]));
}

/// The columns and values of a row that are not zero.
fn non_zero(row: &[f32]) -> impl Iterator<Item = (u32, f32)> + '_ {
    (0..).zip(row).filter(|(_, value)| **value != 0.0).map(|(column, &value)| (column, value))
}

/// The buffers for rows of topics.
struct RowBuffers {
    u: Vec<f32>,
    r: Vec<f32>,
    segment: Vec<f32>,
}

impl RowBuffers {
    fn new(k: usize) -> Self {
        RowBuffers { u: vec![0.0; k], r: vec![0.0; k], segment: vec![0.0; k] }
    }
}
