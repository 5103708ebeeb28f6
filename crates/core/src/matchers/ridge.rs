//! The square loss without a bottleneck: ridge regression from query features to the clicks
//! of every document,
//!
//! ```text
//! min ‖R̃ − X W‖² + λ‖W‖²,   W = (XᵀX + λI)⁻¹ Xᵀ R̃
//! ```
//! which is the square loss with the documents themselves as their features and λ_y = 0. Each column
//! of W is one document's: columns are independent, so they are solved a panel at a time by conjugate
//! gradients, and each keeps only its largest weights. Only features of training queries take part,
//! so vectors are never longer than X has non-zeros, and no smaller system (queries × queries) would
//! be cheaper.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FitReport;
use super::direct::Direct;
use super::method::{Fitting, Matcher, Method, SavedState};
use super::savings::usual_savings;
use super::space::{QUERY_CLICKS, RESPONSE, Varied, WEIGHTING};
use super::square::scaled_lambda;
use crate::features::{Counts, Features, Featurizer, Response, Weighted, Weighting};
use crate::linalg::{Buffer, CgParams, RidgeSolver, RidgeWorkspace, SolveStats};
use crate::linalg::{PANEL, PanelRow};
use crate::params::check::{
    MOST, check_memory, check_positive, check_range, check_share_above_zero, check_weight,
};
use crate::plan::{Fit, Plan, WIDTH, numbers};
use crate::sparse::{Csr, RowBlock};
use crate::{Error, Result, Run, counted};

/// The upper limit of weights per document, which is that of features.
const MOST_KEPT: usize = u32::MAX as usize;
/// The upper limit of pairs of a query feature and a document: beyond it a fit takes days.
const MOST_PAIRS: u64 = 200_000_000_000;

/// Parameters of ridge regression from query features to documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ridge {
    /// λ, in units of a query's squared length; larger means smaller weights, shared more
    /// evenly among the words of a query.
    pub lambda: f64,
    /// Most weights per document; the largest are kept.
    pub keep: usize,
    /// A document keeps its largest weights until they hold this share of the sum of its
    /// squared weights.
    pub mass: f64,
    /// Features of queries.
    pub features: QueryFeatures,
    /// Relative weights of clicks.
    pub weighting: Weighting,
    /// Response: the value of a number of clicks.
    pub response: Response,
    /// Largest relative residual of the solves allowed.
    pub tolerance: f64,
    /// Most steps of conjugate gradients.
    pub steps: usize,
}

/// Features of queries, where documents need none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QueryFeatures {
    /// Weight of a query's words.
    pub query_words: f64,
    /// Weight of the documents clicked for a query, as features of the query; 0 leaves them out.
    pub query_clicks: f64,
    /// Response of click features: the value of a number of clicks.
    pub click_value: Response,
    /// Scale whole rows to unit norm.
    pub unit_rows: bool,
}

impl Default for QueryFeatures {
    fn default() -> Self {
        let Features { query_words, click_value, unit_rows, .. } = Features::default();
        QueryFeatures { query_words, query_clicks: 0.1, click_value, unit_rows }
    }
}

impl QueryFeatures {
    /// The same as features of both sides; the documents' are not used.
    pub fn both_sides(&self) -> Features {
        Features {
            query_words: self.query_words,
            query_clicks: self.query_clicks,
            doc_words: 1.0,
            doc_clicks: 0.0,
            click_value: self.click_value,
            unit_rows: self.unit_rows,
            ..Features::default()
        }
    }
}

impl Default for Ridge {
    fn default() -> Self {
        Ridge {
            lambda: 1.0,
            keep: 1000,
            mass: 0.99,
            features: QueryFeatures::default(),
            weighting: Weighting::default(),
            response: Response::default(),
            tolerance: 1e-3,
            steps: 200,
        }
    }
}

/// Report of a fit of ridge regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RidgeReport {
    /// λ as it entered the loss.
    pub lambda: f64,
    /// Query features that training queries use.
    pub features: usize,
    /// Documents that have weights.
    pub documents: usize,
    /// Documents without a training click: they have no weight and always score 0.
    pub without_clicks: usize,
    /// Weights kept.
    pub weights: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Share of the sum of squared weights that was kept.
    pub mass: f64,
    /// Documents of which `keep` cut off more than `mass` allows.
    pub cut: usize,
    /// The most steps of conjugate gradients that a panel of documents took.
    pub steps: usize,
    /// The largest relative residual of a document's weights before pruning.
    pub residual: f64,
    /// Whether the residual is within the tolerance.
    pub converged: bool,
}

