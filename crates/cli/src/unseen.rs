//! Unseen documents: read from JSON lines and folded into a model without training it again.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::Args;
use liken::Run;
use liken::data::{Document, text_lines};
use liken::matchers::Model;
use serde_json::{Map, Value};

use crate::console::Console;
use crate::output::{plural, some_of};

/// The flag for unseen documents.
#[derive(Args)]
pub struct UnseenArgs {
    /// Unseen documents to fold in, as JSON lines with an id and fields like those of training;
    /// they are scored by their words.
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,
}

impl UnseenArgs {
    /// The file of documents, if the flag is given.
    pub fn path(&self) -> Option<&PathBuf> {
        self.documents.as_ref()
    }

    /// Opens the model at `path` with the documents folded in, and returns both.
    pub fn open(&self, path: &Path, console: &Console) -> anyhow::Result<(Model, Vec<Document>)> {
        let model = console.run(|_| Model::open(path))?;
        let Some(path) = &self.documents else { return Ok((model, Vec::new())) };
        let fields = &model.counts.preparation.fields;
        let documents = console.run(|run| read_documents(path, None, fields, run))?;
        if documents.is_empty() {
            console.warn(format!("{}: holds no document", path.display()));
        }
        warn_about_known(path, &documents, &model, console);
        let first = model.counts.n_docs();
        let model = model.with_documents(&documents)?;
        let blank: Vec<String> = (first..model.counts.n_docs())
            .filter(|&doc| model.counts.docs.row(doc).is_empty())
            .map(|doc| model.counts.doc_ids[doc].clone())
            .collect();
        if !blank.is_empty() {
            let documents = plural(
                blank.len(),
                "document has no word that the model knows",
                "documents have no word that the model knows",
            );
            console.warn(format!("{}: {documents}: {}", path.display(), some_of(&blank)));
        }
        Ok((model, documents))
    }
}

/// Folds those documents of the file at `path` whose ids are `wanted` into `model`.
pub fn add_documents(
    model: Model,
    path: &Path,
    wanted: &HashSet<&str>,
    console: &Console,
) -> anyhow::Result<Model> {
    let fields = &model.counts.preparation.fields;
    let documents = console.run(|run| read_documents(path, Some(wanted), fields, run))?;
    warn_about_known(path, &documents, &model, console);
    Ok(model.with_documents(&documents)?)
}

/// Warns of documents that the model was trained with.
fn warn_about_known(path: &Path, documents: &[Document], model: &Model, console: &Console) {
    let known: HashSet<&str> = model.counts.doc_ids.iter().map(String::as_str).collect();
    let ids = documents.iter().map(|document| document.id.clone());
    let known: Vec<String> = ids.filter(|id| known.contains(id.as_str())).collect();
    if !known.is_empty() {
        let documents = plural(
            known.len(),
            "document was in the training data, whose text is used",
            "documents were in the training data, whose texts are used",
        );
        console.warn(format!("{}: {documents}: {}", path.display(), some_of(&known)));
    }
}

/// Reads the documents whose ids are `wanted`, or all; `fields` are those that the model reads.
fn read_documents(
    path: &Path,
    wanted: Option<&HashSet<&str>>,
    fields: &[String],
    run: &Run<'_>,
) -> liken::Result<Vec<Document>> {
    let mut documents = Vec::new();
    let mut lines: HashMap<String, u64> = HashMap::new();
    for line in text_lines(path, *run)? {
        let (number, line) = line?;
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |expected: &str, found: String| liken::Error::Line {
            path: path.to_owned(),
            line: number,
            expected: expected.to_owned(),
            found,
            advice: "write one document per line, as {\"id\": \"d1\", \"title\": \"…\"}".into(),
        };
        let mut object: Map<String, Value> = serde_json::from_str(&line)
            .map_err(|error| wrong("a JSON object", error.to_string()))?;
        let id = match object.remove("id").or_else(|| object.remove("_id")) {
            Some(Value::String(id)) => id,
            Some(Value::Number(id)) => id.to_string(),
            other => {
                let found = other.map_or("none".to_owned(), |value| value.to_string());
                return Err(wrong("an id, in the field id or _id", found));
            }
        };
        if wanted.is_some_and(|wanted| !wanted.contains(id.as_str())) {
            continue;
        }
        if let Some(first) = lines.insert(id.clone(), number) {
            return Err(wrong("each document once", format!("{id:?} again, as in line {first}")));
        }
        // The import of BEIR folders does the same.
        let has = |name: &str| fields.iter().any(|field| field == name);
        if has("body")
            && !has("text")
            && !object.contains_key("body")
            && let Some(text) = object.remove("text")
        {
            object.insert("body".into(), text);
        }
        documents.push(Document { id, fields: object });
    }
    Ok(documents)
}
