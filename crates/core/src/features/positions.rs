//! Positions of words: the terms of every field in reading order, four bytes per word. Words that
//! are not terms (stop words, unknown words) leave a gap, so that distances are those of the text. A
//! bag of counts has no order and no positions.
//!
//! Only methods that use distances need them, so they are stored only if `preparation.positions` is
//! set.

use serde_json::Value;

use crate::data::{self, FieldValue};
use crate::text::Analyzer;
use crate::{Error, Result};

/// In place of a word that is not a term.
pub const GAP: u32 = u32::MAX;
/// Between two texts of one field.
const BREAK: u32 = u32::MAX - 1;
/// The distance between two texts: larger than any window, and than any text.
pub(super) const APART: u64 = 1 << 32;

/// The terms of one field of all documents, in reading order.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequences {
    starts: Vec<u64>,
    terms: Vec<u32>,
}

/// The terms of every field of all documents, in reading order.
#[derive(Debug, Clone, PartialEq)]
pub struct Positions {
    /// One for each field, as the counts have them.
    pub fields: Vec<Sequences>,
}

impl Sequences {
    /// Builds them from arrays; an error if these are inconsistent.
    pub fn new(starts: Vec<u64>, terms: Vec<u32>, n_terms: usize) -> Result<Self> {
        let frame = starts.first() == Some(&0)
            && starts.is_sorted()
            && starts.last() == Some(&(terms.len() as u64));
        let known = |&term: &u32| (term as usize) < n_terms || term >= BREAK;
        if frame && terms.iter().all(known) {
            return Ok(Sequences { starts, terms });
        }
        Err(Error::Structure {
            problem: format!(
                "the positions of {} words are inconsistent with {n_terms} terms",
                terms.len()
            ),
        })
    }

    /// The number of documents.
    pub fn n_docs(&self) -> usize {
        self.starts.len() - 1
    }

    /// The terms of a document.
    pub fn row(&self, doc: usize) -> &[u32] {
        &self.terms[self.starts[doc] as usize..self.starts[doc + 1] as usize]
    }

    /// Adds the positions of `words` in document `doc` to `places`; the first word of the document has
    /// the position `at`. Returns the first position of the next text.
    pub fn add_places(
        &self,
        doc: usize,
        words: &[u32],
        mut at: u64,
        places: &mut [Vec<u64>],
    ) -> u64 {
        for &term in self.row(doc) {
            if term == BREAK {
                at += APART;
                continue;
            }
            // A query has few words.
            if let Some(k) = words.iter().position(|&word| word == term) {
                places[k].push(at);
            }
            at += 1;
        }
        at + APART
    }

    /// The start of each document in [`Sequences::terms`].
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// All terms, document after document.
    pub fn terms(&self) -> &[u32] {
        &self.terms
    }

    /// The same with more documents at the end.
    pub(super) fn with_rows(mut self, rows: impl Iterator<Item = Vec<u32>>) -> Self {
        for row in rows {
            self.terms.extend(row);
            self.starts.push(self.terms.len() as u64);
        }
        self
    }
}

impl Positions {
    /// The positions of each of `words` in document `doc`, ascending. Positions in different fields or
    /// texts are so far apart that no window contains both.
    pub fn places(&self, doc: usize, words: &[u32], places: &mut Vec<Vec<u64>>) {
        places.iter_mut().for_each(Vec::clear);
        places.resize_with(words.len(), Vec::new);
        let mut at = 0u64;
        for field in &self.fields {
            at = field.add_places(doc, words, at, places);
        }
    }
}

/// The terms of one field of a document in reading order, numbered by `id`.
pub(super) fn sequence(
    analyzer: &Analyzer,
    name: &str,
    value: &Value,
    mut id: impl FnMut(&str) -> Option<u32>,
) -> Vec<u32> {
    let mut terms = Vec::new();
    data::visit(value, &mut |said| {
        let FieldValue::Text(text) = said else { return };
        if !terms.is_empty() {
            terms.push(BREAK);
        }
        let mut push = |word: Option<&str>| terms.push(word.and_then(&mut id).unwrap_or(GAP));
        match name {
            "url" => analyzer.url_places(&text, &mut push),
            _ => analyzer.places(&text, &mut push),
        }
    });
    terms
}