impl RidgeReport {
    /// Warnings for the user.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.converged {
            warnings.push(format!(
                "conjugate gradients left a residual of {:.1e} after {} steps; raise `steps`, `tolerance` or `lambda`",
                self.residual, self.steps
            ));
        }
        if self.without_clicks > 0 {
            let all = self.documents + self.without_clicks;
            warnings.push(format!(
                "{} of {} have no training click, so they have no weights and always score 0: a mix such as ridge+bm25 finds them by their words",
                self.without_clicks,
                counted(all, "document")
            ));
        }
        if self.mass < 0.9 {
            warnings.push(format!(
                "the weights kept have only {:.0} % of the sum of squared weights; raise `keep` or `mass`",
                100.0 * self.mass
            ));
        }
        warnings
    }
}

impl Method for Ridge {
    fn check(&self) -> Result<()> {
        check_weight("lambda", self.lambda)?;
        check_range("keep", self.keep, 1, MOST_KEPT)?;
        check_range("steps", self.steps, 1, MOST)?;
        check_share_above_zero("mass", self.mass)?;
        check_positive("tolerance", self.tolerance)?;
        self.features.both_sides().check()
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        let Fitting { counts, run, .. } = fitting;
        let features = self.features.both_sides();
        let featurizer = Featurizer::new(counts, &features)?;
        let data = Weighted::of(counts, &featurizer, self.weighting, self.response)?;
        let (weights, report) = self.fit(&data, run)?;
        Ok((Box::new(Direct::new(counts, &features, weights)?), FitReport::Ridge(report)))
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let weights = state.tensors()?.csr("weights")?;
        Ok(Box::new(Direct::new(counts, &self.features.both_sides(), weights)?))
    }

    fn features(&self) -> Option<Features> {
        Some(self.features.both_sides())
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        let (n, d, docs) = (fit.n_queries as usize, fit.d_x as usize, fit.n_docs as usize);
        let name = "weights during training";
        let sought = vec![fit.factors(), (name, self.bytes(n, d, docs))];
        let steps = 2.0 * 50.0 * numbers(fit.nnz_x, fit.n_docs);
        let seconds = fit.rates.map(|rates| steps / rates.gather(fit.d_x * WIDTH * 4));
        let held = vec![("weights", self.kept_bytes(d, docs))];
        fit.found((name, seconds), vec![sought], held)
    }

    fn savings(&self) -> Vec<String> {
        let mut ways = vec![
            "keep fewer weights of a document (`keep = N`)".to_owned(),
            "train square instead".to_owned(),
        ];
        ways.extend(usual_savings(None, self.features()));
        ways
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![QUERY_CLICKS, WEIGHTING, RESPONSE, ("lambda", "{ min = 0.1, max = 30.0, log = true }")]
    }
}

impl Ridge {
    /// Bytes that a fit takes at most beside its input: the weights of `documents` documents
    /// while they are collected and turned, and the solve of a panel over `queries` queries and
    /// `features` features.
    pub fn bytes(&self, queries: usize, features: usize, documents: usize) -> u64 {
        // The clicks of a panel of documents, and their weights by column.
        let beside = 4 * PANEL as u64 * (queries as u64 + features as u64);
        let solve = RidgeWorkspace::bytes(queries, features) + beside;
        self.kept_bytes(features, documents).saturating_mul(2).saturating_add(solve)
    }

    /// Bytes of the weights of `documents` documents at most.
    pub fn kept_bytes(&self, features: usize, documents: usize) -> u64 {
        let per_document = 8 * self.keep.min(features) as u64;
        per_document.saturating_mul(documents as u64)
    }

    /// Learns the weights (query features × documents) from `data`.
    pub fn fit(&self, data: &Weighted, run: &Run<'_>) -> Result<(Csr, RidgeReport)> {
        self.fit_within(data, run.memory_left(), run)
    }

