//! Bilingual topic model (Gao, Toutanova and Yih, 2011): a clicked pair of a query and a
//! document shares one distribution θ over topics, and a topic z has its own words on either
//! side, φ_z^q and φ_z^d.
//!
//! ```text
//! max Σ_p r_p·[ Σ_{w∈q} ln Σ_z φ_z^q(w)·θ_p(z) + Σ_{w∈d} ln Σ_z φ_z^d(w)·θ_p(z) + α·Σ_z ln θ_p(z) ]
//!     + β·Σ_z,w ( ln φ_z^q(w) + ln φ_z^d(w) )
//! ```
//! α and β are the parameters of the Dirichlet priors less one, that is, pseudo-counts. A pair with
//! r clicks counts like r pairs, its prior too. EM raises this in every half-iteration: first every
//! θ, then every φ. Each pair has its own θ and each word its own row of φ, so each is one task, and
//! sums across tasks are added in order.
//!
//! A document is folded in by its words alone: θ_d maximises the same with φ fixed, and
//!
//! ```text
//! score = Σ_{w∈q} ln[ (1 − m − c)·Σ_z φ_z^q(w)·θ_d(z) + m·P_ml(w|d) + c·P(w|C) ]
//! ```
//! P(w|C) is the share of w in all text of training; words with P(w|C) = 0 are dropped.

use std::borrow::Cow;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lexical::lengths;
use super::method::{Fitting, Matcher, Method, SavedState};
use super::pairs::{clicked_pairs, collection, known_words, text_of};
use super::space::{RESPONSE, TOPICS, Varied};
use super::{Contribution, FitReport, StepsReport, TopicsView};
use crate::features::{Counts, QueryTerms, Response};
use crate::file::{Tensors, TensorsWriter};
use crate::linalg::{Dense, dot_f64};
use crate::params::check::{
    MOST, bad_state, check_range, check_share, check_share_above_zero, check_weight,
};
use crate::plan::{Fit, Plan, numbers};
use crate::sparse::{Csr, Row};
use crate::{Error, Result, Run, counted};

mod em;
mod start;

/// Parameters of the bilingual topic model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bltm {
    /// Number of topics.
    pub dim: usize,
    /// Iterations of EM.
    pub iterations: usize,
    /// Pseudo-count of every topic in a pair or a document: the Dirichlet parameter of θ less 1.
    pub alpha: f64,
    /// Pseudo-count of every word in a topic: the Dirichlet parameter of φ less 1.
    pub beta: f64,
    /// Weight of the document's own words in scoring.
    pub document: f64,
    /// Weight of the collection in scoring, above 0; the topics have the rest.
    pub collection: f64,
    /// Iterations of EM that fold a document in.
    pub fold_in: usize,
    /// Response: the value of a number of clicks.
    pub response: Response,
    /// The one field of the documents that is read, such as title; all that were counted if not set.
    pub field: Option<String>,
    /// Seed of the documents that initialise the topics.
    pub seed: u64,
}

impl Default for Bltm {
    fn default() -> Self {
        Bltm {
            dim: 100,
            iterations: 20,
            alpha: 0.01,
            beta: 0.01,
            document: 0.4,
            collection: 0.1,
            fold_in: 20,
            response: Response::Raw,
            field: None,
            seed: 1,
        }
    }
}

