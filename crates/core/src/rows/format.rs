//! The formats of tables, and their detection by file name and content.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::input;
use super::role::Role;

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableFormat {
    /// Fields between tabs, no quoting.
    Tsv,
    /// Fields between commas, quoted where needed.
    Csv,
    /// One JSON object per line.
    Jsonl,
    /// An array of JSON objects, or objects one after another, on any number of lines.
    Json,
    /// The format of the SMART collections: `.I 1`, `.T`, `.W` …
    Smart,
    /// TREC's formats: `<DOC>`, `<top>`, and judgments as in `qrels`.
    Trec,
    /// Judgments separated by white space: query, iteration, document, grade, or without the iteration.
    Qrels,
    /// Bags of words as in LDA-C: `n term:count …`; as links `n item …`, one line per query.
    Ldac,
    /// One text per line; its id is the number of the line, counted from 0. As links, the query
    /// and the document of the same line number belong together.
    Lines,
    /// Columns of text, numbers, booleans, dates and times, if liken was built with Parquet.
    Parquet,
}

impl TableFormat {
    /// Every format.
    pub const ALL: [TableFormat; 10] = [
        TableFormat::Tsv,
        TableFormat::Csv,
        TableFormat::Jsonl,
        TableFormat::Json,
        TableFormat::Smart,
        TableFormat::Trec,
        TableFormat::Qrels,
        TableFormat::Ldac,
        TableFormat::Lines,
        TableFormat::Parquet,
    ];

    /// Its name in files and options.
    pub fn name(self) -> &'static str {
        // In the order of the variants.
        const NAMES: [&str; 10] =
            ["tsv", "csv", "jsonl", "json", "smart", "trec", "qrels", "ldac", "lines", "parquet"];
        NAMES[self as usize]
    }

    /// Whether rows are objects, without a header.
    pub(super) fn is_keyed(self) -> bool {
        !matches!(self, TableFormat::Tsv | TableFormat::Csv | TableFormat::Parquet)
    }

    /// The format by the extension of `path`, without `.gz` or `.zst`.
    pub fn of(path: &Path) -> Option<TableFormat> {
        let name = input::uncompressed_name(path);
        match name.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "tsv" | "tab" => Some(TableFormat::Tsv),
            "csv" => Some(TableFormat::Csv),
            "jsonl" | "ndjson" => Some(TableFormat::Jsonl),
            "json" => Some(TableFormat::Json),
            "qrels" | "qrel" => Some(TableFormat::Qrels),
            "ldac" => Some(TableFormat::Ldac),
            "parquet" | "pq" => Some(TableFormat::Parquet),
            _ => None,
        }
    }

    /// The format by the beginning of the text, where that is unambiguous.
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
                // An incomplete line proves nothing.
                (fits && bag && text.contains('\n')).then_some(TableFormat::Ldac)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_serde_agree() {
        for format in TableFormat::ALL {
            assert_eq!(serde_json::to_value(format).unwrap(), format.name());
        }
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
