//! Matrices of terms and documents taken apart into topics: RLSI and NMF, for all documents alike
//! or with topics of their own for classes of documents (Wang, Xu, Li and Craswell, 2011; Wang, Cao, Xu
//! and Li, 2012).
//!
//! ```text
//! min Σ_p ‖D_p − U₀H_p − U_pW_p‖² + λ₁(|U₀|₁ + Σ_p |U_p|₁) + λ₂·Σ_p (‖H_p‖² + ‖W_p‖²)     RLSI
//! min Σ_p ‖D_p − U₀H_p − U_pW_p‖²  over U, H, W ≥ 0                                         NMF
//! ```
//! V_p = [H_p; W_p]. One class without topics of its own is plain RLSI or NMF; no shared topics are
//! CRLSI and CNMF. A sweep is U₀, and then by class U_p and V_p, each the best there is with the rest
//! held (RLSI) or better than before (NMF, by HALS), so that the objective never rises:
//!
//! ```text
//! U₀    S = Σ_p H_pH_pᵀ, R = Σ_p (D_pH_pᵀ − U_p·W_pH_pᵀ)    a row of U₀ from S and its row of R alone
//! U_p   S = W_pW_pᵀ,     R = D_pW_pᵀ − U₀·H_pW_pᵀ
//! V_p   (ŨᵀŨ + λ₂I)⁻¹ŨᵀD_p,  Ũ = [U₀ U_p]
//! ```
//! U_pW_p is never formed, nor is R: a row is made, used and forgotten. S is made once for all terms and
//! stays in cache; terms, and then documents, are independent of each other.

use std::ops::Range;
use std::time::Instant;

use faer::Mat;
use rayon::prelude::*;

use super::corpus::Corpus;
use super::descent::Descent;
use super::fold::{ClassTopics, Solver, SolverRoom, Topics, lower_to_full};
use super::momentum::Momentum;
use super::some_rows::SomeRows;
use super::spectral::parts;
use super::start::start;
use super::symmetric::{block, by_rows, inner_product};
use crate::linalg::{Dense, add_scaled, gram_of, widest};
use crate::sparse::{Csr, Row};
use crate::{Error, Result, Run};

/// Terms, and documents, that one thread takes at a time.
const TERMS: usize = 64;
const DOCS: usize = 128;
/// Entries of a row of R that are summed before they are added to the rest: f32 loses less so.
const SEGMENT: usize = 1024;

/// What topics and weights must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// RLSI: few words in a topic, small weights.
    Sparse {
        /// λ₁, the price of a word's weight in a topic.
        lambda1: f64,
        /// λ₂, the price of a topic's squared weight in a document.
        lambda2: f64,
    },
    /// NMF: nothing below zero.
    NonNegative,
}

/// How to take a corpus apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Factorise {
    /// Topics that all documents share.
    pub shared: usize,
    /// Topics of every class.
    pub own: usize,
    /// What topics and weights must be.
    pub rule: Rule,
    /// Most sweeps.
    pub sweeps: usize,
    /// A sweep that lowers the objective by less than this share of it is the last.
    pub tolerance: f64,
    /// Most passes of coordinate descent over a row, in a sweep.
    pub passes: usize,
    /// Seed of the documents that topics begin with.
    pub seed: u64,
}

/// One sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sweep {
    /// The objective after it.
    pub objective: f64,
    /// ‖D − UV‖² after it.
    pub loss: f64,
    /// The share of the topics' numbers that are not zero.
    pub filled: f64,
    /// How long it took.
    pub seconds: f64,
}

/// What a corpus was taken apart into.
pub struct Factors {
    /// U.
    pub topics: Topics,
    /// V, a row a document in the order of the corpus: shared topics, and those of its class.
    pub weights: Dense,
    /// Every sweep.
    pub sweeps: Vec<Sweep>,
    /// Whether the last sweep lowered the objective by less than the tolerance.
    pub converged: bool,
}

impl Factorise {
    /// Topics of a document.
    pub fn width(&self) -> usize {
        self.shared + self.own
    }

