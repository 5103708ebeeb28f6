//! Word translation: IBM model 1 (Brown et al., 1993) between documents and the queries they
//! were clicked for (Berger and Lafferty, 1999; Gao et al., 2010), with self-translation.
//!
//! ```text
//! P(q|d)    = Π_j [ n/(n+1)·P'(q_j|d) + 1/(n+1)·P(q_j|null) ],   n = |d|
//! P'(q_j|d) = b·P_ml(q_j|d) + (1 − b)·Σ_w t(q_j|w)·P_ml(w|d)
//! P(q|null) = (1 − c)·t(q|null) + c·P(q|C)
//! score     = ln P(q|d)
//! ```
//! t(q|w) is the probability that the word w of a document becomes the word q of a query. EM learns
//! it from clicked pairs, weighted by their clicks, without self-translation (b = 0) and with one
//! null word in every document. P(q|C) is the share of q in all text of training; words with
//! P(q|C) = 0 are dropped from the query. A document without words counts as one of average length:
//! by the formula it would consist of the null word alone and come first.
//!
//! In the E-step a query word depends on the document alone, not on the rest of the query, so all
//! queries with the word q that led to a document form one cell of XᵀR (query words × documents).
//! Row q of XᵀR touches row q of the table alone: rows are learnt independently, and the sums over q
//! that normalise t(·|w) run in order.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lexical::lengths;
use super::method::{Fitting, Matcher, Method, SavedState, SparseVectors};
use super::pairs::{clicked_pairs, collection, known_words, text_of};
use super::space::{RESPONSE, Varied};
use super::sparse_vector::{SparseVector, single, summed};
use super::translation_table::TranslationTable;
use super::{Contribution, FitReport, StepsReport};
use crate::Result;
use crate::features::{Counts, QueryTerms, Response};
use crate::file::TensorsWriter;
use crate::memory::Bytes;
use crate::params::check::{
    MOST, bad_state, check_positive, check_range, check_share, check_share_above_zero,
    check_share_below_one,
};
use crate::sparse::Csr;

mod em;

/// Parameters of word translation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Translation {
    /// Iterations of EM.
    pub iterations: usize,
    /// Share of self-translation: the weight of a query word that the document contains; 0 switches it off.
    pub b: f64,
    /// Entries t(q|w) of the table below this are dropped after training, and the rest of each w is scaled to sum 1.
    pub prune: f64,
    /// Weight of the collection in the null word, above 0.
    pub collection: f64,
    /// The number of null words added to a document's words in scoring; 1 is the papers', more smooth like `mu` of lm.
    pub null_words: f64,
    /// Response: the value of a number of clicks.
    pub response: Response,
    /// The one field of the documents that is read, such as title; all that were counted if not set.
    pub field: Option<String>,
}

impl Default for Translation {
    fn default() -> Self {
        Translation {
            iterations: 10,
            b: 0.3,
            prune: 1e-4,
            collection: 0.5,
            null_words: 1.0,
            response: Response::Raw,
            field: None,
        }
    }
}

impl Method for Translation {
    fn check(&self) -> Result<()> {
        check_range("iterations", self.iterations, 1, MOST)?;
        check_share("b", self.b)?;
        check_share_above_zero("collection", self.collection)?;
        check_share_below_one("prune", self.prune)?;
        check_positive("null_words", self.null_words)
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        let Fitting { counts, run, .. } = fitting;
        let text = text_of(counts, self.field.as_deref())?;
        let pairs = clicked_pairs(counts, self.response)?;
        let cells = em::cells(&counts.queries, &pairs)?;
        let mut trainer = em::Trainer::new(&cells, text, run.memory_left())?;
        let mut steps = Vec::with_capacity(self.iterations);
        for iteration in 0..self.iterations {
            run.step("learning translations", iteration as u64, Some(self.iterations as u64))?;
            steps.push(vec![trainer.iterate(run)?]);
        }
        let entries = trainer.entries();
        let learnt = trainer.pruned(self.prune, counts.n_terms())?;
        let what = self.field.as_ref().map_or("all fields".to_owned(), |f| format!("field {f}"));
        let notes = vec![
            format!(
                "{} clicked pairs ({what}); the table has {entries} entries and took {} in training",
                pairs.nnz(),
                Bytes(em::BYTES_PER_ENTRY * entries as u64),
            ),
            format!(
                "kept {} entries of at least {}, {:.2} % of the probability; {} document words have no translation left",
                learnt.table.nnz(),
                self.prune,
                100.0 * learnt.mass,
                learnt.emptied,
            ),
        ];
        let report = StepsReport {
            step: "iteration".into(),
            figures: vec!["log likelihood per query word before it".into()],
            steps,
            notes,
            ..StepsReport::default()
        };
        let translator = Translator::new(counts, self, learnt.table, learnt.null)?;
        Ok((Box::new(translator), FitReport::Steps(report)))
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let tensors = state.tensors()?;
        let (_, null) = tensors.array::<f64>("null")?;
        Ok(Box::new(Translator::new(counts, self, tensors.csr("table")?, null)?))
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            RESPONSE,
            ("b", "{ min = 0.0, max = 0.9 }"),
            ("iterations", "{ min = 2, max = 20, log = true, int = true }"),
            ("null_words", "{ min = 1.0, max = 300.0, log = true }"),
            ("collection", "{ min = 0.1, max = 1.0 }"),
        ]
    }
}

