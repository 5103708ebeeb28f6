//! The languages with stop words and stemming, and their special rules.

use std::fmt;
use std::str::FromStr;

use rust_stemmers::Algorithm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The language whose stop words and stemming are used; text in any language yields terms
/// under each of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Arabic.
    Ar,
    /// Danish.
    Da,
    /// German.
    De,
    /// Greek.
    El,
    /// Spanish.
    Es,
    /// Finnish.
    Fi,
    /// French.
    Fr,
    /// Hungarian.
    Hu,
    /// Italian.
    It,
    /// Dutch.
    Nl,
    /// Norwegian.
    No,
    /// Portuguese.
    Pt,
    /// Romanian.
    Ro,
    /// Russian.
    Ru,
    /// Swedish.
    Sv,
    /// Tamil.
    Ta,
    /// Turkish.
    Tr,
    /// Chinese: stop words, but nothing to stem.
    Zh,
    /// No language: neither stop words nor stemming.
    None,
}

/// The treatment of a word with an apostrophe inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Apostrophe {
    /// It stays whole.
    Keep,
    /// An English ending is removed: "sun's", "we'll" and "can't" are "sun", "we" and "can", while
    /// "o'brien" stays whole.
    Ending,
    /// Both sides are words: "l'avion" is "l" and "avion".
    Split,
    /// Only the part before it is kept: "istanbul'da" is "istanbul".
    Cut,
}

/// Every language in the order of the variants, its code and its stemmer.
const LANGUAGES: [(Language, &str, Option<Algorithm>); 20] = [
    (Language::En, "en", Some(Algorithm::English)),
    (Language::Ar, "ar", Some(Algorithm::Arabic)),
    (Language::Da, "da", Some(Algorithm::Danish)),
    (Language::De, "de", Some(Algorithm::German)),
    (Language::El, "el", Some(Algorithm::Greek)),
    (Language::Es, "es", Some(Algorithm::Spanish)),
    (Language::Fi, "fi", Some(Algorithm::Finnish)),
    (Language::Fr, "fr", Some(Algorithm::French)),
    (Language::Hu, "hu", Some(Algorithm::Hungarian)),
    (Language::It, "it", Some(Algorithm::Italian)),
    (Language::Nl, "nl", Some(Algorithm::Dutch)),
    (Language::No, "no", Some(Algorithm::Norwegian)),
    (Language::Pt, "pt", Some(Algorithm::Portuguese)),
    (Language::Ro, "ro", Some(Algorithm::Romanian)),
    (Language::Ru, "ru", Some(Algorithm::Russian)),
    (Language::Sv, "sv", Some(Algorithm::Swedish)),
    (Language::Ta, "ta", Some(Algorithm::Tamil)),
    (Language::Tr, "tr", Some(Algorithm::Turkish)),
    (Language::Zh, "zh", None),
    (Language::None, "none", None),
];

impl Language {
    /// Every language, English first, `none` last.
    pub const ALL: [Language; LANGUAGES.len()] = {
        let mut all = [Language::None; LANGUAGES.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = LANGUAGES[i].0;
            i += 1;
        }
        all
    };

    /// The ISO 639-1 code, or `none`.
    pub fn code(self) -> &'static str {
        LANGUAGES[self as usize].1
    }

    pub(super) fn stemmer(self) -> Option<Algorithm> {
        LANGUAGES[self as usize].2
    }

    /// The stop words for words that are not Han; for Han words they are Chinese in every language but
    /// `none`.
    pub(super) fn stop_words(self) -> &'static [&'static str] {
        match self {
            Language::Zh | Language::None => &[],
            other => stop_words::lookup(other.code()).unwrap_or_default(),
        }
    }

    pub(super) fn apostrophe(self) -> Apostrophe {
        match self {
            Language::En => Apostrophe::Ending,
            Language::Fr | Language::It | Language::Pt | Language::Es | Language::El => {
                Apostrophe::Split
            }
            Language::Tr => Apostrophe::Cut,
            _ => Apostrophe::Keep,
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl FromStr for Language {
    type Err = Error;

    fn from_str(code: &str) -> Result<Self> {
        Language::ALL.into_iter().find(|language| language.code() == code).ok_or_else(|| {
            let codes: Vec<&str> = Language::ALL.iter().map(|language| language.code()).collect();
            Error::parameter("analyzer.language", code, &format!("one of {}", codes.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_serde_agree_and_come_back() {
        for language in Language::ALL {
            assert_eq!(language.code().parse::<Language>().unwrap(), language);
            let json = serde_json::to_string(&language).unwrap();
            assert_eq!(json, format!("{:?}", language.code()));
            assert_eq!(serde_json::from_str::<Language>(&json).unwrap(), language);
        }
        let error = "english".parse::<Language>().unwrap_err().to_string();
        assert!(error.contains("analyzer.language = english: expected one of en, ar"), "{error}");
    }

    #[test]
    fn every_language_has_the_short_list_of_stop_words() {
        for language in Language::ALL {
            let words = language.stop_words().len();
            match language {
                Language::Zh | Language::None => assert_eq!(words, 0),
                Language::En => assert_eq!(words, 198),
                other => assert!((50..800).contains(&words), "{other}: {words}"),
            }
        }
    }
}
