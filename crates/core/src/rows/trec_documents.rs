//! TREC's formats of documents (`<DOC>` … `</DOC>`) and topics (`<top>` … `</top>`). They look like
//! XML and are not: tags may stay open, and text may contain `&` and `<`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::bad_row::{BadRow, Checked};
use super::input::Input;
use super::lines::{Lines, MAX_ROW, too_long};
use super::role::Role;
use super::row::{ObjectRow, Row, RowSource};
use crate::{Result, quoted};

/// The longest tag, in bytes.
const MAX_TAG: usize = 512;

/// After this many different unclosed tags, no closing tag is searched for.
const MAX_UNCLOSED: usize = 256;

/// The documents or topics of a TREC file.
pub(super) struct Trec<'r> {
    lines: Lines<'r>,
    role: Role,
    line: Line,
}

/// A line, and how far it is read. One line may hold many documents, so nothing is copied or searched
/// twice.
#[derive(Default)]
struct Line {
    text: String,
    lower: String,
    at: usize,
    /// The position of the next closing tag, if it was searched for: `Some(None)` if there is none.
    closed: Option<Option<usize>>,
}

impl Line {
    fn new(text: &str) -> Self {
        Line { text: text.to_owned(), lower: text.to_ascii_lowercase(), at: 0, closed: None }
    }

    /// The unread part.
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// The position of `tag` in the unread part before `end`.
    fn find(&self, tag: &str, end: usize) -> Option<usize> {
        self.lower[self.at..end].find(tag).map(|found| self.at + found)
    }

    /// The position of the next `close`.
    fn close(&mut self, close: &str) -> Option<usize> {
        if self.closed.is_none_or(|known| known.is_some_and(|known| known < self.at)) {
            self.closed = Some(self.find(close, self.lower.len()));
        }
        self.closed.flatten()
    }
}

impl<'r> Trec<'r> {
    pub(super) fn new(input: Input<'r>, role: Role) -> Self {
        Trec { lines: Lines::new(input), role, line: Line::default() }
    }

    fn advance(&mut self) -> Result<Option<ObjectRow>> {
        let (open, close) =
            if self.role == Role::Queries { ("<top>", "</top>") } else { ("<doc>", "</doc>") };
        let mut text = String::new();
        let mut start = None;
        let mut bad: Option<BadRow> = None;
        loop {
            if self.line.rest().chars().all(char::is_whitespace) {
                match self.lines.advance()? {
                    None => break,
                    Some(Ok((_, line))) => self.line = Line::new(line),
                    Some(Err(invalid)) => {
                        self.line = Line::default();
                        bad.get_or_insert(invalid);
                        continue;
                    }
                }
            }
            let number = self.lines.number();
            let line = &mut self.line;
            let Some(begun) = start else {
                match line.find(open, line.text.len()) {
                    Some(_) if bad.is_some() => break,
                    Some(at) => {
                        start = Some(number);
                        line.at = at + open.len();
                    }
                    None => {
                        let expected = format!("{open} at the start");
                        let found = quoted(line.rest().trim());
                        let outside =
                            BadRow::new("text outside a document", number, expected, found);
                        bad.get_or_insert(outside);
                        line.at = line.text.len();
                    }
                }
                continue;
            };
            let closed = line.close(close);
            let end = closed.unwrap_or(line.text.len());
            if let Some(again) = line.find(open, end) {
                line.at = again;
                let found = format!("{open} in line {number}");
                return Ok(Some(Err(unclosed(begun, close, found))));
            }
            text.push_str(&line.text[line.at..end]);
            if closed.is_some() {
                line.at = end + close.len();
                let object = bad.map_or_else(|| self.object(&text, begun), Err);
                return Ok(Some(object.map(|object| (begun, object))));
            }
            line.at = end;
            text.push('\n');
            if text.len() as u64 > MAX_ROW {
                return Err(too_long(self.lines.input().label(), begun));
            }
        }
        Ok(match (start, bad) {
            (Some(begun), _) => Some(Err(unclosed(begun, close, "the end of the file".to_owned()))),
            (None, bad) => bad.map(Err),
        })
    }

