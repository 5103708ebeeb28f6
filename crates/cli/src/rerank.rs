//! `liken rerank`: re-orders another engine's results by the scores of a model.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use clap::Args;
use liken::Run;
use liken::data::Dataset;
use liken::eval::trec::{RunHit, TrecRun};
use liken::fusion::rerank;
use liken::matchers::Model;

use crate::console::{Console, usage};
use crate::fuse::NormaliseName;
use crate::output::{counted, grouped, some_of};
use crate::runs::{RunArgs, check_stdin, read_engine_run, read_queries};
use crate::unseen::add_documents;

/// Re-rank another engine's results (a TREC run) by the scores of a model.
#[derive(Args)]
#[command(after_help = "\
The texts of the run's queries are found by id in a file of queries (id<TAB>text), in a dataset, or,
if neither is named, in the queries that the model was trained with. Documents are found by id in the
model; --documents adds unseen documents, one JSON object per line with an id (or _id) and fields
like those of training (text is read as body if there is no body). All other documents keep the
engine's order below the re-ranked ones.

Examples:
  liken rerank model bm25.trec --queries queries.tsv -o reranked.trec
  liken rerank model bm25.trec --queries queries.tsv --mix 0.3 --depth 100 -o reranked.trec
  liken rerank model engine.trec --dataset data --documents new.jsonl -o -")]
pub struct RerankArgs {
    /// Model folder.
    model: PathBuf,

    /// Run file with the engine's results, also compressed (.gz, .zst); - is standard input.
    run: PathBuf,

    #[command(flatten)]
    output: RunArgs,

    /// File of queries: id<TAB>text.
    #[arg(long, value_name = "FILE", conflicts_with = "dataset")]
    queries: Option<PathBuf>,

    /// Dataset folder with the queries.
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,

    /// Unseen documents, as JSON lines.
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,

    /// Weight of the engine's own score, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    mix: f64,

    /// Normalisation of scores for --mix.
    #[arg(long, alias = "normalize", value_enum, default_value = "z-score")]
    normalise: NormaliseName,

    /// Re-rank only the first N documents of a query; the others keep their order below.
    #[arg(long, value_name = "N")]
    depth: Option<usize>,

    /// Skip and count bad lines of the run instead of stopping at the first.
    #[arg(long)]
    lenient: bool,
}

/// Queries scored between two checks for Ctrl-C.
const BATCH: usize = 64;

/// Queries, documents and results that keep the engine's order.
#[derive(Default)]
struct Unscored {
    without_text: Vec<String>,
    unread: Vec<String>,
    documents: BTreeSet<String>,
    results: usize,
}

pub fn run(args: &RerankArgs, console: &Console) -> anyhow::Result<()> {
    use rayon::prelude::*;
    if !(0.0..=1.0).contains(&args.mix) {
        return Err(usage(format!("--mix {}: expected a share from 0 to 1", args.mix)));
    }
    if args.normalise == NormaliseName::Max {
        let message =
            "--normalise max: expected z-score or min-max, for scores of a model may be negative";
        return Err(usage(message));
    }
    check_stdin([&args.run].into_iter().chain(&args.queries).chain(&args.documents))?;
    args.output.check()?;
    let engine = read_engine_run(&args.run, args.lenient, console)?;
    let mut model = console.run(|_| Model::open(&args.model))?;
    let texts = console.run(|run| args.texts(&model, run))?;
    if let Some(path) = &args.documents {
        let wanted: HashSet<&str> =
            engine.queries().flat_map(|query| query.hits().map(|hit| hit.doc)).collect();
        model = add_documents(model, path, &wanted, console)?;
    }
    let numbers: HashMap<&str, u32> =
        model.counts.doc_ids.iter().map(String::as_str).zip(0..).collect();
    let mut out = args.output.create(&model.about.name, console)?;
    let mut unscored = Unscored::default();
    for first in (0..engine.len()).step_by(BATCH) {
        console.run(|run| run.step("scoring", first as u64, Some(engine.len() as u64)))?;
        let places = first..(first + BATCH).min(engine.len());
        let ranked: Vec<Reranked<'_>> = places
            .into_par_iter()
            .map(|at| args.query(&model, &numbers, &texts, &engine, at))
            .collect();
        for query in ranked {
            out.ranking(query.id, &query.ranking)?;
            match query.problem {
                Some(Problem::NoText) => unscored.without_text.push(query.id.to_owned()),
                Some(Problem::Unread) => unscored.unread.push(format!("{:?}", texts[query.id])),
                None => {}
            }
            unscored.results += query.unknown.len();
            unscored.documents.extend(query.unknown.into_iter().map(ToOwned::to_owned));
        }
    }
    out.finish()?;
    unscored.warn(engine.len(), console);
    Ok(())
}

