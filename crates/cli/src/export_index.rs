//! `liken export INDEX`: what came into an index while it was served, for an import.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use liken::file::{NewFile, StagedFolder};
use liken_engine::store::{Exported, Store, StoreError};
use serde_json::{Map, Value};

use crate::console::{Console, Usage};
use crate::index::index_at;
use crate::output::{counted, grouped, typed};

const QRELS: &str = "judgments.qrels";
const QUERIES: &str = "queries.tsv";

/// Writes all clicks and impressions to `target` (- for standard output).
pub fn events(index: &Path, target: &Path, force: bool, console: &Console) -> anyhow::Result<()> {
    let store = open(index)?;
    if store.count_events()? == 0 {
        return empty("events", "POST /events of the service takes them");
    }
    let exported = lines("--events", target, force, console, |out| Ok(store.export_events(out)?))?;
    let Some(Exported { taken, lines, .. }) = exported else { return Ok(()) };
    let mut out = console.out();
    writeln!(
        out,
        "wrote {}: {}, {}",
        target.display(),
        counted(taken, "event", "events"),
        counted(lines, "line", "lines")
    )?;
    writeln!(out, "to read it: liken import --events {} -o data", typed(target))?;
    Ok(out.flush()?)
}

/// Writes the documents that stand to `target` (- for standard output).
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
    let mut out = console.out();
    writeln!(out, "wrote {}: {}", target.display(), counted(n, "document", "documents"))?;
    Ok(out.flush()?)
}

/// Writes the grades that stand to the folder `target`, as qrels with the texts of the queries.
pub fn judgments(
    index: &Path,
    target: &Path,
    force: bool,
    console: &Console,
) -> anyhow::Result<()> {
    let store = open(index)?;
    if store.judgments(None)?.is_empty() {
        return empty("judgments", "the pages of the service and POST /judgments take them");
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
            "{} left out: white space in the id of a document cannot stand in qrels",
            counted(exported.left_out, "judged pair is", "judged pairs are")
        ));
    }
    let mut out = console.out();
    let lines = grouped(exported.lines);
    writeln!(out, "wrote {}: {QRELS} with {lines} judged pairs, {QUERIES}", target.display())?;
    writeln!(
        out,
        "to read it: liken import --documents documents.jsonl --judgments {} --queries {} --no-header=queries --columns queries:id=0,text=1 -o data",
        typed(&target.join(QRELS)),
        typed(&target.join(QUERIES))
    )?;
    Ok(out.flush()?)
}

fn open(index: &Path) -> anyhow::Result<Store> {
    let (layout, _) = index_at(index)?;
    Ok(Store::read_only(&layout.store())?)
}

/// Whether a folder holds nothing but what [`judgments`] writes.
fn is_ours(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let ours = |name: &std::ffi::OsStr| name == QRELS || name == QUERIES;
    entries.flatten().all(|entry| ours(&entry.file_name()))
}

/// Lets `write` write a file of JSON lines, which appears whole or not at all; returns what that
/// returns, unless the lines went to standard output and nothing is to be said beside them.
fn lines<T>(
    option: &str,
    target: &Path,
    force: bool,
    console: &Console,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    if target.as_os_str() == "-" {
        let mut out = console.out();
        write(&mut out)?;
        out.flush()?;
        return Ok(None);
    }
    if target.extension().is_none_or(|extension| extension != "jsonl") {
        let message = format!(
            "{option} {}: expected a name that ends in .jsonl, by which an import knows what it reads",
            target.display()
        );
        return Err(Usage(message).into());
    }
    NewFile::check(target, force)?;
    let file = NewFile::create(target)?;
    let mut writer = BufWriter::new(file.writer()?);
    let written = write(&mut writer)?;
    writer.flush().map_err(liken::Error::io("write", target))?;
    drop(writer);
    file.commit()?;
    Ok(Some(written))
}

fn empty(what: &str, advice: &str) -> anyhow::Result<()> {
    let what = format!("there are no {what} in the index");
    Err(liken::Error::Empty { what, advice: advice.into() }.into())
}
