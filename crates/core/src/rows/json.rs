//! JSON that is not one object per line: an array of objects, or concatenated objects, pretty-printed
//! or not. Objects are found in the stream by their braces, so that memory holds one at a time and a
//! bad one does not affect the next.

use std::io::{BufRead, BufReader};

use super::bad_row::{BadRow, Checked, excerpt};
use super::input::Input;
use super::lines::{MAX_ROW, too_long};
use super::row::{ObjectRow, Row, RowSource};
use crate::{Result, quoted};

/// The objects of a JSON file.
pub(super) struct Json<'r> {
    reader: BufReader<Input<'r>>,
    value: Vec<u8>,
    line: u64,
    place: Place,
}

/// What the file consists of before the next byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    /// Concatenated objects, without an array.
    Concatenated,
    /// In the array, before a value; whether after a comma.
    Before(bool),
    /// In the array, after a value.
    After,
    /// After the array.
    Closed,
}

impl<'r> Json<'r> {
    pub(super) fn new(input: Input<'r>) -> Self {
        let reader = BufReader::with_capacity(1 << 17, input);
        Json { reader, value: Vec::new(), line: 1, place: Place::Start }
    }

    /// The next object, and the line where it starts.
    fn advance(&mut self) -> Result<Option<ObjectRow>> {
        let Some(first) = self.seek()? else {
            let cut = matches!(self.place, Place::Before(_) | Place::After);
            self.place = Place::Closed;
            let end = || self.bad("the array to be closed with ]", "the end of the file".into());
            return Ok(cut.then(|| Err(BadRow { why: "JSON cut off", ..end() })));
        };
        let line = self.line;
        let expected = match (self.place, first) {
            (Place::Closed, _) => Some("nothing after the array"),
            (Place::After, _) => Some("a comma or ] after the object"),
            (_, b'{') => None,
            _ => Some("a JSON object"),
        };
        if let Some(expected) = expected {
            let found = if (self.place, first) == (Place::After, b'{') {
                self.place = Place::Before(true);
                "another object".to_owned()
            } else {
                self.skip_line()?
            };
            return Ok(Some(Err(BadRow { line, ..self.bad(expected, found) })));
        }
        let whole = self.read_value()?;
        if self.place != Place::Concatenated {
            self.place = Place::After;
        }
        let Ok(text) = std::str::from_utf8(&self.value) else {
            let before = self.value.iter().take_while(|&&byte| byte != 0xff);
            let line = line + before.filter(|&&byte| byte == b'\n').count() as u64;
            return Ok(Some(Err(self.reader.get_ref().encoding().refusal(&self.value, line))));
        };
        if !whole {
            let found = format!("the end of the file in the middle of {:?}", excerpt(text));
            self.place = Place::Closed;
            let bad = self.bad("a whole JSON object", found);
            return Ok(Some(Err(BadRow { why: "JSON cut off", line, ..bad })));
        }
        Ok(Some(match serde_json::from_str(text) {
            Ok(object) => Ok((line, object)),
            Err(error) => {
                let at = line + error.line() as u64 - 1;
                let found = format!("{:?} ({error})", excerpt(text));
                Err(BadRow { line: at, ..self.bad("a JSON object", found) })
            }
        }))
    }

