//! Association of query features with document features: RMLS without a latent space.
//!
//! A random start of RMLS is a sketch of C = XᵀR̃Y. With more and more dimensions its maps tend to a
//! kernel, and no dimension is needed to compute it:
//!
//! ```text
//! after half a sweep:  L_x L_yᵀ → Ĉ             score xᵀ Ĉ D_y y
//! after one sweep:     L_x L_yᵀ → Ĉ·(CᵀĈ D_m)ᵀ   score xᵀ Ĉ Ĉᵀ C D_m y
//! ```
//! with Ĉ = D_x C. D_x, D_y and D_m divide by the norms of the rows of C, of its columns, and of the rows
//! of CᵀĈ, to a power. RMLS has 1 for rows, and for columns 0 after half a sweep and 1 after one; a small power
//! for columns is better on most logs (docs/BENCHMARKS.md).
//! A query becomes a sparse vector over document features by three sparse products, or by rows of C where its
//! features are frequent (`kernel.rs`), and training is the norms alone (`norms.rs`).
//!
//! In terms of C = UΣVᵀ all bilinear scores are D_x U f(Σ) Vᵀ D_y: PLS and a spectral start have f = 1 on
//! the d largest singular values, the two kernels here f = σ and f = σ³ on all of them.

mod kernel;
mod norms;
mod params;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use self::kernel::Kernel;
use self::norms::Scales;
pub use self::params::{Association, Depth};
use super::by_words::{BY_WORDS, remark};
use super::method::{Fitting, Matcher, Method, SavedState, SparseVectors, ValidationScorer};
use super::space::{DOC_CLICKS, QUERY_CLICKS, RESPONSE, Varied, WEIGHTING};
use super::sparse_vector::{SparseVector, row_of, single};
use super::validation::scores_of;
use super::{ByWords, Contribution, FitReport, StepsReport};
use crate::features::{Counts, Features, Featurizer, QueryTerms, UnseenCounts, Weighted};
use crate::file::{Tensors, TensorsWriter};
use crate::params::check::{MOST, check_range};
use crate::plan::{Fit, Plan, WIDTH};
use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// The largest power of the norms.
const MOST_POWER: f64 = 2.0;
/// Validation queries that choose the features of documents at a depth of one sweep, where a query is
/// multiplied with all factors of C, Cᵀ and C.
const FEW_QUERIES: usize = 100;

impl Method for Association {
    fn check(&self) -> Result<()> {
        for (name, power) in [("x_power", Some(self.x_power)), ("y_power", self.y_power)] {
            if let Some(power) = power.filter(|power| !(0.0..=MOST_POWER).contains(power)) {
                return Err(Error::parameter(name, power, "a number from 0 to 2"));
            }
        }
        check_range("sketch", self.sketch, 32, MOST)?;
        self.by_words.check(&self.features)?;
        self.features.check()
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        let Fitting { counts, scorer, run, .. } = fitting;
        let featurizer = Featurizer::new(counts, &self.features)?;
        let data = Weighted::of(counts, &featurizer, self.weighting, self.response)?;
        let (scales, mut notes) = Scales::of(&data, self, run)?;
        let mut matcher = Associated::new(self.depth, featurizer, data, scales)?;
        let setting = self.by_words.among(&self.features);
        let by_words = match (setting, scorer) {
            (ByWords::Auto, Some(scorer)) => {
                run.step("validation", 0, None)?;
                let by_words = matcher.by_words(counts)?;
                let few = (self.depth == Depth::One).then(|| some_queries(scorer, counts.n_docs()));
                let score = |matcher: &Associated| matcher.validation(counts, scorer, few.as_ref());
                (score(&by_words)? > score(&matcher)?).then_some(by_words)
            }
            _ if setting.unvalidated(counts) => Some(matcher.by_words(counts)?),
            _ => None,
        };
        if let Some(by_words) = by_words {
            matcher = by_words;
            if setting == ByWords::Auto {
                notes.push(remark(scorer.is_some()).into());
            }
        }
        let report = StepsReport { notes, ..StepsReport::default() };
        Ok((Box::new(matcher), FitReport::Steps(report)))
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let tensors = state.tensors()?;
        let scales = Scales::read(tensors)?;
        let featurizer = Featurizer::new(counts, &self.features)?;
        let data = Weighted::of(counts, &featurizer, self.weighting, self.response)?;
        let matcher = Associated::new(self.depth, featurizer, data, scales)?;
        Ok(Box::new(if tensors.has(BY_WORDS)? { matcher.by_words(counts)? } else { matcher }))
    }

