//! Judgments separated by white space: TREC's `query iteration document grade`, the same without
//! the iteration, and the lists of the SMART collections, which name relevant documents, followed by
//! zeros or nothing. Imports read them row by row, with grades as they are written; evaluation
//! reads whole files in TREC's layout.

use super::bad_row::{BadRow, Checked};
use super::lines::LineFormat;
use super::query_lines::Span;
use super::row::{Row, object};
use super::trec_lines::{Fields, ParsedLine, Problem, TrecFormat};
use crate::quoted;

/// The fields of a row.
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

/// The spans of a judgment's fields; listed pairs have no grade.
struct Judged {
    query: Span,
    doc: Span,
    grade: Option<Span>,
}

impl QrelsLayout {
    /// The layout of a file, by its first line.
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

    /// The judgment in a line, if the line has this layout.
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

/// Query, document and grade in TREC's layout.
fn whole_grade(text: &str, line: &Fields, fields: &'static Problem) -> ParsedLine<i32> {
    match QrelsLayout::Trec.judged(text, line) {
        Some(Judged { query, doc, grade: Some(grade) }) => {
            let value = grade.of(text).parse().map_err(|_| (grade, &GRADE))?;
            Ok((query, doc, value))
        }
        _ => Err((line.whole(text), fields)),
    }
}

/// The judgments of a table, in any layout.
pub(super) struct Qrels {
    /// Whether they belong to a SMART collection.
    smart: bool,
    /// The layout of all rows, by the first.
    layout: Option<QrelsLayout>,
}

impl Qrels {
    pub(super) fn new(smart: bool) -> Self {
        Qrels { smart, layout: None }
    }
}

impl LineFormat for Qrels {
    fn parse(&mut self, line: u64, text: &mut String, row: &mut Row) -> Checked<()> {
        let fields = Fields::of_line(text.as_bytes(), 0);
        self.layout = self.layout.or_else(|| QrelsLayout::of(text, &fields, self.smart));
        let Some(Judged { query, doc, grade }) =
            self.layout.and_then(|layout| layout.judged(text, &fields))
        else {
            let expected = match self.layout {
                Some(QrelsLayout::Listed) => "query and document, as in the first line",
                Some(QrelsLayout::Three) => "query, document and grade, as in the first line",
                Some(QrelsLayout::Trec) => "query, iteration, document and grade",
                Some(QrelsLayout::Zeros) => "query, document, 0 and 0, as in the first line",
                None => "query, iteration, document and grade, or query, document and grade",
            };
            let found = quoted(text.trim());
            return Err(BadRow {
                advice: "other columns can be read as tsv, with `columns`",
                ..BadRow::new("wrong number of fields", line, expected, found)
            });
        };
        let grade = grade.map_or("1", |grade| grade.of(text));
        *row = Row::Object(object([
            ("query", query.of(text).into()),
            ("doc", doc.of(text).into()),
            ("grade", grade.into()),
            ("weight", grade.into()),
        ]));
        Ok(())
    }

    fn note(&self) -> Option<String> {
        let listed = matches!(self.layout, Some(QrelsLayout::Listed | QrelsLayout::Zeros));
        listed.then(|| "no grades: every listed pair is relevant (grade 1)".to_owned())
    }
}

fn is_zero(text: &str) -> bool {
    text.parse() == Ok(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{input_of, objects};
    use super::super::lines::LineRows;
    use super::*;

    fn rows(text: &str, smart: bool) -> Vec<(u64, String)> {
        objects(&mut LineRows::new(input_of(text), Qrels::new(smart)))
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
