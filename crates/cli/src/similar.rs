//! `liken similar`: nearest neighbours of a query, a document or a word in the latent space.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use liken::matchers::{Neighbour, Neighbours};
use serde::Serialize;

use crate::console::Console;
use crate::output::{Format, Grid, TableFormat};
use crate::search::DocTexts;
use crate::unseen::UnseenArgs;

/// Show the nearest neighbours of a query, a document or a word in the latent space of a model.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("what").required(true), after_help = "\
Examples:
  liken similar model --query \"how far is the sun\"     other queries with the same intent
  liken similar model --doc DOC_ID                       other documents for the same queries
  liken similar model --word automobile                  words that queries use for it")]
pub struct SimilarArgs {
    /// Model folder.
    model: PathBuf,

    /// Training queries near this text.
    #[arg(long, value_name = "TEXT", group = "what")]
    query: Option<String>,

    /// Documents near this one.
    #[arg(long, value_name = "ID", group = "what")]
    doc: Option<String>,

    /// Words of queries and of documents near this word.
    #[arg(long, value_name = "WORD", group = "what")]
    word: Option<String>,

    #[command(flatten)]
    unseen: UnseenArgs,

    /// Number of neighbours to show.
    #[arg(short, default_value_t = 10, value_name = "N")]
    k: usize,

    /// Dataset folder, if it was moved since training (for titles).
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,

    /// Output format.
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
        let texts = DocTexts::open(&model, args.dataset.as_deref()).with(&model, unseen);
        if let Some(reason) = &texts.missing {
            console.warn(format!("no titles: {reason}"));
        }
        let near = |(doc, cosine): (u32, f64)| Near {
            cosine,
            name: model.counts.doc_ids[doc as usize].clone(),
            title: Some(texts.title(doc)).filter(|title| !title.is_empty()),
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
        bail!("expected --query, --doc or --word");
    };
    if args.k > 0 && lists.iter().all(|(_, _, list)| list.is_empty()) {
        console.warn("the model has no embedding for it, so that it has no neighbours");
    }
    let named: BTreeMap<&str, &Vec<Near>> =
        lists.iter().map(|(key, _, list)| (*key, list)).collect();
    console.print(args.format, &named, |out| {
        for (l, (_, heading, list)) in lists.iter().enumerate() {
            if l > 0 {
                writeln!(out)?;
            }
            let mut grid = Grid::new(["cosine", *heading, ""]).left(&[1, 2]);
            for near in list {
                let title = near.title.clone().unwrap_or_default();
                grid.row([format!("{:.3}", near.cosine), near.name.clone(), title]);
            }
            grid.write(out, TableFormat::Table)?;
        }
        Ok(())
    })
}

/// Neighbours: the key in JSON, the heading of the table, and the list.
type List = (&'static str, &'static str, Vec<Near>);

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