/// The terms of a query in reading order; [`GAP`] for words that are not terms.
pub(super) fn query_sequence(
    analyzer: &Analyzer,
    text: &str,
    id: impl Fn(&str) -> Option<u32>,
) -> Vec<u32> {
    let mut terms = Vec::new();
    analyzer.places(text, &mut |word| terms.push(word.and_then(&id).unwrap_or(GAP)));
    terms
}

/// Maps the terms of a block of texts to terms of the vocabulary.
pub(super) fn renamed(terms: &[u32], names: &[Option<u32>]) -> Vec<u32> {
    let name = |&term: &u32| match names.get(term as usize) {
        Some(name) => name.unwrap_or(GAP),
        None => term,
    };
    terms.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Run;
    use crate::data::Document;
    use crate::data::fixture::Fixture;
    use crate::features::{Counts, Preparation};

    fn counts(positions: bool) -> Counts {
        let dir = tempfile::tempdir().unwrap();
        let documents = [
            ("a", json!({ "title": "the distance of the sun", "body": "sun, far sun" })),
            ("b", json!({ "title": ["sun far", "distance"] })),
            ("c", json!({ "body": { "sun": 2 } })),
        ];
        let fixture = Fixture {
            documents: &documents,
            queries: &["sun distance"],
            clicks: &[(0, 0, 1.0)],
            held_out: &[],
        };
        let data = fixture.open(&dir.path().join("d"));
        let preparation = Preparation { positions, ..Preparation::default() };
        Counts::of(&data, &preparation, &Run::silent()).unwrap()
    }

    #[test]
    fn words_keep_their_places_and_stop_words_leave_gaps() {
        assert!(counts(false).positions.is_none());
        assert!(counts(false).read_query("sun").sequence.is_empty());
        let counts = counts(true);
        let term = |word: &str| counts.vocabulary.id(word).unwrap();
        let (sun, far, distance) = (term("sun"), term("far"), term("distanc"));
        let positions = counts.positions.as_ref().unwrap();
        assert_eq!(positions.fields[0].row(0), [GAP, distance, GAP, GAP, sun]);
        assert_eq!(positions.fields[1].row(0), [sun, far, sun]);
        assert_eq!(positions.fields[0].row(1), [sun, far, BREAK, distance]);
        assert!(positions.fields.iter().all(|field| field.row(2).is_empty()));
        let mut places = Vec::new();
        positions.places(0, &[sun, far], &mut places);
        assert_eq!(places, [vec![4, 5 + APART, 7 + APART], vec![6 + APART]]);
        positions.places(1, &[distance], &mut places);
        assert_eq!(places, [vec![2 + APART]]);
        let query = counts.read_query("distance to a zebra sun");
        assert_eq!(query.sequence, [distance, GAP, GAP, GAP, sun]);
        assert_eq!(counts.query(0).sequence, [sun, distance]);
    }

    #[test]
    fn new_documents_and_other_clicks_have_positions_too() {
        let counts = counts(true);
        let mut fields = serde_json::Map::new();
        fields.insert("body".into(), "sun of zebra far".into());
        let new = Document { id: "new".into(), fields };
        let term = |word: &str| counts.vocabulary.id(word).unwrap();
        let (sun, far) = (term("sun"), term("far"));
        let same = counts.with_clicks(counts.clicks.clone()).unwrap();
        assert_eq!(same.positions, counts.positions);
        let before = counts.positions.clone().unwrap();
        let after = counts.with_documents(&[new]).unwrap().stored.positions.unwrap();
        assert_eq!(after.fields[1].row(3), [sun, GAP, GAP, far]);
        assert!((0..3).all(|f| after.fields[f].n_docs() == 4));
        assert!((0..3).all(|doc| after.fields[0].row(doc) == before.fields[0].row(doc)));
    }

    #[test]
    fn broken_positions_are_refused() {
        Sequences::new(vec![0, 2], vec![4, GAP], 5).unwrap();
        for (starts, terms) in [
            (vec![0, 2], vec![5, 1]),
            (vec![0, 3], vec![1, 1]),
            (vec![1, 2], vec![1, 1]),
            (vec![0, 2, 1, 2], vec![1, 1]),
            (vec![], vec![]),
        ] {
            assert!(Sequences::new(starts, terms, 5).is_err());
        }
    }
}
