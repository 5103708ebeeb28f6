//! The text of a document as a query: all of it, or some of its words.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::super::dataset::Document;
use super::super::field_values::{FieldValue, visit};
use crate::Result;
use crate::random::Random;
use crate::text::{Analyzer, AnalyzerParams, Language};

/// The most repetitions of a word of a bag.
const MAX_REPETITIONS: f32 = 1000.0;

/// The whole text of the `fields` of `document`; a bag is written out, each word as often as it
/// is counted, halves rounded up.
pub(super) fn whole(document: &Document, fields: &[String]) -> String {
    let mut text = String::new();
    let mut push = |piece: &str| {
        let piece = piece.trim();
        if !piece.is_empty() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(piece);
        }
    };
    for value in fields.iter().filter_map(|name| document.fields.get(name)) {
        visit(value, &mut |said| match said {
            FieldValue::Text(piece) => push(&piece),
            FieldValue::Counted(word, count) => {
                let times = count.round().clamp(1.0, MAX_REPETITIONS) as usize;
                (0..times).for_each(|_| push(word));
            }
        });
    }
    text
}

/// Draws random words of documents.
pub(super) struct Words {
    /// The number of words per document.
    pub k: usize,
    seed: u64,
    analyzer: Analyzer,
}

impl Words {
    /// Draws `k` words per document, never a stop word of `language`.
    pub(super) fn new(k: usize, language: Language, seed: u64) -> Result<Self> {
        // Whole words: nobody types a stem, and it would be stemmed again.
        let params = AnalyzerParams { language, stem: false, ..AnalyzerParams::default() };
        Ok(Words { k, seed, analyzer: Analyzer::new(&params)? })
    }

    /// Different words of the `fields` of `document`, as many as asked for, or all.
    pub(super) fn of(&self, document: &Document, fields: &[String]) -> Vec<String> {
        let mut found: BTreeSet<String> = BTreeSet::new();
        let mut add = |text: &str| {
            self.analyzer.text(text, &mut |word| {
                found.insert(word.to_owned());
            });
        };
        for value in fields.iter().filter_map(|name| document.fields.get(name)) {
            visit(value, &mut |said| match said {
                FieldValue::Text(text) => add(&text),
                FieldValue::Counted(word, _) => add(word),
            });
        }
        let mut words: Vec<String> = found.into_iter().collect();
        let mut hash = Sha256::new();
        hash.update(&document.id);
        let mut stream = [0; 8];
        stream.copy_from_slice(&hash.finalize()[..8]);
        let mut random = Random::new(self.seed, u64::from_le_bytes(stream));
        random.shuffle(&mut words);
        words.truncate(self.k);
        words
    }
}