    fn validated(&self) -> bool {
        self.by_words.among(&self.features) == ByWords::Auto
    }

    fn features(&self) -> Option<Features> {
        Some(self.features.clone())
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        let factors = fit.factors().1;
        let norms = ("norms of rows and columns", 8 * (fit.d_x + fit.d_y));
        let panels = ("products with random directions", 8 * WIDTH * (fit.d_x + fit.d_y));
        let copies = ("copies of the factors for the norms", 2 * factors);
        let threads = rayon::current_num_threads() as u64;
        let rows = 12 * (fit.n_queries + fit.n_docs + fit.d_x + fit.d_y);
        let sums = ("sums of a row for each thread", threads * rows);
        let sought = vec![fit.factors(), fit.between(), norms, panels, copies, sums];
        let mut held = vec![
            norms,
            fit.factors(),
            ("rows of C, no larger than its factors", factors),
            ("sums of a query for each thread", threads * rows),
        ];
        if self.depth == Depth::One {
            held.push(("the factors of Cᵀ", factors));
        }
        let mut scored = held.clone();
        if fit.validation_scores > 0 {
            scored.push(("features of queries and documents for validation", factors));
        }
        let products = if self.depth == Depth::One { 3 } else { 1 };
        let sketch = (self.sketch as u64).max(WIDTH);
        let seconds = fit.rates.map(|rates| products as f64 * fit.product(sketch, rates));
        fit.found(("norms of rows and columns", seconds), vec![sought, scored], held)
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            QUERY_CLICKS,
            DOC_CLICKS,
            WEIGHTING,
            RESPONSE,
            ("depth", "[\"half\", \"one\"]"),
            ("x_power", "[0.5, 0.75, 1.0]"),
            ("y_power", "[0.0, 0.25, 0.5, 1.0]"),
        ]
    }
}

/// The fitted matcher.
struct Associated {
    featurizer: Arc<Featurizer>,
    kernel: Arc<Kernel>,
    /// Features of the documents that are scored.
    docs: Arc<Csr>,
    /// Whether documents are scored by their words alone.
    by_words: bool,
}

impl Associated {
    fn new(depth: Depth, featurizer: Featurizer, data: Weighted, scales: Scales) -> Result<Self> {
        let docs = Arc::new(data.y);
        let kernel = Kernel::new(depth, data.x, data.r, Arc::clone(&docs), scales)?;
        let (featurizer, kernel) = (Arc::new(featurizer), Arc::new(kernel));
        Ok(Associated { featurizer, kernel, docs, by_words: false })
    }

    /// The same for documents that are scored by their words alone.
    fn by_words(&self, counts: &Counts) -> Result<Self> {
        let (featurizer, kernel) = (Arc::clone(&self.featurizer), Arc::clone(&self.kernel));
        let docs = Arc::new(featurizer.docs_by_words(counts)?);
        Ok(Associated { featurizer, kernel, docs, by_words: true })
    }

    /// The validation score, in which queries that are not `among` those given have no scores.
    fn validation(
        &self,
        counts: &Counts,
        scorer: &ValidationScorer<'_>,
        among: Option<&BTreeSet<u32>>,
    ) -> Result<f64> {
        let queries = self.featurizer.queries(counts)?;
        Ok(scorer(&|query, candidates| {
            if among.is_some_and(|among| !among.contains(&query)) {
                return scores_of(candidates, self.docs.n_rows(), |_| 0.0);
            }
            self.kernel.with(queries.row(query as usize), |weights| {
                let score = |doc: usize| sum_of(self.docs.row(doc), weights.sums());
                scores_of(candidates, self.docs.n_rows(), score)
            })
        }))
    }

    /// Calls `score` with the number of every document's score and its row.
    fn score(
        &self,
        counts: &Counts,
        query: &QueryTerms,
        out: &mut [f32],
        doc: impl Fn(usize) -> usize,
    ) {
        let features = self.featurizer.query_terms(counts, query);
        self.kernel.with(row_of(&features), |weights| {
            for (at, score) in out.iter_mut().enumerate() {
                *score = sum_of(self.docs.row(doc(at)), weights.sums());
            }
        });
    }
}

