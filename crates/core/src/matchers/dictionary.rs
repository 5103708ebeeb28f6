//! Lookup of the translations that a model has learnt, by word.

use super::neighbours::find_word;
use super::{Model, TranslationTable};
use crate::features::Counts;
use crate::{Error, Result};

/// The translation table of a model.
pub struct Dictionary<'a> {
    counts: &'a Counts,
    table: &'a TranslationTable,
}

/// A word with its translations.
#[derive(Debug, Clone, PartialEq)]
pub struct DictionaryEntry {
    /// The word as the model reads it.
    pub term: String,
    /// Words with their probabilities, the most probable first.
    pub translations: Vec<(String, f64)>,
}

impl<'a> Dictionary<'a> {
    /// The table of the first part of `model` that has one.
    pub fn of(model: &'a Model) -> Result<Self> {
        let table = model.parts.iter().find_map(|part| part.matcher.translations());
        let table = table.ok_or_else(|| Error::Empty {
            what: format!("{} has no translation table", model.about.name),
            advice: "train translation, or a mix such as translation+bm25".into(),
        })?;
        Ok(Dictionary { counts: &model.counts, table })
    }

    /// The `k` query words that the document word `word` most probably becomes, with t(q|w).
    pub fn from_document(&self, word: &str, k: usize) -> Result<DictionaryEntry> {
        let id = find_word(self.counts, word, SEVERAL)?;
        let found = self.table.of_document_word(id, k.max(1));
        let why = "no clicked document has it, or all its translations were pruned";
        self.entry(word, id, found, k, why)
    }

    /// The `k` document words that the query word `word` most probably comes from, with
    /// P(w|q) ∝ t(q|w)·P(w|C).
    pub fn from_query(&self, word: &str, k: usize) -> Result<DictionaryEntry> {
        let id = find_word(self.counts, word, SEVERAL)?;
        let found = self.table.of_query_word(id, k.max(1));
        let why = "no query with a training click has it, or all its translations were pruned";
        self.entry(word, id, found, k, why)
    }

    fn entry(
        &self,
        word: &str,
        id: u32,
        mut found: Vec<(u32, f64)>,
        k: usize,
        why: &str,
    ) -> Result<DictionaryEntry> {
        if found.is_empty() {
            return Err(Error::Empty {
                what: format!("the table has no translation of the word {word:?}"),
                advice: why.into(),
            });
        }
        found.truncate(k);
        let term = |id: u32| self.counts.vocabulary.term(id).to_owned();
        let translations = found.into_iter().map(|(id, p)| (term(id), p)).collect();
        Ok(DictionaryEntry { term: term(id), translations })
    }
}

const SEVERAL: &str = "give each as an argument of its own";
