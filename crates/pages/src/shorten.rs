//! Truncation of text.

/// `text` on one line of at most `most` characters. A longer text is cut, between words if possible,
/// and ends with "…".
pub fn shorten(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut ends = line.char_indices().map(|(at, _)| at);
    let Some(end) = ends.nth(most.saturating_sub(1)) else { return line };
    let cut = match line[end..].starts_with(' ') {
        true => &line[..end],
        false => line[..end].rsplit_once(' ').map_or(&line[..end], |(before, _)| before),
    };
    format!("{cut}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_words() {
        assert_eq!(shorten(" a  b\nc ", 9), "a b c");
        assert_eq!(shorten("", 9), "");
        assert_eq!(shorten("one two three", 8), "one two…");
        assert_eq!(shorten("one two three", 9), "one two…");
        assert_eq!(shorten("pneumonia", 6), "pneum…");
        let text = "äöü some words and more of them";
        for most in 1..40 {
            let cut = shorten(text, most);
            assert!(cut.chars().count() <= most, "{most}: {cut:?}");
            assert!(text.starts_with(cut.trim_end_matches('…')), "{most}: {cut:?}");
            assert_eq!(cut == text, text.chars().count() <= most, "{most}: {cut:?}");
        }
    }
}
