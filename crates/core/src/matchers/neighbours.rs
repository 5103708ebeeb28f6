//! Nearest neighbours in the latent space of a bilinear model, by the cosine of embeddings: queries
//! with the same intent, documents for the same queries, words with the same meaning.

use std::borrow::Cow;

use rayon::prelude::*;

use super::sparse_vector::keep_largest;
use super::{Bilinear, Model};
use crate::features::{Counts, QueryTerms};
use crate::linalg::dot_f64;
use crate::text::{Analyzer, AnalyzerParams};
use crate::{Error, Result};

/// Advice for a model without maps.
pub(crate) const WHO_HAS_MAPS: &str = "rmls, pls, lsi, mpls and square learn maps, and so do ssi without the identity (`identity = false`) and svdfeature without biases (`biases = false`); lexical methods, ridge and association have none";

/// The name of a neighbour, with its cosine.
pub type Neighbour = (String, f64);

/// The latent space of a model, for neighbours.
pub struct Neighbours<'a> {
    counts: &'a Counts,
    bilinear: &'a Bilinear,
}

impl<'a> Neighbours<'a> {
    /// The space of the first part of `model` that has one.
    pub fn of(model: &'a Model) -> Result<Self> {
        let bilinear = model.parts.iter().find_map(|part| part.matcher.bilinear());
        let bilinear = bilinear.ok_or_else(|| Error::Empty {
            what: format!("{} has no latent space, so it has no neighbours", model.about.name),
            advice: WHO_HAS_MAPS.into(),
        })?;
        Ok(Neighbours { counts: &model.counts, bilinear })
    }

    /// The `k` queries nearest to `query`, without itself.
    pub fn queries(&self, query: &QueryTerms, k: usize) -> Vec<Neighbour> {
        let embedding = self.bilinear.query_embedding(self.counts, query);
        // One by one: the embeddings of all queries of a large log would not fit into memory.
        let row = |i| Cow::Owned(self.bilinear.query_embedding(self.counts, &self.counts.query(i)));
        let found =
            nearest(&embedding, self.counts.n_queries(), row, k, |i| query.known == Some(i));
        let text = |(i, cosine): (u32, f64)| (self.counts.query_texts[i as usize].clone(), cosine);
        found.into_iter().map(text).collect()
    }

    /// The `k` documents nearest to `doc`, without itself.
    pub fn docs(&self, doc: u32, k: usize) -> Vec<(u32, f64)> {
        let rows = |j: usize| self.bilinear.doc_embedding(j as u32);
        nearest(&rows(doc as usize), self.counts.n_docs(), rows, k, |j| j == doc)
    }

    /// The `k` query words and the `k` document words nearest to the query word `word`, which is
    /// analysed like any text and must be one term.
    pub fn words(&self, word: &str, k: usize) -> Result<(Vec<Neighbour>, Vec<Neighbour>)> {
        let id = find_word(self.counts, word, "ask with a `query`")?;
        let maps = self.bilinear.maps();
        let embedding = maps.l_x.row(id as usize);
        if embedding.iter().all(|&value| value == 0.0) {
            return Err(unknown(word, "no training query has it, or the model uses clicks alone"));
        }
        let n = self.counts.n_terms() as u32;
        let name = |(i, cosine): (u32, f64)| (self.counts.vocabulary.term(i).to_owned(), cosine);
        let in_queries =
            nearest(&embedding, maps.l_x.n_rows(), |u| maps.l_x.row(u), k, |u| u == id || u >= n);
        let in_docs = nearest(&embedding, maps.l_y.n_rows(), |v| maps.l_y.row(v), k, |v| v >= n);
        Ok((in_queries.into_iter().map(name).collect(), in_docs.into_iter().map(name).collect()))
    }
}

fn unknown(word: &str, advice: impl Into<String>) -> Error {
    Error::Empty {
        what: format!("the model does not know the word {word:?}"),
        advice: advice.into(),
    }
}

/// The number of `word`, which is analysed like any text and must be one term; `several` is the
/// advice for more.
pub(super) fn find_word(counts: &Counts, word: &str, several: &str) -> Result<u32> {
    // Without the n-grams that the model may also have.
    let plain =
        AnalyzerParams { word_ngrams: 1, char_ngrams: None, ..counts.preparation.analyzer.clone() };
    let terms = Analyzer::new(&plain)?.terms(word);
    let [term] = &terms[..] else {
        let advice = format!("expected one word that is not a stop word; for several, {several}");
        return Err(unknown(word, advice));
    };
    let id = counts.vocabulary.id(term);
    id.ok_or_else(|| unknown(word, "it does not occur in the training data"))
}

/// The rows with the largest cosines to `embedding`; rows of zeros are left out.
fn nearest<'a>(
    embedding: &[f32],
    n_rows: usize,
    row: impl Fn(usize) -> Cow<'a, [f32]> + Sync,
    k: usize,
    skip: impl Fn(u32) -> bool + Sync,
) -> Vec<(u32, f64)> {
    let norm = dot_f64(embedding, embedding).sqrt();
    let mut found: Vec<(u32, f64)> = (0..n_rows as u32)
        .into_par_iter()
        .filter(|&i| !skip(i))
        .filter_map(|i| {
            let row = row(i as usize);
            let length = dot_f64(&row, &row).sqrt() * norm;
            (length > 0.0).then(|| (i, dot_f64(embedding, &row) / length))
        })
        .collect();
    keep_largest(&mut found, k);
    found
}
