//! Judgments between blanks: TREC's `query iteration document grade`, the same without the
//! iteration, and the lists of the SMART collections, which name relevant documents and then
//! say nothing but zeros. Imports read them one at a time, with grades as they are written;
//! evaluation reads whole files in TREC's shape.

use serde_json::Value;

use super::bad_row::{BadRow, Checked, excerpt};
use super::input::Input;
use super::lines::Lines;
use super::query_lines::Span;
use super::row::{ObjectRow, Row, RowSource, TableSource};
use super::trec_lines::{Fields, ParsedLine, Problem, TrecFormat};
use crate::Result;

/// What the fields of a row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QrelsLayout {
    /// `query document`: each pair is relevant.
    Listed,
    /// `query document grade`.
    Three,
    /// `query iteration document grade`.
    Trec,
    /// `query document 0 0.000000`: each pair is relevant.
    Zeros,
}

/// A judgment by the places of its fields; listed pairs have no grade.
struct Judged {
    query: Span,
    doc: Span,
    grade: Option<Span>,
}

impl QrelsLayout {
    /// What the first line of a file says of all.
    fn of(text: &str, line: &Fields, smart: bool) -> Option<Self> {
        let is_zero = |at: usize| is_zero(line.fields[at].of(text));
        match line.n {
            2 if smart => Some(QrelsLayout::Listed),
            3 => Some(QrelsLayout::Three),
            // A grade is a whole number; SMART's last column never is.
            4 if is_zero(2) && is_zero(3) && (smart || line.fields[3].of(text).contains('.')) => {
                Some(QrelsLayout::Zeros)
            }
            4 if !smart => Some(QrelsLayout::Trec),
            _ => None,
        }
    }

    /// The judgment in a line, if the line has this shape.
    fn judged(self, text: &str, line: &Fields) -> Option<Judged> {
        let [first, second, third, fourth, ..] = line.fields;
        let is_zero = |field: Span| is_zero(field.of(text));
        let (n, doc, grade) = match self {
            QrelsLayout::Listed => (2, second, None),
            QrelsLayout::Three => (3, second, Some(third)),
            QrelsLayout::Trec => (4, third, Some(fourth)),
            QrelsLayout::Zeros if line.n == 4 && !(is_zero(third) && is_zero(fourth)) => {
                return None;
            }
            QrelsLayout::Zeros => (4, second, None),
        };
        (line.n == n).then_some(Judged { query: first, doc, grade })
    }
}

/// Judgments as trec_eval reads them.
pub(crate) struct Judgments;

const FIELDS: Problem =
    Problem { why: "not four fields", expected: "four fields: qid iteration docno grade" };
const SUBTOPIC_FIELDS: Problem =
    Problem { why: "not four fields", expected: "four fields: qid subtopic docno grade" };
const GRADE: Problem = Problem { why: "no grade", expected: "a whole number as the grade" };

impl TrecFormat for Judgments {
    type Value = i32;

    const SHAPE: &'static str =
        "a judgment has four fields: qid iteration docno grade (301 0 FT911-3 1)";

    fn parse(text: &str, line: &Fields) -> ParsedLine<i32> {
        whole_grade(text, line, &FIELDS)
    }
}

/// Judgments by subtopic: the subtopic and the grade of a document.
pub(crate) struct JudgmentsBySubtopic;

impl TrecFormat for JudgmentsBySubtopic {
    type Value = (Span, i32);

    const SHAPE: &'static str = "a judgment by subtopic has four fields: qid subtopic docno grade \
                                 (51 2 clueweb09-en0000-23-00000 1)";

    fn parse(text: &str, line: &Fields) -> ParsedLine<(Span, i32)> {
        let (query, doc, grade) = whole_grade(text, line, &SUBTOPIC_FIELDS)?;
        Ok((query, doc, (line.fields[1], grade)))
    }
}

/// Query, document and grade in TREC's shape.
fn whole_grade(text: &str, line: &Fields, fields: &'static Problem) -> ParsedLine<i32> {
    match QrelsLayout::Trec.judged(text, line) {
        Some(Judged { query, doc, grade: Some(grade) }) => {
            let value = grade.of(text).parse().map_err(|_| (grade, &GRADE))?;
            Ok((query, doc, value))
        }
        _ => Err((line.whole(text), fields)),
    }
}