impl Method for Bltm {
    fn check(&self) -> Result<()> {
        check_range("dim", self.dim, 1, MOST)?;
        check_range("iterations", self.iterations, 1, MOST)?;
        check_range("fold_in", self.fold_in, 1, MOST)?;
        check_weight("alpha", self.alpha)?;
        check_weight("beta", self.beta)?;
        check_share("document", self.document)?;
        check_share_above_zero("collection", self.collection)?;
        if self.document + self.collection > 1.0 {
            let sum = self.document + self.collection;
            return Err(Error::parameter("document + collection", sum, "at most 1"));
        }
        Ok(())
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        let Fitting { counts, run, .. } = fitting;
        let text = text_of(counts, self.field.as_deref())?;
        let pairs = clicked_pairs(counts, self.response)?;
        run.step("initialising topics", 0, None)?;
        let topics = start::topics(self, counts, &pairs, text)?;
        let data = em::Pairs::new(&counts.queries, text, pairs);
        let mut trainer = em::Trainer::new(self, data, topics, run.memory_left())?;
        let mut steps = Vec::with_capacity(self.iterations);
        for iteration in 0..self.iterations {
            run.step("learning topics", iteration as u64, Some(self.iterations as u64))?;
            let posterior = trainer.iterate(run)?;
            if !posterior.is_finite() {
                return Err(Error::NotFinite {
                    what: "the log posterior",
                    step: iteration + 1,
                    advice: "set alpha and beta above 0".into(),
                });
            }
            steps.push(vec![posterior]);
        }
        let report = StepsReport {
            step: "iteration".into(),
            figures: vec!["log posterior per word before it".into()],
            steps,
            notes: vec![format!(
                "{}, {}",
                counted(trainer.n_pairs(), "pair"),
                counted(self.dim, "topic")
            )],
            ..StepsReport::default()
        };
        let [query, doc] = trainer.into_topics();
        let mut fitted = Topics::new(counts, self, query.to_f32(), doc.to_f32(), Vec::new())?;
        fitted.theta = fitted.fold_in_all(text, 0, run)?;
        Ok((Box::new(fitted), FitReport::Steps(report)))
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let tensors = state.tensors()?;
        let side = |name: &str| WordTopics::read(tensors, name, counts.n_terms(), self.dim);
        let (_, theta) = tensors.array::<f32>("theta")?;
        let fitted = Topics::new(counts, self, side("query")?, side("document")?, theta)?;
        if fitted.theta.len() != counts.n_docs() * self.dim {
            return Err(bad_state(format!(
                "there are {} topic weights for {} documents and {} topics",
                fitted.theta.len(),
                counts.n_docs(),
                self.dim
            )));
        }
        Ok(Box::new(fitted))
    }

    fn dim(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        let times = |n: u64, bytes: u64| n.saturating_mul(fit.dim).saturating_mul(bytes);
        let words = fit.d_x + fit.d_y;
        let name = "topics of the pairs during training";
        let mut sought = vec![(name, times(fit.pairs, 8))];
        sought.push(("topics of the words during training", times(words, 8)));
        // Twice a dot product and a sum for every word of every pair.
        let in_pair = fit.nnz_x as f64 / fit.n_queries.max(1) as f64
            + fit.nnz_y as f64 / fit.n_docs.max(1) as f64;
        let moved = 8.0 * numbers(fit.pairs, fit.dim) * in_pair * self.iterations as f64;
        let seconds = fit.rates.map(|rates| moved / rates.gather(times(words, 8)));
        let held = vec![("topics of words and documents", times(words + fit.n_docs, 4))];
        fit.found((name, seconds), vec![sought], held)
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            RESPONSE,
            TOPICS,
            ("iterations", "{ min = 5, max = 50, log = true, int = true }"),
            ("alpha", "{ min = 0.001, max = 1.0, log = true }"),
            ("beta", "{ min = 0.001, max = 1.0, log = true }"),
            ("document", "{ min = 0.1, max = 0.7 }"),
            ("collection", "{ min = 0.02, max = 0.3 }"),
        ]
    }
}

/// φ of one side: a row of topics for every training word of that side.
#[derive(Clone)]
struct WordTopics {
    /// The words, sorted.
    terms: Vec<u32>,
    /// Words × topics.
    phi: Vec<f32>,
    /// The row of every term; `NONE` where there is none.
    rows: Vec<u32>,
    dim: usize,
}

const NONE: u32 = u32::MAX;

impl WordTopics {
    fn new(terms: Vec<u32>, phi: Vec<f32>, n_terms: usize, dim: usize) -> Result<Self> {
        let sorted = terms.windows(2).all(|two| two[0] < two[1]);
        let within = terms.last().is_none_or(|&last| (last as usize) < n_terms);
        if !sorted || !within || phi.len() != terms.len() * dim {
            return Err(bad_state(format!(
                "{} topic weights do not fit {} words of {n_terms} and {dim} topics",
                phi.len(),
                terms.len()
            )));
        }
        let mut rows = vec![NONE; n_terms];
        for (row, &term) in (0u32..).zip(&terms) {
            rows[term as usize] = row;
        }
        Ok(WordTopics { terms, phi, rows, dim })
    }

    fn read(tensors: &Tensors, name: &str, n_terms: usize, dim: usize) -> Result<Self> {
        let (_, terms) = tensors.array::<u32>(&format!("{name}.terms"))?;
        let (_, phi) = tensors.array::<f32>(&format!("{name}.phi"))?;
        WordTopics::new(terms, phi, n_terms, dim)
    }

