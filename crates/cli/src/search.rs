//! `liken search`: the best documents for a query, known or new.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use liken::data::{Dataset, Document};
use liken::matchers::Model;
use liken_pages::shorten;
use serde_json::Value;

use crate::console::Console;
use crate::output::{Format, Grid, TableFormat, json};
use crate::unseen::UnseenArgs;

/// Find the best documents for a query.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken search model \"how far is the sun\"
  liken search model \"cheap flights\" -k 20 --format json
  liken search model \"cheap flights\" --documents new.jsonl       documents that came later, too")]
pub struct SearchArgs {
    /// Model folder.
    model: PathBuf,

    /// The query, as a user would type it.
    query: String,

    /// How many documents to show.
    #[arg(short, default_value_t = 10, value_name = "N")]
    k: usize,

    #[command(flatten)]
    unseen: UnseenArgs,

    /// Where the dataset lies, if not where it was in training (for titles).
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,

    /// How to print it.
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
        // What a score of 0 means: there is nothing to rank by.
        // A learnt score of 0 may be one among others; without any other it says nothing.
        if only.matcher.zero_is_none() || hits.iter().all(|hit| hit.score == 0.0) {
            hits.retain(|hit| hit.score != 0.0);
            if hits.is_empty() && args.k > 0 {
                console.warn(only.matcher.nothing());
            }
        }
    }
    let shelf = Shelf::open(&model, args.dataset.as_deref()).with(&model, unseen);
    let mut out = console.out();
    match args.format {
        Format::Json => {
            let hits: Vec<Value> = hits
                .iter()
                .enumerate()
                .map(|(i, hit)| {
                    serde_json::json!({
                        "rank": i + 1,
                        "id": model.counts.doc_ids[hit.doc as usize],
                        "score": hit.score,
                        "document": shelf.document(hit.doc),
                    })
                })
                .collect();
            let known = query.known.is_some();
            json(
                &mut out,
                &serde_json::json!({
                    "query": args.query, "known": known, "unknown_words": query.unknown, "hits": hits
                }),
            )?;
        }
        Format::Table => {
            let mut grid = Grid::new(["rank", "score", "id", "title"]).left(&[2, 3]);
            for (i, hit) in hits.iter().enumerate() {
                let id = model.counts.doc_ids[hit.doc as usize].clone();
                grid.row([
                    (i + 1).to_string(),
                    format!("{:.4}", hit.score),
                    id,
                    shelf.title(hit.doc),
                ]);
            }
            grid.write(&mut out, TableFormat::Table)?;
        }
    }
    out.flush()?;
    if let Some(reason) = shelf.missing {
        console.warn(format!(
            "no titles: {reason}\n  --dataset DIR says where the documents' text lies now"
        ));
    }
    Ok(())
}

/// The documents' text, as far as the dataset is still there.
pub struct Shelf {
    /// The dataset, if it is there and the right one.
    pub dataset: Option<Dataset>,
    /// Why there is no text, if there is none.
    pub missing: Option<String>,
    /// Documents that came after training, by number.
    unseen: HashMap<u32, Document>,
}

impl Shelf {
    /// The dataset that `model` was trained on, or the one at `elsewhere`.
    pub fn open(model: &Model, elsewhere: Option<&std::path::Path>) -> Self {
        let unseen = HashMap::new();
        let path = elsewhere.unwrap_or(&model.about.dataset.path);
        match Dataset::open(path) {
            Ok(dataset) if dataset.folder.identity() == model.about.dataset.identity => {
                Shelf { dataset: Some(dataset), missing: None, unseen }
            }
            Ok(_) => Shelf {
                dataset: None,
                missing: Some(format!(
                    "{} is not the dataset that the model was trained on",
                    path.display()
                )),
                unseen,
            },
            // Its first line: the rest is advice for those who want the dataset itself.
            Err(error) => Shelf {
                dataset: None,
                missing: error.to_string().lines().next().map(ToOwned::to_owned),
                unseen,
            },
        }
    }

    /// With documents that `model` met after training.
    pub fn with(mut self, model: &Model, documents: Vec<Document>) -> Self {
        let n_own = model.about.counts.documents;
        let ids = model.counts.doc_ids[n_own..].iter().map(String::as_str);
        let numbers: HashMap<&str, u32> = ids.zip(n_own as u32..).collect();
        for document in documents {
            if let Some(&number) = numbers.get(document.id.as_str()) {
                self.unseen.insert(number, document);
            }
        }
        self
    }

    /// The whole document, if its text is there.
    pub fn document(&self, doc: u32) -> Option<Document> {
        if let Some(unseen_doc) = self.unseen.get(&doc) {
            return Some(unseen_doc.clone());
        }
        self.dataset.as_ref()?.documents.get(doc as usize).ok()
    }

    /// A line to show for a document: its title, or the beginning of its text, or its URL.
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