    /// Takes `corpus` apart; `look` is shown every sweep.
    pub fn fit(
        &self,
        corpus: &Corpus,
        mut look: impl FnMut(usize, &Topics, &Dense) -> Result<()>,
        run: &Run<'_>,
    ) -> Result<Factors> {
        let mut state = State::new(self, corpus, run)?;
        let mut sweeps: Vec<Sweep> = Vec::with_capacity(self.sweeps);
        let mut converged = false;
        for sweep in 0..self.sweeps {
            run.step("sweeps over topics", sweep as u64, Some(self.sweeps as u64))?;
            let began = Instant::now();
            let last = sweeps.last().map(|last| last.objective);
            let (objective, loss) = state.step(last, run)?;
            if !objective.is_finite() {
                return Err(Error::NotFinite {
                    what: "the objective",
                    step: sweep + 1,
                    advice: "look at the weights of the documents, or take fewer topics".into(),
                });
            }
            let cells = corpus.n_terms() * (self.shared + self.own * corpus.n_classes());
            let filled = state.topics.filled() as f64 / cells.max(1) as f64;
            sweeps.push(Sweep { objective, loss, filled, seconds: began.elapsed().as_secs_f64() });
            look(sweep, &state.topics, &state.weights)?;
            converged = last.is_some_and(|last| last - objective <= self.tolerance * last);
            if converged {
                break;
            }
        }
        Ok(Factors { topics: state.topics, weights: state.weights, sweeps, converged })
    }
}

/// Where a factorisation is.
pub(super) struct State<'a> {
    how: &'a Factorise,
    corpus: &'a Corpus,
    pub topics: Topics,
    pub weights: Dense,
    /// V_pV_pᵀ of every class.
    pub grams: Vec<Mat<f64>>,
    /// How NMF goes on in the direction of the last sweep.
    momentum: Option<Momentum>,
}

impl<'a> State<'a> {
    pub fn new(how: &'a Factorise, corpus: &'a Corpus, run: &Run<'_>) -> Result<Self> {
        let width = how.width();
        run.step("first topics", 0, None)?;
        let scratch = run.scratch();
        let bytes = 4 * corpus.n_docs() as u64 * width as u64;
        let folder = (bytes > run.memory_left() / 2).then_some(scratch.as_path());
        let mut weights = Dense::placed(corpus.n_docs(), width, folder)?;
        if let Rule::Sparse { .. } = how.rule {
            start(corpus, (how.shared, how.own), &mut weights, how.seed, run)?;
        }
        let empty = |n: usize| Csr::empty(corpus.n_terms(), n);
        let own = (0..corpus.n_classes()).map(|_| empty(how.own)).collect();
        let topics = Topics { shared: empty(how.shared), own };
        let mut state = State { how, corpus, topics, weights, grams: Vec::new(), momentum: None };
        if how.rule == Rule::NonNegative && !state.begin_with_parts(run)? {
            // Fewer parts than topics: the others begin with documents.
            let (topics, parts) = (state.topics.clone(), state.weights.values().to_vec());
            start(corpus, (how.shared, how.own), &mut state.weights, how.seed, run)?;
            state.lay_over(&topics, &parts);
        }
        state.grams =
            (0..corpus.n_classes()).map(|class| state.gram(class, run)).collect::<Result<_>>()?;
        Ok(state)
    }

    /// One sweep, which for NMF goes on in the direction of the one before: the objective and the loss
    /// after it. `last` is the objective before it; it never rises.
    fn step(&mut self, last: Option<f64>, run: &Run<'_>) -> Result<(f64, f64)> {
        if self.how.rule != Rule::NonNegative {
            return self.sweep(run);
        }
        let (Some(last), Some(mut momentum)) = (last, self.momentum.take()) else {
            let scratch = run.scratch();
            let folder = self.weights.is_on_disk().then_some(scratch.as_path());
            self.momentum = Some(Momentum::new(&self.weights, folder)?);
            return self.sweep(run);
        };
        let (topics, grams) = (self.topics.clone(), self.grams.clone());
        momentum.carry_on(&mut self.weights);
        for class in 0..self.grams.len() {
            self.grams[class] = self.gram(class, run)?;
        }
        let found = self.sweep(run)?;
        if found.0 <= last {
            momentum.grow();
            self.momentum = Some(momentum);
            return Ok(found);
        }
        momentum.take_back(&mut self.weights);
        (self.topics, self.grams) = (topics, grams);
        self.momentum = Some(momentum);
        self.sweep(run)
    }

