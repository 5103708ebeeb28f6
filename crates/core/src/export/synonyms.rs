//! Synonyms that a model learnt, for a search engine.
//!
//! The synonyms of a word of queries are the words of documents whose vectors have the largest cosine
//! to its own: cos(l_xu, l_yv). The relation has a direction, from queries to documents, so the lists
//! hold explicit rules (`car => car, automobile`), to be used on queries alone.
//!
//! A model has stems, an engine sees words. The rules are written in the most frequent surface form
//! of each stem, so that they apply before the engine's own stemmer, with one rule per frequent form
//! of the query's word. Stems themselves are of use only after the same (Snowball) stemmer.

pub(super) mod forms;
mod write;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::linalg::{Dense, dot_f64};
use crate::matchers::{Bilinear, Map, Model, WHO_HAS_MAPS};
use crate::{Error, Result, Run};
use forms::Forms;

/// The format of synonyms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SynonymFormat {
    /// A file for Solr's SynonymGraphFilter, and for `synonyms_path` of Elasticsearch and
    /// OpenSearch; scores in comments.
    Solr,
    /// The body of Elasticsearch's synonyms API.
    Elasticsearch,
    /// Word, synonym and score between tabs.
    Tsv,
}

/// The selection of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SynonymParams {
    /// The smallest cosine.
    pub min_score: f64,
    /// The most synonyms per word.
    pub per_word: usize,
    /// The least number of training queries with the word, and of training documents with the
    /// synonym: nothing is learnt from one or two.
    pub min_count: u32,
}

impl Default for SynonymParams {
    fn default() -> Self {
        SynonymParams { min_score: 0.8, per_word: 5, min_count: 5 }
    }
}

/// A word of queries and its synonym in documents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SynonymPair {
    /// The query's word.
    pub word: String,
    /// The document's word.
    pub synonym: String,
    /// Their cosine.
    pub score: f64,
}

/// The synonyms of one word.
#[derive(Debug, Clone, PartialEq)]
struct Rule {
    /// The word in its frequent forms, the most frequent first.
    words: Vec<String>,
    /// The synonyms, the nearest first.
    synonyms: Vec<(String, f64)>,
}

/// Synonyms learnt by a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Synonyms {
    rules: Vec<Rule>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Synonyms {
    /// The synonyms that `model` learnt, in the surface forms of `dataset`, which it was trained on;
    /// without it, as stems.
    pub fn of(
        model: &Model,
        dataset: Option<&Dataset>,
        params: &SynonymParams,
        run: &Run<'_>,
    ) -> Result<Self> {
        params.check()?;
        let bilinear = first_bilinear(model)?;
        run.step("comparing words", 0, None)?;
        let near = near(model, bilinear, params, run)?;
        let mut notes = Vec::new();
        let mut rules = Vec::new();
        let term = |id: u32| model.counts.vocabulary.term(id);
        let Some(dataset) = dataset else {
            for (word, synonyms) in near {
                let synonyms = synonyms.into_iter().map(|(v, score)| (term(v).to_owned(), score));
                rules.push(Rule {
                    words: vec![term(word).to_owned()],
                    synonyms: synonyms.collect(),
                });
            }
            return Ok(Synonyms { rules, notes });
        };
        let wanted = near.iter().flat_map(|(word, synonyms)| {
            std::iter::once(*word).chain(synonyms.iter().map(|&(synonym, _)| synonym))
        });
        let forms = Forms::of(model, dataset, wanted, run)?;
        let mut nameless = 0;
        for (word, synonyms) in near {
            let words = forms.of_query_word(word);
            let named: Vec<(String, f64)> = synonyms
                .iter()
                .filter_map(|&(v, score)| Some((forms.of_document_word(v)?.to_owned(), score)))
                .collect();
            nameless += synonyms.len() - named.len();
            if !words.is_empty() && !named.is_empty() {
                rules.push(Rule { words, synonyms: named });
            }
        }
        if nameless > 0 {
            notes.push(format!(
                "{} left out: their words do not occur in the dataset's texts",
                if nameless == 1 { "1 pair is".into() } else { format!("{nameless} pairs are") }
            ));
        }
        Ok(Synonyms { rules, notes })
    }

    /// The pairs, nearest first, each word in its most frequent form.
    pub fn pairs(&self) -> Vec<SynonymPair> {
        let mut pairs: Vec<SynonymPair> = self
            .rules
            .iter()
            .flat_map(|rule| {
                rule.synonyms.iter().map(|(synonym, score)| SynonymPair {
                    word: rule.words[0].clone(),
                    synonym: synonym.clone(),
                    score: *score,
                })
            })
            .collect();
        pairs.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.word.cmp(&b.word)));
        pairs
    }

    /// Number of rules written: one for each form of each word.
    pub fn n_rules(&self) -> usize {
        self.rules.iter().map(|rule| rule.words.len()).sum()
    }
}

