//! LDA-C: a line is a bag of words, `n term:count term:count …`, where terms are the lines of a
//! vocabulary, counted from 0. As links, a line is a query and its items are documents:
//! `n item item …`, both counted from 0.

use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::bad_row::{BadRow, Checked};
use super::encoding::Encoding;
use super::input::{self, Input};
use super::lines::Lines;
use super::role::Role;
use super::row::{Object, Row, RowSource, object};
use super::source_file::Source;
use super::table::Table;
use super::text::whole_lines;
use crate::{Error, Result, Run, quoted};

/// The lines of an LDA-C file.
pub(super) struct Ldac<'r> {
    lines: Lines<'r>,
    role: Role,
    vocabulary: Vec<String>,
    classes: Option<Vec<String>>,
    sources: Vec<Source>,
    /// The rows of the current line not yet read.
    pending: VecDeque<(u64, Object)>,
}

impl<'r> Ldac<'r> {
    pub(super) fn open(input: Input<'r>, role: Role, table: &Table, run: Run<'r>) -> Result<Self> {
        let mut sources = Vec::new();
        let mut read = |path: &Path, role: &str| {
            let (lines, source) = words(path, role, table.encoding, run)?;
            sources.push(source);
            Ok(lines)
        };
        let vocabulary = match (&table.vocabulary, role) {
            (Some(path), Role::Documents) => read(path, "vocabulary")?,
            (None, Role::Documents) => {
                return Err(Error::Unusable {
                    path: input.label().to_owned(),
                    problem: "holds numbers of words, and no vocabulary is given".into(),
                    advice: "give the words, one per line: `vocabulary = FILE`".into(),
                });
            }
            _ => Vec::new(),
        };
        let classes = match &table.classes {
            Some(path) if role == Role::Documents => Some(read(path, "classes")?),
            _ => None,
        };
        let (lines, pending) = (Lines::new(input), VecDeque::new());
        Ok(Ldac { lines, role, vocabulary, classes, sources, pending })
    }

    /// The rows in a line: one document, or the links of one query.
    fn rows(&self, text: &str, line: u64) -> Checked<Vec<Object>> {
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        let bad = |why, expected: &str, found: String| BadRow::new(why, line, expected, found);
        let n: usize = first.parse().map_err(|_| {
            let found = quoted(text);
            bad("not LDA-C", "a number of entries, and then term:count", found)
        })?;
        let mut entries: Vec<(u64, &str)> = Vec::with_capacity(n.min(1 << 16));
        for word in words {
            let (item, count) = word.split_once(':').unwrap_or((word, "1"));
            let counted = count.parse::<f32>().is_ok_and(|count| count.is_finite() && count >= 0.0);
            match item.parse() {
                Ok(item) if counted => entries.push((item, count)),
                _ => {
                    let found = quoted(word);
                    return Err(bad("not LDA-C", "number:count, or a number", found));
                }
            }
        }
        if entries.len() != n {
            let expected = format!("{n} entries, as the first number says");
            return Err(bad("wrong number of entries", &expected, format!("{}", entries.len())));
        }
        let id = (line - 1).to_string();
        if self.role != Role::Documents {
            let pair = |(item, count): (u64, &str)| {
                let doc = item.to_string().into();
                object([("query", id.clone().into()), ("doc", doc), ("weight", count.into())])
            };
            return Ok(entries.into_iter().map(pair).collect());
        }
        let mut bag: Object = Object::new();
        for (term, count) in entries {
            let known = usize::try_from(term).ok().and_then(|term| self.vocabulary.get(term));
            let Some(word) = known else {
                let expected =
                    format!("a term below {}, the size of the vocabulary", self.vocabulary.len());
                return Err(BadRow {
                    advice: "check that the vocabulary belongs to the file; its first word is number 0",
                    ..bad("term outside the vocabulary", &expected, format!("{term}"))
                });
            };
            let count: f64 = count.parse().unwrap_or_default();
            let sum = bag.get(word).and_then(Value::as_f64).unwrap_or_default() + count;
            let whole = sum.fract() == 0.0 && sum < 1e15;
            bag.insert(word.clone(), if whole { (sum as u64).into() } else { sum.into() });
        }
        let mut document = object([("id", id.into()), ("body", bag.into())]);
        if let Some(class) = self.classes.as_ref().and_then(|all| all.get(line as usize - 1)) {
            document.insert("class".into(), class.clone().into());
        }
        Ok(vec![document])
    }
}