    fn object(&self, text: &str, line: u64) -> std::result::Result<Map<String, Value>, BadRow> {
        let mut object = Map::new();
        for (name, said) in elements(text) {
            let said = if self.role == Role::Queries { unlabelled(&said) } else { said.trim() };
            let name = match (self.role, name.as_str()) {
                (Role::Queries, "num") | (Role::Documents, "docno") => "id",
                (Role::Documents, "headline" | "head" | "hl" | "ti") => "title",
                (Role::Documents, "" | "text") => "body",
                (_, "" | "id") => continue,
                (_, name) => name,
            };
            match object.get_mut(name) {
                Some(Value::String(known)) => {
                    known.push('\n');
                    known.push_str(said);
                }
                _ => {
                    object.insert(name.to_owned(), said.into());
                }
            }
        }
        if self.role == Role::Queries && !object.contains_key("text") {
            let text = object.get("title").or_else(|| object.get("desc")).cloned();
            object.extend(text.map(|text| ("text".to_owned(), text)));
        }
        if !object.contains_key("id") {
            let tag = if self.role == Role::Queries { "<num>" } else { "<DOCNO>" };
            return Err(BadRow::new("missing field", line, tag, "none before the end"));
        }
        Ok(object)
    }
}

impl<'r> RowSource<'r> for Trec<'r> {
    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>> {
        Ok(self.advance()?.map(|read| row.set(read)))
    }

    fn input(&self) -> &Input<'r> {
        self.lines.input()
    }
}

fn unclosed(line: u64, close: &str, found: String) -> BadRow {
    BadRow::new("not closed", line, format!("{close} for what begins here"), found)
}

/// The outermost elements of `text` by their names in lower case, with the text inside; text
/// outside of elements has an empty name. An unclosed element ends at the next tag.
fn elements(text: &str) -> Vec<(String, String)> {
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    // Names without a further closing tag, so that each is searched for in vain only once.
    let mut unclosed: HashSet<&str> = HashSet::new();
    let mut at = 0;
    while at < text.len() {
        let Some((start, end, name)) = next_tag(&lower, at) else {
            found.push((String::new(), plain(&text[at..])));
            break;
        };
        found.push((String::new(), plain(&text[at..start])));
        at = end;
        if name.starts_with('/') {
            continue;
        }
        let closing = format!("</{name}>");
        let hopeless = unclosed.contains(name) || unclosed.len() >= MAX_UNCLOSED;
        let closed = if hopeless { None } else { lower[end..].find(&closing) };
        let (inside, after) = match closed {
            Some(length) => (end + length, end + length + closing.len()),
            None => {
                unclosed.insert(name);
                let next = next_tag(&lower, end).map_or(text.len(), |(start, ..)| start);
                (next, next)
            }
        };
        found.push((name.to_owned(), plain(&text[end..inside])));
        at = after;
    }
    found.retain(|(_, said)| !said.trim().is_empty());
    found
}

