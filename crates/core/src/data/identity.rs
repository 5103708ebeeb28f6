//! The identity of a query, which its spellings share: NFKC, case-folded, spaces collapsed.

use std::borrow::Cow;

use crate::text::query_identity;

/// The identity of the query `text`. Idempotent.
pub(super) fn identity(text: &str) -> Cow<'_, str> {
    if is_plain(text) { Cow::Borrowed(text) } else { Cow::Owned(query_identity(text)) }
}

/// The words of `text` with one space between them.
pub(super) fn collapse_spaces(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
    }
    collapsed
}

/// Whether `text` is its own identity for certain, as most lines of a log are.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().all(|&byte| matches!(byte, b' '..=b'~') && !byte.is_ascii_uppercase())
        && bytes.first() != Some(&b' ')
        && bytes.last() != Some(&b' ')
        && !bytes.windows(2).any(|pair| pair == b"  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_query_share_its_identity() {
        assert_eq!(identity("new york"), "new york");
        assert_eq!(identity("  New\tYORK \u{3000}"), "new york");
        assert_eq!(identity("Ｎｅｗ　Ｙｏｒｋ"), "new york");
        assert_eq!(identity("STRASSE"), identity("straße"));
        assert_eq!(identity("cafe\u{301}"), "café");
        assert_eq!(identity(" \t "), "");
    }

    #[test]
    fn identity_of_an_identity_is_itself() {
        for text in ["ΑΙ\u{345}", "ﬁ Ω", "İstanbul", "ß\u{301}", "a  b"] {
            let once = identity(text).into_owned();
            assert_eq!(identity(&once), once, "{text}");
        }
    }
}
