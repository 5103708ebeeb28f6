//! The parameters of text analysis, and their valid values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fold::Folding;
use super::language::Language;
use super::words;
use crate::{Error, Result};

/// The longest word n-gram.
const MAX_WORD_NGRAMS: usize = 5;
/// The longest character n-gram.
const MAX_CHAR_NGRAMS: usize = 16;

/// Parameters of text analysis; stored with every model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AnalyzerParams {
    /// Language of the stop words and of stemming; `none` switches both off.
    pub language: Language,
    /// Drop the most common words of the language, such as "the" and "of".
    pub stop_words: bool,
    /// More words to drop in any language, each as it is written in the text.
    pub extra_stop_words: Vec<String>,
    /// Reduce words to their stems (Snowball), so that "matching" finds "matched".
    pub stem: bool,
    /// Remove accents from Latin and Greek letters, so that "cafe" finds "café".
    pub strip_accents: bool,
    /// Longest sequence of words that is a term: 1 for single words, 2 adds pairs such as
    /// "new york", and so on up to 5.
    pub word_ngrams: usize,
    /// Add the character n-grams of every word, which match misspelt and unseen words; off
    /// unless set.
    pub char_ngrams: Option<CharNgrams>,
}

/// Lengths of the character n-grams of each word; the marks of its start and its end count as
/// characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CharNgrams {
    /// Shortest character n-gram, at least 2.
    pub min: usize,
    /// Longest character n-gram, at most 16.
    pub max: usize,
}

impl Default for AnalyzerParams {
    fn default() -> Self {
        AnalyzerParams {
            language: Language::En,
            stop_words: true,
            extra_stop_words: Vec::new(),
            stem: true,
            strip_accents: false,
            word_ngrams: 1,
            char_ngrams: None,
        }
    }
}

impl Default for CharNgrams {
    fn default() -> Self {
        CharNgrams { min: 3, max: 5 }
    }
}

impl AnalyzerParams {
    /// An error about the first invalid value.
    pub fn check(&self) -> Result<()> {
        if !(1..=MAX_WORD_NGRAMS).contains(&self.word_ngrams) {
            return Err(Error::parameter(
                "analyzer.word_ngrams",
                self.word_ngrams,
                &format!("1 to {MAX_WORD_NGRAMS}"),
            ));
        }
        if let Some(CharNgrams { min, max }) = self.char_ngrams {
            if !(2..=MAX_CHAR_NGRAMS).contains(&max) {
                let expected = format!("2 to {MAX_CHAR_NGRAMS}");
                return Err(Error::parameter("analyzer.char_ngrams.max", max, &expected));
            }
            if !(2..=max).contains(&min) {
                let expected = format!("2 to char_ngrams.max, which is {max}");
                return Err(Error::parameter("analyzer.char_ngrams.min", min, &expected));
            }
        }
        for word in &self.extra_stop_words {
            if self.single_word(word).is_none() {
                return Err(Error::parameter(
                    "analyzer.extra_stop_words",
                    format!("{word:?}"),
                    "single words; this is not exactly one",
                ));
            }
        }
        Ok(())
    }

    pub(super) fn folding(&self) -> Folding {
        Folding::new(self.language, self.strip_accents)
    }

    /// The folded word in `text`, if it is exactly one.
    pub(super) fn single_word(&self, text: &str) -> Option<String> {
        let mut folded = String::new();
        self.folding().fold(text, &mut folded);
        let mut found = Vec::new();
        words::split(&folded, self.language.apostrophe(), &mut |word, _| {
            found.push(word.to_owned());
        });
        if found.len() == 1 { found.pop() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(toml: &str) -> String {
        toml::from_str::<AnalyzerParams>(toml).unwrap().check().unwrap_err().to_string()
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        assert!(refused("word_ngrams = 0").starts_with("analyzer.word_ngrams = 0: expected 1 to"));
        assert!(refused("word_ngrams = 6").contains("expected 1 to 5"));
        assert!(refused("char_ngrams = { min = 1 }").contains("analyzer.char_ngrams.min = 1"));
        assert!(refused("char_ngrams = { min = 6 }").contains("which is 5"));
        assert!(refused("char_ngrams = { max = 99 }").contains("analyzer.char_ngrams.max = 99"));
        assert!(refused("extra_stop_words = [\"click here\"]").contains("\"click here\""));
        assert!(refused("extra_stop_words = [\"—\"]").contains("single words"));
    }

    #[test]
    fn unknown_fields_are_refused_and_missing_ones_take_their_default() {
        assert!(toml::from_str::<AnalyzerParams>("stopwords = true").is_err());
        let params: AnalyzerParams = toml::from_str("language = \"no\"\n[char_ngrams]").unwrap();
        assert_eq!(params.language, Language::No);
        assert_eq!(params.char_ngrams, Some(CharNgrams { min: 3, max: 5 }));
        assert!(params.stem && params.stop_words);
        params.check().unwrap();
    }

    #[test]
    fn parameters_come_back_from_json_and_toml() {
        let params = AnalyzerParams {
            language: Language::Fr,
            extra_stop_words: vec!["s'il".into(), "Voilà".into()],
            char_ngrams: Some(CharNgrams { min: 2, max: 4 }),
            ..AnalyzerParams::default()
        };
        for params in [params, AnalyzerParams::default()] {
            let json = serde_json::to_string(&params).unwrap();
            assert_eq!(serde_json::from_str::<AnalyzerParams>(&json).unwrap(), params);
            let toml = toml::to_string(&params).unwrap();
            assert_eq!(toml::from_str::<AnalyzerParams>(&toml).unwrap(), params);
        }
    }

    #[test]
    fn every_field_and_every_language_is_described_for_the_help() {
        let schema = serde_json::to_value(schemars::schema_for!(AnalyzerParams)).unwrap();
        let fields = schema["properties"].as_object().unwrap();
        assert_eq!(fields.len(), 7);
        assert!(fields.values().all(|field| field["description"].is_string()), "{schema:#}");
        let languages = schema["$defs"]["Language"]["oneOf"].as_array().unwrap();
        assert_eq!(languages.len(), Language::ALL.len());
        assert!(languages.iter().all(|language| language["description"].is_string()));
    }
}
