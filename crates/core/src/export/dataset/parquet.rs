//! The tables of a dataset as Parquet, compressed with zstd. Fields of documents become columns of
//! text, whole numbers, fractions or booleans if all documents agree on the type; otherwise the values
//! are written as JSON, and marked as such.

use std::path::Path;

use serde_json::Value;

use super::source::{FormatAbout, Source};
use super::tables::{Pair, Tables};
use crate::export::folder::ExportFolder;
use crate::file::{ParquetKind as Kind, ParquetTable};
use crate::{Result, Run};

/// Pairs written between two checks for cancellation.
const PAIRS: usize = 1 << 17;

pub(super) fn write(
    source: &Source<'_>,
    folder: &mut ExportFolder,
    run: &Run<'_>,
) -> Result<FormatAbout> {
    let tables = Tables::of(source);
    let columns = document_columns(source, run)?;
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let path = folder.path("documents.parquet", format!("documents: {}", names.join(", ")))?;
    let mut table = ParquetTable::create(&path, &columns)?;
    for document in source.documents(run) {
        let mut document = document?;
        table.row(columns.iter().enumerate().map(|(c, (name, _))| match c {
            0 => Some(std::mem::take(&mut document.id).into()),
            _ => document.fields.shift_remove(name).filter(|value| !value.is_null()),
        }))?;
    }
    table.finish()?;

    let path = folder.path("queries.parquet", "queries: id, text, clicks in the whole log")?;
    let columns = [("id", Kind::Text), ("text", Kind::Text), ("clicks", Kind::Fraction)];
    let mut table = ParquetTable::create(&path, &columns)?;
    for query in source.queries() {
        let query = query?;
        table.row([Some(query.id.into()), Some(query.text.into()), Some(query.clicks.into())])?;
    }
    table.finish()?;

    let number = tables.column;
    let path = folder.path("clicks.parquet", format!("query, doc, {number}, split"))?;
    write_pairs(&path, number, tables.clicks(), run)?;
    if tables.judgments().next().is_some() {
        let path = folder.path("judgments.parquet", "query, doc, grade, split")?;
        write_pairs(&path, "grade", tables.judgments(), run)?;
    }
    Ok(FormatAbout {
        numbers: "clicks, weights and grades are doubles".into(),
        import: tables.import("parquet", "queries.parquet", "documents.parquet"),
        warnings: Vec::new(),
    })
}

fn write_pairs<'p>(
    path: &Path,
    number: &str,
    pairs: impl Iterator<Item = Pair<'p>>,
    run: &Run<'_>,
) -> Result<()> {
    let columns = [
        ("query", Kind::Text),
        ("doc", Kind::Text),
        (number, Kind::Fraction),
        ("split", Kind::Text),
    ];
    let mut table = ParquetTable::create(path, &columns)?;
    for (n, (query, doc, value, part)) in pairs.enumerate() {
        if n % PAIRS == 0 {
            run.step("writing pairs", n as u64, None)?;
        }
        table.row([
            Some(query.into()),
            Some(doc.into()),
            Some(f64::from(value).into()),
            Some(part.into()),
        ])?;
    }
    table.finish()
}

/// The columns of the documents, the id first, then fields in the order of their first occurrence.
fn document_columns(source: &Source<'_>, run: &Run<'_>) -> Result<Vec<(String, Kind)>> {
    let mut columns: Vec<(String, Option<Kind>)> = vec![("id".to_owned(), Some(Kind::Text))];
    for document in source.documents(run) {
        for (name, value) in document?.fields {
            let at = columns.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                columns.push((name, None));
                columns.len() - 1
            });
            let kind = &mut columns[at].1;
            *kind = match (*kind, kind_of(&value)) {
                (known, None) => known,
                (None, found) => found,
                (Some(known), Some(found)) if known == found => Some(known),
                _ => Some(Kind::Json),
            };
        }
    }
    Ok(columns.into_iter().map(|(name, kind)| (name, kind.unwrap_or(Kind::Text))).collect())
}

fn kind_of(value: &Value) -> Option<Kind> {
    match value {
        Value::Null => None,
        Value::String(_) => Some(Kind::Text),
        Value::Bool(_) => Some(Kind::Truth),
        Value::Number(number) if number.is_i64() => Some(Kind::Whole),
        Value::Number(number) if number.is_f64() => Some(Kind::Fraction),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(Kind::Json),
    }
}
