//! Reading judgments and runs as trec_eval 10 does: fields parted by white space, lines that
//! begin with `#` are comments, blank lines are skipped, further fields of a run are ignored.
//! Unlike trec_eval, which takes `1.5x` for 1.5 and `high` for 0, a number must be one.

mod subtopics;

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use super::gathered::{Lines, Span, Twice};
use super::lists::{Qrels, TrecRun};
use crate::rows::{Dropped, WholeText, whole_text};
use crate::{Error, Result, Run};

pub use subtopics::read_diversity_qrels;

/// How many bad lines of a kind are quoted.
const SAMPLES: usize = 3;

/// About how many bytes one thread reads at a time.
const BLOCK: usize = 1 << 20;

/// Reads judgments, `qid iteration docno grade`, from a file (packed or not; `-` is standard
/// input). A bad line is an error that says where it stands, as is a document that a query
/// judges twice; if `lenient`, such lines are left out and counted (of a document's judgments
/// the first is kept).
pub fn read_qrels(path: &Path, lenient: bool, run: Run<'_>) -> Result<(Qrels, Vec<Dropped>)> {
    let WholeText { label, text, not_utf8 } = whole_text(path, lenient, run)?;
    let file = File { path: &label, lenient, shape: QRELS };
    let (lines, bad) = file.lines(&text, judgment);
    let mut dropped = file.not_utf8(&not_utf8);
    dropped.extend(file.bad(&text, &bad)?);
    let (qrels, twice) = Qrels::read(text, lines);
    dropped.extend(file.twice(qrels.text(), &twice, &TWICE_JUDGED)?);
    if qrels.is_empty() { Err(file.empty("no judgments")) } else { Ok((qrels, dropped)) }
}

/// Reads a run, `qid Q0 docno rank score tag`, from a file (packed or not; `-` is standard
/// input). A bad line is an error that says where it stands, as is a document that a query
/// ranks twice; if `lenient`, such lines are left out and counted (of a document's lines the
/// first is kept).
pub fn read_run(path: &Path, lenient: bool, run: Run<'_>) -> Result<(TrecRun, Vec<Dropped>)> {
    let WholeText { label, text, not_utf8 } = whole_text(path, lenient, run)?;
    let file = File { path: &label, lenient, shape: RUN };
    let (lines, bad) = file.lines(&text, result);
    let mut dropped = file.not_utf8(&not_utf8);
    dropped.extend(file.bad(&text, &bad)?);
    let tag = lines.last().map_or("", |doc| {
        // The document is the third field of its line, the tag the sixth.
        Fields::of_line(text.as_bytes(), doc.start).fields[3].of(&text)
    });
    let (ranked, twice) = TrecRun::read(tag.to_owned(), text, lines);
    dropped.extend(file.twice(ranked.text(), &twice, &TWICE)?);
    if ranked.is_empty() { Err(file.empty("no results")) } else { Ok((ranked, dropped)) }
}

const QRELS: &str = "a judgment has four fields: qid iteration docno grade (301 0 FT911-3 1)";
const RUN: &str =
    "a result has six fields: qid Q0 docno rank score tag (301 Q0 FT911-3 1 12.5 bm25)";

/// What can be wrong with a line.
struct Problem {
    /// For counting.
    why: &'static str,
    expected: &'static str,
}

const JUDGMENT_FIELDS: Problem =
    Problem { why: "not four fields", expected: "four fields: qid iteration docno grade" };
const GRADE: Problem = Problem { why: "no grade", expected: "a whole number as the grade" };
const RESULT_FIELDS: Problem =
    Problem { why: "fewer than six fields", expected: "six fields: qid Q0 docno rank score tag" };
const SCORE: Problem = Problem { why: "no score", expected: "a finite number as the score" };
const NOT_UTF8: Problem = Problem { why: "not UTF-8", expected: "text in UTF-8" };
const TWICE: Problem = Problem {
    why: "a document named before for the same query",
    expected: "each document once for a query",
};

const TWICE_JUDGED: Problem = Problem {
    expected: "each document once for a query (or a measure such as alpha_nDCG@10, if documents \
               are judged by subtopic)",
    ..TWICE
};

/// A part of the text that is wrong.
struct Bad {
    at: Span,
    problem: &'static Problem,
}

/// Query, document and number of a line, or what is wrong with it.
type Read<T> = std::result::Result<(Span, Span, T), Bad>;

fn judgment(text: &str, line: &Fields) -> Read<i32> {
    let [query, _, doc, grade, ..] = line.fields;
    if line.n != 4 {
        return Err(Bad { at: line.whole(text), problem: &JUDGMENT_FIELDS });
    }
    let value = grade.of(text).parse().map_err(|_| Bad { at: grade, problem: &GRADE })?;
    Ok((query, doc, value))
}

fn result(text: &str, line: &Fields) -> Read<f64> {
    let [query, _, doc, _, score, _] = line.fields;
    if line.n < 6 {
        return Err(Bad { at: line.whole(text), problem: &RESULT_FIELDS });
    }
    let value = number(score.of(text)).filter(|score| score.is_finite());
    Ok((query, doc, value.ok_or(Bad { at: score, problem: &SCORE })?))
}

/// The number that `text` is. Most scores have few digits and no exponent; those are read here,
/// because a whole number below 2^53 over a small power of ten is rounded once, as it should.
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

/// The first six fields of a line, parted by what C takes for white space.
struct Fields {
    fields: [Span; 6],
    /// How many there are, further ones included.
    n: usize,
    /// Where the line ends, its end included.
    end: usize,
}

