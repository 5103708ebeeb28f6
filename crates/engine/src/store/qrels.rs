//! Judgments as TREC qrels.

use std::collections::HashMap;
use std::io::Write;

use super::export::unwritten;
use super::sql::rows;
use super::{ExportReport, Result, Store};

impl Store {
    /// The texts of judged queries by the ids that [`Store::export_qrels`] gives them.
    pub fn judged_queries(&self) -> Result<HashMap<String, String>> {
        self.read(|connection| {
            rows(connection, "SELECT no, query FROM judged", [], |row| {
                Ok((format!("q{}", row.get::<_, i64>(0)?), row.get(1)?))
            })
        })
    }

    /// Writes the current grades to `out` as TREC qrels (`query 0 document grade`), and the texts
    /// of their queries to `queries` (`id<TAB>text`, no header). To be read with
    ///
    /// ```sh
    /// liken import --documents documents.jsonl --judgments judgments.qrels \
    ///   --queries queries.tsv --no-header=queries --columns queries:id=0,text=1 -o data
    /// liken run model --queries queries.tsv -o run.trec
    /// ```
    ///
    /// Queries are called `q1`, `q2` … in the order in which they were first judged, and keep
    /// these ids from export to export. Where several people judged a document for a query, the
    /// grade is the median of theirs, of an even number the mean of the two in the middle,
    /// rounded up: 1 and 2 become 2. Qrels cannot hold ids with white space; such documents are
    /// skipped and counted. Control characters in queries (line breaks, tabs) become spaces.
    pub fn export_qrels(
        &self,
        out: &mut dyn Write,
        queries: &mut dyn Write,
    ) -> Result<ExportReport> {
        let sql = "SELECT judged.no, judged.query, id, grade
                   FROM judged JOIN judgments ON judgments.query = judged.no
                   ORDER BY judged.no, id, grade";
        // Grades take little memory, and a slow `out` must not keep a read transaction open.
        let grades: Vec<(i64, String, String, u8)> = self.read(|connection| {
            rows(connection, sql, [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
        })?;
        let mut exported = ExportReport::default();
        for of_query in grades.chunk_by(|a, b| a.0 == b.0) {
            let (no, text, ..) = &of_query[0];
            let mut lines = 0;
            for of_document in of_query.chunk_by(|a, b| a.2 == b.2) {
                let id = &of_document[0].2;
                exported.taken += 1;
                if id.chars().any(char::is_whitespace) {
                    exported.left_out += 1;
                    continue;
                }
                let grades: Vec<u8> = of_document.iter().map(|grade| grade.3).collect();
                writeln!(out, "q{no} 0 {id} {}", median(&grades)).map_err(unwritten)?;
                lines += 1;
            }
            // A query without documents cannot be evaluated.
            if lines > 0 {
                let text = text.replace(char::is_control, " ");
                writeln!(queries, "q{no}\t{}", text.trim()).map_err(unwritten)?;
            }
            exported.lines += lines;
        }
        out.flush().and_then(|()| queries.flush()).map_err(unwritten)?;
        Ok(exported)
    }
}

/// The median of ascending grades, rounded up.
///
/// # Panics
/// If there are none.
pub fn median(grades: &[u8]) -> u8 {
    let (low, high) = ((grades.len() - 1) / 2, grades.len() / 2);
    (u16::from(grades[low]) + u16::from(grades[high])).div_ceil(2) as u8
}
