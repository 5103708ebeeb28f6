//! Splits folded text into words.
//!
//! The rule is Unicode's word segmentation (UAX 29), with these exceptions where it joins what a
//! searcher would write as two words, or splits what belongs together:
//!
//! - Runs of Han go to a Chinese segmenter, whose dictionary is loaded when the first one occurs.
//!   It yields the words of a sentence, not also their parts.
//! - Scripts written without spaces and without a dictionary here (hiragana, Thai, Lao, Khmer,
//!   Burmese …) yield bigrams of characters; single characters are not specific enough.
//! - An underscore, a colon or a semicolon separates words: `foo_bar` is "foo" and "bar".
//! - So does a full stop between letters (`foo.bar`), unless each part is a single letter:
//!   "u.s.a" is "usa". Between digits it stays, and so does a comma: "3.14", "1,000", "1.2.3".
//! - The treatment of an apostrophe depends on the language: see [`Apostrophe`].

use std::sync::OnceLock;

use jieba_rs::Jieba;
use unicode_segmentation::UnicodeSegmentation;

use super::language::Apostrophe;

/// The script of a word, as far as stop words and stemming depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// Chinese characters.
    Han,
    /// Everything else.
    Other,
}

/// Calls `word` with every word of `text`, which is folded, in order.
pub(super) fn split(text: &str, apostrophe: Apostrophe, word: &mut impl FnMut(&str, Script)) {
    if text.is_ascii() {
        return split_ascii(text, apostrophe, word);
    }
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let han = is_han(first);
        let end = rest.find(|c| is_han(c) != han).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if han {
            for token in jieba().cut(run, true) {
                word(token.word, Script::Han);
            }
        } else {
            split_spaced(run, apostrophe, word);
        }
        rest = after;
    }
}

fn jieba() -> &'static Jieba {
    static JIEBA: OnceLock<Jieba> = OnceLock::new();
    JIEBA.get_or_init(Jieba::new)
}

/// The same words as [`split_spaced`], without Unicode tables.
fn split_ascii(text: &str, apostrophe: Apostrophe, word: &mut impl FnMut(&str, Script)) {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        if !bytes[i].is_ascii_alphanumeric() {
            i += 1;
            continue;
        }
        let start = i;
        let mut plain = true;
        while i < bytes.len() {
            if bytes[i].is_ascii_alphanumeric() {
                i += 1;
            } else if i + 1 < bytes.len() && joins(bytes[i - 1], bytes[i], bytes[i + 1]) {
                plain = false;
                i += 1;
            } else {
                break;
            }
        }
        if plain {
            word(&text[start..i], Script::Other);
        } else {
            split_joined(&text[start..i], apostrophe, word);
        }
    }
}

/// Whether UAX 29 joins the two neighbours of a mark, and we do not always split them.
fn joins(before: u8, mark: u8, after: u8) -> bool {
    match mark {
        b'\'' | b'.' => {
            (before.is_ascii_alphabetic() && after.is_ascii_alphabetic())
                || (before.is_ascii_digit() && after.is_ascii_digit())
        }
        b',' => before.is_ascii_digit() && after.is_ascii_digit(),
        _ => false,
    }
}

fn split_spaced(text: &str, apostrophe: Apostrophe, word: &mut impl FnMut(&str, Script)) {
    // The last character of a run without spaces: its span, and whether it was part of a bigram.
    let mut last: Option<(usize, usize, bool)> = None;
    for (start, found) in text.unicode_word_indices() {
        let end = start + found.len();
        let unspaced = found.chars().next().is_some_and(is_unspaced);
        match last.take() {
            Some((from, to, _)) if unspaced && to == start => {
                word(&text[from..end], Script::Other);
                last = Some((start, end, true));
                continue;
            }
            Some((from, to, false)) => word(&text[from..to], Script::Other),
            _ => {}
        }
        if unspaced {
            last = Some((start, end, false));
        } else if found.chars().all(char::is_alphanumeric) {
            word(found, Script::Other);
        } else {
            split_joined(found, apostrophe, word);
        }
    }
    if let Some((from, to, false)) = last {
        word(&text[from..to], Script::Other);
    }
}

/// Splits what UAX 29 joins.
fn split_joined(joined: &str, apostrophe: Apostrophe, word: &mut impl FnMut(&str, Script)) {
    for piece in joined.split(is_connector) {
        match apostrophe {
            Apostrophe::Keep => split_full_stops(piece, word),
            Apostrophe::Ending => split_full_stops(without_english_ending(piece), word),
            Apostrophe::Split => {
                piece.split('\'').for_each(|part| split_full_stops(part, word));
            }
            Apostrophe::Cut => {
                split_full_stops(piece.split('\'').next().unwrap_or_default(), word);
            }
        }
    }
}

