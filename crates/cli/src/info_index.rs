//! `liken info INDEX`: describes an index, which may be served meanwhile.

use std::io::Write;
use std::path::Path;

use liken::memory::Bytes;
use liken_engine::store::Store;
use liken_engine::types::ModelRef;
use liken_engine::{Layout, bytes_of};
use serde_json::{Map, Value, json};

use crate::index::index_at;
use crate::output::{Format, counted, grouped, json as write_json};

/// Describes the index at `path`.
pub fn describe(path: &Path, format: Format, out: &mut impl Write) -> anyhow::Result<()> {
    let (layout, about) = index_at(path)?;
    let store = Store::read_only(&layout.store())?;
    let (documents, changes) = (store.count()?, store.last_change()?);
    let (events, judgments) = (store.count_events()?, store.judgments(None)?.len());
    let valid = store.keys()?.iter().filter(|key| key.revoked.is_none()).count();
    let models = store.models()?;
    let sizes = sizes(&layout);
    let total: u64 = sizes.iter().map(|&(_, bytes)| bytes).sum();
    if format == Format::Json {
        let sizes: Map<String, Value> =
            sizes.iter().map(|&(name, bytes)| (name.to_owned(), bytes.into())).collect();
        write_json(
            out,
            &json!({
                "kind": "index", "about": about, "documents": documents, "changes": changes,
                "models": models, "events": events, "judgments": judgments, "keys": valid,
                "bytes": sizes,
            }),
        )?;
        return Ok(out.flush()?);
    }
    writeln!(out, "index       {}", path.display())?;
    writeln!(out, "written by  liken {}, format {}", about.liken, about.format)?;
    let identity: String = about.dataset.chars().take(12).collect();
    let made_of = counted(about.documents, "document");
    writeln!(out, "dataset     {identity}… with {made_of}")?;
    writeln!(out, "documents   {}, after {}", grouped(documents), counted(changes, "change"))?;
    for model in models.iter().map(|entry| &entry.about) {
        let state = if model.active { "active" } else { "loaded" };
        let ModelRef { name, version } = &model.model;
        write!(out, "model       {name} {version}, {state}: {}", model.method)?;
        if let Some(dim) = model.dim {
            write!(out, " of {}", counted(dim, "dimension"))?;
        }
        match &model.neighbours {
            Some(neighbours) => writeln!(out, ", neighbours {neighbours}")?,
            None => writeln!(out)?,
        }
    }
    writeln!(out, "events      {}", grouped(events))?;
    writeln!(out, "judgments   {}", grouped(judgments))?;
    match store.has_keys()? {
        true => writeln!(out, "keys        {} valid", grouped(valid))?,
        false => writeln!(out, "keys        none: open to everyone who can reach the service")?,
    }
    let parts: Vec<String> =
        sizes.iter().map(|&(name, bytes)| format!("{name} {}", Bytes(bytes))).collect();
    writeln!(out, "size        {}: {}", Bytes(total), parts.join(", "))?;
    Ok(out.flush()?)
}

/// The parts of an index with their bytes on disk.
fn sizes(layout: &Layout) -> [(&'static str, u64); 8] {
    // The write-ahead log is part of the database.
    let wal = bytes_of(&layout.store().with_extension("sqlite-wal"));
    [
        ("database", bytes_of(&layout.store()) + wal),
        ("text", bytes_of(&layout.text())),
        ("embeddings", bytes_of(&layout.all_embeddings())),
        ("models", bytes_of(&layout.root.join("models"))),
        ("dataset", bytes_of(&layout.dataset())),
        ("rankers", bytes_of(&layout.rankers())),
        ("counts", bytes_of(&layout.counts())),
        ("runs", bytes_of(&layout.runs())),
    ]
}
