//! SMART collections: `.I` and an id begin a record, a dot and a capital letter alone on a
//! line begin a field: `.T` title, `.W` text, `.A` author, `.B` bibliography, and others.

use super::bad_row::{BadRow, Checked};
use super::input::Input;
use super::lines::Lines;
use super::role::Role;
use super::row::{Object, ObjectRow, Row, RowSource, object};
use crate::{Result, quoted};

/// The records of a SMART file.
pub(super) struct Smart<'r> {
    lines: Lines<'r>,
    role: Role,
    /// The start of the next record, where it is read already: its line, and what follows `.I`.
    next: Option<(u64, String)>,
}

impl<'r> Smart<'r> {
    pub(super) fn new(input: Input<'r>, role: Role) -> Self {
        Smart { lines: Lines::new(input), role, next: None }
    }

    fn advance(&mut self) -> Result<Option<ObjectRow>> {
        let mut bad: Option<BadRow> = None;
        let mut letter = None;
        let mut fields: Vec<(char, String)> = Vec::new();
        let begun = self.next.take();
        let (line, id) = begun.clone().unwrap_or_default();
        let mut any = begun.is_some();
        while let Some(read) = self.lines.advance()? {
            any = true;
            let (number, text) = match read {
                Ok(read) => read,
                Err(invalid) => {
                    bad.get_or_insert(invalid);
                    continue;
                }
            };
            match marker(text) {
                Some(('I', id)) => {
                    self.next = Some((number, id.to_owned()));
                    if begun.is_none() && bad.is_none() {
                        return self.advance();
                    }
                    break;
                }
                Some((name, _)) if begun.is_some() => {
                    letter = Some(name);
                    if !fields.iter().any(|(known, _)| *known == name) {
                        fields.push((name, String::new()));
                    }
                }
                _ => match letter.and_then(|name| fields.iter_mut().find(|(f, _)| *f == name)) {
                    Some((_, said)) => {
                        if !said.is_empty() {
                            said.push('\n');
                        }
                        said.push_str(text.trim_end());
                    }
                    None => {
                        let (expected, why) = if begun.is_some() {
                            ("a field such as .T or .W after .I", "text outside a field")
                        } else {
                            ("a record that begins with .I and its id", "text outside a record")
                        };
                        let found = quoted(text);
                        bad.get_or_insert(BadRow::new(why, number, expected, found));
                    }
                },
            }
        }
        if !any {
            return Ok(None);
        }
        if let Some(bad) = bad {
            return Ok(Some(Err(bad)));
        }
        if id.is_empty() {
            let bad = BadRow::new("missing field", line, "an id after .I", "nothing");
            return Ok(Some(Err(bad)));
        }
        Ok(Some(Ok((line, self.record(id, fields)))))
    }

    fn record(&self, id: String, fields: Vec<(char, String)>) -> Object {
        let mut object = object([("id", id.into())]);
        let said = |letter| fields.iter().find(|(name, _)| *name == letter);
        if self.role == Role::Queries {
            let texts = ['T', 'W'].into_iter().filter_map(said).map(|(_, text)| text.trim());
            let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
            object.insert("text".into(), text.into());
        }
        for (letter, text) in fields {
            object.insert(field_name(letter), text.into());
        }
        object
    }
}

impl<'r> RowSource<'r> for Smart<'r> {
    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>> {
        Ok(self.advance()?.map(|read| row.set(read)))
    }

    fn input(&self) -> &Input<'r> {
        self.lines.input()
    }
}

fn field_name(letter: char) -> String {
    match letter {
        'T' => "title".into(),
        'W' => "body".into(),
        'A' => "author".into(),
        'B' => "bibliography".into(),
        other => other.to_lowercase().to_string(),
    }
}

/// The letter of a marker line, and what follows `.I`; `None` for text, which may begin with a dot.
fn marker(line: &str) -> Option<(char, &str)> {
    let mut rest = line.strip_prefix('.')?.chars();
    let letter = rest.next().filter(char::is_ascii_uppercase)?;
    let rest = rest.as_str();
    let alone = rest.trim().is_empty();
    let with_id = letter == 'I' && rest.starts_with([' ', '\t']);
    (alone || with_id).then_some((letter, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{input_of, objects};
    use super::*;

    fn documents(text: &str) -> Vec<(u64, String)> {
        let mut smart = Smart::new(input_of(text), Role::Documents);
        objects(&mut smart)
    }

    #[test]
    fn records_and_their_fields_are_told_apart() {
        let text = ".I 1\n.T\na title\n .\n.A\nx\n.A\ny\n.W\n.5 of it\n\n.A B\nend .\n.I 2\n.W\nb\n.X\n1 2\n";
        let expected = [
            (
                1,
                r#"{"id":"1","title":"a title\n .","author":"x\ny","body":".5 of it\n.A B\nend ."}"#,
            ),
            (14, r#"{"id":"2","body":"b","x":"1 2"}"#),
        ];
        assert_eq!(documents(text), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn the_text_of_a_query_is_its_title_and_its_words() {
        let mut smart = Smart::new(input_of(".I 001\n.T\nt\n.W\nw\n"), Role::Queries);
        assert!(objects(&mut smart)[0].1.starts_with(r#"{"id":"001","text":"t\nw""#));
    }

    #[test]
    fn text_outside_a_record_or_a_field_is_bad() {
        for (text, line, words) in [
            ("first\nsecond\n.I 1\n.W\nx\n", 1, "that begins with .I and its id, found \"first\""),
            (".W\nx\n", 1, "that begins with .I"),
            (".I 1\nx\n.W\ny\n.I 2\n.W\nz\n", 2, "a field such as .T or .W after .I"),
            (".I\n.W\ny\n", 1, "an id after .I"),
        ] {
            let all = documents(text);
            assert_eq!(all[0].0, line, "{all:?}");
            assert!(all[0].1.contains(words), "{all:?}");
        }
    }
}
