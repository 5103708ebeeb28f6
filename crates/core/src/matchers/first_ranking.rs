//! The first ranking of matchers with feedback, which search again with its best documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dots::DocRows;
use super::{Bm25, Clicked, Lexical, Matcher, Vsm};
use crate::Result;
use crate::features::{Counts, QueryTerms};
use crate::ranking::{Hit, tie_rank, top_k};
use crate::sparse::Row;

/// The upper limit of feedback documents and of words taken from them.
pub(super) const MOST_FEEDBACK: usize = 100_000;

/// The first ranking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FirstRanking {
    /// BM25.
    Bm25,
    /// The vector space model.
    Vsm,
    /// BM25 over text and clicked queries, both alike: weight 1, b 0.75.
    #[default]
    Clicked,
}

impl FirstRanking {
    /// The ranking for `counts`.
    pub(super) fn fit(self, counts: &Counts) -> Result<Ranking> {
        let lexical = match self {
            FirstRanking::Bm25 => Bm25::default().fit(counts)?,
            FirstRanking::Vsm => Vsm::default().fit(counts)?,
            // Best on validation of nfcorpus where text and clicked queries weigh the same.
            FirstRanking::Clicked => {
                Clicked { weight: 1.0, clicked_b: 0.75, ..Clicked::default() }.fit(counts)?
            }
        };
        Ok(Ranking::new(lexical, counts))
    }
}

/// A lexical matcher that ranks documents.
pub(super) struct Ranking {
    pub lexical: Lexical,
    tie_rank: Vec<u32>,
}

impl Ranking {
    pub fn new(lexical: Lexical, counts: &Counts) -> Self {
        Ranking { lexical, tie_rank: tie_rank(&counts.doc_ids) }
    }

    /// The `k` best documents that score above 0. Held-out documents are left out: no query may learn
    /// from them, and a new one must not change the scores of others. So is the document that is the
    /// query itself: it would rank first and add nothing.
    pub fn top(&self, counts: &Counts, query: &QueryTerms, k: usize) -> Vec<Hit> {
        self.best(counts, &self.scores_of_others(counts, query), k, 0.0)
    }

    /// The `k` best documents with a word of the query, whatever their scores; without those that
    /// [`Ranking::top`] leaves out.
    pub fn top_with_words(&self, counts: &Counts, query: &QueryTerms, k: usize) -> Vec<Hit> {
        let mut scores = self.scores_of_others(counts, query);
        let mut has_word = vec![false; scores.len()];
        for &term in &query.indices {
            for &doc in self.lexical.rows.postings.row(term as usize).indices {
                has_word[doc as usize] = true;
            }
        }
        for (score, has_word) in scores.iter_mut().zip(has_word) {
            if !has_word {
                *score = f32::NEG_INFINITY;
            }
        }
        self.best(counts, &scores, k, f32::NEG_INFINITY)
    }

    /// The `k` best documents of training with scores above `floor`.
    fn best(&self, counts: &Counts, scores: &[f32], k: usize, floor: f32) -> Vec<Hit> {
        let mut hits = top_k(scores, k, &self.tie_rank, &counts.held_out_documents);
        hits.retain(|hit| hit.score > floor);
        hits
    }

    /// All scores; that of the document that is the query itself is below all others.
    fn scores_of_others(&self, counts: &Counts, query: &QueryTerms) -> Vec<f32> {
        let mut scores = self.lexical.scores(counts, query, None);
        if let Some(own) = counts.own_document(query) {
            scores[own as usize] = f32::NEG_INFINITY;
        }
        scores
    }
}

/// The rows of `docs` that `hits` name, each with its weight.
pub(super) fn rows_of<'a>(
    rows: &'a DocRows,
    hits: &'a [Hit],
    weight: impl Fn(&Hit) -> f64 + 'a,
) -> impl Iterator<Item = (f64, Row<'a>)> + 'a {
    hits.iter().map(move |hit| (weight(hit), rows.docs.row(hit.doc as usize)))
}
