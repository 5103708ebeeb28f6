//! Files that other people's programs write, each row as an object with our names: JSON
//! documents, SMART, TREC, LDA-C, judgments between blanks, and plain lines.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::columns::Role;
use super::dataset::Source;
use super::input::Input;
use super::json::Json;
use super::ldac::Ldac;
use super::qrels::Qrels;
use super::records::Lines;
use super::smart::Smart;
use super::table::{BadRow, Checked, Table, TableFormat};
use super::trec::Trec;
use crate::{Error, Result, Run};

/// A row: the line where it starts, and its fields.
pub(super) type Row = Checked<(u64, Map<String, Value>)>;

/// A file of one of the foreign formats.
pub(super) struct Foreign<'r> {
    kind: Kind<'r>,
    /// Rows of the current line that are still to come.
    pending: VecDeque<(u64, Map<String, Value>)>,
}

enum Kind<'r> {
    Json(Json<'r>),
    Smart(Smart<'r>),
    Trec(Trec<'r>),
    Qrels(Qrels<'r>),
    Ldac(Ldac<'r>),
    Lines(Lines<'r>, Role),
}

impl<'r> Foreign<'r> {
    /// Reads `input` as `format` says; an error if no table of that role is written so.
    pub(super) fn open(
        input: Input<'r>,
        format: TableFormat,
        role: Role,
        table: &Table,
        run: Run<'r>,
    ) -> Result<Self> {
        use TableFormat as Format;
        let kind = match (format, role) {
            (Format::Json, _) => Kind::Json(Json::new(input)),
            (Format::Smart, Role::Documents | Role::Queries) => {
                Kind::Smart(Smart::new(input, role))
            }
            (Format::Trec, Role::Documents | Role::Queries) => Kind::Trec(Trec::new(input, role)),
            (Format::Smart, Role::Judgments) => Kind::Qrels(Qrels::new(input, true)),
            (Format::Trec | Format::Qrels, Role::Judgments | Role::Links) => {
                Kind::Qrels(Qrels::new(input, false))
            }
            (Format::Ldac, Role::Documents | Role::Links) => {
                Kind::Ldac(Ldac::open(input, role, table, run)?)
            }
            (Format::Lines, Role::Documents | Role::Queries | Role::Links) => {
                Kind::Lines(Lines::new(input), role)
            }
            (format, role) => {
                let value = format!("{}:{}", role.name(), format.name());
                let expected = match format {
                    Format::Smart => "documents, queries or judgments in SMART's format",
                    Format::Trec => "documents, queries, judgments or links in TREC's format",
                    Format::Qrels => "judgments or links in TREC's format",
                    Format::Ldac => "documents or links in the format of LDA-C",
                    _ => "documents, queries or links as lines",
                };
                return Err(Error::parameter("input_format", value, expected));
            }
        };
        Ok(Foreign { kind, pending: VecDeque::new() })
    }

    pub(super) fn input(&self) -> &Input<'r> {
        match &self.kind {
            Kind::Json(json) => json.input(),
            Kind::Smart(smart) => smart.input(),
            Kind::Trec(trec) => trec.input(),
            Kind::Qrels(qrels) => qrels.input(),
            Kind::Ldac(ldac) => ldac.input(),
            Kind::Lines(lines, _) => lines.input(),
        }
    }

    /// Files that were read beside the table.
    pub(super) fn sources(&self) -> &[Source] {
        match &self.kind {
            Kind::Ldac(ldac) => ldac.sources(),
            _ => &[],
        }
    }

    /// What is worth knowing of how the rows were read.
    pub(super) fn note(&self) -> Option<String> {
        match &self.kind {
            Kind::Qrels(qrels) => qrels.note(),
            Kind::Ldac(ldac) => ldac.note(),
            _ => None,
        }
    }

    /// The next row.
    pub(super) fn advance(&mut self) -> Result<Option<Row>> {
        match &mut self.kind {
            Kind::Json(json) => json.advance(),
            Kind::Smart(smart) => smart.advance(),
            Kind::Trec(trec) => trec.advance(),
            Kind::Qrels(qrels) => qrels.advance(),
            Kind::Ldac(ldac) => loop {
                if let Some(row) = self.pending.pop_front() {
                    return Ok(Some(Ok(row)));
                }
                match ldac.advance(&mut self.pending)? {
                    Some(Ok(())) => {}
                    Some(Err(bad)) => return Ok(Some(Err(bad))),
                    None => return Ok(None),
                }
            },
            Kind::Lines(lines, role) => {
                let (number, text) = match lines.advance()? {
                    None => return Ok(None),
                    Some(Err(bad)) => return Ok(Some(Err(bad))),
                    Some(Ok(read)) => read,
                };
                let id = (number - 1).to_string();
                let object = match role {
                    Role::Queries => [("id", id), ("text", text.to_owned())],
                    // Aligned files: the line is where it stands, whatever it says.
                    Role::Links => [("query", id.clone()), ("doc", id)],
                    _ => [("id", id), ("body", text.to_owned())],
                };
                let object = object.map(|(key, value)| (key.to_owned(), Value::from(value)));
                Ok(Some(Ok((number, Map::from_iter(object)))))
            }
        }
    }
}

/// A bad row without advice of its own.
pub(super) fn bad_row(
    why: &'static str,
    line: u64,
    expected: impl Into<String>,
    found: String,
) -> BadRow {
    BadRow { why, line, expected: expected.into(), found, advice: "" }
}

impl TableFormat {
    /// What a table without a telling name is, where the beginning of its text leaves no doubt.
    pub(super) fn of_text(opening: &str, role: Role) -> Option<TableFormat> {
        let text = opening.trim_start();
        let first = text.lines().next()?.trim_end();
        let words: Vec<&str> = first.split_whitespace().collect();
        let is_number = |word: &&str| word.parse::<f64>().is_ok();
        let tag =
            |tag: &str| text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
        match role {
            Role::Documents | Role::Queries if words.len() <= 2 && words[0] == ".I" => {
                Some(TableFormat::Smart)
            }
            Role::Documents if tag("<doc>") => Some(TableFormat::Trec),
            Role::Queries if tag("<top>") => Some(TableFormat::Trec),
            _ if text.starts_with('{') || text.starts_with("[{") => Some(TableFormat::Json),
            _ if first == "[" => Some(TableFormat::Json),
            Role::Judgments
                if matches!(words.len(), 3 | 4) && words.last().is_some_and(is_number) =>
            {
                Some(TableFormat::Qrels)
            }
            Role::Documents | Role::Links => {
                let n: usize = words[0].parse().ok()?;
                let counted = |word: &&str| {
                    let (term, count) = word.split_once(':').unwrap_or((word, "1"));
                    [term, count].iter().all(|part| part.parse::<u64>().is_ok())
                };
                let bag = role == Role::Links || words[1..].iter().all(|word| word.contains(':'));
                let fits = n > 0 && n + 1 == words.len() && words[1..].iter().all(counted);
                // A line that was cut is no witness.
                (fits && bag && text.contains('\n')).then_some(TableFormat::Ldac)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use super::*;

    /// `text` as an input.
    pub(in super::super) fn rows_of(text: &str) -> Input<'static> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Input::open(file.path(), None, Run::silent()).unwrap()
    }

    /// Every row as its line and its text; bad rows as their messages.
    pub(in super::super) fn read(
        mut advance: impl FnMut() -> Result<Option<Row>>,
    ) -> Vec<(u64, String)> {
        let mut all = Vec::new();
        while let Some(row) = advance().unwrap() {
            all.push(match row {
                Ok((line, object)) => (line, Value::Object(object).to_string()),
                Err(bad) => (bad.line, format!("expected {}, found {}", bad.expected, bad.found)),
            });
        }
        all
    }

    #[test]
    fn the_beginning_of_a_text_says_what_it_is_where_it_leaves_no_doubt() {
        use TableFormat as Format;
        for (text, role, format) in [
            (".I 1\n.T\n", Role::Documents, Some(Format::Smart)),
            ("\n<DOC>\n", Role::Documents, Some(Format::Trec)),
            ("<top>\n<num>", Role::Queries, Some(Format::Trec)),
            ("<DOC>\n", Role::Queries, None),
            ("[\n {", Role::Clicks, Some(Format::Json)),
            ("{\n", Role::Documents, Some(Format::Json)),
            ("1 184 2 \n1 29 2 \n", Role::Judgments, Some(Format::Qrels)),
            ("     1     28\t0\t0.000000\n", Role::Judgments, Some(Format::Qrels)),
            ("query\tdoc\tgrade\n", Role::Judgments, None),
            ("2 0:1 7:2\n", Role::Documents, Some(Format::Ldac)),
            ("2 15135 2058\n", Role::Links, Some(Format::Ldac)),
            ("3 15135 2058\n", Role::Links, None),
            ("2 15135 2058\n", Role::Documents, None),
            ("webimages\n", Role::Queries, None),
            ("", Role::Queries, None),
        ] {
            assert_eq!(TableFormat::of_text(text, role), format, "{text:?}");
        }
    }
}
