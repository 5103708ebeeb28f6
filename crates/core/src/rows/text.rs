//! Text files in UTF-8, line by line or as a whole.

use std::io::{BufRead, BufReader, Read};
use std::iter;
use std::path::{Path, PathBuf};

use super::bad_row::BadRow;
use super::encoding::Encoding;
use super::input::{Input, is_stdin, line_ends};
use crate::{Error, Result, Run};

/// The lines of the text file at `path`, decompressed, numbered from one; `-` is standard input.
/// A line that is not UTF-8 is an error that says where it stands.
pub fn text_lines<'r>(
    path: &Path,
    run: Run<'r>,
) -> Result<impl Iterator<Item = Result<(u64, String)>> + use<'r>> {
    refuse_folder(path)?;
    let mut input = BufReader::new(Input::open(path, Some(Encoding::UTF_8), run)?);
    let mut number = 0;
    Ok(iter::from_fn(move || {
        let mut bytes = Vec::new();
        number += 1;
        match input.read_until(b'\n', &mut bytes) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(input.get_ref().failure(error))),
        }
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        Some(String::from_utf8(bytes).map(|line| (number, line)).map_err(|error| {
            not_utf8(input.get_ref().label().to_owned(), number, error.as_bytes())
        }))
    }))
}

/// The whole of a text file, decompressed.
pub(crate) struct WholeText {
    /// The name of the file in messages.
    pub label: PathBuf,
    /// Its text. Lines that are not UTF-8 are empty.
    pub text: String,
    /// These lines: their numbers, from one, and what is readable of them.
    pub not_utf8: Vec<(u64, String)>,
}

/// Reads the whole text file at `path`; `-` is standard input. A line that is not UTF-8 is an
/// error that says where it stands, unless `lenient`.
pub(crate) fn whole_text(path: &Path, lenient: bool, run: Run<'_>) -> Result<WholeText> {
    refuse_folder(path)?;
    let mut input = Input::begin(path, Some(Encoding::UTF_8), run, None)?;
    let size = std::fs::metadata(path).map_or(0, |about| about.len());
    // Only a hint; a byte more lets the end be seen without growing.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).min(1 << 32) + 1);
    let read = input.read_to_end(&mut bytes);
    read.map_err(|error| input.failure(error))?;
    let label = input.label().to_owned();
    if !lenient {
        return match whole_lines(bytes) {
            Ok(text) => Ok(WholeText { label, text, not_utf8: Vec::new() }),
            Err((line, bytes)) => Err(not_utf8(label, line, &bytes)),
        };
    }
    let mut whole = WholeText { label, text: String::with_capacity(bytes.len()), not_utf8: vec![] };
    for (number, line) in (1..).zip(bytes.split_inclusive(|&byte| byte == b'\n')) {
        match std::str::from_utf8(line) {
            Ok(line) => whole.text.push_str(line),
            Err(_) => {
                let readable = String::from_utf8_lossy(line).trim_end().to_owned();
                whole.not_utf8.push((number, readable));
                whole.text.push('\n');
            }
        }
    }
    Ok(whole)
}

fn refuse_folder(path: &Path) -> Result<()> {
    if is_stdin(path) || !path.is_dir() {
        return Ok(());
    }
    Err(Error::Unusable {
        path: path.to_owned(),
        problem: "is a folder, not a file".into(),
        advice: "name the file".into(),
    })
}

/// The error about a line that is not UTF-8, in a file whose encoding cannot be set.
fn not_utf8(path: PathBuf, line: u64, bytes: &[u8]) -> Error {
    let advice = "convert the file (iconv -f LATIN1 -t UTF-8)";
    BadRow { advice, ..Encoding::UTF_8.refusal(bytes, line) }.plain_error(&path)
}

/// The text in `bytes`; else the number of the line that is not UTF-8, and that line.
pub(super) fn whole_lines(bytes: Vec<u8>) -> std::result::Result<String, (u64, Vec<u8>)> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..valid];
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let rest = error.as_bytes()[start..].split(|&byte| byte == b'\n');
        (1 + line_ends(before), rest.into_iter().next().unwrap_or_default().to_vec())
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_not_utf8_is_refused_in_the_same_words_line_by_line_and_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.txt");
        File::create(&path).unwrap().write_all(b"one\ncaf\xe9\nthree\n").unwrap();
        let lines: Result<Vec<_>> = text_lines(&path, Run::silent()).unwrap().collect();
        let message = lines.unwrap_err().to_string();
        let words = ":2: expected text in UTF-8, found the byte 0xe9 after 3 bytes: invalid UTF-8\n  convert the file (iconv";
        assert!(message.contains(words), "{message}");
        let whole = whole_text(&path, false, Run::silent()).err().unwrap();
        assert_eq!(whole.to_string(), message);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(whole_lines(bytes), Err((2, b"caf\xe9".to_vec())));
    }
}