enum Problem {
    NoText,
    Unread,
}

/// One query's results.
struct Reranked<'a> {
    id: &'a str,
    ranking: Vec<(&'a str, f32)>,
    unknown: Vec<&'a str>,
    problem: Option<Problem>,
}

impl RerankArgs {
    /// The texts of the queries by id.
    fn texts(&self, model: &Model, run: &Run<'_>) -> liken::Result<HashMap<String, String>> {
        if let Some(path) = &self.queries {
            return Ok(read_queries(path, run)?.into_iter().collect());
        }
        if let Some(path) = &self.dataset {
            let dataset = Dataset::open(path)?;
            let queries = dataset.queries.iter();
            return queries.map(|query| query.map(|query| (query.id, query.text))).collect();
        }
        let counts = &model.counts;
        Ok(counts.query_ids.iter().cloned().zip(counts.query_texts.iter().cloned()).collect())
    }

    fn query<'a>(
        &self,
        model: &Model,
        numbers: &HashMap<&str, u32>,
        texts: &HashMap<String, String>,
        engine: &'a TrecRun,
        at: usize,
    ) -> Reranked<'a> {
        let query = engine.query(at);
        let hits: Vec<RunHit<'a>> = query.hits().collect();
        let unchanged = |problem| Reranked {
            id: query.id,
            ranking: rerank(&hits, &[], 0.0, self.normalise.normalise()),
            unknown: Vec::new(),
            problem: Some(problem),
        };
        let Some(text) = texts.get(query.id) else { return unchanged(Problem::NoText) };
        let Ok(terms) = model.read_query_of(query.id, text) else {
            return unchanged(Problem::Unread);
        };
        let top = &hits[..self.depth.unwrap_or(usize::MAX).min(hits.len())];
        let found: Vec<Option<u32>> = top.iter().map(|hit| numbers.get(hit.doc).copied()).collect();
        let known: Vec<u32> = found.iter().copied().flatten().collect();
        let mut scored = model.scores_of(&terms, &known).into_iter();
        let scores: Vec<Option<f32>> =
            found.iter().map(|doc| doc.and_then(|_| scored.next())).collect();
        let unknown = top.iter().zip(&found).filter(|(_, doc)| doc.is_none());
        Reranked {
            id: query.id,
            ranking: rerank(&hits, &scores, self.mix, self.normalise.normalise()),
            unknown: unknown.map(|(hit, _)| hit.doc).collect(),
            problem: None,
        }
    }
}

impl Unscored {
    fn warn(&self, n_queries: usize, console: &Console) {
        let n_queries = counted(n_queries, "query");
        let keep = |n: usize, one: &str, many: &str| {
            let does = if n == 1 { one } else { many };
            format!("{} of {n_queries} {does} the engine's order", grouped(n))
        };
        for (queries, one, many) in [
            (&self.without_text, "has no text and keeps", "have no text and keep"),
            (&self.unread, "analyses to nothing and keeps", "analyse to nothing and keep"),
        ] {
            if !queries.is_empty() {
                console.warn(format!("{}: {}", keep(queries.len(), one, many), some_of(queries)));
            }
        }
        if !self.documents.is_empty() {
            let documents: Vec<String> = self.documents.iter().cloned().collect();
            console.warn(format!(
                "the model does not know {} ({}), which keep the engine's order below: {}\n  --documents FILE adds their texts",
                counted(documents.len(), "document"),
                counted(self.results, "result"),
                some_of(&documents)
            ));
        }
    }
}