    /// Lays weights of parts over weights by documents, where a topic has a part.
    fn lay_over(&mut self, topics: &Topics, parts: &[f32]) {
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

    /// Begins with parts of singular vectors, of all documents and of every class's, instead of single
    /// documents, and with weights that fit them; whether there were enough of them for all topics.
    fn begin_with_parts(&mut self, run: &Run<'_>) -> Result<bool> {
        let (corpus, shared, own) = (self.corpus, self.how.shared, self.how.own);
        let mut enough = true;
        let mut begin = |weights: &mut Dense, docs: Range<usize>, columns: Range<usize>| {
            let found = parts(corpus, docs.clone(), columns.len(), self.how.seed, run)?;
            let n = found.docs.n_cols();
            enough &= n == columns.len();
            for (at, doc) in docs.enumerate() {
                weights.row_mut(doc)[columns.start..][..n].copy_from_slice(found.docs.row(at));
            }
            let (k, mut rows) = (columns.len(), SomeRows::default());
            (0..corpus.n_terms()).for_each(|term| rows.push(found.terms.row(term)));
            SomeRows::together(vec![rows], 0..corpus.n_terms(), corpus.n_terms(), k)
        };
        if shared > 0 {
            self.topics.shared = begin(&mut self.weights, 0..corpus.n_docs(), 0..shared)?;
        }
        if own > 0 {
            for class in 0..corpus.n_classes() {
                let docs = corpus.class(class);
                self.topics.own[class] = begin(&mut self.weights, docs, shared..shared + own)?;
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

    /// One sweep: the objective and the loss after it.
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
        let objective = match self.how.rule {
            Rule::Sparse { lambda1, lambda2 } => {
                let squares =
                    |gram: &Mat<f64>| (0..gram.nrows()).map(|k| gram[(k, k)]).sum::<f64>();
                let weights: f64 = self.grams.iter().map(squares).sum();
                loss + lambda1 * self.topics.absolute() + lambda2 * weights
            }
            Rule::NonNegative => loss,
        };
        Ok((objective, loss))
    }

    /// S of some topics, ready for descent.
    fn descent(&self, gram: &Mat<f64>) -> Descent {
        let k = gram.nrows();
        // Topics of RLSI are solved for; those of NMF only have to be better than before.
        match self.how.rule {
            Rule::Sparse { lambda1, .. } => {
                Descent::new(lower_to_full(gram), k, self.how.passes, 1e-4).with_penalty(lambda1)
            }
            Rule::NonNegative => {
                Descent::new(lower_to_full(gram), k, self.how.passes, 0.01).non_negative()
            }
        }
    }

    /// U₀.
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
        let all = |term: usize| (term as u32, self.corpus.term(term));
        let terms: Vec<_> = (0..self.corpus.n_terms()).map(all).collect();
        self.terms(&self.topics.shared, shared, &terms, &descent, run, |term, r| {
            let n = r.len();
            for (own, cross) in self.topics.own.iter().zip(&crosses) {
                for (k, u) in own.row(term).iter() {
                    add_scaled(r, -u, &cross[k as usize * n..][..n]);
                }
            }
        })
    }

    /// U_p.
    pub fn own_topics(&self, class: usize, run: &Run<'_>) -> Result<Csr> {
        let (shared, own) = (0..self.how.shared, self.how.shared..self.how.width());
        let gram = &self.grams[class];
        let cross = by_rows(&block(gram, &shared, &own));
        let descent = self.descent(&block(gram, &own, &own));
        let terms = self.terms_of(class);
        self.terms(&self.topics.own[class], own, &terms, &descent, run, |term, r| {
            let n = r.len();
            for (k, u) in self.topics.shared.row(term).iter() {
                add_scaled(r, -u, &cross[k as usize * n..][..n]);
            }
        })
    }

    /// The terms that may weigh in topics of `class`, each with its documents of that class: those that it
    /// has, and, where weights may be negative, those of which shared topics say what is not there.
    fn terms_of(&self, class: usize) -> Vec<(u32, Row<'_>)> {
        if self.corpus.n_classes() == 1 {
            let all = |term: usize| (term as u32, self.corpus.term(term));
            return (0..self.corpus.n_terms()).map(all).collect();
        }
        let mut own = self.corpus.terms_of(class).iter().peekable();
        let entries = |place: &Range<u64>| self.corpus.entries(place);
        if self.how.rule == Rule::NonNegative {
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

    /// The rows of some topics, `columns` of the weights of documents: each of `terms` from its row of R,
    /// which `correct` takes what other topics say away from. Other terms have none.
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
        let blocks: Vec<SomeRows> = terms
            .par_chunks(TERMS)
            .map_init(
                || Workspace::new(k),
                |workspace, terms| {
                    run.check()?;
                    Ok(widest(|| self.some_terms(&task, terms, workspace)))
                },
            )
            .collect::<Result<_>>()?;
        let numbers = terms.iter().map(|&(term, _)| term as usize);
        SomeRows::together(blocks, numbers, self.corpus.n_terms(), k)
    }

    /// The rows of some terms.
    #[inline(always)]
    fn some_terms(
        &self,
        task: &TermTask<'_, impl Fn(usize, &mut [f32])>,
        terms: &[(u32, Row<'_>)],
        workspace: &mut Workspace,
    ) -> SomeRows {
        let mut found = SomeRows::default();
        for &(term, docs) in terms {
            let term = term as usize;
            workspace.r.fill(0.0);
            self.gather(docs, &task.columns, workspace);
            (task.correct)(term, &mut workspace.r);
            workspace.u.fill(0.0);
            task.old.row(term).iter().for_each(|(k, u)| workspace.u[k as usize] = u);
            task.descent.descend(&mut workspace.u, &mut workspace.r);
            found.push(&workspace.u);
        }
        found
    }

    /// r += Σ_n d_n·v_n over the documents of a term.
    #[inline(always)]
    fn gather(&self, row: Row<'_>, columns: &Range<usize>, workspace: &mut Workspace) {
        let mut left = row.indices.len();
        let mut entries = row.iter();
        while left > 0 {
            let some = left.min(SEGMENT);
            workspace.segment.fill(0.0);
            for (doc, d) in entries.by_ref().take(some) {
                let weights = &self.weights.row(doc as usize)[columns.clone()];
                add_scaled(&mut workspace.segment, d, weights);
            }
            add_scaled(&mut workspace.r, 1.0, &workspace.segment);
            left -= some;
        }
    }

    /// V_p: ŨᵀŨ, and ⟨D_p, ŨV_p⟩ with the new weights; `shared` is U₀ᵀU₀.
    pub fn fit_weights(
        &mut self,
        class: usize,
        shared: &Mat<f64>,
        run: &Run<'_>,
    ) -> Result<(Mat<f64>, f64)> {
        let (docs, width) = (self.corpus.class(class), self.how.width());
        let topics = self.topics.of_class(class);
        let gram = topics.gram(shared, run)?;
        let solver = Solver::of(&gram, self.how.rule, self.how.passes, 0.01)?;
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

/// What all rows of some topics are made with.
struct TermTask<'a, F> {
    /// Where a row begins.
    old: &'a Csr,
    /// The topics among those of a document.
    columns: Range<usize>,
    descent: &'a Descent,
    /// Takes what other topics say away from a row of R.
    correct: &'a F,
}

/// Fits the weights of some documents, from number `first` on: Σ of their products with what they
/// were fitted to.
#[inline(always)]
fn some_weights(
    corpus: &Corpus,
    first: usize,
    topics: &ClassTopics<'_>,
    solver: &Solver,
    weights: &mut [f32],
    (projected, workspace): &mut (Vec<f32>, SolverRoom),
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

/// Workspace for one thread to make rows of topics in.
struct Workspace {
    u: Vec<f32>,
    r: Vec<f32>,
    segment: Vec<f32>,
}

impl Workspace {
    fn new(k: usize) -> Self {
        Workspace { u: vec![0.0; k], r: vec![0.0; k], segment: vec![0.0; k] }
    }
}
