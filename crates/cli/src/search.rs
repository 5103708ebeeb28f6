//! `liken search`: the best documents for a query, and the texts that several commands show.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use liken::data::{Dataset, Document};
use liken::matchers::Model;
use liken_pages::shorten;
use serde_json::Value;

use crate::console::Console;
use crate::output::{Format, Grid, TableFormat};
use crate::unseen::UnseenArgs;

/// Find the best documents for a query.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken search model \"how far is the sun\"
  liken search model \"cheap flights\" -k 20 --format json
  liken search model \"cheap flights\" --documents new.jsonl       with unseen documents")]
pub struct SearchArgs {
    /// Model folder.
    model: PathBuf,

    /// Text of the query.
    query: String,

    /// Number of documents to show.
    #[arg(short, default_value_t = 10, value_name = "N")]
    k: usize,

    #[command(flatten)]
    unseen: UnseenArgs,

    /// Dataset folder, if it was moved since training (for titles).
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &SearchArgs, console: &Console) -> anyhow::Result<()> {
    let (model, unseen) = args.unseen.open(&args.model, console)?;
    let query = model.read_query(&args.query)?;
    if !query.unknown.is_empty() {
        console.warn(format!("the model does not know {}", query.unknown.join(", ")));
    }
    let mut hits = model.search(&query, args.k);
    if let [only] = &model.parts[..] {
        // Documents with the score 0 are not hits of a lexical method. A learnt score of 0 may be one
        // among others, but if all are 0, nothing is known of the query.
        if only.matcher.zero_is_none() || hits.iter().all(|hit| hit.score == 0.0) {
            hits.retain(|hit| hit.score != 0.0);
            if hits.is_empty() && args.k > 0 {
                console.warn(only.matcher.no_match());
            }
        }
    }
    let texts = DocTexts::open(&model, args.dataset.as_deref()).with(&model, unseen);
    let id = |doc: u32| &model.counts.doc_ids[doc as usize];
    let listed: Vec<Value> = match args.format {
        Format::Json => (1..)
            .zip(&hits)
            .map(|(rank, hit)| {
                serde_json::json!({ "rank": rank, "id": id(hit.doc), "score": hit.score,
                    "document": texts.document(hit.doc) })
            })
            .collect(),
        Format::Table => Vec::new(),
    };
    let described = serde_json::json!({
        "query": args.query, "known": query.known.is_some(), "unknown_words": query.unknown,
        "hits": listed
    });
    console.print(args.format, &described, |out| {
        let mut grid = Grid::new(["rank", "score", "id", "title"]).left(&[2, 3]);
        for (rank, hit) in (1..).zip(&hits) {
            let (score, title) = (format!("{:.4}", hit.score), texts.title(hit.doc));
            grid.row([format!("{rank}"), score, id(hit.doc).clone(), title]);
        }
        Ok(grid.write(out, TableFormat::Table)?)
    })?;
    if let Some(reason) = texts.missing {
        console
            .warn(format!("no titles: {reason}\n  --dataset DIR names the folder of the dataset"));
    }
    Ok(())
}

/// The texts of a model's documents, which are in its dataset.
pub struct DocTexts {
    /// The dataset, if it could be opened and is the one of training.
    pub dataset: Option<Dataset>,
    /// The problem if there is no dataset.
    pub missing: Option<String>,
    /// Unseen documents, by number.
    unseen: HashMap<u32, Document>,
}

impl DocTexts {
    /// Opens the dataset that `model` was trained on, which may have been `moved`.
    pub fn open(model: &Model, moved: Option<&Path>) -> Self {
        let path = moved.unwrap_or(&model.about.dataset.path);
        let opened = match Dataset::open(path) {
            Ok(dataset) if dataset.folder.identity() == model.about.dataset.identity => Ok(dataset),
            Ok(_) => {
                Err(format!("{} is not the dataset that the model was trained on", path.display()))
            }
            // Its first line: the rest is advice on a wrong argument, which this is not.
            Err(error) => Err(error.to_string().lines().next().unwrap_or_default().to_owned()),
        };
        let (dataset, missing) = match opened {
            Ok(dataset) => (Some(dataset), None),
            Err(reason) => (None, Some(reason)),
        };
        DocTexts { dataset, missing, unseen: HashMap::new() }
    }

    /// Adds the texts of unseen documents, which are folded into `model`.
    pub fn with(mut self, model: &Model, documents: Vec<Document>) -> Self {
        let n_own = model.about.counts.documents;
        let ids = model.counts.doc_ids[n_own..].iter().map(String::as_str);
        let numbers: HashMap<&str, u32> = ids.zip(n_own as u32..).collect();
        let numbered = |document: Document| Some((*numbers.get(document.id.as_str())?, document));
        self.unseen.extend(documents.into_iter().filter_map(numbered));
        self
    }

    /// The whole document, if its text is known.
    pub fn document(&self, doc: u32) -> Option<Document> {
        if let Some(unseen_doc) = self.unseen.get(&doc) {
            return Some(unseen_doc.clone());
        }
        self.dataset.as_ref()?.documents.get(doc as usize).ok()
    }

    /// The title of a document, or else the beginning of its text, or its URL.
    pub fn title(&self, doc: u32) -> String {
        let Some(document) = self.document(doc) else { return String::new() };
        let text = |name: &str| {
            let text = match document.fields.get(name)? {
                Value::String(text) => text.clone(),
                number @ Value::Number(_) => number.to_string(),
                _ => return None,
            };
            Some(text).filter(|text| !text.trim().is_empty())
        };
        let shown = text("title").or_else(|| text("body")).or_else(|| text("url"));
        shorten(&shown.unwrap_or_default(), 70)
    }
}