fn split_full_stops(piece: &str, word: &mut impl FnMut(&str, Script)) {
    let mut emit = |part: &str| {
        // UAX 29 attaches a vowel sign to whatever it follows, even to a space.
        let part = part.trim_start_matches(|c: char| !c.is_alphanumeric());
        if !part.is_empty() {
            word(part, Script::Other);
        }
    };
    if !piece.contains('.') {
        return emit(piece);
    }
    if piece.split('.').all(is_single_letter) {
        return emit(&piece.replace('.', ""));
    }
    let mut start = 0;
    for (dot, _) in piece.match_indices('.') {
        let digit_before = piece[..dot].ends_with(char::is_numeric);
        let digit_after = piece[dot + 1..].starts_with(char::is_numeric);
        if !(digit_before && digit_after) {
            emit(&piece[start..dot]);
            start = dot + 1;
        }
    }
    emit(&piece[start..]);
}

fn is_single_letter(part: &str) -> bool {
    let mut chars = part.chars();
    chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
}

fn without_english_ending(word: &str) -> &str {
    match word.rsplit_once('\'') {
        Some((before, "s" | "t" | "d" | "m" | "ll" | "re" | "ve")) => before,
        _ => word,
    }
}

fn is_connector(c: char) -> bool {
    matches!(c, '_' | ':' | ';' | '\u{203F}' | '\u{2040}' | '\u{2054}')
}

fn is_han(c: char) -> bool {
    matches!(c,
        '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '々' | '〇'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFD}')
}

/// Whether `c` belongs to a script without spaces that is indexed as bigrams (not Han).
pub fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3041}'..='\u{309F}' // hiragana
        | '\u{E00}'..='\u{EFF}' // Thai, Lao
        | '\u{1000}'..='\u{109F}' | '\u{A9E0}'..='\u{A9FF}' | '\u{AA60}'..='\u{AA7F}' // Burmese
        | '\u{1780}'..='\u{17FF}' // Khmer
        | '\u{1950}'..='\u{19DF}' | '\u{1A20}'..='\u{1AAF}' | '\u{AA80}'..='\u{AADF}') // Tai
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str, apostrophe: Apostrophe) -> Vec<String> {
        let mut words = Vec::new();
        split(text, apostrophe, &mut |word, _| words.push(word.to_owned()));
        words
    }

    #[test]
    fn marks_inside_words_part_or_join_as_written_above() {
        let keep = |text| words(text, Apostrophe::Keep);
        assert_eq!(keep("foo_bar foo.bar __init__"), ["foo", "bar", "foo", "bar", "init"]);
        assert_eq!(keep("u.s.a. in the u.s"), ["usa", "in", "the", "us"]);
        assert_eq!(keep("3.14 1,000 v1.2.3 1;2"), ["3.14", "1,000", "v1.2.3", "1", "2"]);
        assert_eq!(keep("title:sun e-mail c++"), ["title", "sun", "e", "mail", "c"]);
        assert_eq!(keep("größe.länge größe_3.5"), ["größe", "länge", "größe", "3.5"]);
        assert_eq!(keep("... -- ' _ ☃"), [""; 0]);
        assert_eq!(keep("<\u{113c2} \u{93e}"), ["\u{113c2}", "\u{93e}"]);
    }

    #[test]
    fn apostrophes_follow_the_language() {
        let english = "sun's we'll can't o'brien u.s.a's rock'n'roll";
        assert_eq!(
            words(english, Apostrophe::Ending),
            ["sun", "we", "can", "o'brien", "usa", "rock'n'roll"]
        );
        assert_eq!(
            words("l'avion aujourd'hui", Apostrophe::Split),
            ["l", "avion", "aujourd", "hui"]
        );
        assert_eq!(words("istanbul'da", Apostrophe::Cut), ["istanbul"]);
        assert_eq!(words("foto's", Apostrophe::Keep), ["foto's"]);
    }

    #[test]
    fn han_is_segmented_and_unspaced_scripts_come_in_pairs() {
        let keep = |text| words(text, Apostrophe::Keep);
        assert_eq!(keep("我来到北京清华大学"), ["我", "来到", "北京", "清华大学"]);
        assert_eq!(keep("买iphone手机。"), ["买", "iphone", "手机"]);
        assert_eq!(keep("東京タワーはどこ"), ["東京", "タワー", "はど", "どこ"]);
        assert_eq!(keep("の"), ["の"]);
        assert_eq!(keep("お茶の水"), ["お", "茶", "の", "水"]);
        assert_eq!(keep("서울 날씨"), ["서울", "날씨"]);
        assert_eq!(keep("ไทย abc"), ["ไท", "ทย", "abc"]);
        assert_eq!(keep("𠮷野家"), ["𠮷", "野家"]);
    }

    proptest! {
        #[test]
        fn ascii_words_are_the_words_of_the_general_way(text in "[a-c1-2.,;:'_ -]*|[ -~]*") {
            for apostrophe in
                [Apostrophe::Keep, Apostrophe::Ending, Apostrophe::Split, Apostrophe::Cut]
            {
                let mut general = Vec::new();
                split_spaced(&text, apostrophe, &mut |word, _| general.push(word.to_owned()));
                prop_assert_eq!(words(&text, apostrophe), general);
            }
        }
    }
}
