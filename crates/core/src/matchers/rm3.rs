//! RM3, relevance-model feedback (Abdul-Jaleel et al., 2004) over the Dirichlet language model
//! ([`Lm`]): adds words of the most likely documents to the query.
//!
//! ```text
//! P(w|R)      ∝ Σ_{d in the best `documents`} P(w|d)·P(q|d),   P(w|d) = f(w, d)/|d|
//! P'(w|q)     = original·tf(w, q)/|q| + (1 − original)·P(w|R)
//! score(q, d) = Σ_w P'(w|q)·ln(1 + f(w, d)/(μ·P(w|C))) + ln(μ/(μ + |d|))
//! ```
//! P(w|R) keeps its `terms` most probable words and is scaled to sum 1 again; P(q|d) is the
//! likelihood of the first ranking. Only documents with a word of the query count, and none that
//! was held out of training. Words that no document has are dropped, from the factor of the
//! length, too. The defaults are those of Anserini, but for its filter of frequent words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Lm;
use super::dots::{DocRows, Vectors};
use super::first_ranking::{MOST_FEEDBACK, Ranking};
use super::lexical::lengths;
use super::method::{Matcher, Method, SavedState};
use super::space::Varied;
use super::sparse_vector::{SparseVector, keep_largest, single, summed, weighted_sum};
use crate::Result;
use crate::features::{Counts, QueryTerms};
use crate::params::check::{check_range, check_share};

/// Parameters of RM3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rm3 {
    /// Number of feedback documents, the best of the first ranking.
    pub documents: usize,
    /// Number of words taken from them.
    pub terms: usize,
    /// Weight of the query's own words; 0 to 1.
    pub original: f64,
    /// Dirichlet: the weight of the collection in words.
    pub mu: f64,
}

impl Default for Rm3 {
    fn default() -> Self {
        Rm3 { documents: 10, terms: 10, original: 0.5, mu: 2000.0 }
    }
}

impl Method for Rm3 {
    fn check(&self) -> Result<()> {
        check_range("documents", self.documents, 1, MOST_FEEDBACK)?;
        check_range("terms", self.terms, 1, MOST_FEEDBACK)?;
        check_share("original", self.original)?;
        Lm { mu: self.mu, ..Lm::default() }.check()
    }

    fn restore(&self, counts: &Counts, _: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        self.check()?;
        let lm = Lm { mu: self.mu, ..Lm::default() }.fit(counts)?;
        let lengths = lengths(&counts.docs);
        let first = Ranking::new(lm, counts);
        Ok(Box::new(Relevance { params: self.clone(), first, lengths }))
    }

    fn learns(&self) -> bool {
        false
    }

    fn weighs_clicks(&self) -> bool {
        false
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            ("documents", "{ min = 3, max = 50, log = true, int = true }"),
            ("terms", "{ min = 5, max = 100, log = true, int = true }"),
            ("original", "{ min = 0.1, max = 0.9 }"),
            ("mu", "{ min = 50, max = 5000, log = true }"),
        ]
    }
}

struct Relevance {
    params: Rm3,
    first: Ranking,
    lengths: Vec<f64>,
}

impl Relevance {
    /// P(w|R) of its most probable words; empty if no document has a word of the query.
    fn model(&self, counts: &Counts, query: &QueryTerms) -> Vec<(u32, f64)> {
        let hits = self.first.top_with_words(counts, query, self.params.documents);
        let Some(best) = hits.first().map(|hit| f64::from(hit.score)) else { return Vec::new() };
        // Likelihoods relative to the best one: common factors cancel out below.
        let documents = hits.iter().map(|hit| {
            let likelihood = (f64::from(hit.score) - best).exp();
            let doc = hit.doc as usize;
            (likelihood / self.lengths[doc], counts.docs.row(doc))
        });
        let mut words = weighted_sum(documents);
        keep_largest(&mut words, self.params.terms);
        let sum: f64 = words.iter().map(|&(_, p)| p).sum();
        words.iter_mut().for_each(|(_, p)| *p /= sum);
        words.sort_by_key(|&(word, _)| word);
        words
    }
}

impl Vectors for Relevance {
    fn rows(&self) -> &DocRows {
        &self.first.lexical.rows
    }

