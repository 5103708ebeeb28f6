//! A run as a table: query, document and score, parted by commas or tabs, with a heading or
//! without; or the six columns of TREC parted by tabs.

use std::collections::HashMap;

use liken::eval::trec::TrecRun;

use crate::problem::Problem;

/// What the columns may be called.
const NAMES: [&[&str]; 3] = [
    &["query", "qid", "query_id", "query-id", "queryid", "topic"],
    &["doc", "docno", "docid", "doc_id", "document", "document_id", "corpus-id", "id"],
    &["score", "sim", "similarity"],
];

/// Reads the lines of a table, each with its number, none of them blank.
pub(super) fn read<'t>(
    name: &str,
    lines: impl Iterator<Item = (&'t str, usize)>,
) -> Result<TrecRun, Problem> {
    let wrong = |line: usize, expected: &str, found: &str| {
        let found: String = found.chars().take(60).collect();
        Problem::bad(format!(
            "line {line}: expected {expected}, found {found:?}; nothing was kept of the run"
        ))
    };
    let mut scored: Vec<(String, String, f64)> = Vec::new();
    let mut seen: HashMap<(String, String), usize> = HashMap::new();
    let mut columns: Option<[usize; 3]> = None;
    let mut comma = None;
    for (text, line) in lines {
        let mark = *comma.get_or_insert(if text.contains('\t') { '\t' } else { ',' });
        let cells = split(text.trim_end_matches('\r'), mark)
            .ok_or_else(|| wrong(line, "a quote that is closed on its line", text))?;
        let Some([query, doc, score]) = columns else {
            // The first line says where the columns are, or is the first row.
            let place = |names: &[&str]| {
                cells.iter().position(|cell| names.contains(&cell.trim().to_lowercase().as_str()))
            };
            let named = NAMES.map(place);
            if let [Some(query), Some(doc), Some(score)] = named {
                columns = Some([query, doc, score]);
                continue;
            }
            if let [query, _, doc, _, score, _] = &cells[..]
                && mark == '\t'
            {
                columns = Some([0, 2, 4]);
                push(&mut scored, &mut seen, [query, doc], number(score), line)
                    .map_err(|expected| wrong(line, &expected, text))?;
                continue;
            }
            columns = Some([0, 1, 2]);
            if cells.get(2).is_none_or(|cell| number(cell).is_none()) {
                return Err(wrong(line, "a heading `query,doc,score` or a row of these", text));
            }
            push(&mut scored, &mut seen, [&cells[0], &cells[1]], number(&cells[2]), line)
                .map_err(|expected| wrong(line, &expected, text))?;
            continue;
        };
        let cell = |at: usize| cells.get(at).map(String::as_str);
        let (Some(query), Some(doc), Some(score)) = (cell(query), cell(doc), cell(score)) else {
            return Err(wrong(line, "query, document and score", text));
        };
        push(&mut scored, &mut seen, [query, doc], number(score), line)
            .map_err(|expected| wrong(line, &expected, text))?;
    }
    if scored.is_empty() {
        return Err(Problem::bad("the run has a heading, but no row below it"));
    }
    let rows = scored.iter().map(|(query, doc, score)| (query.as_str(), doc.as_str(), *score));
    Ok(TrecRun::new(name, rows))
}

/// Takes a row, or says what was expected in its place.
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
        return Err(format!("each document once for a query, but line {before} has it too"));
    }
    scored.push((query, doc, score));
    Ok(())
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|score: &f64| score.is_finite())
}

/// The cells of a line; a cell in double quotes may hold the mark, and quotes doubled. Nothing
/// if a quote is not closed.
fn split(line: &str, mark: char) -> Option<Vec<String>> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let mut cell = String::new();
        if let Some(quoted) = rest.strip_prefix('"') {
            rest = quoted;
            loop {
                let end = rest.find('"')?;
                cell.push_str(&rest[..end]);
                rest = &rest[end + 1..];
                match rest.strip_prefix('"') {
                    Some(more) => {
                        cell.push('"');
                        rest = more;
                    }
                    None => break,
                }
            }
        }
        let end = rest.find(mark).unwrap_or(rest.len());
        cell.push_str(&rest[..end]);
        cells.push(cell);
        match rest.get(end + 1..) {
            Some(more) => rest = more,
            None => return Some(cells),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Result<TrecRun, Problem> {
        read("csv", text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()))
    }

    #[test]
    fn cells_may_hold_anything_in_quotes() {
        let cut = |line| split(line, ',');
        assert_eq!(cut("a,b,c").unwrap(), ["a", "b", "c"]);
        assert_eq!(cut("\"a,\"\"b\"\"\",,1").unwrap(), ["a,\"b\"", "", "1"]);
        assert_eq!(cut("").unwrap(), [""]);
        assert_eq!(cut("ü,").unwrap(), ["ü", ""]);
        assert_eq!(cut("\"a"), None);
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