struct Translator {
    params: Translation,
    table: TranslationTable,
    /// Terms × documents.
    postings: Csr,
    /// The length of every document as scores use it.
    lengths: Vec<f64>,
}

impl Translator {
    fn new(counts: &Counts, params: &Translation, t: Csr, null: Vec<f64>) -> Result<Self> {
        let n = counts.n_terms();
        if (t.n_rows(), t.n_cols(), null.len()) != (n, n, n) {
            return Err(bad_state(format!(
                "the table is {} × {} and the null word has {} entries, but there are {n} terms",
                t.n_rows(),
                t.n_cols(),
                null.len()
            )));
        }
        let text = text_of(counts, params.field.as_deref())?;
        Ok(Translator {
            params: params.clone(),
            table: TranslationTable { t, null, collection: collection(counts, text) },
            postings: text.transpose(),
            lengths: scored_lengths(counts, text),
        })
    }

    fn known<'a>(&'a self, query: &'a QueryTerms) -> impl Iterator<Item = (u32, f64)> + 'a {
        known_words(query, &self.table.collection)
    }

    /// Contribution of the null word to the count of `word` in a document.
    fn null_part(&self, word: u32) -> f64 {
        let c = self.params.collection;
        let p =
            (1.0 - c) * self.table.null[word as usize] + c * self.table.collection[word as usize];
        self.params.null_words * p
    }

    /// ln P(q_j|d) from the number of times d has the word itself and from Σ_w t(q_j|w)·f(w).
    fn log(&self, null: f64, itself: f64, translated: f64, length: f64) -> f64 {
        let b = self.params.b;
        ((b * itself + (1.0 - b) * translated + null) / (length + self.params.null_words)).ln()
    }

    fn text<'a>(&self, counts: &'a Counts) -> &'a Csr {
        text_of(counts, self.params.field.as_deref()).unwrap_or(&counts.docs)
    }
}

/// The lengths of the documents; those without a word have the average of training.
fn scored_lengths(counts: &Counts, text: &Csr) -> Vec<f64> {
    let mut lengths = lengths(text);
    let (mut sum, mut n) = (0.0, 0.0);
    for (j, &length) in lengths.iter().enumerate() {
        if length > 0.0 && counts.held_out_documents.binary_search(&(j as u32)).is_err() {
            sum += length;
            n += 1.0;
        }
    }
    let average = if n > 0.0 { sum / n } else { 1.0 };
    lengths.iter_mut().filter(|length| **length == 0.0).for_each(|length| *length = average);
    lengths
}

impl Matcher for Translator {
    /// Goes through the query word by word, and through the postings of its source words.
    fn score_all(&self, _: &Counts, query: &QueryTerms, out: &mut [f32]) {
        let mut sums = vec![0.0f64; out.len()];
        let (mut itself, mut translated) = (vec![0.0f64; out.len()], vec![0.0f64; out.len()]);
        for (word, count) in self.known(query) {
            itself.fill(0.0);
            translated.fill(0.0);
            for (doc, f) in self.postings.row(word as usize).iter() {
                itself[doc as usize] = f64::from(f);
            }
            for (from, t) in self.table.t.row(word as usize).iter() {
                for (doc, f) in self.postings.row(from as usize).iter() {
                    translated[doc as usize] += f64::from(t) * f64::from(f);
                }
            }
            let null = self.null_part(word);
            for (doc, sum) in sums.iter_mut().enumerate() {
                *sum += count * self.log(null, itself[doc], translated[doc], self.lengths[doc]);
            }
        }
        out.iter_mut().zip(sums).for_each(|(score, sum)| *score = sum as f32);
    }