/// The first tag of `lower` from `from` on: its start, its end, its name.
fn next_tag(lower: &str, from: usize) -> Option<(usize, usize, &str)> {
    let mut at = from;
    loop {
        let start = at + lower[at..].find('<')?;
        let inside = &lower[start + 1..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let slash = usize::from(inside.starts_with('/'));
        let length = inside[slash..].find(|c| !is_name(c)).unwrap_or(inside.len() - slash);
        let name = &inside[..slash + length];
        let named = inside[slash..].starts_with(|c: char| c.is_ascii_alphabetic());
        // Tags do not span lines, so that a "<" in the text does not start one.
        let mut bytes = inside.bytes().take(MAX_TAG);
        let end = bytes.position(|byte| matches!(byte, b'>' | b'\n'));
        match end.filter(|&end| inside.as_bytes()[end] == b'>') {
            Some(end) if named => return Some((start, start + 1 + end + 1, name)),
            _ => at = start + 1,
        }
    }
}

/// Text without tags, with its entities resolved.
fn plain(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    while let Some((start, end, _)) = next_tag(&lower, at) {
        plain.push_str(&text[at..start]);
        plain.push(' ');
        at = end;
    }
    plain.push_str(&text[at..]);
    if plain.contains('&') {
        for (entity, sign) in [
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&apos;", "'"),
            ("&nbsp;", " "),
            ("&amp;", "&"),
        ] {
            plain = plain.replace(entity, sign);
        }
    }
    plain
}

/// The text of a field of a topic, without its label.
fn unlabelled(text: &str) -> &str {
    let text = text.trim();
    for label in ["number:", "topic:", "description:", "narrative:"] {
        if text.get(..label.len()).is_some_and(|start| start.eq_ignore_ascii_case(label)) {
            return text[label.len()..].trim();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{input_of, objects};
    use super::*;

    fn rows(text: &str, role: Role) -> Vec<(u64, String)> {
        let mut trec = Trec::new(input_of(text), role);
        objects(&mut trec)
    }

    #[test]
    fn documents_are_read_however_their_tags_stand() {
        let text = "<DOC>\n<DOCNO> AP-1 </DOCNO>\n<HEAD>One</HEAD>\n<HEAD>Two</HEAD>\n<TEXT>\na < b &amp; <P>c</P>\n</TEXT>\n<TEXT>d</TEXT></DOC> <doc><docno>2</docno>loose\n<unit>x</unit></doc>\n";
        let expected = [
            (1, r#"{"id":"AP-1","title":"One\nTwo","body":"a < b &  c\nd"}"#),
            (8, r#"{"id":"2","body":"loose","unit":"x"}"#),
        ];
        assert_eq!(rows(text, Role::Documents), expected.map(|(l, t)| (l, t.to_owned())));
    }

    #[test]
    fn topics_are_read_without_closing_tags() {
        let text = "<top>\n<num> Number: 301\n<title> Organized Crime\n<desc> Description:\nIdentify it.\n<narr> Narrative: Any.\n</top>\n\n<top>\n<num> 302 </num>\n<desc>Only</desc></top>";
        let expected = [
            (
                1,
                r#"{"id":"301","title":"Organized Crime","desc":"Identify it.","narr":"Any.","text":"Organized Crime"}"#,
            ),
            (9, r#"{"id":"302","desc":"Only","text":"Only"}"#),
        ];
        assert_eq!(rows(text, Role::Queries), expected.map(|(l, t)| (l, t.to_owned())));
    }

    #[test]
    fn tags_without_end_take_no_time() {
        for text in ["<a".repeat(100_000), "<a>".repeat(100_000)] {
            let all = rows(&format!("<DOC><DOCNO>1</DOCNO>{text}</DOC>"), Role::Documents);
            assert_eq!(all.len(), 1);
        }
        let names: String = (0..30_000).map(|i| format!("<a{i}>x")).collect();
        assert_eq!(rows(&format!("<DOC><DOCNO>1</DOCNO>{names}</DOC>"), Role::Documents).len(), 1);
    }

    #[test]
    fn many_documents_in_one_line_take_no_time() {
        let all: String =
            (0..100_000).map(|i| format!("<DOC><DOCNO>{i}</DOCNO>x</DOC> ")).collect();
        let read = rows(&all, Role::Documents);
        assert_eq!(
            (read.len(), &read[99_999].1),
            (100_000, &r#"{"id":"99999","body":"x"}"#.into())
        );
        for text in ["<doc>".repeat(100_000), "<doc>".repeat(100_000) + "</doc>"] {
            assert_eq!(rows(&text, Role::Documents).len(), 100_000);
        }
    }

    #[test]
    fn what_is_not_closed_or_has_no_name_is_bad() {
        let text =
            "<DOC>\n<DOCNO>1</DOCNO>\n<DOC>\n<DOCNO>2</DOCNO></DOC>\n<DOC>\n<DOCNO>3</DOCNO>";
        let all = rows(text, Role::Documents);
        assert_eq!((all[0].0, all[1].0, all[2].0, all.len()), (1, 3, 5, 3), "{all:?}");
        assert!(all[0].1.contains("</doc> for what begins here, found <doc> in line 3"), "{all:?}");
        assert!(all[2].1.contains("found the end of the file"), "{all:?}");
        assert!(rows("<DOC>\nx\n</DOC>", Role::Documents)[0].1.contains("<DOCNO>"));
        assert!(rows("x\ny\n", Role::Documents)[0].1.contains("<doc> at the start, found \"x\""));
    }
}
