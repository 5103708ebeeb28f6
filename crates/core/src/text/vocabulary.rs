//! Terms and their numbers.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::file::{LineTable, LineTableWriter};
use crate::{Error, Result};

/// A list of different terms; a term's number is its position in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary {
    terms: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, u32>,
}

impl Vocabulary {
    /// Numbers `terms` in their order; an error if one occurs twice.
    pub fn from_terms(terms: Vec<String>) -> Result<Self> {
        let mut vocabulary = Vocabulary::default();
        vocabulary.terms.reserve_exact(terms.len());
        vocabulary.ids.reserve(terms.len());
        for term in terms {
            vocabulary.push(term)?;
        }
        Ok(vocabulary)
    }

    fn push(&mut self, term: String) -> Result<()> {
        let Ok(id) = u32::try_from(self.terms.len()) else {
            return Err(refused(&term, "at most 4294967296 terms"));
        };
        let term: Arc<str> = term.into();
        if let Some(first) = self.ids.insert(Arc::clone(&term), id) {
            let expected = format!("every term once; this one is number {first} and number {id}");
            return Err(refused(&term, &expected));
        }
        self.terms.push(term);
        Ok(())
    }

    /// The number of `term`, if it is known.
    pub fn id(&self, term: &str) -> Option<u32> {
        self.ids.get(term).copied()
    }

    /// The term with the number `id`.
    ///
    /// # Panics
    /// If `id` is not below [`Vocabulary::len`].
    pub fn term(&self, id: u32) -> &str {
        &self.terms[id as usize]
    }

    /// The number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The terms in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.terms.iter().map(|term| &**term)
    }

    /// Writes one term per line, as JSON strings, to `path`, which ends in `.jsonl`.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut lines = LineTableWriter::create(path)?;
        for term in self.iter() {
            lines.push(&term)?;
        }
        lines.finish()
    }

    /// Reads what [`Vocabulary::write`] wrote.
    pub fn open(path: &Path) -> Result<Self> {
        let terms = LineTable::open(path)?.iter().collect::<Result<Vec<String>>>()?;
        Self::from_terms(terms).map_err(|error| Error::damaged(path, error.to_string()))
    }
}

fn refused(term: &str, expected: &str) -> Error {
    Error::parameter("vocabulary", format!("{term:?}"), expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(terms: &[&str]) -> Result<Vocabulary> {
        Vocabulary::from_terms(terms.iter().map(|&term| term.to_owned()).collect())
    }

    #[test]
    fn terms_and_numbers_answer_each_other() {
        let vocabulary = vocabulary(&["sun", "new york", "太阳"]).unwrap();
        assert_eq!(vocabulary.len(), 3);
        for (id, term) in (0..).zip(vocabulary.iter()) {
            assert_eq!(vocabulary.id(term), Some(id));
            assert_eq!(vocabulary.term(id), term);
        }
        assert_eq!(vocabulary.id("moon"), None);
    }

    #[test]
    fn a_term_that_comes_twice_is_refused() {
        let error = vocabulary(&["sun", "moon", "sun"]).unwrap_err().to_string();
        assert!(error.contains("\"sun\"") && error.contains("number 0 and number 2"), "{error}");
    }

    #[test]
    fn a_vocabulary_comes_back_from_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("terms.jsonl");
        for terms in [&[][..], &["sun", "quote\"\n", "太阳"]] {
            let written = vocabulary(terms).unwrap();
            written.write(&path).unwrap();
            assert_eq!(Vocabulary::open(&path).unwrap(), written);
        }
        let mut lines = LineTableWriter::create(&path).unwrap();
        lines.push(&"sun").unwrap();
        lines.push(&"sun").unwrap();
        lines.finish().unwrap();
        assert!(matches!(Vocabulary::open(&path), Err(Error::Damaged { .. })));
    }
}
