//! LETOR and SVMlight: `grade qid:ID 1:value 2:value … # docid = ID`.

use std::path::{Path, PathBuf};

use super::bad_row::{BadRow, Checked};
use super::feature_values::{GRADE, VALUE, feature_value, grade, is_rounded};
use super::text::text_lines;
use crate::{Result, Run};

/// The rows of a LETOR file.
pub(crate) struct Letor<'r> {
    path: PathBuf,
    lines: Box<dyn Iterator<Item = Result<(u64, String)>> + 'r>,
    without_grades: bool,
}

/// One row as written in the file.
#[derive(Default)]
pub(crate) struct LetorRow {
    pub grade: f32,
    pub query: Option<String>,
    pub doc: Option<String>,
    /// Sorted by number.
    pub features: Vec<(u32, f32)>,
    /// A feature whose value was rounded to 32 bits.
    pub rounded: Option<u32>,
}

impl<'r> Letor<'r> {
    /// Opens the file at `path`; a table to be scored may be `without_grades`.
    pub(crate) fn open(path: &Path, without_grades: bool, run: Run<'r>) -> Result<Self> {
        let lines = Box::new(text_lines(path, run)?);
        Ok(Letor { path: path.to_owned(), lines, without_grades })
    }

    /// Reads the next row into `row`; `false` at the end of the file.
    pub(crate) fn read_row(&mut self, row: &mut LetorRow) -> Result<bool> {
        while let Some(line) = self.lines.next() {
            let (number, line) = line?;
            if self.parse(number, &line, row).map_err(|bad| bad.plain_error(&self.path))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the row in `line`; `false` for a blank line or a comment.
    fn parse(&self, number: u64, line: &str, row: &mut LetorRow) -> Checked<bool> {
        let (line, comment) = line.split_once('#').map_or((line, None), |(l, c)| (l, Some(c)));
        let mut words = line.split_ascii_whitespace();
        let Some(first_word) = words.next() else { return Ok(false) };
        let wrong = |expected: &str, found: &str| BadRow {
            advice: "a row is written `grade qid:ID 1:value 2:value … # docid = ID`",
            ..BadRow::new("not LETOR", number, expected, format!("{found:?}"))
        };
        row.grade = match grade(first_word) {
            Some(grade) => grade,
            None if self.without_grades => 0.0,
            None => return Err(wrong(GRADE, first_word)),
        };
        // A row to be scored may begin with its query.
        let begins = Some(first_word).filter(|word| self.without_grades && word.contains(':'));
        (row.query, row.rounded) = (None, None);
        row.features.clear();
        for word in begins.into_iter().chain(words) {
            let Some((key, text)) = word.split_once(':') else {
                return Err(wrong("a feature as NUMBER:VALUE", word));
            };
            if key == "qid" {
                if row.query.replace(text.to_owned()).is_some() || text.is_empty() {
                    return Err(wrong("one qid:ID", word));
                }
                continue;
            }
            let feature: u32 = key.parse().map_err(|_| wrong("a feature as NUMBER:VALUE", word))?;
            let value = feature_value(text).filter(|value| !value.is_infinite());
            let value = value.ok_or_else(|| wrong(VALUE, word))?;
            if is_rounded(text, value) {
                row.rounded = Some(feature);
            }
            row.features.push((feature, value));
        }
        if !row.features.is_sorted_by(|a, b| a.0 < b.0) {
            row.features.sort_by_key(|entry| entry.0);
            if let Some(twice) = row.features.windows(2).find(|two| two[0].0 == two[1].0) {
                return Err(wrong("each feature once", &format!("{}: twice", twice[0].0)));
            }
        }
        row.doc = comment.and_then(doc_id);
        Ok(true)
    }
}

/// The document in a comment: `docid = GX000-00-0000000 inc = 1 …`.
fn doc_id(comment: &str) -> Option<String> {
    let mut words = comment.split_ascii_whitespace();
    let key = words.next()?;
    let rest = key.strip_prefix("docid")?;
    let value = match rest.strip_prefix('=') {
        Some("") => words.next()?,
        Some(value) => value,
        None if words.next() == Some("=") => words.next()?,
        None => return None,
    };
    Some(value.to_owned())
}
