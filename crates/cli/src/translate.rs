//! `liken translate`: the word translations that a translation model has learnt.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use liken::matchers::{Dictionary, DictionaryEntry, Model};
use serde::Serialize;

use crate::console::Console;
use crate::output::{Format, Grid, TableFormat};

/// Show the translations of words that a model has learnt from clicks.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken train translation data -o model
  liken translate model automobile                  query words for this document word, t(q|w)
  liken translate model automobile hypertension -k 5
  liken translate model car --from-query            document words for this query word, P(w|q)")]
pub struct TranslateArgs {
    /// Model folder, of the method translation or a mix with it.
    model: PathBuf,

    /// Words of documents (of queries with --from-query).
    #[arg(required = true, value_name = "WORD")]
    words: Vec<String>,

    /// Translate words of queries to words of documents, P(w|q).
    #[arg(long)]
    from_query: bool,

    /// Number of translations to show per word.
    #[arg(short, default_value_t = 10, value_name = "N")]
    k: usize,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &TranslateArgs, console: &Console) -> anyhow::Result<()> {
    let model = Model::open(&args.model)?;
    let dictionary = Dictionary::of(&model)?;
    let mut found = Vec::with_capacity(args.words.len());
    let mut unknown = Vec::new();
    for word in &args.words {
        let entry = match args.from_query {
            true => dictionary.from_query(word, args.k),
            false => dictionary.from_document(word, args.k),
        };
        match entry {
            Ok(entry) => found.push(Shown::new(word, entry)),
            Err(error) => unknown.push(error),
        }
    }
    if found.is_empty() {
        unknown.into_iter().try_for_each(Err)?;
    } else {
        unknown.iter().for_each(|error| console.warn(error));
    }
    let (name, heading) =
        if args.from_query { ("q", ["w", "P(w|q)"]) } else { ("w", ["q", "t(q|w)"]) };
    console.print(args.format, &found, |out| {
        for (at, shown) in found.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            writeln!(out, "{name} = {}", shown.term)?;
            let mut grid = Grid::new(heading);
            for Probable { word, probability } in &shown.translations {
                grid.row([word.clone(), format!("{probability:.3}")]);
            }
            grid.write(out, TableFormat::Table)?;
        }
        Ok(())
    })
}

/// A word and its translations.
#[derive(Serialize)]
struct Shown {
    word: String,
    /// The word after text analysis.
    term: String,
    translations: Vec<Probable>,
}

#[derive(Serialize)]
struct Probable {
    word: String,
    probability: f64,
}

impl Shown {
    fn new(word: &str, entry: DictionaryEntry) -> Self {
        let probable = |(word, probability)| Probable { word, probability };
        let translations = entry.translations.into_iter().map(probable).collect();
        Shown { word: word.to_owned(), term: entry.term, translations }
    }
}
