//! `liken diversify`: re-orders another engine's results so that the first ones differ.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use liken::rank::diversify::{Diversifier, DiversifyMethod, Mmr, Relations};

use crate::console::{Console, usage, with_flags};
use crate::diversify_inputs::{InputArgs, method_name};
use crate::diversify_train::{self, LearnArgs};
use crate::runs::{RunFile, check_output, check_stdin, check_tag};

/// Diversify a TREC run: re-order it so that its first results cover different aspects.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
mmr (maximal marginal relevance) selects, rank by rank, the document with the largest
lambda * relevance - (1 - lambda) * (its largest similarity to the documents above it); relevance is
the run's score, scaled to 0..1 per query. `liken diversify train` tunes it on judgments by subtopic,
or learns weights of several runs and similarities (R-LTR); --method takes the file that it writes.

Similarities of documents are called words (tf-idf of all fields), title, body, … (tf-idf of one
field), latent (embeddings of a learnt model) and class (if the dataset has classes); those of a second
model are called words.2, latent.2, … Documents that no model knows are never moved up.

Examples:
  liken diversify bm25.trec --model model -o diverse.trec
  liken diversify bm25.trec --model model --lambda 0.7 --similarity latent -k 10 -o diverse.trec
  liken diversify train bm25.trec train.qrels --model model -o diversifier.json
  liken diversify bm25.trec --model model --method diversifier.json -o diverse.trec
  liken eval test.qrels bm25.trec diverse.trec -m alpha_nDCG@10 -m ERR_IA@10"
)]
pub struct DiversifyArgs {
    #[command(subcommand)]
    subcommand: Option<DiversifyCommand>,

    /// Run file with the engine's results, also compressed (.gz, .zst); - is standard input.
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

    /// mmr: weight of relevance, from 0 to 1; 1 keeps the order [default: 0.5].
    #[arg(long, value_name = "SHARE")]
    lambda: Option<f64>,

    /// mmr: similarity of documents [default: words].
    #[arg(long, value_name = "NAME")]
    similarity: Option<String>,

    /// Number of ranks to diversify; the documents below keep the engine's order [default: 20].
    #[arg(short, value_name = "N")]
    k: Option<usize>,

    /// Name of the run, in its last column [default: mmr or r-ltr].
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,

    /// Replace the run file if it exists.
    #[arg(long)]
    force: bool,
}

#[derive(Subcommand)]
enum DiversifyCommand {
    Train(Box<LearnArgs>),
}

/// Queries diversified between two checks for Ctrl-C.
const BATCH: usize = 64;

pub fn run(args: &DiversifyArgs, console: &Console) -> anyhow::Result<()> {
    use rayon::prelude::*;
    let (path, output) = match (&args.subcommand, &args.run, &args.output) {
        (Some(DiversifyCommand::Train(args)), ..) => return diversify_train::run(args, console),
        (None, Some(run), Some(output)) => (run, output),
        (None, ..) => return Err(usage("expected a run, and -o FILE")),
    };
    let k = args.k.unwrap_or(20);
    if k == 0 {
        return Err(usage("-k 0: expected 1 rank or more"));
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
    let tag = args.tag.as_deref().unwrap_or(method_name(&diversifier.method));
    inputs.warn_about_unknown(&relations, console);
    let mut out = RunFile::create(output, tag, console)?;
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
            // A run needs scores; these only encode the order.
            let ranked: Vec<(&str, f32)> =
                docs.iter().zip(0..).map(|(&doc, i)| (doc, (docs.len() - i) as f32)).collect();
            out.ranking(inputs.run.query(place).id, &ranked)?;
        }
    }
    Ok(out.finish()?)
}

impl DiversifyArgs {
    /// The diversifier in the file of `--method`, if one is named.
    fn learnt(&self) -> anyhow::Result<Option<(&Path, Diversifier)>> {
        let file = self.method.as_deref().filter(|method| method.as_os_str() != "mmr");
        let Some(path) = file else {
            if !self.inputs.further.is_empty() {
                let message =
                    "--with: mmr uses one run; `liken diversify train` learns from several";
                return Err(usage(message));
            }
            return Ok(None);
        };
        if self.lambda.is_some() || self.similarity.is_some() {
            let message = "--lambda and --similarity are for mmr; the file of --method has its own parameters";
            return Err(usage(message));
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
                usage(format!("--similarity: {}", with_flags(&unknown)))
            }
            other => other.into(),
        })
    }
}