    fn fit_within(&self, data: &Weighted, most: u64, run: &Run<'_>) -> Result<(Csr, RidgeReport)> {
        self.check()?;
        let (x, used) = compact(&data.x)?;
        let r_t = data.r.transpose();
        let clicked: Vec<usize> = (0..r_t.n_rows()).filter(|&j| !r_t.row(j).is_empty()).collect();
        if clicked.is_empty() || used.is_empty() {
            return Err(Error::Empty {
                what: "there is nothing to learn weights from: no training query has both a word and a click".into(),
                advice: "check that queries have text and that clicks were imported".into(),
            });
        }
        self.check_size(&x, clicked.len(), most)?;
        let lambda = scaled_lambda(self.lambda, &x);
        let how = CgParams { tolerance: self.tolerance, max_steps: self.steps };
        let mut clicks = Buffer::zeros(x.n_rows() * PANEL)?;
        let solver = RidgeSolver::new(x, lambda);
        let mut workspace = solver.workspace()?;
        let mut by_column = vec![0.0; used.len() * PANEL];
        let mut solved = SolveStats::default();
        let (mut kept, mut whole, mut held, mut cut) = (RowBlock::default(), 0.0, 0.0, 0);
        for (b, docs) in clicked.chunks(PANEL).enumerate() {
            run.step("weights of documents", (b * PANEL) as u64, Some(clicked.len() as u64))?;
            clicks.fill(0.0);
            for (k, &j) in docs.iter().enumerate() {
                for (i, value) in r_t.row(j).iter() {
                    clicks[i as usize * PANEL + k] = value;
                }
            }
            solved = solved.worst(solver.solve_panel(&clicks, &mut workspace, how, run)?);
            turn(workspace.solution(), &mut by_column);
            let columns: Vec<DocWeights> =
                by_column.par_chunks(used.len()).take(docs.len()).map(|w| self.prune(w)).collect();
            for doc in columns {
                kept.push(doc.entries.iter().map(|&(u, weight)| (used[u as usize], weight)));
                whole += doc.whole;
                held += doc.held;
                cut += usize::from(doc.cut);
            }
        }
        let n_docs = r_t.n_rows();
        let rows = clicked.iter().copied();
        let weights = Csr::from_blocks(data.x.n_cols(), n_docs, vec![kept], rows)?.transpose();
        let report = RidgeReport {
            lambda,
            features: used.len(),
            documents: clicked.len(),
            without_clicks: n_docs - clicked.len(),
            weights: weights.nnz() as u64,
            bytes: 8 * weights.nnz() as u64,
            mass: if whole > 0.0 { held / whole } else { 1.0 },
            cut,
            steps: solved.steps,
            residual: solved.residual,
            converged: solved.residual <= 2.0 * self.tolerance,
        };
        Ok((weights, report))
    }

    /// Refuses what would take days or more memory than there is.
    fn check_size(&self, x: &Csr, documents: usize, most: u64) -> Result<()> {
        let pairs = x.n_cols() as u64 * documents as u64;
        let advice = "train square, whose size does not grow with features × documents";
        if pairs > MOST_PAIRS {
            return Err(Error::Empty {
                what: format!(
                    "ridge would solve for {pairs} weights ({} query features × {documents} documents), more than its limit of {MOST_PAIRS}",
                    x.n_cols()
                ),
                advice: format!("{advice}, or keep fewer pairs (`min_clicks = N`)"),
            });
        }
        check_memory(
            self.bytes(x.n_rows(), x.n_cols(), documents),
            most,
            || format!("the weights of {documents} documents"),
            &format!("lower `keep` (now {}), {advice}", self.keep),
        )
    }

    /// The largest of a document's weights.
    fn prune(&self, weights: &[f32]) -> DocWeights {
        let square = |weight: f32| f64::from(weight) * f64::from(weight);
        let sum = |weights: &mut dyn Iterator<Item = f32>| weights.map(square).sum::<f64>();
        let mut whole = sum(&mut weights.iter().copied());
        // Weights below this hold too little together for any to be needed.
        let idle = (1.0 - self.mass) * whole / weights.len() as f64;
        let mut entries: Vec<(u32, f32)> = (0u32..)
            .zip(weights.iter().copied())
            .filter(|&(_, weight)| weight != 0.0 && square(weight) >= idle)
            .collect();
        entries.sort_unstable_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        if self.mass == 1.0 {
            // The same sum in the same order as below, so that all of it is all of it.
            whole = sum(&mut entries.iter().map(|&(_, weight)| weight));
        }
        let (mut held, mut n) = (0.0, 0);
        while n < entries.len().min(self.keep) && held < self.mass * whole {
            held += square(entries[n].1);
            n += 1;
        }
        entries.truncate(n);
        entries.sort_unstable_by_key(|&(u, _)| u);
        entries.shrink_to_fit();
        DocWeights { entries, whole, held, cut: held < self.mass * whole }
    }
}

/// One document's weights.
struct DocWeights {
    entries: Vec<(u32, f32)>,
    whole: f64,
    held: f64,
    cut: bool,
}

/// Writes the columns of a panel one after the other.
fn turn(panel: &[PanelRow], by_column: &mut [f32]) {
    for (i, row) in panel.iter().enumerate() {
        for (k, &value) in row.iter().enumerate() {
            by_column[k * panel.len() + i] = value;
        }
    }
}

/// The columns of `x` that are not empty, and which they are.
fn compact(x: &Csr) -> Result<(Csr, Vec<u32>)> {
    let mut place = vec![u32::MAX; x.n_cols()];
    x.indices().iter().for_each(|&u| place[u as usize] = 0);
    let mut used = Vec::new();
    for (u, place) in (0u32..).zip(place.iter_mut()).filter(|(_, place)| **place == 0) {
        *place = used.len() as u32;
        used.push(u);
    }
    let indices = x.indices().iter().map(|&u| place[u as usize]).collect();
    let compacted = Csr::new(used.len(), x.starts().to_vec(), indices, x.values().to_vec())?;
    Ok((compacted, used))
}

#[cfg(test)]
mod tests;
