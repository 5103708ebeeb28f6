//! Parses the lines of a run: `qid Q0 docno rank score tag`; further fields are ignored. The rankings
//! made of them are in `eval/trec/trec_run.rs`.

use super::query_lines::{QueryLines, Span};
use super::trec_lines::{Fields, ParsedLine, Problem, TrecFormat};

/// The line format of runs.
pub(crate) struct RunFormat;

const FIELDS: Problem =
    Problem { why: "fewer than six fields", expected: "six fields: qid Q0 docno rank score tag" };
const SCORE: Problem = Problem { why: "no score", expected: "a finite number as the score" };

impl TrecFormat for RunFormat {
    type Value = f64;

    const SHAPE: &'static str =
        "a result has six fields: qid Q0 docno rank score tag (301 Q0 FT911-3 1 12.5 bm25)";

    fn parse(text: &str, line: &Fields) -> ParsedLine<f64> {
        let [query, _, doc, _, score, _] = line.fields;
        if line.n < 6 {
            return Err((line.whole(text), &FIELDS));
        }
        let value = number(score.of(text)).filter(|score| score.is_finite());
        Ok((query, doc, value.ok_or((score, &SCORE))?))
    }
}

impl RunFormat {
    /// The run's name, from the last column of the last line.
    pub(crate) fn tag<'t>(text: &'t str, lines: &QueryLines<f64>) -> &'t str {
        lines.last().map_or("", |doc: Span| {
            // The document is the third field of its line, the tag the sixth.
            Fields::of_line(text.as_bytes(), doc.start).fields[3].of(text)
        })
    }
}

/// Parses `text` as a number. Most scores have few digits and no exponent; those are parsed here,
/// because the quotient of a whole number below 2^53 and a small power of ten is rounded correctly.
fn number(text: &str) -> Option<f64> {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.len() > 16 || !digits.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return text.parse().ok();
    }
    let (mut whole, mut places, mut after_point) = (0u64, 0, false);
    for &byte in digits.as_bytes() {
        match byte {
            b'0'..=b'9' => {
                whole = whole * 10 + u64::from(byte - b'0');
                places += usize::from(after_point);
            }
            b'.' if !after_point => after_point = true,
            _ => return text.parse().ok(),
        }
    }
    if whole >= 1 << 53 {
        return text.parse().ok();
    }
    let value = whole as f64 / POWERS[places];
    Some(if digits.len() < text.len() { -value } else { value })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_read_as_the_library_reads_them(
            text in "-?[0-9]{0,17}(\\.[0-9]{0,17})?(e-?[0-9]{1,2})?", score: f64, digits in 0usize..12,
        ) {
            for text in [text, score.to_string(), format!("{score:.digits$}"), format!("{score:e}")] {
                let expected: Option<f64> = text.parse().ok();
                prop_assert_eq!(number(&text).map(f64::to_bits), expected.map(f64::to_bits), "{}", text);
            }
        }
    }
}