    fn save_state<'a>(&'a self, name: &str, tensors: &mut TensorsWriter<'a>) {
        tensors.array(&format!("{name}.terms"), &[self.terms.len()], &self.terms);
        tensors.array(&format!("{name}.phi"), &[self.terms.len(), self.dim], &self.phi);
    }

    fn of(&self, term: u32) -> Option<&[f32]> {
        let row = self.rows[term as usize];
        (row != NONE).then(|| &self.phi[row as usize * self.dim..][..self.dim])
    }
}

/// A fitted bilingual topic model.
struct Topics {
    params: Bltm,
    query: WordTopics,
    doc: WordTopics,
    /// Documents × topics.
    theta: Vec<f32>,
    /// P(w|C).
    collection: Vec<f64>,
    /// Terms × documents.
    postings: Csr,
    /// The length of every document.
    lengths: Vec<f64>,
}

impl Topics {
    fn new(
        counts: &Counts,
        params: &Bltm,
        query: WordTopics,
        doc: WordTopics,
        theta: Vec<f32>,
    ) -> Result<Self> {
        let text = text_of(counts, params.field.as_deref())?;
        Ok(Topics {
            params: params.clone(),
            query,
            doc,
            theta,
            collection: collection(counts, text),
            postings: text.transpose(),
            lengths: lengths(text),
        })
    }

    /// θ of all documents from number `first`.
    fn fold_in_all(&self, text: &Csr, first: usize, run: &Run<'_>) -> Result<Vec<f32>> {
        let dim = self.params.dim;
        let mut theta = vec![0.0f32; (text.n_rows() - first) * dim];
        theta.par_chunks_mut(dim).enumerate().try_for_each(|(at, theta)| {
            run.check()?;
            self.fold_in(text.row(first + at), theta);
            Ok(())
        })?;
        Ok(theta)
    }

    /// θ of a document from its words alone; uniform if training knows none of them.
    fn fold_in(&self, words: Row<'_>, out: &mut [f32]) {
        let (dim, alpha) = (self.params.dim, self.params.alpha);
        let known: Vec<(&[f32], f64)> =
            words.iter().filter_map(|(term, f)| Some((self.doc.of(term)?, f64::from(f)))).collect();
        let mut theta = vec![1.0 / dim as f64; dim];
        let mut next = vec![0.0f64; dim];
        for _ in 0..self.params.fold_in {
            next.fill(0.0);
            for &(phi, f) in &known {
                let p: f64 = theta.iter().zip(phi).map(|(&t, &p)| t * f64::from(p)).sum();
                if p > 0.0 {
                    next.iter_mut().zip(phi).for_each(|(n, &phi)| *n += f / p * f64::from(phi));
                }
            }
            next.iter_mut().zip(&theta).for_each(|(n, &t)| *n = alpha + *n * t);
            let total: f64 = next.iter().sum();
            if total > 0.0 {
                theta.iter_mut().zip(&next).for_each(|(t, &n)| *t = n / total);
            }
        }
        out.iter_mut().zip(&theta).for_each(|(out, &t)| *out = t as f32);
    }

    /// The three terms of the probability of `word` in a document that has it `itself` times.
    fn parts(&self, word: u32, itself: f64, doc: usize) -> [f64; 3] {
        let (m, c) = (self.params.document, self.params.collection);
        let theta = &self.theta[doc * self.params.dim..][..self.params.dim];
        let topics = self.query.of(word).map_or(0.0, |phi| dot_f64(phi, theta));
        let own = if itself > 0.0 { itself / self.lengths[doc] } else { 0.0 };
        // Rounding must not make the weight of the topics negative.
        [(1.0 - m - c).max(0.0) * topics, m * own, c * self.collection[word as usize]]
    }

    fn log_probability(&self, word: u32, itself: f64, doc: usize) -> f64 {
        self.parts(word, itself, doc).iter().sum::<f64>().ln()
    }
}

