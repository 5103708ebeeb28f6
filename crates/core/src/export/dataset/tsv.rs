//! Tables of tab-separated values, as people have them and as `liken import` reads them. The
//! documents are JSON lines, because their fields hold anything; so are the queries, if the
//! text of one holds a tab or a line break.

use super::tables::Tables;
use super::{Source, Written};
use crate::export::folder::ExportFolder;
use crate::{Result, Run};

const BREAKS: [char; 3] = ['\t', '\r', '\n'];

pub(super) fn write(
    source: &Source<'_>,
    folder: &mut ExportFolder,
    run: &Run<'_>,
) -> Result<Written> {
    source.check_ids("an id without tab or line break", |id| !id.contains(BREAKS))?;
    let tables = Tables::of(source);
    let mut out = folder.file("documents.jsonl", "documents: id and their fields")?;
    for (j, document) in source.dataset.documents.iter().enumerate() {
        source.step(run, j)?;
        out.json(&document?)?;
    }
    out.finish()?;
    let queries = write_queries(source, folder)?;
    let mut out = folder.file("clicks.tsv", format!("query, doc, {}, split", tables.column))?;
    out.line(format_args!("query\tdoc\t{}\tsplit", tables.column))?;
    for (query, doc, value, part) in tables.clicks() {
        out.line(format_args!("{query}\t{doc}\t{value}\t{part}"))?;
    }
    out.finish()?;
    if tables.judgments().next().is_some() {
        let mut out = folder.file("judgments.tsv", "query, doc, grade, split")?;
        out.line(format_args!("query\tdoc\tgrade\tsplit"))?;
        for (query, doc, grade, part) in tables.judgments() {
            out.line(format_args!("{query}\t{doc}\t{grade}\t{part}"))?;
        }
        out.finish()?;
    }
    Ok(Written {
        numbers: "clicks, weights and grades are written in the fewest digits that give the same float32 back".into(),
        import: tables.import("tsv", queries, "documents.jsonl"),
        warnings: Vec::new(),
    })
}

/// Writes the queries; the name of their file.
fn write_queries(source: &Source<'_>, folder: &mut ExportFolder) -> Result<&'static str> {
    let mut plain = true;
    for query in source.queries() {
        plain &= !query?.text.contains(BREAKS);
    }
    let name = if plain { "queries.tsv" } else { "queries.jsonl" };
    let mut out = folder.file(name, "queries: id, text, clicks in the whole log")?;
    if plain {
        out.line(format_args!("id\ttext\tclicks"))?;
    }
    for query in source.queries() {
        let query = query?;
        if plain {
            out.line(format_args!("{}\t{}\t{}", query.id, query.text, query.clicks))?;
        } else {
            out.json(&query)?;
        }
    }
    out.finish()?;
    Ok(name)
}