impl SynonymParams {
    fn check(&self) -> Result<()> {
        if !(self.min_score > 0.0 && self.min_score <= 1.0) {
            return Err(Error::parameter("min-score", self.min_score, "more than 0, at most 1"));
        }
        if self.per_word == 0 {
            return Err(Error::parameter("per-word", 0, "1 or more"));
        }
        Ok(())
    }
}

/// The first part of `model` that learns.
fn first_bilinear(model: &Model) -> Result<&Bilinear> {
    let found = model.parts.iter().find_map(|part| part.matcher.bilinear());
    found.ok_or_else(|| Error::Empty {
        what: format!("{} has learnt no synonyms", model.about.name),
        advice: WHO_HAS_MAPS.into(),
    })
}

/// A word of queries, and the words of documents near it with their cosines, nearest first.
type Near = (u32, Vec<(u32, f64)>);

fn near(
    model: &Model,
    bilinear: &Bilinear,
    params: &SynonymParams,
    run: &Run<'_>,
) -> Result<Vec<Near>> {
    let counts = &model.counts;
    let mut in_queries = vec![0u32; counts.n_terms()];
    for i in (0..counts.n_queries()).filter(|&i| !counts.clicks.row(i).is_empty()) {
        counts.queries.row(i).indices.iter().for_each(|&term| in_queries[term as usize] += 1);
    }
    let maps = bilinear.maps();
    let words = Directions::of(model, &maps.l_x, &in_queries, params.min_count);
    let synonyms = Directions::of(model, &maps.l_y, &counts.document_frequency, params.min_count);
    let found: Result<Vec<Option<Near>>> = words
        .terms
        .par_iter()
        .enumerate()
        .map(|(w, &word)| {
            if w % 256 == 0 {
                run.step("comparing words", w as u64, Some(words.terms.len() as u64))?;
            }
            let direction = words.rows.row(w);
            let mut near: Vec<(u32, f64)> = (0..)
                .zip(&synonyms.terms)
                .filter(|(_, synonym)| **synonym != word)
                .map(|(s, &synonym)| (synonym, dot_f64(direction, synonyms.rows.row(s))))
                .filter(|&(_, cosine)| cosine >= params.min_score)
                .collect();
            near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            near.truncate(params.per_word);
            Ok((!near.is_empty()).then_some((word, near)))
        })
        .collect();
    Ok(found?.into_iter().flatten().collect())
}

/// The words that rules may hold, and their vectors scaled to unit length.
struct Directions {
    terms: Vec<u32>,
    rows: Dense,
}

impl Directions {
    fn of(model: &Model, map: &Map, uses: &[u32], min_count: u32) -> Self {
        let norm = |term: u32| {
            let row = map.row(term as usize);
            dot_f64(&row, &row).sqrt()
        };
        let listed = |term: &u32| {
            uses[*term as usize] >= min_count.max(1)
                && is_word(model.counts.vocabulary.term(*term))
                && norm(*term) > 0.0
        };
        let terms: Vec<u32> = (0..model.counts.n_terms() as u32).filter(listed).collect();
        let mut rows = Dense::zeros(terms.len(), map.n_cols());
        for (i, &term) in terms.iter().enumerate() {
            let (row, norm) = (map.row(term as usize), norm(term));
            for (out, &value) in rows.row_mut(i).iter_mut().zip(&*row) {
                *out = (f64::from(value) / norm) as f32;
            }
        }
        Directions { terms, rows }
    }
}

/// Whether `term` is a single word with letters, neither n-gram nor number.
fn is_word(term: &str) -> bool {
    !term.starts_with('~') && !term.contains(' ') && term.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests;