impl Matcher for Topics {
    fn score_all(&self, _: &Counts, query: &QueryTerms, out: &mut [f32]) {
        let mut sums = vec![0.0f64; out.len()];
        let mut itself = vec![0.0f64; out.len()];
        for (word, count) in known_words(query, &self.collection) {
            itself.fill(0.0);
            for (doc, f) in self.postings.row(word as usize).iter() {
                itself[doc as usize] = f64::from(f);
            }
            for (doc, sum) in sums.iter_mut().enumerate() {
                *sum += count * self.log_probability(word, itself[doc], doc);
            }
        }
        out.iter_mut().zip(sums).for_each(|(score, sum)| *score = sum as f32);
    }

    fn score_some(&self, _: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        for (score, &doc) in out.iter_mut().zip(docs) {
            let mut sum = 0.0f64;
            for (word, count) in known_words(query, &self.collection) {
                let itself = f64::from(self.postings.row(word as usize).get(doc));
                sum += count * self.log_probability(word, itself, doc as usize);
            }
            *score = sum as f32;
        }
    }

    /// One contribution per query word, with the main source of its probability.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let dim = self.params.dim;
        let theta = &self.theta[doc as usize * dim..][..dim];
        let line = |(word, count): (u32, f64)| {
            let itself = f64::from(self.postings.row(word as usize).get(doc));
            let [topics, own, all] = self.parts(word, itself, doc as usize);
            let from = if topics >= own.max(all) {
                let phi = self.query.of(word).unwrap_or_default();
                let part = |z: &usize| phi.get(*z).map_or(0.0, |&phi| phi * theta[*z]);
                let best = (0..dim).max_by(|a, b| part(a).total_cmp(&part(b))).unwrap_or(0);
                self.topic(counts, best)
            } else if own >= all {
                "itself".to_owned()
            } else {
                "the collection".to_owned()
            };
            let value = count * self.log_probability(word, itself, doc as usize);
            Contribution { query: counts.vocabulary.term(word).to_owned(), doc: from, value }
        };
        known_words(query, &self.collection).map(line).collect()
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        self.query.save_state("query", tensors);
        self.doc.save_state("document", tensors);
        let n_docs = self.theta.len() / self.params.dim;
        tensors.array("theta", &[n_docs, self.params.dim], &self.theta);
    }

    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        let (query, doc, theta) = (self.query.clone(), self.doc.clone(), self.theta.clone());
        let mut fitted = Topics::new(counts, &self.params, query, doc, theta)?;
        let text = text_of(counts, self.params.field.as_deref())?;
        let new = fitted.fold_in_all(text, counts.n_docs() - n_new, &Run::silent())?;
        fitted.theta.extend(new);
        Ok(Some(Box::new(fitted)))
    }

    fn no_match(&self) -> &'static str {
        "training knows no word of the query"
    }

    /// Scores are logarithms: 0 is the best there is.
    fn zero_is_none(&self) -> bool {
        false
    }

    fn topics(&self) -> Option<TopicsView<'_>> {
        let dim = self.params.dim;
        let mut phi = Dense::zeros(self.doc.rows.len(), dim);
        for (row, &term) in self.doc.phi.chunks_exact(dim).zip(&self.doc.terms) {
            phi.row_mut(term as usize).copy_from_slice(row);
        }
        let theta = Dense::from_values(self.theta.len() / dim, dim, self.theta.clone());
        Some(TopicsView {
            weights: Cow::Owned(phi.into()),
            n_shared: dim,
            per_class: 0,
            classes: &[],
            class_of: &[],
            documents: Cow::Owned(theta),
            non_negative: true,
        })
    }

    fn topics_of(&self, _: &Counts, query: &QueryTerms) -> Option<(Option<u32>, Vec<f32>)> {
        let mut theta = vec![0.0; self.params.dim];
        if query.indices.iter().any(|&term| self.doc.of(term).is_some()) {
            self.fold_in(query.row(), &mut theta);
        }
        Some((None, theta))
    }
}

impl Topics {
    /// The number of a topic with its three most probable document words.
    fn topic(&self, counts: &Counts, z: usize) -> String {
        let p = |row: &usize| self.doc.phi[row * self.params.dim + z];
        let mut rows: Vec<usize> = (0..self.doc.terms.len()).collect();
        rows.sort_by(|a, b| p(b).total_cmp(&p(a)));
        let words: Vec<&str> =
            rows.iter().take(3).map(|&row| counts.vocabulary.term(self.doc.terms[row])).collect();
        format!("topic {} ({})", z + 1, words.join(", "))
    }
}

#[cfg(test)]
mod tests;
