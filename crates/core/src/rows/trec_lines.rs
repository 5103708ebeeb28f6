//! TREC's files of judgments and results, read as a whole: fields parted by white space, lines
//! that begin with `#` are comments, blank lines are skipped, as in trec_eval 10. Unlike
//! trec_eval, which takes `1.5x` for 1.5 and `high` for 0, a number must be one.
//!
//! A run of a thousand queries names a million documents, so the text is read in parallel, and
//! its lines are places in it.

use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::bad_row::{BadRow, Checked};
use super::dropped::Dropped;
use super::query_lines::{QueryLines, Span, Twice};
use super::row::RowSource;
use super::text::{WholeText, whole_text};
use crate::{Error, Result, Run, quoted};

/// About how many bytes one thread reads at a time.
const BLOCK: usize = 1 << 20;

/// What can be wrong with a line.
pub(crate) struct Problem {
    /// For counting.
    pub why: &'static str,
    pub expected: &'static str,
}

/// A format of one document a line.
pub(crate) trait TrecFormat {
    /// What a line says of the document.
    type Value: Copy + Default + Send;

    /// An example for those who have written something else.
    const SHAPE: &'static str;

    /// Query, document and value of a line, or the part of it that is wrong.
    fn parse(text: &str, line: &Fields) -> ParsedLine<Self::Value>;
}

/// Query, document and value of a line, or the part of it that is wrong.
pub(crate) type ParsedLine<T> = std::result::Result<(Span, Span, T), (Span, &'static Problem)>;

/// The lines of a part of a text.
struct Block<'t, F> {
    text: &'t str,
    at: usize,
    end: usize,
    /// The line just read, counted from one in this part.
    line: u64,
    format: PhantomData<F>,
}

impl<F: TrecFormat> RowSource for Block<'_, F> {
    type Row = (Span, Span, F::Value);

    fn read_row(&mut self, row: &mut Self::Row) -> Result<Option<Checked<u64>>> {
        while self.at < self.end {
            let line = Fields::of_line(self.text.as_bytes(), self.at);
            self.at = line.end;
            self.line += 1;
            if line.n == 0 || self.text.as_bytes()[line.fields[0].start] == b'#' {
                continue;
            }
            return Ok(Some(match F::parse(self.text, &line) {
                Ok(read) => {
                    *row = read;
                    Ok(self.line)
                }
                Err((at, Problem { why, expected })) => {
                    Err(BadRow::new(why, self.line, *expected, quoted(at.of(self.text))))
                }
            }));
        }
        Ok(None)
    }
}

/// What was read of a file.
pub(crate) struct TrecFile<T> {
    pub text: String,
    pub lines: QueryLines<T>,
    /// Lines left out.
    pub dropped: Vec<Dropped>,
    pub about: TrecAbout,
}

/// How a file is read, for messages.
pub(crate) struct TrecAbout {
    path: PathBuf,
    lenient: bool,
    shape: &'static str,
}

/// Reads the file at `path` (compressed or not; `-` is standard input). A bad line is an error that
/// says where it stands; if `lenient`, such lines are left out and counted.
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
    let parts: Vec<Part<F::Value>> = blocks(&text)
        .into_par_iter()
        .map(|Range { start, end }| {
            let block = Block { text: &text, at: start, end, line: 0, format: PhantomData::<F> };
            Part::read(&text, block)
        })
        .collect::<Result<_>>()?;
    let mut before = 0;
    let mut all = Vec::with_capacity(parts.len());
    for Part { lines, bad, n_lines } in parts {
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

/// What was read of a part of the text.
struct Part<T> {
    lines: QueryLines<T>,
    bad: Vec<BadKind>,
    n_lines: u64,
}

/// Bad lines of one kind, and the first few of them.
struct BadKind {
    count: u64,
    first: Vec<BadRow>,
}

impl<T: Copy + Default> Part<T> {
    fn read<F: TrecFormat<Value = T>>(text: &str, mut block: Block<'_, F>) -> Result<Self> {
        let (mut lines, mut bad) = (QueryLines::default(), Vec::<BadKind>::new());
        let mut row = Default::default();
        while let Some(read) = block.read_row(&mut row)? {
            match read {
                Ok(_) => lines.push(text, row.0, row.1, row.2),
                Err(wrong) => match bad.iter_mut().find(|kind| kind.first[0].why == wrong.why) {
                    Some(kind) => {
                        kind.count += 1;
                        if kind.first.len() < Dropped::SAMPLES {
                            kind.first.push(wrong);
                        }
                    }
                    None => bad.push(BadKind { count: 1, first: vec![wrong] }),
                },
            }
        }
        Ok(Part { lines, bad, n_lines: block.line })
    }
}

impl TrecAbout {
    fn error(&self, bad: BadRow) -> Error {
        let BadRow { line, expected, found, .. } = bad;
        let advice = format!("{}; `lenient` leaves bad lines out and counts them", self.shape);
        Error::Line { path: self.path.clone(), line, expected, found, advice }
    }

    /// Documents that a query names again: an error, or counts if the reading is lenient.
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

    /// A file without a line that says anything.
    pub(crate) fn empty(&self, problem: &str) -> Error {
        Error::Unusable {
            path: self.path.clone(),
            problem: problem.to_owned(),
            advice: self.shape.to_owned(),
        }
    }
}

/// The first six fields of a line, parted by what C takes for white space.
pub(crate) struct Fields {
    pub fields: [Span; 6],
    /// How many there are, further ones included.
    pub n: usize,
    /// Where the line ends, its end included.
    end: usize,
}

impl Fields {
    /// Of the line that begins at `start`.
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
