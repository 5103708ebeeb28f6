//! `liken similar`: what lies near a query, a document or a word in the latent space.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use liken::matchers::{Model, Neighbours};

use crate::console::Console;
use crate::output::{Format, Grid, TableFormat, json};
use crate::search::{Shelf, shorten};

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

    /// How many to show.
    #[arg(short, default_value_t = 10, value_name = "N")]
    k: usize,

    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &SimilarArgs, console: &Console) -> anyhow::Result<()> {
    let model = console.run(|_| Model::open(&args.model))?;
    let neighbours = Neighbours::of(&model)?;
    let mut out = console.out();
    let print = |out: &mut dyn Write, name: &str, found: &[(String, f64)]| -> anyhow::Result<()> {
        let mut grid = Grid::new(["cosine", name]).left(&[1]);
        for (text, cosine) in found {
            grid.row([format!("{cosine:.3}"), text.clone()]);
        }
        Ok(grid.write(&mut &mut *out, TableFormat::Table)?)
    };
    if let Some(text) = &args.query {
        let query = model.read_query(text)?;
        if !query.unknown.is_empty() {
            console.warn(format!("the model does not know {}", query.unknown.join(", ")));
        }
        let found = neighbours.queries(&query, args.k)?;
        match args.format {
            Format::Json => json(&mut out, &found)?,
            Format::Table => print(&mut out, "query", &found)?,
        }
    } else if let Some(id) = &args.doc {
        let found = neighbours.docs(model.find_doc(id)?, args.k);
        match args.format {
            Format::Json => {
                let named: Vec<(&str, f64)> = found
                    .iter()
                    .map(|&(doc, cosine)| (model.counts.doc_ids[doc as usize].as_str(), cosine))
                    .collect();
                json(&mut out, &named)?;
            }
            Format::Table => {
                let shelf = Shelf::open(&model, None);
                let named: Vec<(String, f64)> = found
                    .iter()
                    .map(|&(doc, cosine)| {
                        let id = &model.counts.doc_ids[doc as usize];
                        (format!("{id}  {}", shorten(&shelf.title(doc), 60)), cosine)
                    })
                    .collect();
                print(&mut out, "document", &named)?;
                if let Some(reason) = shelf.missing {
                    console.warn(format!("no titles: {reason}"));
                }
            }
        }
    } else if let Some(word) = &args.word {
        let (in_queries, in_docs) = neighbours.words(word, args.k)?;
        match args.format {
            Format::Json => {
                json(&mut out, &serde_json::json!({ "queries": in_queries, "documents": in_docs }))?
            }
            Format::Table => {
                print(&mut out, "word of queries", &in_queries)?;
                writeln!(out)?;
                print(&mut out, "word of documents", &in_docs)?;
            }
        }
    } else {
        bail!("say what is meant: --query, --doc or --word");
    }
    Ok(out.flush()?)
}