    /// The same sums in the same order, so the same bits.
    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        let text = self.text(counts);
        for (score, &doc) in out.iter_mut().zip(docs) {
            let (row, length) = (text.row(doc as usize), self.lengths[doc as usize]);
            let mut sum = 0.0f64;
            for (word, count) in self.known(query) {
                let translations = self.table.t.row(word as usize);
                let mut translated = 0.0f64;
                for (from, f) in row.iter() {
                    if let Ok(at) = translations.indices.binary_search(&from) {
                        translated += f64::from(translations.values[at]) * f64::from(f);
                    }
                }
                let (null, itself) = (self.null_part(word), f64::from(row.get(word)));
                sum += count * self.log(null, itself, translated, length);
            }
            *score = sum as f32;
        }
    }

    /// One contribution per query word, with the document word that explains it best.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let (row, length) = (self.text(counts).row(doc as usize), self.lengths[doc as usize]);
        let b = self.params.b;
        let line = |(word, count): (u32, f64)| {
            let (null, itself) = (self.null_part(word), f64::from(row.get(word)));
            let translations = self.table.t.row(word as usize);
            let (mut translated, mut largest) = (0.0, null.max(b * itself));
            let mut name = if b * itself >= null { "itself" } else { "the null word" }.to_owned();
            for (from, f) in row.iter() {
                let t = f64::from(translations.get(from));
                let part = t * f64::from(f);
                translated += part;
                if (1.0 - b) * part > largest {
                    largest = (1.0 - b) * part;
                    name = format!("{} (t = {t:.3})", counts.vocabulary.term(from));
                }
            }
            let value = count * self.log(null, itself, translated, length);
            Contribution { query: counts.vocabulary.term(word).to_owned(), doc: name, value }
        };
        self.known(query).map(line).collect()
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        tensors.csr("table", &self.table.t).array(
            "null",
            &[self.table.null.len()],
            &self.table.null,
        );
    }

    /// The table applies to any document.
    fn with_documents(&self, counts: &Counts, _: usize) -> Result<Option<Box<dyn Matcher>>> {
        let (table, null) = (self.table.t.clone(), self.table.null.clone());
        Ok(Some(Box::new(Translator::new(counts, &self.params, table, null)?)))
    }

    fn no_match(&self) -> &'static str {
        "training knows no word of the query"
    }

    /// Scores are logarithms: 0 is the best there is.
    fn zero_is_none(&self) -> bool {
        false
    }

    fn translations(&self) -> Option<&TranslationTable> {
        Some(&self.table)
    }

    fn sparse(&self) -> Option<&dyn SparseVectors> {
        Some(self)
    }
}

/// Scores are no dot products. Here the logarithm of the sum over a document's words becomes a sum over
/// them of what each would add to a document of average length.
impl SparseVectors for Translator {
    fn lists(&self, _: &Counts) -> Result<Cow<'_, Csr>> {
        let share = |_: usize, doc: u32, f: f32| {
            (f64::from(f) / (self.lengths[doc as usize] + self.params.null_words)) as f32
        };
        self.postings.map(share).map(Cow::Owned)
    }

    fn weights(&self, _: &Counts, query: &QueryTerms) -> SparseVector {
        let b = self.params.b;
        let mut parts: Vec<(u32, f64)> = Vec::new();
        for (word, count) in self.known(query) {
            let null = self.null_part(word);
            let adds = |p: f64| count * (p / null).ln_1p();
            let row = self.table.t.row(word as usize);
            parts.push((word, adds(b + (1.0 - b) * f64::from(row.get(word)))));
            let others = row.iter().filter(|&(from, _)| from != word);
            parts.extend(others.map(|(from, t)| (from, adds((1.0 - b) * f64::from(t)))));
        }
        single(summed(parts))
    }
}

#[cfg(test)]
mod tests;
