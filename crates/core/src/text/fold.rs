//! Folding: spellings that a reader takes for the same become the same string, by NFKC, case folding
//! and dropping invisible characters.
//!
//! The chain is the one Unicode defines for compatibility caseless matching, composed at the
//! end: NFKC(fold(NFKD(fold(NFD(text))))). One pass of NFKC and folding is not enough, since
//! folding can yield characters that normalisation changes, and the other way round.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

use super::language::Language;

/// A query's identity: two spellings that differ only in case, compatibility forms (full
/// width, ligatures), invisible characters or white space are the same query.
///
/// ```
/// assert_eq!(liken::text::query_identity("  New\tＹＯＲＫ "), "new york");
/// ```
pub fn query_identity(text: &str) -> String {
    let mut identity = String::with_capacity(text.len());
    let mut push = |c: char| {
        if !is_blank(c) {
            identity.push(c);
        } else if !identity.is_empty() && !identity.ends_with(' ') {
            identity.push(' ');
        }
    };
    if text.is_ascii() {
        text.chars().for_each(|c| push(c.to_ascii_lowercase()));
    } else {
        fold_chars(text.chars()).for_each(push);
    }
    if identity.ends_with(' ') {
        identity.pop();
    }
    identity
}

/// Control characters count as white space, so that an identity can be stored in any table.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

fn fold_chars(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    chars.filter(|&c| !is_invisible(c)).nfd().default_case_fold().nfkd().default_case_fold().nfkc()
}

/// Characters without a glyph that do not separate words: soft hyphen, joiners, direction marks,
/// variation selectors, byte-order mark, tags. The zero-width space is not one of them, since it
/// separates words.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{180B}'..='\u{180F}' | '\u{200C}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{E0000}'..='\u{E0FFF}')
}

/// The folding of the analyser: that of [`query_identity`], and letters that people write otherwise
/// than the language's stop words and stemmer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Folding {
    language: Language,
    strip_accents: bool,
}

impl Folding {
    pub(super) fn new(language: Language, strip_accents: bool) -> Self {
        // The Greek stop words have no accents, and the stemmer removes them.
        Folding { language, strip_accents: strip_accents || language == Language::El }
    }

    /// Appends `text`, folded. A text may be folded in parts that are separated by ASCII white space,
    /// with which nothing composes.
    pub(super) fn fold(&self, text: &str, out: &mut String) {
        let start = out.len();
        if text.is_ascii() && !(self.language == Language::Tr && text.contains('I')) {
            out.push_str(text);
            out[start..].make_ascii_lowercase();
            return;
        }
        let language = self.language;
        let before = move |c| match c {
            '\u{2018}' | '\u{2019}' | '\u{2BC}' => '\'',
            // The default folding leaves a combining dot, which nobody types.
            'İ' => 'i',
            'I' if language == Language::Tr => 'ı',
            other => other,
        };
        let after = move |c| match (language, c) {
            // The stemmer and the stop words have cedillas where Romanian has commas.
            (Language::Ro, 'ș') => Some('ş'),
            (Language::Ro, 'ț') => Some('ţ'),
            (Language::Ru, 'ё') => Some('е'),
            // Tatweel and the vowel signs, which most writers omit.
            (Language::Ar, '\u{640}' | '\u{64B}'..='\u{652}') => None,
            (_, other) => Some(other),
        };
        out.extend(fold_chars(text.nfc().map(before)).filter_map(after));
        if self.strip_accents && !out[start..].is_ascii() {
            let plain: String = without_accents(&out[start..]).collect();
            out.truncate(start);
            out.push_str(&plain);
        }
    }
}

/// Latin and Greek letters without their combining marks. Other scripts keep theirs: the
/// breve of Cyrillic й makes another letter.
fn without_accents(text: &str) -> impl Iterator<Item = char> {
    let mut base = ' ';
    text.nfd()
        .filter(move |&c| {
            let mark = matches!(c, '\u{300}'..='\u{36F}');
            if !mark {
                base = c;
            }
            !mark || base >= '\u{400}'
        })
        .nfc()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fold(language: Language, strip_accents: bool, text: &str) -> String {
        let mut out = String::from("kept ");
        Folding::new(language, strip_accents).fold(text, &mut out);
        out.strip_prefix("kept ").unwrap().to_owned()
    }

    #[test]
    fn identity_folds_width_case_ligatures_and_white_space() {
        assert_eq!(query_identity("  How\u{a0}\tFAR \n is  it "), "how far is it");
        assert_eq!(query_identity("ＧＰＴ－４　模型"), "gpt-4 模型");
        assert_eq!(query_identity("STRASSE"), query_identity("Straße"));
        assert_eq!(query_identity("ﬁsh"), "fish");
        assert_eq!(query_identity("cafe\u{301}"), "café");
        assert_eq!(query_identity("soft\u{ad}ware\u{feff}"), "software");
        assert_eq!(query_identity("a\0b"), "a b");
        assert_eq!(query_identity(" \t\u{3000}"), "");
    }

    #[test]
    fn identity_of_every_character_is_its_own_identity() {
        for c in ('\0'..=char::MAX).chain(['\u{345}']) {
            for text in [c.to_string(), format!("α{c}\u{345}\u{301}x{c}")] {
                let identity = query_identity(&text);
                assert_eq!(query_identity(&identity), identity, "{text:?}");
            }
        }
    }

    #[test]
    fn languages_mend_the_letters_their_lists_do_not_know() {
        assert_eq!(fold(Language::Tr, false, "IŞIK İstanbul DIŞ"), "ışık istanbul dış");
        assert_eq!(fold(Language::Tr, false, "DIS"), "dıs");
        assert_eq!(fold(Language::En, false, "İstanbul I\u{307}zmir"), "istanbul izmir");
        assert_eq!(fold(Language::Ro, false, "Știință"), "ştiinţă");
        assert_eq!(fold(Language::Ru, false, "Ёлка"), "елка");
        assert_eq!(fold(Language::El, false, "Αθήνας"), "αθηνασ");
        assert_eq!(fold(Language::Ar, false, "مُحَمَّد"), "محمد");
        assert_eq!(fold(Language::En, false, "Sun’s"), "sun's");
    }

    #[test]
    fn accents_go_from_latin_letters_only_when_asked() {
        assert_eq!(fold(Language::Fr, false, "Été"), "été");
        assert_eq!(fold(Language::Fr, true, "Été Ångström Đà Nẵng"), "ete angstrom đa nang");
        assert_eq!(fold(Language::None, true, "йод が"), "йод が");
    }

    proptest! {
        #[test]
        fn identity_is_idempotent_trimmed_and_collapsed(text in ".*|[\\s\\PC\u{300}-\u{36f}]*") {
            let identity = query_identity(&text);
            prop_assert_eq!(query_identity(&identity), identity.as_str());
            prop_assert_eq!(identity.trim(), identity.as_str());
            prop_assert!(!identity.contains("  "));
            prop_assert!(!identity.chars().any(|c| c != ' ' && c.is_whitespace()));
        }

        #[test]
        fn ascii_is_folded_as_if_it_were_any_text(text in "[ -~]*") {
            prop_assert_eq!(
                fold(Language::En, false, &text),
                fold_chars(text.chars()).collect::<String>()
            );
        }

        #[test]
        fn folding_in_pieces_is_folding_the_whole(text in "[\\PC\u{300}-\u{36f} İIß]*") {
            for language in Language::ALL {
                let pieces: Vec<String> =
                    text.split(' ').map(|piece| fold(language, true, piece)).collect();
                prop_assert_eq!(pieces.join(" "), fold(language, true, &text));
            }
        }
    }
}