    /// Skips to the next byte that can begin a value.
    fn seek(&mut self) -> Result<Option<u8>> {
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) => return Err(self.reader.get_ref().failure(error)),
            };
            let Some(&byte) = buffer.first() else { return Ok(None) };
            let next = match (self.place, byte) {
                (_, b' ' | b'\t' | b'\r' | b'\n') => self.place,
                (Place::Start, b'[') => Place::Before(false),
                (Place::Start, _) => Place::Concatenated,
                (Place::After, b',') => Place::Before(true),
                (Place::After | Place::Before(false), b']') => Place::Closed,
                _ => return Ok(Some(byte)),
            };
            let stays = self.place == Place::Start && next == Place::Concatenated;
            self.place = next;
            if !stays {
                self.line += u64::from(byte == b'\n');
                self.reader.consume(1);
            }
        }
    }

    /// Reads bytes up to the brace that closes the first; `false` if there is none.
    fn read_value(&mut self) -> Result<bool> {
        self.value.clear();
        let start = self.line;
        let (mut depth, mut quoted, mut escaped) = (0u64, false, false);
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) => return Err(self.reader.get_ref().failure(error)),
            };
            if buffer.is_empty() {
                return Ok(false);
            }
            let mut taken = buffer.len();
            for (at, &byte) in buffer.iter().enumerate() {
                self.line += u64::from(byte == b'\n');
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if quoted => escaped = true,
                    b'"' => quoted = !quoted,
                    b'{' | b'[' if !quoted => depth += 1,
                    b'}' | b']' if !quoted => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    taken = at + 1;
                    break;
                }
            }
            self.value.extend_from_slice(&buffer[..taken]);
            self.reader.consume(taken);
            if depth == 0 {
                return Ok(true);
            }
            if self.value.len() as u64 > MAX_ROW {
                return Err(too_long(self.reader.get_ref().label(), start));
            }
        }
    }

    /// Skips the rest of the line; returns its beginning.
    fn skip_line(&mut self) -> Result<String> {
        self.value.clear();
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) => return Err(self.reader.get_ref().failure(error)),
            };
            let end = buffer.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(buffer.len(), |end| end + 1);
            let free = 256usize.saturating_sub(self.value.len());
            self.value.extend_from_slice(&buffer[..taken.min(free)]);
            self.reader.consume(taken);
            if end.is_some() || taken == 0 {
                self.line += u64::from(end.is_some());
                return Ok(quoted(String::from_utf8_lossy(&self.value).trim()));
            }
        }
    }

    fn bad(&self, expected: &str, found: String) -> BadRow {
        BadRow::new("not a JSON object", self.line, expected, found)
    }
}

impl<'r> RowSource<'r> for Json<'r> {
    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>> {
        Ok(self.advance()?.map(|read| row.set(read)))
    }

    fn input(&self) -> &Input<'r> {
        self.reader.get_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, input_of};
    use super::super::format::TableFormat;
    use super::*;

    fn objects(text: &str) -> Vec<(u64, String)> {
        fixture::objects(&mut Json::new(input_of(text)))
    }

    #[test]
    fn arrays_and_loose_objects_are_read_alike() {
        let a = (1, r#"{"a":"}]\"{"}"#.to_owned());
        let b = |line| (line, r#"{"b":[{"c":1}]}"#.to_owned());
        assert_eq!(
            objects("[{\"a\": \"}]\\\"{\"},\n {\"b\":\n[{\"c\": 1}]}]\n"),
            [a.clone(), b(2)]
        );
        assert_eq!(objects("{\"a\":\"}]\\\"{\"}{\"b\":[{\"c\":1}]}"), [a, b(1)]);
        assert_eq!(objects("\n{\n\"b\": [{\"c\":1}]\n}\n\n{\"b\":[{\"c\":1}]}\n"), [b(2), b(6)]);
        assert!(objects("[]").is_empty() && objects(" [ ] ").is_empty() && objects("").is_empty());
        assert_eq!(TableFormat::of("x.json.gz".as_ref()), Some(TableFormat::Json));
    }

    #[test]
    fn what_is_cut_off_or_no_object_is_bad_where_it_stands() {
        for (text, line, words) in [
            ("[{\"a\":1},\n{\"b\":", 2, "the end of the file in the middle of \"{\\\"b\\\":\""),
            ("[{\"a\":1},\n", 2, "the array to be closed with ], found the end of the file"),
            ("[{\"a\":1}\n", 2, "the array to be closed"),
            ("[{\"a\":1}]\n{\"b\":2}", 2, "nothing after the array"),
            ("{\"a\":1}\n17\n", 2, "a JSON object, found \"17\""),
            ("{\"a\":1}\n{\"b\": x}\n", 2, "a JSON object, found \"{\\\"b\\\": x}\""),
            ("{\"a\":1}\n{\n\"b\": x}\n", 3, "a JSON object"),
        ] {
            let all = objects(text);
            assert_eq!((all.len(), all[1].0), (2, line), "{all:?}");
            assert!(all[1].1.contains(words), "{all:?}");
        }
        let all = objects("[{\"a\":1}\n{\"b\":1}]");
        assert_eq!(
            all[1],
            (2, "expected a comma or ] after the object, found another object".into())
        );
        assert_eq!((all.len(), all[2].1.as_str()), (3, r#"{"b":1}"#));
    }
}
