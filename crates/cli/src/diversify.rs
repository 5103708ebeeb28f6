//! `liken diversify`: another engine's results in an order in which they do not all say the same.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use liken::eval::trec::TrecRun;
use liken::matchers::Model;
use liken::rank::diversify::{Diversifier, DiversifyMethod, Gathered, Mmr, Relations};

use crate::console::{Console, Usage, said};
use crate::diversify_train::{self, LearnArgs};
use crate::output::counted;
use crate::runs::{RunFile, check_output, check_stdin, check_tag, read_engine_run};
use crate::unseen::{read_documents, some, warn_about_known};

/// Re-order a TREC run so that its first results do not all say the same.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
mmr (maximal marginal relevance) takes, place after place, the document with the largest
lambda * relevance - (1 - lambda) * its largest similarity to the documents above it; relevance is
the run's score, scaled to 0..1 within the query. `liken diversify train` tunes it on judgments by
subtopic, or learns weights of several runs and similarities (R-LTR); --method names its file.

Documents are compared by what the models know of them: words (tf-idf of all fields), title, body, …
(of one field), latent (the embeddings of a learnt model), class (where training kept classes); those of
a second model are called words.2, latent.2. Documents that no model knows are never put forward.

Examples:
  liken diversify bm25.trec --model model -o diverse.trec
  liken diversify bm25.trec --model model --lambda 0.7 --similarity latent -k 10 -o diverse.trec
  liken diversify train bm25.trec train.qrels --model model -o diversifier.json
  liken diversify bm25.trec --model model --method diversifier.json -o diverse.trec
  liken eval test.qrels bm25.trec diverse.trec -m alpha_nDCG@10 -m ERR_IA@10"
)]
pub struct DiversifyArgs {
    #[command(subcommand)]
    verb: Option<DiversifyVerb>,

    /// Run file with the engine's results (.gz and .zst are fine; - is standard input).
    #[arg(required = true)]
    run: Option<PathBuf>,

    #[command(flatten)]
    inputs: InputArgs,

    /// Run file to write; - for standard output.
    #[arg(short, long, value_name = "FILE", required = true)]
    output: Option<PathBuf>,

    /// mmr, or a file that `liken diversify train` wrote [default: mmr].
    #[arg(long, value_name = "mmr|FILE")]
    method: Option<PathBuf>,

    /// mmr: share of relevance, from 0 to 1; 1 leaves the order as it is [default: 0.5].
    #[arg(long, value_name = "SHARE")]
    lambda: Option<f64>,

    /// mmr: how documents are compared [default: words].
    #[arg(long, value_name = "NAME")]
    similarity: Option<String>,

    /// Places that are filled one by one; documents behind them keep the engine's order [default: 20].
    #[arg(short, value_name = "N")]
    k: Option<usize>,

    /// The run's name in its last column [default: mmr or r-ltr].
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,

    /// Replace the run file if it is there.
    #[arg(long)]
    force: bool,
}

/// What can be done beside diversifying.
#[derive(Subcommand)]
enum DiversifyVerb {
    Train(Box<LearnArgs>),
}

/// What both look at.
#[derive(Args)]
pub struct InputArgs {
    /// Model folder whose knowledge of the documents says how alike they are; may be given
    /// several times.
    #[arg(long = "model", value_name = "DIR", required = true)]
    models: Vec<PathBuf>,

    /// A further run, whose scores count as relevance beside those of the first, for learnt
    /// weights; may be given several times.
    #[arg(long = "with", value_name = "RUN")]
    further: Vec<PathBuf>,

    /// Texts of documents that the models do not know, as JSON lines.
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,

    /// Candidates for the first places: the first N documents of a query [default: 100].
    #[arg(long, value_name = "N")]
    depth: Option<usize>,

    /// Leave bad lines out and count them, instead of stopping at the first.
    #[arg(long)]
    pub lenient: bool,
}

/// Runs and models, read.
pub struct Inputs {
    /// The run whose results are put in order.
    pub run: TrecRun,
    /// Runs whose scores count, too.
    pub further: Vec<TrecRun>,
    /// The models.
    pub models: Vec<Model>,
    depth: usize,
}

