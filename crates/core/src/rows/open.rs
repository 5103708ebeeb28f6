//! The source of a table by its format.

use std::path::Path;

use super::csv::Csv;
use super::format::TableFormat;
use super::input::{self, Input};
use super::json::Json;
use super::ldac::Ldac;
use super::line_formats::{JsonLines, PlainLines, Tsv};
use super::lines::LineRows;
use super::parquet;
use super::qrels::Qrels;
use super::role::Role;
use super::row::{Row, RowSource};
use super::smart::Smart;
use super::table::Table;
use super::trec_documents::Trec;
use crate::{Error, Result, Run};

/// Reads `input` as the table of `role` that `table` describes; an error if `format` has no tables
/// of that role.
pub(super) fn open<'r>(
    input: Input<'r>,
    format: TableFormat,
    role: Role,
    table: &Table,
    run: Run<'r>,
) -> Result<Box<dyn RowSource<'r> + 'r>> {
    use TableFormat as Format;
    Ok(match (format, role) {
        (Format::Tsv, _) => Box::new(LineRows::new(input, Tsv)),
        (Format::Csv, _) => Box::new(Csv::new(input)),
        (Format::Jsonl, _) => Box::new(LineRows::new(input, JsonLines)),
        (Format::Json, _) => Box::new(Json::new(input)),
        (Format::Parquet, _) => parquet::open(input, &table.path, run)?,
        (Format::Smart, Role::Documents | Role::Queries) => Box::new(Smart::new(input, role)),
        (Format::Trec, Role::Documents | Role::Queries) => Box::new(Trec::new(input, role)),
        (Format::Smart, Role::Judgments) => Box::new(LineRows::new(input, Qrels::new(true))),
        (Format::Trec | Format::Qrels, Role::Judgments | Role::Links) => {
            Box::new(LineRows::new(input, Qrels::new(false)))
        }
        (Format::Ldac, Role::Documents | Role::Links) => {
            Box::new(Ldac::open(input, role, table, run)?)
        }
        (Format::Lines, Role::Documents | Role::Queries | Role::Links) => {
            Box::new(LineRows::new(input, PlainLines(role)))
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
    })
}

/// The names of the columns in the first row of `source`.
pub(super) fn read_header<'r>(
    source: &mut (dyn RowSource<'r> + 'r),
    row: &mut Row,
) -> Result<Vec<String>> {
    match source.read_row(row)? {
        None => Err(empty(source.input().label())),
        Some(Err(bad)) => Err(bad.error(source.input().label())),
        Some(Ok(_)) => Ok(row.fields().map(str::trim).map(str::to_owned).collect()),
    }
}

/// An error unless the file at `path` can be read from its end, as Parquet is.
pub(super) fn check_seekable(path: &Path) -> Result<()> {
    let refused = |problem: &str, advice: &str| Error::Unusable {
        path: input::label(path),
        problem: problem.into(),
        advice: advice.into(),
    };
    if input::uncompressed_name(path) != path {
        let advice = "decompress it first; Parquet compresses its columns itself";
        return Err(refused("is a compressed file, and Parquet is read from its end", advice));
    }
    let is_stream = |about: std::fs::Metadata| !about.is_file() && !about.is_dir();
    if input::is_stdin(path) || path.metadata().is_ok_and(is_stream) {
        let advice = "write it to a file first, and give that file";
        return Err(refused("cannot be read as Parquet, which is read from its end", advice));
    }
    Ok(())
}

pub(super) fn empty(path: &Path) -> Error {
    Error::Unusable {
        path: path.to_owned(),
        problem: "has no rows".into(),
        advice: "check that this is the right file and that it was copied whole".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::super::lines::MAX_ROW;
    use super::*;

    /// The lines and fields of `text`, or what is wrong with it.
    fn rows(format: TableFormat, text: &[u8]) -> Result<Vec<(u64, Vec<String>)>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        File::create(&path).unwrap().write_all(text).unwrap();
        let input = Input::open(&path, None, Run::silent())?;
        let table = Table::new(&path);
        let mut source = open(input, format, Role::Clicks, &table, Run::silent())?;
        let (mut rows, mut row) = (Vec::new(), Row::default());
        while let Some(read) = source.read_row(&mut row)? {
            let line = read.map_err(|bad| bad.error(&path))?;
            rows.push((line, row.fields().map(str::to_owned).collect()));
        }
        Ok(rows)
    }

    fn row(line: u64, fields: &[&str]) -> (u64, Vec<String>) {
        (line, fields.iter().map(|field| field.to_string()).collect())
    }

    #[test]
    fn tsv_is_split_at_tabs_alone() {
        let read = rows(TableFormat::Tsv, b"a\t\"b\r\n\n\tx\t\nlast").unwrap();
        assert_eq!(read, [row(1, &["a", "\"b"]), row(3, &["", "x", ""]), row(4, &["last"])]);
    }

    #[test]
    fn csv_rows_know_the_line_they_start_in() {
        let read = rows(TableFormat::Csv, b"a,\"b\nc\"\r\n\nd,\"\"\"\"\n").unwrap();
        assert_eq!(read, [row(1, &["a", "b\nc"]), row(4, &["d", "\""])]);
        let read = rows(TableFormat::Csv, b"\n\na,b\r\n\r\nc,\"d\r\ne\"\r\nf,g\r\nh,i").unwrap();
        let expected = [
            row(3, &["a", "b"]),
            row(5, &["c", "d\r\ne"]),
            row(7, &["f", "g"]),
            row(8, &["h", "i"]),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn csv_rows_swallowed_by_a_stray_quote_are_an_error() {
        let rows = |text: &str| rows(TableFormat::Csv, text.as_bytes());
        let error = |text: &str| rows(text).unwrap_err().to_string();
        let unclosed = error("id,title\nd1,a\nd3,\"5 inch nail\nd4,ghi\nd5,jkl\n");
        assert!(unclosed.contains("t:3: "), "{unclosed}");
        assert!(unclosed.contains("a quote opened in line 3 is never closed"), "{unclosed}");
        assert!(error("a,b\nc,\"").contains("t:2: "));
        assert!(error("\"").contains("t:1: "));
        let torn = error("a,b\nd3,\"5 inch\nd4,x\nd5,\"6 inch\nd6,y\n");
        assert!(torn.contains("t:2: "), "{torn}");
        assert!(torn.contains("opened in line 2 is closed in line 4 before text"), "{torn}");
        assert_eq!(rows("a,\"b\"").unwrap(), [row(1, &["a", "b"])]);
        assert_eq!(rows("a,\"\"\"b\n\"\"\"\r\n").unwrap(), [row(1, &["a", "\"b\n\""])]);
    }

    #[test]
    fn a_row_without_end_stops_the_reading() {
        let endless = vec![b'x'; MAX_ROW as usize + (2 << 20)];
        let open_quote = [b"a\n\"", endless.as_slice()].concat();
        for (format, text, line) in [
            (TableFormat::Tsv, endless.as_slice(), 1),
            (TableFormat::Jsonl, endless.as_slice(), 1),
            (TableFormat::Csv, open_quote.as_slice(), 2),
        ] {
            let message = rows(format, text).unwrap_err().to_string();
            assert!(message.contains(&format!(":{line}: expected a row of at most 64 MiB")));
        }
    }
}
