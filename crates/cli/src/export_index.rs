//! `liken export INDEX`: documents, events and judgments of an index, for an import.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use liken::file::{NewFile, StagedFolder};
use liken_engine::store::{ExportReport, Store, StoreError};
use serde_json::{Map, Value};

use crate::console::{Console, usage};
use crate::index::index_at;
use crate::output::{counted, grouped, is_stdout, plural, typed};

const QRELS: &str = "judgments.qrels";
const QUERIES: &str = "queries.tsv";

/// Writes all clicks and impressions to `target` (- for standard output).
pub fn events(index: &Path, target: &Path, force: bool, console: &Console) -> anyhow::Result<()> {
    let store = open(index)?;
    if store.count_events()? == 0 {
        return empty("events", "send them to POST /events of the service");
    }
    let exported = lines("--events", target, force, console, |out| Ok(store.export_events(out)?))?;
    let Some(ExportReport { taken, lines, .. }) = exported else { return Ok(()) };
    let (events, lines) = (counted(taken, "event"), counted(lines, "line"));
    let mut out = console.report_out();
    writeln!(out, "wrote {}: {events}, {lines}", target.display())?;
    writeln!(out, "to import it: liken import --events {} -o data", typed(target))?;
    Ok(out.flush()?)
}

/// Writes the current documents to `target` (- for standard output).
pub fn documents(
    index: &Path,
    target: &Path,
    force: bool,
    console: &Console,
) -> anyhow::Result<()> {
    let store = open(index)?;
    let written = lines("--documents", target, force, console, |out| {
        let mut n = 0;
        store.documents_from(0, |_, id, fields| {
            let mut document = Map::from_iter([("id".to_owned(), Value::from(id))]);
            document.extend(fields);
            n += 1;
            serde_json::to_writer(&mut *out, &document)
                .map_err(io::Error::from)
                .and_then(|()| out.write_all(b"\n"))
                .map_err(|error| StoreError::Disk(error.to_string()))
        })?;
        Ok(n)
    })?;
    let Some(n) = written else { return Ok(()) };
    let mut out = console.report_out();
    writeln!(out, "wrote {}: {}", target.display(), counted(n, "document"))?;
    Ok(out.flush()?)
}

/// Writes the current judgments to the folder `target`, as qrels with the texts of the queries.
pub fn judgments(
    index: &Path,
    target: &Path,
    force: bool,
    console: &Console,
) -> anyhow::Result<()> {
    let store = open(index)?;
    if store.judgments(None)?.is_empty() {
        return empty(
            "judgments",
            "judge on the pages of the service, or send them to POST /judgments",
        );
    }
    let staged = StagedFolder::create(target, force, is_ours)?;
    let create = |name: &str| {
        let path = staged.path(name);
        fs::File::create(&path).map(BufWriter::new).map_err(liken::Error::io("create", &path))
    };
    let exported = store.export_qrels(&mut create(QRELS)?, &mut create(QUERIES)?)?;
    staged.publish()?;
    if exported.left_out > 0 {
        console.warn(format!(
            "{} skipped: qrels cannot hold white space in the id of a document",
            plural(exported.left_out, "judged pair is", "judged pairs are")
        ));
    }
    let mut out = console.report_out();
    let lines = grouped(exported.lines);
    writeln!(
        out,
        "wrote {}: {QRELS} with {}, {QUERIES}",
        target.display(),
        counted(lines, "judged pair")
    )?;
    writeln!(
        out,
        "to import it: liken import --documents documents.jsonl --judgments {} --queries {} --no-header=queries --columns queries:id=0,text=1 -o data",
        typed(&target.join(QRELS)),
        typed(&target.join(QUERIES))
    )?;
    Ok(out.flush()?)
}

fn open(index: &Path) -> anyhow::Result<Store> {
    let (layout, _) = index_at(index)?;
    Ok(Store::read_only(&layout.store())?)
}

/// Whether a folder holds only files that [`judgments`] writes.
fn is_ours(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let ours = |name: &std::ffi::OsStr| name == QRELS || name == QUERIES;
    entries.flatten().all(|entry| ours(&entry.file_name()))
}

/// Lets `write` write a file of JSON lines, or standard output, where nothing else may be printed:
/// then the result is none.
fn lines<T>(
    option: &str,
    target: &Path,
    force: bool,
    console: &Console,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    if is_stdout(target) {
        return console.write_to(target, write).map(|_| None);
    }
    if target.extension().is_none_or(|extension| extension != "jsonl") {
        let message = format!(
            "{option} {}: expected a name that ends in .jsonl, by which `liken import` knows the format",
            target.display()
        );
        return Err(usage(message));
    }
    NewFile::check(target, force)?;
    console.write_to(target, write).map(Some)
}

fn empty(what: &str, advice: &str) -> anyhow::Result<()> {
    let what = format!("the index has no {what}");
    Err(liken::Error::Empty { what, advice: advice.into() }.into())
}
