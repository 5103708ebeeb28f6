//! Tables of tab-separated values, which an import reads. The documents are JSON lines, because their
//! fields are of any type; so are the queries, if the text of one holds a tab or a line break.

use super::source::{FormatAbout, Source};
use super::tables::{Pair, Tables};
use crate::export::folder::ExportFolder;
use crate::{Result, Run};

const BREAKS: [char; 3] = ['\t', '\r', '\n'];

pub(super) fn write(
    source: &Source<'_>,
    folder: &mut ExportFolder,
    run: &Run<'_>,
) -> Result<FormatAbout> {
    source.check_ids("an id without tab or line break", |id| !id.contains(BREAKS))?;
    let tables = Tables::of(source);
    let mut out = folder.file("documents.jsonl", "documents: id and their fields")?;
    for document in source.documents(run) {
        out.json(&document?)?;
    }
    out.finish()?;
    let queries = write_queries(source, folder)?;
    write_pairs(folder, "clicks.tsv", tables.column, tables.clicks())?;
    if tables.judgments().next().is_some() {
        write_pairs(folder, "judgments.tsv", "grade", tables.judgments())?;
    }
    Ok(FormatAbout {
        numbers: "clicks, weights and grades are written in the fewest digits that parse to the same float32".into(),
        import: tables.import("tsv", queries, "documents.jsonl"),
        warnings: Vec::new(),
    })
}

fn write_pairs<'p>(
    folder: &mut ExportFolder,
    file: &str,
    number: &str,
    pairs: impl Iterator<Item = Pair<'p>>,
) -> Result<()> {
    let mut out = folder.file(file, format!("query, doc, {number}, split"))?;
    out.line(format_args!("query\tdoc\t{number}\tsplit"))?;
    for (query, doc, value, part) in pairs {
        out.line(format_args!("{query}\t{doc}\t{value}\t{part}"))?;
    }
    out.finish()
}

/// Writes the queries, and returns the name of their file.
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
