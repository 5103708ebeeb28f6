//! The inputs of `liken diversify` and `liken diversify train`: runs, and models that know their
//! documents.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use clap::Args;
use liken::eval::trec::TrecRun;
use liken::matchers::Model;
use liken::rank::diversify::{DiversifyMethod, Gathered, Relations};

use crate::console::{Console, usage};
use crate::output::{counted, some_of};
use crate::runs::read_engine_run;
use crate::unseen::add_documents;

/// Flags for the models, further runs and candidates.
#[derive(Args)]
pub struct InputArgs {
    /// Model folder, by whose terms, embeddings or classes documents are compared. Repeatable.
    #[arg(long = "model", value_name = "DIR", required = true)]
    models: Vec<PathBuf>,

    /// Further run, whose scores are further features of relevance; for a learnt method. Repeatable.
    #[arg(long = "with", value_name = "RUN")]
    pub further: Vec<PathBuf>,

    /// Unseen documents, as JSON lines.
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,

    /// Candidates: the first N documents of a query [default: 100].
    #[arg(long, value_name = "N")]
    depth: Option<usize>,

    /// Skip and count bad lines instead of stopping at the first.
    #[arg(long)]
    pub lenient: bool,
}

/// The runs and models that [`InputArgs`] names.
pub struct Inputs {
    /// The run to re-order.
    pub run: TrecRun,
    /// Runs whose scores are further features.
    pub further: Vec<TrecRun>,
    /// The models by which documents are compared.
    pub models: Vec<Model>,
    depth: usize,
}

impl InputArgs {
    /// The files that may be standard input.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.further.iter().chain(&self.documents)
    }

    /// Reads the run at `run`, the further runs and the models.
    pub fn read(&self, run: &Path, console: &Console) -> anyhow::Result<Inputs> {
        let depth = self.depth.unwrap_or(100);
        if depth == 0 {
            return Err(usage("--depth 0: expected 1 document or more per query"));
        }
        let read = |path: &Path| read_engine_run(path, self.lenient, console);
        let run = read(run)?;
        let further: Vec<TrecRun> =
            self.further.iter().map(|path| read(path)).collect::<liken::Result<_>>()?;
        let wanted: HashSet<&str> =
            run.queries().flat_map(|query| query.hits().take(depth).map(|hit| hit.doc)).collect();
        let mut models = Vec::with_capacity(self.models.len());
        for path in &self.models {
            let mut model = console.run(|_| Model::open(path))?;
            if let Some(path) = &self.documents {
                model = add_documents(model, path, &wanted, console)?;
            }
            models.push(model);
        }
        Ok(Inputs { run, further, models, depth })
    }
}

impl Inputs {
    /// The candidates of the query at `place` of the run.
    pub fn gather<'a>(&'a self, place: usize, relations: &Relations<'_>) -> Gathered<'a> {
        let query = self.run.query(place);
        let further: Vec<_> =
            self.further.iter().map(|run| run.find(query.id).map(|at| run.query(at))).collect();
        Gathered::new(query, &further, relations, self.depth)
    }

    /// Warns of candidates that no model knows.
    pub fn warn_about_unknown(&self, relations: &Relations<'_>, console: &Console) {
        let docs: BTreeSet<&str> = self
            .run
            .queries()
            .flat_map(|query| query.hits().take(self.depth).map(|hit| hit.doc))
            .filter(|doc| !relations.knows(doc))
            .collect();
        if !docs.is_empty() {
            let documents: Vec<String> = docs.into_iter().map(str::to_owned).collect();
            console.warn(format!(
                "no model knows {}, which the diversifier never moves up: {}\n  --documents FILE adds their texts",
                counted(documents.len(), "document"),
                some_of(&documents)
            ));
        }
    }
}

/// The name of a method as `--method` takes it.
pub fn method_name(method: &DiversifyMethod) -> &'static str {
    match method {
        DiversifyMethod::Mmr { .. } => "mmr",
        DiversifyMethod::RLtr { .. } => "r-ltr",
    }
}
