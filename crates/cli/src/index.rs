//! `liken index`: builds an index of a dataset and models.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use liken::memory::Bytes;
use liken_engine::store::{RESERVE, Store, StoreError};
use liken_engine::{IndexAbout, IndexBuilder, Layout};

use crate::console::{Console, usage};
use crate::output::{Format, Grid, TableFormat, counted, typed};

/// Build an index of a dataset and models, for `liken serve`.
#[derive(Args)]
#[command(after_help = "\
The index holds everything that the service needs: documents, text index, models, and the embeddings
of the documents. It can be moved to another machine.

Examples:
  liken index data --model bm25 --model rmls -o index
  liken index data --model words=bm25 --model clicks=rmls -o index --force
  liken features data --model bm25 --model rmls -o learn.csv        features for a ranker
  liken rank train lambdamart learn.csv -o ranker
  liken index data --model bm25=bm25 --model rmls=rmls --ranker best=ranker -o index --force
  liken serve index")]
pub struct IndexArgs {
    /// Dataset folder.
    dataset: PathBuf,

    /// Model folder, and its name in the index [default: its method]. Searches that name no model use
    /// the first, and the text index uses the text settings of the first. Repeatable.
    #[arg(short, long = "model", value_name = "[NAME=]MODEL", required = true)]
    models: Vec<String>,

    /// Ranker that re-ranks the candidates of searches (a folder of `liken rank train`, or a LightGBM
    /// text model), and its name in the index [default: its method]. Its features must be those that
    /// `liken features` makes of this dataset and these models: model(rmls) is the score of --model
    /// rmls=FOLDER. Repeatable.
    #[arg(long = "ranker", value_name = "[NAME=]RANKER")]
    rankers: Vec<String>,

    /// Folder of the index to write.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Up to this many documents, every model scores all documents (exact search). Above, the text
    /// index, inverted lists of embeddings or an inverted index of sparse vectors retrieve the documents to
    /// score, and the recall of the last two is measured and printed [default: 100000].
    #[arg(long, value_name = "DOCUMENTS")]
    exact_below: Option<usize>,

    /// Replace the index if it exists; its events and judgments are deleted.
    #[arg(long)]
    force: bool,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &IndexArgs, console: &Console) -> anyhow::Result<()> {
    let building = IndexBuilder {
        dataset: args.dataset.clone(),
        models: args.models.iter().map(|model| named("model", model)).collect::<Result<_, _>>()?,
        rankers: args
            .rankers
            .iter()
            .map(|given| named("ranker", given))
            .collect::<Result<_, _>>()?,
        output: args.output.clone(),
        force: args.force,
        exact_below: args.exact_below,
    };
    let _lock = args.force.then(|| lock(&args.output)).transpose()?;
    let built = console.run_engine(|run| building.run(run))?;
    console.report(args.format, &built, |out| {
        let mut grid = Grid::new(["model", "version", "method", "dimensions", "neighbours"])
            .left(&[0, 1, 2, 4]);
        for model in &built.models {
            grid.row([
                model.name.clone(),
                model.version.clone(),
                model.method.clone(),
                model.dim.map_or_else(String::new, |dim| dim.to_string()),
                model.neighbours.clone().unwrap_or_default(),
            ]);
        }
        grid.write(out, TableFormat::Table)?;
        if !built.rankers.is_empty() {
            writeln!(out, "rankers: {}", built.rankers.join(", "))?;
        }
        Ok(writeln!(
            out,
            "{}, {} besides dataset and models; to serve it: liken serve {}",
            counted(built.documents as usize, "document"),
            Bytes(built.bytes),
            typed(&args.output)
        )?)
    })
}

/// Opens the index at `path`; an error has advice on how to build one.
pub fn index_at(path: &Path) -> anyhow::Result<(Layout, IndexAbout)> {
    let layout = Layout::new(path);
    let about = layout.read().map_err(|error| {
        anyhow::anyhow!(
            "{error}\nhelp: `liken index DATASET --model MODEL -o INDEX` builds an index"
        )
    })?;
    Ok((layout, about))
}

/// Locks an index that is about to be replaced; an error if it is served, because writes of
/// the service would be lost.
pub fn lock(index: &Path) -> anyhow::Result<Option<Store>> {
    match Store::open(&Layout::new(index).store(), RESERVE) {
        Ok(store) => Ok(Some(store)),
        Err(held @ StoreError::Unavailable(_)) => Err(held.into()),
        // The index is replaced, so that no other problem matters.
        Err(_) => Ok(None),
    }
}

/// Splits `[NAME=]FOLDER`.
fn named(flag: &str, given: &str) -> anyhow::Result<(Option<String>, PathBuf)> {
    match given.split_once('=') {
        Some((name, folder)) if !name.contains('/') => {
            if name.is_empty() || folder.is_empty() {
                return Err(usage(format!("--{flag} {given}: expected NAME=FOLDER or FOLDER")));
            }
            Ok((Some(name.to_owned()), folder.into()))
        }
        _ => Ok((None, given.into())),
    }
}
