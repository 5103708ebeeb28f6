//! Judgments between blanks: TREC's `query iteration document grade`, the same without the
//! iteration, and the lists of the SMART collections, which name relevant documents and then
//! say nothing but zeros.

use serde_json::Map;

use super::bad_row::{BadRow, Checked, excerpt};
use super::input::Input;
use super::lines::Lines;
use super::row::{ObjectRow, Row, RowSource, TableSource};
use crate::Result;

/// What the fields of a row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `query document`: each pair is relevant.
    Listed,
    /// `query document grade`.
    Three,
    /// `query iteration document grade`.
    Trec,
    /// `query document 0 0.000000`: each pair is relevant.
    Zeros,
}

/// The judgments of a file.
pub(super) struct Qrels<'r> {
    lines: Lines<'r>,
    /// Whether they belong to a SMART collection.
    smart: bool,
    /// What the first row says of all.
    shape: Option<Shape>,
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
        let mut words = text.split_whitespace();
        let mut fields = [""; 5];
        let n = fields.iter_mut().zip(&mut words).map(|(field, word)| *field = word).count();
        let shape = self.shape.or_else(|| shape_of(&fields[..n], self.smart));
        let row = match shape {
            Some(Shape::Listed) if n == 2 => Some((fields[0], fields[1], "1")),
            Some(Shape::Three) if n == 3 => Some((fields[0], fields[1], fields[2])),
            Some(Shape::Trec) if n == 4 => Some((fields[0], fields[2], fields[3])),
            Some(Shape::Zeros) if n == 4 && is_zero(fields[2]) && is_zero(fields[3]) => {
                Some((fields[0], fields[1], "1"))
            }
            _ => None,
        };
        let found = format!("{:?}", excerpt(text.trim()));
        self.shape = shape;
        let Some((query, doc, grade)) = row else {
            let expected = match shape {
                Some(Shape::Listed) => "query and document, as in the first line",
                Some(Shape::Three) => "query, document and grade, as in the first line",
                Some(Shape::Trec) => "query, iteration, document and grade",
                Some(Shape::Zeros) => "query, document, 0 and 0, as in the first line",
                None => "query, iteration, document and grade, or query, document and grade",
            };
            let bad = BadRow::new("wrong number of fields", line, expected, found);
            return Ok(Some(Err(BadRow {
                advice: "other columns can be read as tsv, with --columns",
                ..bad
            })));
        };
        let mut object = Map::new();
        object.insert("query".into(), query.into());
        object.insert("doc".into(), doc.into());
        object.insert("grade".into(), grade.into());
        object.insert("weight".into(), grade.into());
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
        let listed = matches!(self.shape, Some(Shape::Listed | Shape::Zeros));
        listed.then(|| "no grades: every listed pair is relevant (grade 1)".to_owned())
    }
}

fn shape_of(fields: &[&str], smart: bool) -> Option<Shape> {
    match fields {
        [_, _] if smart => Some(Shape::Listed),
        [_, _, _] => Some(Shape::Three),
        // A grade is a whole number; SMART's last column never is.
        [_, _, third, last] if is_zero(third) && is_zero(last) && (smart || last.contains('.')) => {
            Some(Shape::Zeros)
        }
        [_, _, _, _] if !smart => Some(Shape::Trec),
        _ => None,
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
