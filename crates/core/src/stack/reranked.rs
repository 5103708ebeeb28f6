//! A ranker over the features of matchers, as a matcher.

use std::collections::HashMap;
use std::sync::Arc;

use crate::features::{Counts, QueryTerms};
use crate::matchers::{Contribution, Matcher};
use crate::rank::Ranker;
use crate::rank::features::{Extractor, FeatureQuery, FeatureRows};
use crate::ranking::tie_rank;

/// The inputs that all rankers of a comparison share.
pub(super) struct Shared {
    pub extractor: Extractor,
    /// Rows that have been computed, by query.
    pub prepared: HashMap<u32, FeatureRows>,
    /// If all documents are ranked, how many of every matcher's best the ranker re-ranks.
    pub depth: Option<usize>,
    /// Ranks the other documents.
    pub fallback: Arc<dyn Matcher>,
    pub tie_rank: Vec<u32>,
}

impl Shared {
    pub fn new(
        counts: &Counts,
        extractor: Extractor,
        depth: Option<usize>,
        fallback: Arc<dyn Matcher>,
    ) -> Self {
        let tie_rank = tie_rank(&counts.doc_ids);
        Shared { extractor, prepared: HashMap::new(), depth, fallback, tie_rank }
    }
}

/// Rankers that were trained on all folds but one each.
pub(super) struct Reranked {
    pub shared: Arc<Shared>,
    /// The features of the ranker, by their places among all.
    pub columns: Vec<usize>,
    pub rankers: Vec<Ranker>,
    /// The folds of the training queries: such a query is scored by the one ranker that did not
    /// learn from it.
    pub folds: HashMap<u32, usize>,
}

impl Reranked {
    /// The rankers that may score a query.
    fn of(&self, query: &QueryTerms) -> &[Ranker] {
        match query.known.and_then(|known| self.folds.get(&known)) {
            Some(&fold) => &self.rankers[fold..=fold],
            None => &self.rankers,
        }
    }

    /// Selects the features of the ranker from rows of all features.
    fn picked(&self, values: &[f32]) -> Vec<f32> {
        let n = self.shared.extractor.features().len();
        values
            .chunks_exact(n.max(1))
            .flat_map(|row| self.columns.iter().map(|&column| row[column]))
            .collect()
    }

    /// The scores of rows of one query, as the mean over the rankers.
    fn scored(&self, query: &QueryTerms, values: &[f32]) -> Vec<f32> {
        let own = self.picked(values);
        let rankers = self.of(query);
        let mut sums: Vec<f64> = vec![0.0; own.len() / self.columns.len().max(1)];
        for ranker in rankers {
            let scores = ranker.score_rows(&mut own.clone());
            sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
        }
        sums.into_iter().map(|sum| (sum / rankers.len() as f64) as f32).collect()
    }

    /// The best documents of all matchers, ascending, and their features.
    fn pool(&self, counts: &Counts, query: &QueryTerms, depth: usize) -> (Vec<u32>, Vec<f32>) {
        let shared = &self.shared;
        if let Some(rows) = query.known.and_then(|known| shared.prepared.get(&known)) {
            return (rows.docs.clone(), rows.values.clone());
        }
        let question = FeatureQuery::known(counts, query);
        shared.extractor.pool(counts, &question, depth, &shared.tie_rank, &[])
    }

    /// Scores all documents: those of the pool by the rankers, and all others below them, in the
    /// order of the fallback.
    fn of_pool(&self, counts: &Counts, query: &QueryTerms, depth: usize) -> Vec<f32> {
        let (docs, values) = self.pool(counts, query, depth);
        let ranked = self.scored(query, &values);
        let mut scores = self.shared.fallback.scores(counts, query, None);
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let least = ranked.iter().copied().fold(0.0, f32::min) - 1.0;
        scores.iter_mut().for_each(|score| *score = least + (*score - most));
        docs.iter().zip(ranked).for_each(|(&doc, score)| scores[doc as usize] = score);
        scores
    }

    /// The features of the documents `docs`.
    fn rows(&self, counts: &Counts, query: &QueryTerms, docs: &[u32]) -> Vec<f32> {
        let prepared = query.known.and_then(|known| self.shared.prepared.get(&known));
        match prepared.filter(|rows| rows.docs == docs) {
            Some(rows) => rows.values.clone(),
            None => self.shared.extractor.rows(counts, &FeatureQuery::known(counts, query), docs),
        }
    }
}

impl Matcher for Reranked {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        match self.shared.depth {
            Some(depth) => out.copy_from_slice(&self.of_pool(counts, query, depth)),
            None => {
                let all: Vec<u32> = (0..counts.n_docs() as u32).collect();
                self.score_some(counts, query, &all, out);
            }
        }
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        match self.shared.depth {
            Some(depth) => {
                let all = self.of_pool(counts, query, depth);
                out.iter_mut().zip(docs).for_each(|(out, &doc)| *out = all[doc as usize]);
            }
            None => {
                let values = self.rows(counts, query, docs);
                out.copy_from_slice(&self.scored(query, &values));
            }
        }
    }

    /// The contribution of every feature, with its value; nothing for a document that the rankers
    /// do not re-rank.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let (values, at) = match self.shared.depth {
            Some(depth) => {
                let (docs, values) = self.pool(counts, query, depth);
                match docs.binary_search(&doc) {
                    Ok(at) => (values, at),
                    Err(_) => return Vec::new(),
                }
            }
            None => (self.rows(counts, query, &[doc]), 0),
        };
        let rows = self.picked(&values);
        let own = &rows[at * self.columns.len()..(at + 1) * self.columns.len()];
        let rankers = self.of(query);
        let mut adds: Vec<f64> = vec![0.0; self.columns.len() + 1];
        for ranker in rankers {
            let contributions = ranker.contributions(&mut rows.clone(), at);
            adds.iter_mut().zip(contributions).for_each(|(sum, one)| *sum += one);
        }
        let names = self.columns.iter().map(|&c| self.shared.extractor.features()[c].name.clone());
        let names = names.chain(["every document".to_owned()]);
        let shown = own.iter().map(|value| match value.is_nan() {
            true => "missing".to_owned(),
            false => format!("{value}"),
        });
        let shown = shown.chain([String::new()]);
        names
            .zip(shown)
            .zip(adds)
            .map(|((query, doc), value)| Contribution {
                query,
                doc,
                value: value / rankers.len() as f64,
            })
            .filter(|line| line.value != 0.0)
            .collect()
    }

    fn no_match(&self) -> &'static str {
        "no feature differs between documents"
    }

    fn zero_is_none(&self) -> bool {
        false
    }
}