impl<'r> RowSource<'r> for Ldac<'r> {
    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>> {
        loop {
            if let Some(read) = self.pending.pop_front() {
                return Ok(Some(row.set(Ok(read))));
            }
            let (line, text) = match self.lines.advance()? {
                None => return Ok(None),
                Some(Err(bad)) => return Ok(Some(Err(bad))),
                Some(Ok((line, text))) => (line, text.to_owned()),
            };
            match self.rows(&text, line) {
                Ok(rows) => self.pending.extend(rows.into_iter().map(|object| (line, object))),
                Err(bad) => return Ok(Some(Err(bad))),
            }
        }
    }

    fn input(&self) -> &Input<'r> {
        self.lines.input()
    }

    fn note(&self) -> Option<String> {
        let classes = self.classes.as_ref()?.len() as u64;
        let read = self.lines.number();
        (classes != read).then(|| {
            format!("{classes} classes for {read} lines: check that the files belong together")
        })
    }

    fn other_files(&self) -> &[Source] {
        &self.sources
    }
}

/// All lines of a small file, blank ones included, and the file's checksum.
fn words(
    path: &Path,
    role: &str,
    encoding: Option<Encoding>,
    run: Run<'_>,
) -> Result<(Vec<String>, Source)> {
    let mut input = Input::open(path, encoding, run)?;
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|error| input.failure(error))?;
    let text = whole_lines(bytes)
        .map_err(|(line, bytes)| input.encoding().refusal(&bytes, line).plain_error(path))?;
    let lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
    if lines.is_empty() {
        return Err(Error::Unusable {
            path: path.to_owned(),
            problem: format!("is empty, expected the {role}"),
            advice: "check that this is the right file and that it was copied whole".into(),
        });
    }
    let (bytes, sha256) = input.checksum();
    Ok((lines, Source { name: input::file_name(path), role: role.to_owned(), bytes, sha256 }))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{input_of, objects};
    use super::*;

    fn ldac(text: &str, role: Role) -> Ldac<'static> {
        let vocabulary = ["a", "b", "c"].map(str::to_owned).to_vec();
        Ldac {
            lines: Lines::new(input_of(text)),
            role,
            vocabulary,
            classes: Some(vec!["x".into(), "y".into()]),
            sources: Vec::new(),
            pending: VecDeque::new(),
        }
    }

    fn rows(text: &str, role: Role) -> Vec<String> {
        let all = objects(&mut ldac(text, role));
        all.into_iter().map(|(_, row)| row).collect()
    }

    #[test]
    fn documents_are_bags_and_links_are_pairs() {
        let expected = [
            r#"{"id":"0","body":{"c":1,"a":3},"class":"x"}"#,
            r#"{"id":"1","body":{"b":0.5},"class":"y"}"#,
            r#"{"id":"2","body":{}}"#,
        ];
        assert_eq!(rows("3 2:1 0:1 0:2\n1 1:0.5\n0\n", Role::Documents), expected);
        let expected = [
            r#"{"query":"0","doc":"15","weight":"1"}"#,
            r#"{"query":"0","doc":"2","weight":"1"}"#,
            r#"{"query":"2","doc":"7","weight":"4"}"#,
        ];
        assert_eq!(rows("2 15 2\n0\n1 7:4\n", Role::Links), expected);
    }

    #[test]
    fn wrong_numbers_are_bad() {
        for (text, words) in [
            ("2 0:1\n", "expected 2 entries, as the first number says, found 1"),
            ("1 0:1 1:1\n", "expected 1 entries"),
            ("1 3:1\n", "expected a term below 3, the size of the vocabulary, found 3"),
            ("1 0:-1\n", "expected number:count"),
            ("1 x:1\n", "expected number:count"),
            ("one 0:1\n", "expected a number of entries"),
        ] {
            let (line, found) = &objects(&mut ldac(text, Role::Documents))[0];
            assert!(*line == 1 && found.starts_with(words), "{text}");
        }
    }
}