    fn vector(&self, counts: &Counts, query: &QueryTerms) -> SparseVector {
        let known = |&(word, _): &(u32, f64)| self.rows().weighs(word);
        let own = query.row().iter().map(|(word, tf)| (word, f64::from(tf)));
        let own: Vec<(u32, f64)> = own.filter(known).collect();
        let length: f64 = own.iter().map(|&(_, tf)| tf).sum();
        let model = self.model(counts, query);
        let original = if model.is_empty() { 1.0 } else { self.params.original };
        let mut all: Vec<(u32, f64)> =
            own.into_iter().map(|(word, tf)| (word, original * tf / length)).collect();
        all.extend(model.into_iter().map(|(word, p)| (word, (1.0 - original) * p)));
        let mut all = summed(all);
        let length: f64 = all.iter().map(|&(_, p)| p).sum();
        all.push((self.rows().docs.n_cols() as u32 - 1, length));
        single(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::data::fixture::Fixture;
    use crate::features::Preparation;
    use crate::matchers::Params;

    fn counts() -> Counts {
        let titles = ["apple apple pie", "apple tree tree", "pear tree garden", "sky", "blue pie"];
        let ids = ["a", "b", "c", "d", "e"];
        let documents: Vec<_> = ids
            .iter()
            .zip(titles)
            .map(|(&id, title)| (id, serde_json::json!({ "title": title })))
            .collect();
        let clicks = [(0, 0, 1.0)];
        let dir = tempfile::tempdir().unwrap();
        let fixture =
            Fixture { documents: &documents, queries: &["fruit"], clicks: &clicks, held_out: &[] };
        let data = fixture.open(&dir.path().join("d"));
        Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap()
    }

    fn scores(counts: &Counts, params: &Params, text: &str) -> Vec<f64> {
        let (matcher, _) = params.fit(counts, None, &Run::silent()).unwrap();
        let scores = matcher.scores(counts, &counts.read_query(text), None);
        scores.into_iter().map(f64::from).collect()
    }

    #[test]
    fn it_is_the_formula_by_dense_loops() {
        let (counts, mu) = (counts(), 10.0);
        let (n, m) = (counts.n_docs(), counts.n_terms());
        let f = |d: usize, w: usize| f64::from(counts.docs.row(d).get(w as u32));
        let length = |d: usize| (0..m).map(|w| f(d, w)).sum::<f64>();
        let total: f64 = (0..n).map(length).sum();
        let collection = |w: usize| (0..n).map(|d| f(d, w)).sum::<f64>() / total;
        let smooth = |d: usize, w: usize| (f(d, w) + mu * collection(w)) / (length(d) + mu);
        for (text, documents, terms, original) in
            [("apple", 2, 2, 0.5), ("apple pie pie", 3, 4, 0.3), ("tree pie", 10, 100, 0.0)]
        {
            let query = counts.read_query(text);
            let tf = |w: usize| f64::from(query.row().get(w as u32));
            let q_length: f64 = (0..m).map(tf).sum();
            let likelihood = |d: usize| (0..m).map(|w| smooth(d, w).powf(tf(w))).product::<f64>();
            let mut best: Vec<usize> =
                (0..n).filter(|&d| (0..m).any(|w| f(d, w) * tf(w) > 0.0)).collect();
            best.sort_by(|&a, &b| likelihood(b).total_cmp(&likelihood(a)));
            best.truncate(documents);
            let p =
                |w: usize| best.iter().map(|&d| f(d, w) / length(d) * likelihood(d)).sum::<f64>();
            let mut words: Vec<usize> = (0..m).collect();
            words.sort_by(|&a, &b| p(b).total_cmp(&p(a)).then(a.cmp(&b)));
            words.truncate(terms);
            let sum: f64 = words.iter().map(|&w| p(w)).sum();
            let expanded = |w: usize| {
                let relevance = if words.contains(&w) { p(w) / sum } else { 0.0 };
                original * tf(w) / q_length + (1.0 - original) * relevance
            };
            let found = scores(&counts, &Params::Rm3(Rm3 { documents, terms, original, mu }), text);
            for (d, found) in found.into_iter().enumerate() {
                // Query likelihood but for what depends on the query alone.
                let expected: f64 = (0..m)
                    .filter(|&w| collection(w) > 0.0)
                    .map(|w| expanded(w) * (smooth(d, w) / collection(w)).ln())
                    .sum();
                assert!((found - expected).abs() < 1e-5, "{text}: {found} {expected}");
            }
        }
    }

    #[test]
    fn with_the_query_alone_it_is_the_language_model() {
        let counts = counts();
        let rm3 = Params::Rm3(Rm3 { original: 1.0, ..Rm3::default() });
        let lm = Params::named("lm").unwrap();
        for (text, words) in [("apple tree", 2.0), ("fruit apple", 1.0), ("pie", 1.0)] {
            let (a, b) = (scores(&counts, &rm3, text), scores(&counts, &lm, text));
            assert!(a.iter().zip(&b).all(|(a, b)| (a * words - b).abs() < 1e-5), "{a:?} {b:?}");
        }
    }
}
