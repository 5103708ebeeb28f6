//! TREC's files of judgments and results, read as a whole: fields are separated by white space, lines
//! that begin with `#` are comments, blank lines are skipped, as in trec_eval 10. Unlike
//! trec_eval, which reads `1.5x` as 1.5 and `high` as 0, invalid numbers are errors.
//!
//! A run of a thousand queries names a million documents, so the text is parsed in parallel, and
//! the result refers to spans of it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::bad_row::BadRow;
use super::dropped::Dropped;
use super::query_lines::{QueryLines, Span, Twice};
use super::text::{WholeText, whole_text};
use crate::{Error, Result, Run, quoted};

/// About how many bytes one task parses.
const BLOCK: usize = 1 << 20;

/// A kind of bad lines.
pub(crate) struct Problem {
    /// Its name in counts.
    pub why: &'static str,
    pub expected: &'static str,
}

/// A format of one document per line.
pub(crate) trait TrecFormat {
    /// The grade or score of the document.
    type Value: Copy + Send;

    /// The fields of a line with an example, as advice.
    const SHAPE: &'static str;

    fn parse(text: &str, line: &Fields) -> ParsedLine<Self::Value>;
}

/// Query, document and value of a line, or the part of it that is wrong.
pub(crate) type ParsedLine<T> = std::result::Result<(Span, Span, T), (Span, &'static Problem)>;

/// A parsed file.
pub(crate) struct TrecFile<T> {
    pub text: String,
    pub lines: QueryLines<T>,
    pub dropped: Vec<Dropped>,
    pub about: TrecAbout,
}

/// What messages about a file need.
pub(crate) struct TrecAbout {
    path: PathBuf,
    lenient: bool,
    shape: &'static str,
}

/// Reads the file at `path` (compressed or not; `-` is standard input). A bad line is an error that
/// names the line; if `lenient`, such lines are dropped and counted.
pub(crate) fn read_trec<F: TrecFormat>(
    path: &Path,
    lenient: bool,
    run: Run<'_>,
) -> Result<TrecFile<F::Value>> {
    let WholeText { label, text, not_utf8 } = whole_text(path, lenient, run)?;
    let about = TrecAbout { path: label, lenient, shape: F::SHAPE };
    let mut dropped = Vec::new();
    for (line, found) in not_utf8 {
        let sample = || BadRow::new("", line, "text in UTF-8", quoted(&found)).sample(&about.path);
        Dropped::count(&mut dropped, "not UTF-8", Some(&sample));
    }
    let blocks: Vec<Block<F::Value>> =
        ranges(&text).into_par_iter().map(|range| Block::parse::<F>(&text, range)).collect();
    let mut before = 0;
    let mut all = Vec::with_capacity(blocks.len());
    for Block { lines, bad, n_lines } in blocks {
        for BadKind { count, mut first } in bad {
            first.iter_mut().for_each(|bad| bad.line += before);
            if !lenient {
                // Kinds come in the order of their first lines.
                return Err(about.error(first.swap_remove(0)));
            }
            let why = first[0].why;
            let samples = first.iter().map(|bad| bad.sample(&about.path));
            Dropped::count_many(&mut dropped, why, count, samples);
        }
        before += n_lines;
        all.push(lines);
    }
    let lines = QueryLines::concat(&text, all);
    Ok(TrecFile { text, lines, dropped, about })
}

/// A parsed block of the text.
struct Block<T> {
    lines: QueryLines<T>,
    /// Bad lines by kind, in the order of their first lines.
    bad: Vec<BadKind>,
    n_lines: u64,
}

/// Bad lines of one kind, and the first few of them, with lines counted within the block.
struct BadKind {
    count: u64,
    first: Vec<BadRow>,
}

impl<T: Copy> Block<T> {
    fn parse<F: TrecFormat<Value = T>>(text: &str, Range { start, end }: Range<usize>) -> Self {
        let mut block = Block { lines: QueryLines::default(), bad: Vec::new(), n_lines: 0 };
        let mut at = start;
        while at < end {
            let line = Fields::of_line(text.as_bytes(), at);
            at = line.end;
            block.n_lines += 1;
            if line.n == 0 || text.as_bytes()[line.fields[0].start] == b'#' {
                continue;
            }
            match F::parse(text, &line) {
                Ok((query, doc, value)) => block.lines.push(text, query, doc, value),
                Err((found, problem)) => block.add_bad(problem, quoted(found.of(text))),
            }
        }
        block
    }

    fn add_bad(&mut self, &Problem { why, expected }: &Problem, found: String) {
        let bad = BadRow::new(why, self.n_lines, expected, found);
        match self.bad.iter_mut().find(|kind| kind.first[0].why == why) {
            Some(kind) => {
                kind.count += 1;
                if kind.first.len() < Dropped::SAMPLES {
                    kind.first.push(bad);
                }
            }
            None => self.bad.push(BadKind { count: 1, first: vec![bad] }),
        }
    }
}

impl TrecAbout {
    fn error(&self, bad: BadRow) -> Error {
        let BadRow { line, expected, found, .. } = bad;
        let advice = format!("{}; `lenient` drops bad lines and counts them", self.shape);
        Error::Line { path: self.path.clone(), line, expected, found, advice }
    }

    /// Documents that a query names twice: an error, or counts if lenient.
    pub(crate) fn named_twice(
        &self,
        text: &str,
        twice: &[Twice],
        problem: &Problem,
    ) -> Result<Vec<Dropped>> {
        let mut dropped = Vec::new();
        for Twice { query, first, again } in twice {
            let bad = || {
                let found = format!(
                    "{} again for query {}, as in line {}",
                    quoted(again.of(text)),
                    quoted(query.of(text)),
                    line_number(text, *first)
                );
                BadRow::new(problem.why, line_number(text, *again), problem.expected, found)
            };
            if !self.lenient {
                return Err(self.error(bad()));
            }
            Dropped::count(&mut dropped, problem.why, Some(&|| bad().sample(&self.path)));
        }
        Ok(dropped)
    }

    /// The error about a file without a valid line.
    pub(crate) fn empty(&self, problem: &str) -> Error {
        Error::Unusable {
            path: self.path.clone(),
            problem: problem.to_owned(),
            advice: self.shape.to_owned(),
        }
    }
}

/// The first six fields of a line, separated by what C's `isspace` accepts.
pub(crate) struct Fields {
    pub fields: [Span; 6],
    /// The number of all fields.
    pub n: usize,
    /// Where the next line starts.
    end: usize,
}

impl Fields {
    /// The fields of the line that begins at `start`.
    pub fn of_line(bytes: &[u8], start: usize) -> Self {
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
    pub fn whole(&self, text: &str) -> Span {
        let start = self.fields[0].start;
        Span { start, len: text[start..self.end].trim_end().len() as u32 }
    }
}

/// The text in ranges of about [`BLOCK`] bytes that end with a line.
fn ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let bytes = text.as_bytes();
        let from = (start + BLOCK).min(bytes.len());
        let rest = bytes[from..].iter().position(|&byte| byte == b'\n');
        let end = rest.map_or(bytes.len(), |rest| from + rest + 1);
        ranges.push(start..end);
        start = end;
    }
    ranges
}

fn line_number(text: &str, at: Span) -> u64 {
    1 + text.as_bytes()[..at.start].iter().filter(|&&byte| byte == b'\n').count() as u64
}