/// At most [`FEW_QUERIES`] of the queries that `scorer` has.
fn some_queries(scorer: &ValidationScorer<'_>, n_docs: usize) -> BTreeSet<u32> {
    let all = Mutex::new(BTreeSet::new());
    scorer(&|query, candidates| {
        all.lock().unwrap_or_else(PoisonError::into_inner).insert(query);
        scores_of(candidates, n_docs, |_| 0.0)
    });
    let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    let step = all.len().div_ceil(FEW_QUERIES).max(1);
    all.into_iter().step_by(step).collect()
}

/// Σ_v y_v·weight_v.
fn sum_of(row: Row<'_>, weights: &[f64]) -> f32 {
    // Not `sum`, which is -0 for a document without features.
    row.iter().fold(0.0, |sum, (v, y)| sum + f64::from(y) * weights[v as usize]) as f32
}

impl Matcher for Associated {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        self.score(counts, query, out, |doc| doc);
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        self.docs.touch(docs);
        self.score(counts, query, out, |at| docs[at] as usize);
    }

    /// One contribution per pair of a query feature and a document feature.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let (indices, values) = self.featurizer.query_terms(counts, query);
        let mut contributions = Vec::new();
        for (u, x) in indices.into_iter().zip(values) {
            let feature = Row { indices: &[u], values: &[x] };
            self.kernel.with(feature, |weights| {
                for (v, y) in self.docs.row(doc as usize).iter() {
                    let value = f64::from(y) * weights.sums()[v as usize];
                    if value != 0.0 {
                        contributions.push(Contribution {
                            query: self.featurizer.query_feature(counts, u),
                            doc: self.featurizer.doc_feature(counts, v),
                            value,
                        });
                    }
                }
            });
        }
        contributions
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        self.kernel.scales().save_state(tensors);
        if self.by_words {
            tensors.array(BY_WORDS, &[1], &[1.0f32]);
        }
    }

    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        let featurizer = Featurizer::new(counts, self.featurizer.features())?;
        let by_words = self.by_words;
        let docs =
            if by_words { featurizer.docs_by_words(counts) } else { featurizer.docs(counts) };
        let docs = Arc::new(docs?);
        // Clicked documents are features of queries; nobody clicked the new ones.
        let n_new = if featurizer.d_x() > counts.n_terms() { n_new } else { 0 };
        let kernel = Arc::new(self.kernel.widened(n_new)?);
        Ok(Some(Box::new(Associated { featurizer: Arc::new(featurizer), kernel, docs, by_words })))
    }

    fn fold_in(&self, _: &Counts, new: &UnseenCounts) -> Result<Option<Box<dyn Matcher>>> {
        let docs = Csr::by_rows(self.featurizer.d_y(), new.ids.len(), |j| {
            Ok(self.featurizer.doc(new.docs.row(j), None))
        })?;
        let (featurizer, kernel) = (Arc::clone(&self.featurizer), Arc::clone(&self.kernel));
        let (docs, by_words) = (Arc::new(docs), self.by_words);
        Ok(Some(Box::new(Associated { featurizer, kernel, docs, by_words })))
    }

    fn no_match(&self) -> &'static str {
        "no training query with a click has a word of this one"
    }

    fn sparse(&self) -> Option<&dyn SparseVectors> {
        Some(self)
    }
}

impl SparseVectors for Associated {
    fn lists(&self, _: &Counts) -> Result<Cow<'_, Csr>> {
        Ok(Cow::Owned(self.docs.transpose()))
    }

    fn weights(&self, counts: &Counts, query: &QueryTerms) -> SparseVector {
        let features = self.featurizer.query_terms(counts, query);
        self.kernel.with(row_of(&features), |weights| single(weights.entries()))
    }
}

impl Scales {
    fn read(tensors: &Tensors) -> Result<Self> {
        let read = |name: &str| -> Result<Vec<f32>> {
            let (shape, values) = tensors.array::<f32>(name)?;
            match shape[..] {
                [_] => Ok(values),
                _ => Err(Error::Structure {
                    problem: format!("{name} has {} axes instead of one", shape.len()),
                }),
            }
        };
        Ok(Scales { x: read("x_scale")?, y: read("y_scale")? })
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        tensors.array("x_scale", &[self.x.len()], &self.x);
        tensors.array("y_scale", &[self.y.len()], &self.y);
    }
}
