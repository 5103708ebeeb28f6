//! The words of a document with their positions, as the analyser returns them: in one string, so that
//! a document needs one allocation instead of one per word.

use liken::text::Analyzer;
use serde_json::Value;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// The name of the tokenizer that reads them.
pub(super) const TOKENIZER: &str = "as_written";

/// The gap of positions between texts, which are longer than any phrase, so that no phrase matches
/// across texts.
pub(super) const APART: usize = 128;

/// Ends a word; an empty word is a stop word.
const END: char = '\u{1}';
/// Separates texts.
const BREAK: char = '\u{2}';
/// Words after this position are not indexed: positions have 32 bits.
const LAST_POSITION: usize = 1 << 30;

/// The words of a document in reading order, each with its position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    written: String,
    position: usize,
    words: usize,
}

impl Tokens {
    /// No words.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next word: its term, or `None` for a stop word.
    pub fn word(&mut self, term: Option<&str>) {
        if self.position >= LAST_POSITION {
            return;
        }
        // Terms of the analyser have no control characters.
        let term = term.filter(|term| !term.contains([END, BREAK])).unwrap_or_default();
        self.written.push_str(term);
        self.written.push(END);
        self.position += 1;
        self.words += usize::from(!term.is_empty());
    }

    /// Ends a text: no phrase matches across it.
    pub fn end_of_text(&mut self) {
        if self.position > 0 && self.position < LAST_POSITION {
            self.written.push(BREAK);
            self.position += APART;
        }
    }

    /// Adds a text.
    pub fn text(&mut self, analyzer: &Analyzer, text: &str) {
        self.end_of_text();
        analyzer.places(text, &mut |term| self.word(term));
    }

    /// Adds a URL.
    pub fn url(&mut self, analyzer: &Analyzer, url: &str) {
        self.end_of_text();
        analyzer.url_places(url, &mut |term| self.word(term));
    }

    /// Adds a field of a document: strings, numbers and booleans as texts, each item of a list as a
    /// text of its own, and each word of a bag of counts as often as it is counted, as a text of its
    /// own.
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

    /// Whether `term` is one of the words.
    pub fn holds(&self, term: &str) -> bool {
        self.written.split([END, BREAK]).any(|word| word == term)
    }

    /// The number of words that are not stop words.
    pub fn len(&self) -> usize {
        self.words
    }

    /// Whether all words are stop words.
    pub fn is_empty(&self) -> bool {
        self.words == 0
    }

    pub(super) fn written(&self) -> &str {
        &self.written
    }
}

/// The largest count of a bag: BM25 hardly grows beyond.
const MOST_COUNTED: f64 = 32.0;

/// The tokenizer that reads [`Tokens`].
#[derive(Debug, Clone, Default)]
pub(super) struct AsWritten {
    token: Token,
}

/// The words of one document.
pub(super) struct Words<'a> {
    rest: &'a str,
    position: usize,
    token: &'a mut Token,
}

impl Tokenizer for AsWritten {
    type TokenStream<'a> = Words<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words<'a> {
        self.token.reset();
        Words { rest: text, position: 0, token: &mut self.token }
    }
}

impl TokenStream for Words<'_> {
    fn advance(&mut self) -> bool {
        while let Some(end) = self.rest.find([END, BREAK]) {
            let (word, rest) = self.rest.split_at(end);
            self.rest = &rest[1..];
            if rest.starts_with(BREAK) {
                self.position += APART;
                continue;
            }
            self.position += 1;
            if word.is_empty() {
                continue;
            }
            self.token.text.clear();
            self.token.text.push_str(word);
            self.token.position = self.position - 1;
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
