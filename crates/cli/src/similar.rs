//! `liken similar`: what lies near a query, a document or a word in the latent space.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use liken::matchers::{Neighbour, Neighbours};
use serde::Serialize;

use crate::console::Console;
use crate::output::{Format, Grid, TableFormat, json};
use crate::search::Shelf;
use crate::unseen::UnseenArgs;

/// Show what a learnt model holds for similar: queries, documents or words.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("what").required(true), after_help = "\
Examples:
  liken similar model --query \"how far is the sun\"     other queries with the same intent
  liken similar model --doc DOC_ID                       other documents for the same queries
  liken similar model --word automobile                  words that queries use for it")]
pub struct SimilarArgs {
    /// Model folder.
    model: PathBuf,

    /// Queries near this one, known or new.
    #[arg(long, value_name = "TEXT", group = "what")]
    query: Option<String>,

    /// Documents near this one.
    #[arg(long, value_name = "ID", group = "what")]
    doc: Option<String>,

    /// Words of queries and of documents near this one.
    #[arg(long, value_name = "WORD", group = "what")]
    word: Option<String>,

    #[command(flatten)]
    unseen: UnseenArgs,

    /// How many to show.
    #[arg(short, default_value_t = 10, value_name = "N")]
    k: usize,

    /// Where the dataset lies, if not where it was in training (for titles).
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,

    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &SimilarArgs, console: &Console) -> anyhow::Result<()> {
    let (model, unseen) = args.unseen.open(&args.model, console)?;
    let neighbours = Neighbours::of(&model)?;
    let lists = if let Some(text) = &args.query {
        let query = model.read_query(text)?;
        if !query.unknown.is_empty() {
            console.warn(format!("the model does not know {}", query.unknown.join(", ")));
        }
        vec![Near::list("queries", "query", neighbours.queries(&query, args.k))]
    } else if let Some(id) = &args.doc {
        let shelf = Shelf::open(&model, args.dataset.as_deref()).with(&model, unseen);
        if let Some(reason) = &shelf.missing {
            console.warn(format!("no titles: {reason}"));
        }
        let near = |(doc, cosine): (u32, f64)| Near {
            cosine,
            name: model.counts.doc_ids[doc as usize].clone(),
            title: Some(shelf.title(doc)).filter(|title| !title.is_empty()),
        };
        let found = neighbours.docs(model.find_doc(id)?, args.k);
        vec![("documents", "document", found.into_iter().map(near).collect())]
    } else if let Some(word) = &args.word {
        let (in_queries, in_docs) = neighbours.words(word, args.k)?;
        vec![
            Near::list("queries", "word of queries", in_queries),
            Near::list("documents", "word of documents", in_docs),
        ]
    } else {
        bail!("say what is meant: --query, --doc or --word");
    };
    if args.k > 0 && lists.iter().all(|(_, _, list)| list.is_empty()) {
        console.warn("the model has learnt nothing about it, so nothing is near");
    }
    let mut out = console.out();
    match args.format {
        Format::Json => {
            let named: BTreeMap<&str, &Vec<Near>> =
                lists.iter().map(|(key, _, list)| (*key, list)).collect();
            json(&mut out, &named)?;
        }
        Format::Table => {
            for (l, (_, heading, list)) in lists.iter().enumerate() {
                if l > 0 {
                    writeln!(out)?;
                }
                let mut grid = Grid::new(["cosine", *heading, ""]).left(&[1, 2]);
                for near in list {
                    let title = near.title.clone().unwrap_or_default();
                    grid.row([format!("{:.3}", near.cosine), near.name.clone(), title]);
                }
                grid.write(&mut out, TableFormat::Table)?;
            }
        }
    }
    Ok(out.flush()?)
}

/// What is near: the key in JSON, the heading of the table, and the things.
type List = (&'static str, &'static str, Vec<Near>);

/// Something near.
#[derive(Serialize)]
struct Near {
    cosine: f64,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

impl Near {
    fn list(key: &'static str, heading: &'static str, found: Vec<Neighbour>) -> List {
        let near = |(name, cosine)| Near { cosine, name, title: None };
        (key, heading, found.into_iter().map(near).collect())
    }
}