/// The judgments of a file, one at a time, in any shape.
pub(super) struct Qrels<'r> {
    lines: Lines<'r>,
    /// Whether they belong to a SMART collection.
    smart: bool,
    /// What the first row says of all.
    shape: Option<QrelsLayout>,
}

impl<'r> Qrels<'r> {
    pub(super) fn new(input: Input<'r>, smart: bool) -> Self {
        Qrels { lines: Lines::new(input), smart, shape: None }
    }

    fn advance(&mut self) -> Result<Option<ObjectRow>> {
        let (line, text) = match self.lines.advance()? {
            None => return Ok(None),
            Some(Err(bad)) => return Ok(Some(Err(bad))),
            Some(Ok(read)) => read,
        };
        let fields = Fields::of_line(text.as_bytes(), 0);
        self.shape = self.shape.or_else(|| QrelsLayout::of(text, &fields, self.smart));
        let Some(Judged { query, doc, grade }) =
            self.shape.and_then(|shape| shape.judged(text, &fields))
        else {
            let expected = match self.shape {
                Some(QrelsLayout::Listed) => "query and document, as in the first line",
                Some(QrelsLayout::Three) => "query, document and grade, as in the first line",
                Some(QrelsLayout::Trec) => "query, iteration, document and grade",
                Some(QrelsLayout::Zeros) => "query, document, 0 and 0, as in the first line",
                None => "query, iteration, document and grade, or query, document and grade",
            };
            let found = format!("{:?}", excerpt(text.trim()));
            let bad = BadRow::new("wrong number of fields", line, expected, found);
            return Ok(Some(Err(BadRow {
                advice: "other columns can be read as tsv, with `columns`",
                ..bad
            })));
        };
        let grade = grade.map_or("1", |grade| grade.of(text));
        let fields = [("query", query.of(text)), ("doc", doc.of(text))];
        let fields = fields.into_iter().chain([("grade", grade), ("weight", grade)]);
        let object = fields.map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
        Ok(Some(Ok((line, object))))
    }
}

impl RowSource for Qrels<'_> {
    type Row = Row;

    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>> {
        Ok(self.advance()?.map(|read| row.set(read)))
    }
}

impl<'r> TableSource<'r> for Qrels<'r> {
    fn input(&self) -> &Input<'r> {
        self.lines.input()
    }

    fn note(&self) -> Option<String> {
        let listed = matches!(self.shape, Some(QrelsLayout::Listed | QrelsLayout::Zeros));
        listed.then(|| "no grades: every listed pair is relevant (grade 1)".to_owned())
    }
}

fn is_zero(text: &str) -> bool {
    text.parse() == Ok(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{input_of, objects};
    use super::*;

    fn rows(text: &str, smart: bool) -> Vec<(u64, String)> {
        let mut qrels = Qrels::new(input_of(text), smart);
        objects(&mut qrels)
    }

    fn row(query: &str, doc: &str, grade: &str) -> String {
        format!(r#"{{"query":"{query}","doc":"{doc}","grade":"{grade}","weight":"{grade}"}}"#)
    }

    #[test]
    fn every_shape_of_judgments_is_read() {
        for (text, smart, expected) in [
            ("q1 0 d1 2\nq1\tQ0\td2   0\n", false, [row("q1", "d1", "2"), row("q1", "d2", "0")]),
            ("1 184 2 \n1 29 -1\n", false, [row("1", "184", "2"), row("1", "29", "-1")]),
            (
                "  1  28\t0\t0.000000\n1 35 0 0.0\n",
                false,
                [row("1", "28", "1"), row("1", "35", "1")],
            ),
            ("1 28 0 0\n1 35 0 0\n", true, [row("1", "28", "1"), row("1", "35", "1")]),
            ("1 28\n1 35\n", true, [row("1", "28", "1"), row("1", "35", "1")]),
        ] {
            let read: Vec<String> = rows(text, smart).into_iter().map(|(_, row)| row).collect();
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn rows_of_another_shape_are_bad() {
        for (text, line, words) in [
            ("q 0 d 1 5\n", 1, "query, iteration, document and grade, or query"),
            ("q 0 d 1\nq d 1\n", 2, "expected query, iteration, document and grade, found"),
            ("1 28 0 0.0\n1 29 0 1.0\n", 2, "expected query, document, 0 and 0"),
            ("a\n", 1, "found \"a\""),
        ] {
            let all = rows(text, false);
            let last = all.last().unwrap();
            assert!(last.0 == line && last.1.contains(words), "{all:?}");
        }
    }
}
