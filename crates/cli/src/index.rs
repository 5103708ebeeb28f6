//! `liken index`: a dataset and models become an index that can be served.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use liken::memory::Bytes;
use liken_engine::store::{Store, StoreError};
use liken_engine::{Building, IndexAbout, Layout};

use crate::console::{Console, Usage};
use crate::output::{Format, Grid, TableFormat, grouped, json, typed};

/// Make an index of a dataset and models, to be served.
#[derive(Args)]
#[command(after_help = "\
The index holds everything that the service needs: documents, text index, models, and where each
document lies in their latent spaces. It can be moved to another machine.

Examples:
  liken index data --model bm25 --model rmls -o index
  liken index data --model words=bm25 --model clicks=rmls -o index --force
  liken features data --model bm25 --model rmls -o learn.csv        what a ranker learns from; then
  liken rank train lambdamart learn.csv -o ranker
  liken index data --model bm25=bm25 --model rmls=rmls --ranker best=ranker -o index --force
  liken serve index")]
pub struct IndexArgs {
    /// Dataset folder.
    dataset: PathBuf,

    /// Model folder, with the name it is to have if that is not its method's. The first is the
    /// one that searches get which name none, and its text settings are those of the text index.
    #[arg(short, long = "model", value_name = "[NAME=]MODEL", required = true)]
    models: Vec<String>,

    /// Trained ranker (`liken rank train`, or a model that LightGBM wrote as text) that searches may
    /// have the candidates put in order by, with the name it is to have if that is not its
    /// method's. Its features must be such as `liken features` makes of the dataset and these
    /// models, which are known by their names: model(rmls) is the score of --model rmls=FOLDER.
    #[arg(long = "ranker", value_name = "[NAME=]RANKER")]
    rankers: Vec<String>,

    /// Folder of the index to write.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Up to this many documents every model scores every document, which is exact. Beyond, text
    /// index and lists of neighbours say which documents are scored: a share of the exact
    /// neighbours may be missed, which is measured and printed [default: 100000]
    #[arg(long, value_name = "DOCUMENTS")]
    exact_below: Option<usize>,

    /// Replace the index if it is there, with all events and judgments in it.
    #[arg(long)]
    force: bool,

    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &IndexArgs, console: &Console) -> anyhow::Result<()> {
    let building = Building {
        dataset: args.dataset.clone(),
        models: args.models.iter().map(|model| named("model", model)).collect::<Result<_, _>>()?,
        rankers: args
            .rankers
            .iter()
            .map(|ranker| named("ranker", ranker))
            .collect::<Result<_, _>>()?,
        output: args.output.clone(),
        force: args.force,
        exact_below: args.exact_below,
    };
    let _held = args.force.then(|| hold(&args.output)).transpose()?;
    let built = console.serve(|run| building.run(run))?;
    let mut out = console.out();
    match args.format {
        Format::Json => json(&mut out, &built)?,
        Format::Table => {
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
            grid.write(&mut out, TableFormat::Table)?;
            if !built.rankers.is_empty() {
                writeln!(out, "rankers: {}", built.rankers.join(", "))?;
            }
            writeln!(
                out,
                "{} documents, {} besides dataset and models; to serve it: liken serve {}",
                grouped(built.documents as usize),
                Bytes(built.bytes),
                typed(&args.output)
            )?;
        }
    }
    Ok(out.flush()?)
}

/// The index at `path` and what it is, with advice where there is none.
pub fn index_at(path: &Path) -> anyhow::Result<(Layout, IndexAbout)> {
    let layout = Layout::new(path);
    let about = layout.read().map_err(|error| {
        anyhow::anyhow!("{error}\n  `liken index DATASET --model MODEL -o INDEX` makes an index")
    })?;
    Ok((layout, about))
}

/// Keeps an index that is to be replaced from being served meanwhile; an error if it is served
/// now, for what is written to it then would be lost.
pub fn hold(index: &Path) -> anyhow::Result<Option<Store>> {
    match Store::open(&Layout::new(index).store()) {
        Ok(store) => Ok(Some(store)),
        Err(held @ StoreError::Held(_)) => Err(held.into()),
        // Whatever else is wrong with it, it goes.
        Err(_) => Ok(None),
    }
}

/// `NAME=FOLDER`, or just the folder.
fn named(flag: &str, given: &str) -> Result<(Option<String>, PathBuf), Usage> {
    match given.split_once('=') {
        Some((name, folder)) if !name.contains('/') => {
            if name.is_empty() || folder.is_empty() {
                return Err(Usage(format!("--{flag} {given}: expected NAME=FOLDER or FOLDER")));
            }
            Ok((Some(name.to_owned()), folder.into()))
        }
        _ => Ok((None, given.into())),
    }
}
