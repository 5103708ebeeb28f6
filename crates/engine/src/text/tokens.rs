//! The words of a document with their places, as the analyser gives them: kept in one string, so
//! that a document costs one allocation and not one for every word.

use liken::text::Analyzer;
use serde_json::Value;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// The name of the tokenizer that reads them.
pub(super) const TOKENIZER: &str = "as_written";

/// How far the last word of a text stands from the first of the next, so that no phrase goes from
/// one to the other: phrases are shorter.
pub(super) const APART: usize = 128;

/// Ends a word; one alone is a word that is not counted.
const END: char = '\u{1}';
/// Between two texts.
const BREAK: char = '\u{2}';
/// Words that stand further on are not found: places have 32 bits.
const LAST_PLACE: usize = 1 << 30;

/// The words of a document in reading order, each with its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    written: String,
    place: usize,
    words: usize,
}

impl Tokens {
    /// No words.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next word: its term, or nothing for a word that is not counted.
    pub fn word(&mut self, term: Option<&str>) {
        if self.place >= LAST_PLACE {
            return;
        }
        // No term of the analyser holds signs below the space.
        let term = term.filter(|term| !term.contains([END, BREAK])).unwrap_or_default();
        self.written.push_str(term);
        self.written.push(END);
        self.place += 1;
        self.words += usize::from(!term.is_empty());
    }

    /// The next word belongs to another text: no phrase reaches over to it.
    pub fn end_of_text(&mut self) {
        if self.place > 0 && self.place < LAST_PLACE {
            self.written.push(BREAK);
            self.place += APART;
        }
    }

    /// Adds a running text.
    pub fn text(&mut self, analyzer: &Analyzer, text: &str) {
        self.end_of_text();
        analyzer.places(text, &mut |term| self.word(term));
    }

    /// Adds a URL.
    pub fn url(&mut self, analyzer: &Analyzer, url: &str) {
        self.end_of_text();
        analyzer.url_places(url, &mut |term| self.word(term));
    }

    /// Adds what a field of a document says: texts, numbers and truth values as their texts, each
    /// item of a list as a text of its own. The words of a bag of counts stand apart from each
    /// other, each as often as it is counted.
    pub fn field(&mut self, analyzer: &Analyzer, name: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::String(text) if name == "url" => self.url(analyzer, text),
            Value::String(text) => self.text(analyzer, text),
            Value::Bool(_) | Value::Number(_) => self.text(analyzer, &value.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.field(analyzer, name, item)),
            Value::Object(bag) => {
                for (word, count) in bag {
                    let count = count.as_f64().unwrap_or(0.0).ceil().clamp(0.0, MOST_COUNTED);
                    (0..count as usize).for_each(|_| self.text(analyzer, word));
                }
            }
        }
    }

    /// Whether `term` is among them.
    pub fn holds(&self, term: &str) -> bool {
        self.written.split([END, BREAK]).any(|word| word == term)
    }

    /// How many words are counted.
    pub fn len(&self) -> usize {
        self.words
    }

    /// Whether no word is counted.
    pub fn is_empty(&self) -> bool {
        self.words == 0
    }

    pub(super) fn written(&self) -> &str {
        &self.written
    }
}

/// BM25 is flat from here on, so a larger count in a bag says nothing more.
const MOST_COUNTED: f64 = 32.0;

/// Reads [`Tokens`].
#[derive(Debug, Clone, Default)]
pub(super) struct AsWritten {
    token: Token,
}

/// The words of one document.
pub(super) struct Words<'a> {
    rest: &'a str,
    place: usize,
    token: &'a mut Token,
}

impl Tokenizer for AsWritten {
    type TokenStream<'a> = Words<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words<'a> {
        self.token.reset();
        Words { rest: text, place: 0, token: &mut self.token }
    }
}

impl TokenStream for Words<'_> {
    fn advance(&mut self) -> bool {
        while let Some(end) = self.rest.find([END, BREAK]) {
            let (word, rest) = self.rest.split_at(end);
            self.rest = &rest[1..];
            if rest.starts_with(BREAK) {
                self.place += APART;
                continue;
            }
            self.place += 1;
            if word.is_empty() {
                continue;
            }
            self.token.text.clear();
            self.token.text.push_str(word);
            self.token.position = self.place - 1;
            return true;
        }
        false
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use liken::text::AnalyzerParams;
    use serde_json::json;

    use super::*;

    fn read(tokens: &Tokens) -> Vec<(String, usize)> {
        let mut tokenizer = AsWritten::default();
        let mut stream = tokenizer.token_stream(tokens.written());
        let mut found = Vec::new();
        stream.process(&mut |token| found.push((token.text.clone(), token.position)));
        found
    }

    #[test]
    fn words_keep_their_places_and_texts_stand_apart() {
        let analyzer = Analyzer::new(&AnalyzerParams::default()).unwrap();
        let mut tokens = Tokens::new();
        tokens.field(&analyzer, "title", &json!("the distance of the Sun"));
        tokens.field(&analyzer, "tags", &json!(["far away", null, 7]));
        tokens.field(&analyzer, "url", &json!("https://www.example.org/moon.html"));
        let expected = [
            ("distanc", 1),
            ("sun", 4),
            ("far", 5 + APART),
            ("away", 6 + APART),
            ("7", 7 + 2 * APART),
            ("exampl", 8 + 3 * APART),
            ("moon", 9 + 3 * APART),
        ];
        let expected = expected.map(|(word, place)| (word.to_owned(), place));
        assert_eq!(read(&tokens), expected);
        assert_eq!(tokens.len(), expected.len());
        assert!(Tokens::new().is_empty());
    }

    #[test]
    fn bags_are_words_apart_and_odd_terms_are_not_counted() {
        let analyzer = Analyzer::new(&AnalyzerParams::default()).unwrap();
        let mut tokens = Tokens::new();
        tokens.field(&analyzer, "body", &json!({"sun": 2, "moon": 1, "x": -1, "y": "?"}));
        let terms: Vec<_> = read(&tokens).into_iter().map(|(term, _)| term).collect();
        assert_eq!(terms, ["sun", "sun", "moon"]);
        let mut tokens = Tokens::new();
        tokens.word(Some("a\u{1}b"));
        tokens.word(Some("c"));
        assert_eq!(read(&tokens), [("c".to_owned(), 1)]);
    }
}