impl Fields {
    /// Of the line that begins at `start`.
    fn of_line(bytes: &[u8], start: usize) -> Self {
        let space = |byte: u8| byte == b' ' || byte.wrapping_sub(b'\t') < 5;
        let (mut fields, mut n, mut at) = ([Span { start, len: 0 }; 6], 0, start);
        loop {
            while at < bytes.len() && bytes[at] != b'\n' && space(bytes[at]) {
                at += 1;
            }
            if at >= bytes.len() || bytes[at] == b'\n' {
                let end = (at + 1).min(bytes.len());
                return Fields { fields, n, end };
            }
            let field = at;
            while at < bytes.len() && !space(bytes[at]) {
                at += 1;
            }
            if let Some(span) = fields.get_mut(n) {
                *span = Span { start: field, len: (at - field) as u32 };
            }
            n += 1;
        }
    }

    /// The line without the white space around it.
    fn whole(&self, text: &str) -> Span {
        let start = self.fields[0].start;
        Span { start, len: text[start..self.end].trim_end().len() as u32 }
    }
}

/// The file that is being read.
struct File<'a> {
    path: &'a Path,
    lenient: bool,
    shape: &'static str,
}

impl File<'_> {
    /// Parses every line that is neither blank nor a comment.
    fn lines<T: Copy + Send>(
        &self,
        text: &str,
        parse: impl Fn(&str, &Fields) -> Read<T> + Sync,
    ) -> (Lines<T>, Vec<Bad>) {
        let (parts, bad): (Vec<Lines<T>>, Vec<Vec<Bad>>) = blocks(text)
            .into_par_iter()
            .map(|block| {
                let (mut lines, mut bad) = (Lines::default(), Vec::new());
                let mut start = block.start;
                while start < block.end {
                    let line = Fields::of_line(text.as_bytes(), start);
                    start = line.end;
                    if line.n == 0 || text.as_bytes()[line.fields[0].start] == b'#' {
                        continue;
                    }
                    match parse(text, &line) {
                        Ok((query, doc, value)) => lines.push(text, query, doc, value),
                        Err(wrong) => bad.push(wrong),
                    }
                }
                (lines, bad)
            })
            .unzip();
        (Lines::concat(text, parts), bad.into_iter().flatten().collect())
    }

    /// Counts lines that could not be read at all, which only a lenient reading gets to.
    fn not_utf8(&self, lines: &[(u64, String)]) -> Vec<Dropped> {
        let Problem { why, expected } = NOT_UTF8;
        let sample =
            |(line, found): &(u64, String)| self.sample(*line, expected, &shortened(found));
        let samples: Vec<String> = lines.iter().take(SAMPLES).map(sample).collect();
        let count = lines.len() as u64;
        if lines.is_empty() { vec![] } else { vec![Dropped { why: why.into(), count, samples }] }
    }

    fn sample(&self, line: u64, expected: &str, found: &str) -> String {
        format!("{}:{line}: expected {expected}, found {found}", self.path.display())
    }

    /// What was wrong: an error, or counts if the reading is lenient.
    fn bad(&self, text: &str, bad: &[Bad]) -> Result<Vec<Dropped>> {
        self.count(bad.iter().map(|bad| {
            let found = move || shortened(bad.at.of(text));
            (text, bad.at, bad.problem, found)
        }))
    }

    /// The same for documents named twice.
    fn twice(
        &self,
        text: &str,
        twice: &[Twice],
        problem: &'static Problem,
    ) -> Result<Vec<Dropped>> {
        self.count(twice.iter().map(|twice| {
            let found = move || {
                format!(
                    "{} again for query {}, as in line {}",
                    shortened(twice.again.of(text)),
                    shortened(twice.query.of(text)),
                    line_number(text, twice.first)
                )
            };
            (text, twice.again, problem, found)
        }))
    }

    fn count<'t, F: Fn() -> String>(
        &self,
        wrong: impl Iterator<Item = (&'t str, Span, &'static Problem, F)>,
    ) -> Result<Vec<Dropped>> {
        let mut dropped: Vec<Dropped> = Vec::new();
        for (text, at, problem, found) in wrong {
            if !self.lenient {
                return Err(Error::Line {
                    path: self.path.to_owned(),
                    line: line_number(text, at),
                    expected: problem.expected.into(),
                    found: found(),
                    advice: format!(
                        "{}; --lenient leaves bad lines out and counts them",
                        self.shape
                    ),
                });
            }
            let place = dropped.iter().position(|dropped| dropped.why == problem.why);
            let place = place.unwrap_or_else(|| {
                dropped.push(Dropped { why: problem.why.into(), count: 0, samples: Vec::new() });
                dropped.len() - 1
            });
            let dropped = &mut dropped[place];
            dropped.count += 1;
            if dropped.samples.len() < SAMPLES {
                let line = line_number(text, at);
                dropped.samples.push(self.sample(line, problem.expected, &found()));
            }
        }
        Ok(dropped)
    }

    fn empty(&self, problem: &str) -> Error {
        Error::Unusable {
            path: self.path.to_owned(),
            problem: problem.to_owned(),
            advice: self.shape.to_owned(),
        }
    }
}

/// The text in parts of about [`BLOCK`] bytes that end with a line.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let bytes = text.as_bytes();
        let from = (start + BLOCK).min(bytes.len());
        let rest = bytes[from..].iter().position(|&byte| byte == b'\n');
        let end = rest.map_or(bytes.len(), |rest| from + rest + 1);
        blocks.push(start..end);
        start = end;
    }
    blocks
}

fn line_number(text: &str, at: Span) -> u64 {
    1 + text.as_bytes()[..at.start].iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// Quoted, and cut where it is long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests;