impl InputArgs {
    /// Every file that may be standard input.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.further.iter().chain(&self.documents)
    }

    /// Reads everything; `run` is the first run.
    pub fn read(&self, run: &Path, console: &Console) -> anyhow::Result<Inputs> {
        let depth = self.depth.unwrap_or(100);
        if depth == 0 {
            return Err(Usage("--depth 0: expected 1 document or more a query".into()).into());
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
                let fields = &model.counts.preparation.fields;
                let documents =
                    console.run(|run| read_documents(path, Some(&wanted), fields, run))?;
                warn_about_known(path, &documents, &model, console);
                model = model.with_documents(&documents)?;
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

    /// Warns of documents that cannot be put forward.
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
                "no model knows {}, never put forward: {}\n  --documents FILE brings the texts",
                counted(documents.len(), "document", "documents"),
                some(&documents)
            ));
        }
    }
}

/// Queries looked at between two looks at Ctrl-C.
const BATCH: usize = 64;

pub fn run(args: &DiversifyArgs, console: &Console) -> anyhow::Result<()> {
    use rayon::prelude::*;
    let (path, output) = match (&args.verb, &args.run, &args.output) {
        (Some(DiversifyVerb::Train(args)), ..) => return diversify_train::run(args, console),
        (None, Some(run), Some(output)) => (run, output),
        (None, ..) => return Err(Usage("expected a run, and -o FILE".into()).into()),
    };
    let k = args.k.unwrap_or(20);
    if k == 0 {
        return Err(Usage("-k 0: expected 1 place or more".into()).into());
    }
    check_stdin([path].into_iter().chain(args.inputs.files()))?;
    check_tag(args.tag.as_deref())?;
    check_output(output, args.force)?;
    let learnt = args.learnt()?;
    let inputs = args.inputs.read(path, console)?;
    let relations = Relations::of(&inputs.models);
    let diversifier = match learnt {
        Some((path, learnt)) => {
            learnt.check_inputs(path, 1 + inputs.further.len(), &relations.names())?;
            learnt
        }
        None => args.mmr(&relations)?,
    };
    let name = match &diversifier.method {
        DiversifyMethod::Mmr { .. } => "mmr",
        DiversifyMethod::RLtr { .. } => "r-ltr",
    };
    inputs.warn_about_unknown(&relations, console);
    let mut out = RunFile::create(output, args.tag.as_deref().unwrap_or(name), console)?;
    let n = inputs.run.len();
    for first in (0..n).step_by(BATCH) {
        console.run(|run| run.step("diversifying", first as u64, Some(n as u64)))?;
        let ordered: Vec<Vec<&str>> = (first..(first + BATCH).min(n))
            .into_par_iter()
            .map(|place| {
                let gathered = inputs.gather(place, &relations);
                let order = diversifier.order(&gathered.candidates, k);
                gathered.ordered(&order, k)
            })
            .collect();
        for (place, docs) in (first..).zip(ordered) {
            // The scores say nothing but the order.
            let ranked: Vec<(&str, f32)> =
                docs.iter().zip(0..).map(|(&doc, i)| (doc, (docs.len() - i) as f32)).collect();
            out.ranking(inputs.run.query(place).id, &ranked)?;
        }
    }
    Ok(out.finish()?)
}

impl DiversifyArgs {
    /// The file of a learnt way, if one is named.
    fn learnt(&self) -> anyhow::Result<Option<(&Path, Diversifier)>> {
        let file = self.method.as_deref().filter(|method| method.as_os_str() != "mmr");
        let Some(path) = file else {
            if !self.inputs.further.is_empty() {
                let message =
                    "--with: mmr looks at one run; `liken diversify train` learns from several";
                return Err(Usage(message.into()).into());
            }
            return Ok(None);
        };
        if self.lambda.is_some() || self.similarity.is_some() {
            let message = "--lambda and --similarity are for mmr; the file of --method has its own";
            return Err(Usage(message.into()).into());
        }
        Ok(Some((path, Diversifier::open(path)?)))
    }

    fn mmr(&self, relations: &Relations<'_>) -> anyhow::Result<Diversifier> {
        let similarity = self.similarity.clone().unwrap_or_else(|| "words".to_owned());
        let lambda = self.lambda.unwrap_or(Mmr::default().lambda);
        let params = Mmr { lambda, ..Mmr::default() };
        let method = DiversifyMethod::Mmr { params, similarity };
        Diversifier::new(1, relations.names(), method).map_err(|error| match error {
            unknown @ liken::Error::Unknown { .. } => {
                Usage(format!("--similarity: {}", said(&unknown))).into()
            }
            other => other.into(),
        })
    }
}
