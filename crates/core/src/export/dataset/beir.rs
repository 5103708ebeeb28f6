//! A BEIR folder. Training clicks become the qrels of train, with the clicks as scores; what is
//! held out becomes dev and test. BEIR's readers want whole numbers, and a title and a text in
//! every document, so those that are missing are written as empty.

use serde_json::{Map, Value, json};

use super::{ImportOptions, Source, Whole, Written, take_text};
use crate::export::folder::ExportFolder;
use crate::{Error, Result, Run};

pub(super) fn write(
    source: &Source<'_>,
    folder: &mut ExportFolder,
    run: &Run<'_>,
) -> Result<Written> {
    // A quotation mark at the beginning would open a field that BEIR's own reader never ends.
    let fits = |id: &str| !id.contains(['\t', '\r', '\n']) && !id.starts_with('"');
    source.check_ids("an id without tab or line break, and no \" at its beginning", fits)?;
    let mut out = folder.file("corpus.jsonl", "documents: _id, title, text and other fields")?;
    for (j, document) in source.dataset.documents.iter().enumerate() {
        source.step(run, j)?;
        let document = document?;
        let (id, mut fields) = (document.id, document.fields);
        let title = take_text(source, &id, &mut fields, "title")?;
        let text = take_text(source, &id, &mut fields, "body")?;
        let mut line = Map::new();
        line.extend([("_id", id), ("title", title), ("text", text)].map(named));
        for (name, value) in fields {
            if let Some(taken) = line.get(&name) {
                return Err(Error::Unusable {
                    path: source.dataset.folder.path.clone(),
                    problem: format!(
                        "the document {} has a field {name} besides the one that BEIR calls so ({taken})",
                        line["_id"]
                    ),
                    advice: "use the format tsv or parquet".into(),
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

    let mut whole = Whole::default();
    let dataset = source.dataset;
    for (name, matrix, holds) in [
        ("train", &dataset.clicks, "training clicks (or weights) as scores"),
        ("dev", &dataset.validation, "grades of validation"),
        ("test", &dataset.test, "grades of test"),
    ] {
        if matrix.nnz() == 0 {
            continue;
        }
        let mut out = folder.file(&format!("qrels/{name}.tsv"), holds)?;
        out.line(format_args!("query-id\tcorpus-id\tscore"))?;
        for (query, doc, value) in source.pairs(matrix) {
            let score = if name == "train" { whole.weight(value) } else { whole.grade(value) };
            out.line(format_args!("{query}\t{doc}\t{score}"))?;
        }
        out.finish()?;
    }
    Ok(Written {
        numbers: "scores are whole numbers: clicks as they are, fractions rounded, a training weight never to 0".into(),
        import: ImportOptions::from([("beir", ".".to_owned())]),
        warnings: whole.warnings(),
    })
}

fn named((name, text): (&str, String)) -> (String, Value) {
    (name.to_owned(), text.into())
}
