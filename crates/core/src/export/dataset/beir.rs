//! A BEIR folder. Training clicks become the qrels of train, with the clicks as scores; validation and
//! test become dev and test. BEIR's readers require whole numbers, and a title and a text in every
//! document, so missing ones are written as empty.

use serde_json::{Map, Value, json};

use super::source::{FormatAbout, ImportOptions, Source};
use crate::data::Document;
use crate::export::folder::ExportFolder;
use crate::{Error, Result, Run};

pub(super) fn write(
    source: &Source<'_>,
    folder: &mut ExportFolder,
    run: &Run<'_>,
) -> Result<FormatAbout> {
    // A quotation mark at the beginning would open a field that BEIR's own reader never ends.
    let fits = |id: &str| !id.contains(['\t', '\r', '\n']) && !id.starts_with('"');
    source.check_ids("an id without tab or line break, and no \" at its beginning", fits)?;
    let mut out = folder.file("corpus.jsonl", "documents: _id, title, text and other fields")?;
    for document in source.documents(run) {
        let Document { id, mut fields } = document?;
        let title = source.take_text(&id, &mut fields, "title")?;
        let text = source.take_text(&id, &mut fields, "body")?;
        let mut line = Map::new();
        let own = [("_id", id), ("title", title), ("text", text)];
        line.extend(own.map(|(name, text)| (name.to_owned(), Value::from(text))));
        for (name, value) in fields {
            if let Some(taken) = line.get(&name) {
                return Err(Error::Unusable {
                    path: source.dataset.folder.path.clone(),
                    problem: format!(
                        "the document {} has a field {name}, and BEIR reserves this name (for {taken})",
                        line["_id"]
                    ),
                    advice: "rename the field, or use the format tsv or parquet".into(),
                });
            }
            line.insert(name, value);
        }
        out.json(&line)?;
    }
    out.finish()?;
    let mut out = folder.file("queries.jsonl", "queries: _id, text")?;
    for query in source.queries() {
        let query = query?;
        out.json(&json!({ "_id": query.id, "text": query.text }))?;
    }
    out.finish()?;

    let files = ["qrels/train.tsv", "qrels/dev.tsv", "qrels/test.tsv"];
    let header = Some("query-id\tcorpus-id\tscore");
    let warnings =
        source.write_qrels(folder, files, "scores", header, |out, query, doc, score| {
            out.line(format_args!("{query}\t{doc}\t{score}"))
        })?;
    Ok(FormatAbout {
        numbers: "scores are whole numbers: clicks unchanged, fractions rounded, a training weight never to 0".into(),
        import: ImportOptions::from([("beir", ".".to_owned())]),
        warnings,
    })
}
