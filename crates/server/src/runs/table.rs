//! A run as a table: query, document and score, separated by commas or tabs, with or without a
//! header; or the six columns of TREC, separated by tabs.

use std::collections::HashMap;

use liken::eval::trec::TrecRun;
use liken::quoted;

use crate::problem::Problem;

/// The names of the columns in a header.
const NAMES: [&[&str]; 3] = [
    &["query", "qid", "query_id", "query-id", "queryid", "topic"],
    &["doc", "docno", "docid", "doc_id", "document", "document_id", "corpus-id", "id"],
    &["score", "sim", "similarity"],
];

/// Reads a table; lines that begin with `comment` are skipped.
pub(super) fn read(name: &str, text: &str, comment: Option<u8>) -> Result<TrecRun, Problem> {
    let wrong = |line: usize, expected: &str| {
        let found = quoted(text.lines().nth(line - 1).unwrap_or_default());
        Problem::bad(format!(
            "line {line}: expected {expected}, found {found}; the run was not stored"
        ))
    };
    let is_row = |line: &&str| {
        !line.trim().is_empty() && comment.is_none_or(|c| line.as_bytes().first() != Some(&c))
    };
    let first = text.lines().find(is_row).unwrap_or_default();
    let delimiter = if first.contains('\t') { b'\t' } else { b',' };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .comment(comment)
        .from_reader(text.as_bytes());
    let mut scored: Vec<(String, String, f64)> = Vec::new();
    let mut seen: HashMap<(String, String), usize> = HashMap::new();
    let mut columns: Option<[usize; 3]> = None;
    for cells in reader.records() {
        let cells = cells.map_err(|error| Problem::bad(error.to_string()))?;
        let line = cells.position().map_or(1, |position| position.line() as usize);
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        let [query, doc, score] = match columns {
            Some(columns) => columns,
            // The first line is a header or the first row.
            None => {
                let position = |names: &[&str]| {
                    let is_name = |cell: &str| names.contains(&cell.trim().to_lowercase().as_str());
                    cells.iter().position(is_name)
                };
                if let [Some(query), Some(doc), Some(score)] = NAMES.map(position) {
                    columns = Some([query, doc, score]);
                    continue;
                }
                let is_trec = cells.len() == 6 && delimiter == b'\t';
                if !is_trec && cells.get(2).and_then(number).is_none() {
                    return Err(wrong(line, "a header `query,doc,score` or a row of these"));
                }
                *columns.insert(if is_trec { [0, 2, 4] } else { [0, 1, 2] })
            }
        };
        let (Some(query), Some(doc), Some(score)) =
            (cells.get(query), cells.get(doc), cells.get(score))
        else {
            return Err(wrong(line, "query, document and score"));
        };
        push(&mut scored, &mut seen, [query, doc], number(score), line)
            .map_err(|expected| wrong(line, &expected))?;
    }
    if scored.is_empty() {
        return Err(Problem::bad("the run has a header, but no row below it"));
    }
    let rows = scored.iter().map(|(query, doc, score)| (query.as_str(), doc.as_str(), *score));
    Ok(TrecRun::new(name, rows))
}

/// Adds a row; the error is what was expected in its place.
fn push(
    scored: &mut Vec<(String, String, f64)>,
    seen: &mut HashMap<(String, String), usize>,
    [query, doc]: [&str; 2],
    score: Option<f64>,
    line: usize,
) -> Result<(), String> {
    let score = score.ok_or("a finite number as the score")?;
    let (query, doc) = (query.trim().to_owned(), doc.trim().to_owned());
    if query.is_empty() || doc.is_empty() {
        return Err("a query and a document that are not empty".into());
    }
    if let Some(before) = seen.insert((query.clone(), doc.clone()), line) {
        return Err(format!("each document once per query, but line {before} has it too"));
    }
    scored.push((query, doc, score));
    Ok(())
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|score: &f64| score.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Result<TrecRun, Problem> {
        read("csv", text, None)
    }

    #[test]
    fn cells_may_hold_anything_in_quotes() {
        let run = lines("\"a,\"\"b\"\"\",d,1\n").unwrap();
        assert!(run.find("a,\"b\"").is_some());
        let unclosed = lines("q,d,1\n\"q,d,1\nq,e,1\n").unwrap_err().detail;
        assert!(unclosed.contains("line 2"), "{unclosed}");
    }

    #[test]
    fn columns_are_found_by_name_or_place() {
        let named = lines("score\trank\tdocno\tquery\n1.5\t1\td\t\"how far\"\n").unwrap();
        let plain = lines("how far,d,1.5").unwrap();
        let csv = lines("query,doc,score\r\n\"how far\",d,1.5\r\n").unwrap();
        for run in [named, plain, csv] {
            let query = run.query(run.find("how far").unwrap());
            let hits: Vec<_> = query.hits().map(|hit| (hit.doc, hit.score)).collect();
            assert_eq!(hits, [("d", 1.5)]);
        }
        assert!(lines("query,doc,score\n").is_err());
        assert!(lines(" ,d,1\n").unwrap_err().detail.contains("line 1"));
    }
}
