//! Parsing of queries: words, and phrases in double quotes.

use std::collections::HashSet;

use liken::text::Analyzer;

use crate::text::TextQuery;

/// A parsed query.
pub(crate) struct ParsedQuery {
    /// The text without quotes, for models.
    pub plain: String,
    /// The words and phrases, for the text index.
    pub words: TextQuery,
    /// The terms, for highlights.
    pub terms: HashSet<String>,
}

impl ParsedQuery {
    /// Parses `text`. An unpaired quote is ignored.
    pub fn read(text: &str, analyzer: &Analyzer) -> Self {
        let quotes: Vec<usize> = text.match_indices('"').map(|(at, _)| at).collect();
        let mut phrases = Vec::new();
        for pair in quotes.chunks_exact(2) {
            let mut phrase = Vec::new();
            let mut at = 0;
            analyzer.places(&text[pair[0] + 1..pair[1]], &mut |term| {
                phrase.extend(term.map(|term| (at, term.to_owned())));
                at += 1;
            });
            if !phrase.is_empty() {
                phrases.push(phrase);
            }
        }
        let plain = text.replace('"', " ");
        let mut terms = Vec::new();
        analyzer.places(&plain, &mut |term| terms.extend(term.map(str::to_owned)));
        let distinct = terms.iter().cloned().collect();
        ParsedQuery { plain, words: TextQuery { terms, phrases }, terms: distinct }
    }
}

/// The words of `text` whose stems are `terms`, for messages. Terms of another analyser are returned
/// unchanged.
pub(crate) fn as_typed(text: &str, terms: &[String], analyzer: &Analyzer) -> Vec<String> {
    let mut typed: Vec<(String, String)> = Vec::new();
    analyzer.words(text, &mut |word, term| {
        if typed.iter().all(|(_, known)| known != term) {
            typed.push((word.to_owned(), term.to_owned()));
        }
    });
    let word = |term: &String| {
        let found = typed.iter().find(|(_, known)| known == term);
        found.map_or_else(|| term.clone(), |(word, _)| word.clone())
    };
    terms.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use liken::text::AnalyzerParams;

    use super::*;

    #[test]
    fn phrases_keep_their_gaps_and_models_see_no_quotes() {
        let analyzer = Analyzer::new(&AnalyzerParams::default()).unwrap();
        let typed = ParsedQuery::read("cheap \"bank of america\" card\" \"the\"", &analyzer);
        let phrase = vec![(0, "bank".to_owned()), (2, "america".to_owned())];
        assert_eq!(typed.words.phrases[0], phrase);
        assert!(!typed.plain.contains('"'));
        assert!(typed.terms.contains("cheap") && typed.terms.contains("card"));
        assert!(ParsedQuery::read("", &analyzer).terms.is_empty());
        let terms = ["outlt", "dead", "~x"].map(str::to_owned);
        assert_eq!(as_typed("Dead outlte outlts", &terms, &analyzer), ["outlte", "dead", "~x"]);
    }
}
