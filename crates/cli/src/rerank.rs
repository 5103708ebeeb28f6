//! `liken rerank`: another engine's results in the order of a model's scores.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use clap::Args;
use liken::Run;
use liken::data::Dataset;
use liken::eval::trec::{RunHit, TrecRun};
use liken::fusion::rerank;
use liken::matchers::Model;

use crate::console::{Console, Usage};
use crate::fuse::NormaliseName;
use crate::output::{counted, grouped};
use crate::runs::{RunFile, check_output, check_stdin, check_tag, read_engine_run, read_queries};
use crate::unseen::{read_documents, some, warn_about_known};

/// Re-score another engine's results (a TREC run) with a model.
#[derive(Args)]
#[command(after_help = "\
Queries are known by the run's query ids: their texts come from a file of queries (id<TAB>text),
from a dataset, or from the model's own dataset if neither is named. Documents are known by their
ids; --documents brings the texts of those that training did not know, one JSON object a line with
an id (or _id) and fields like those of training (text is read as body where there is no body).
Other documents stay below in the engine's order.

Examples:
  liken rerank model bm25.trec --queries queries.tsv -o reranked.trec
  liken rerank model bm25.trec --queries queries.tsv --mix 0.3 --depth 100 -o reranked.trec
  liken rerank model engine.trec --dataset data --documents new.jsonl -o -")]
pub struct RerankArgs {
    /// Model folder.
    model: PathBuf,

    /// Run file with the engine's results (.gz and .zst are fine; - is standard input).
    run: PathBuf,

    /// Run file to write; - for standard output.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// File of queries: id<TAB>text.
    #[arg(long, value_name = "FILE", conflicts_with = "dataset")]
    queries: Option<PathBuf>,

    /// Dataset folder that has the queries.
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,

    /// Texts of documents that the model does not know, as JSON lines.
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,

    /// Share of the engine's own score, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    mix: f64,

    /// How both scores are made comparable for --mix.
    #[arg(long, alias = "normalize", value_enum, default_value = "z-score")]
    normalise: NormaliseName,

    /// Re-score only the first N documents of a query; the rest stays below in its order.
    #[arg(long, value_name = "N")]
    depth: Option<usize>,

    /// The run's name in its last column [default: the model's name].
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,

    /// Leave bad lines of the run out and count them, instead of stopping at the first.
    #[arg(long)]
    lenient: bool,

    /// Replace the run file if it is there.
    #[arg(long)]
    force: bool,
}

/// Queries scored between two looks at Ctrl-C.
const BATCH: usize = 64;

/// What could not be scored.
#[derive(Default)]
struct Left {
    without_text: Vec<String>,
    unread: Vec<String>,
    documents: BTreeSet<String>,
    results: usize,
}

pub fn run(args: &RerankArgs, console: &Console) -> anyhow::Result<()> {
    use rayon::prelude::*;
    if !(0.0..=1.0).contains(&args.mix) {
        return Err(Usage(format!("--mix {}: expected a share from 0 to 1", args.mix)).into());
    }
    if args.normalise == NormaliseName::Max {
        let message = "--normalise max: a model's scores may lie below 0; take z-score or min-max";
        return Err(Usage(message.into()).into());
    }
    check_stdin([&args.run].into_iter().chain(&args.queries).chain(&args.documents))?;
    check_tag(args.tag.as_deref())?;
    check_output(&args.output, args.force)?;
    let engine = read_engine_run(&args.run, args.lenient, console)?;
    let mut model = console.run(|_| Model::open(&args.model))?;
    let texts = console.run(|run| args.texts(&model, run))?;
    if let Some(path) = &args.documents {
        let wanted: HashSet<&str> =
            engine.queries().flat_map(|query| query.hits().map(|hit| hit.doc)).collect();
        let fields = &model.counts.preparation.fields;
        let documents = console.run(|run| read_documents(path, Some(&wanted), fields, run))?;
        warn_about_known(path, &documents, &model, console);
        model = model.with_documents(&documents)?;
    }
    let numbers: HashMap<&str, u32> =
        model.counts.doc_ids.iter().map(String::as_str).zip(0..).collect();
    let tag = args.tag.as_deref().unwrap_or(&model.about.name);
    let mut out = RunFile::create(&args.output, tag, console)?;
    let mut left = Left::default();
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
                Some(Problem::NoText) => left.without_text.push(query.id.to_owned()),
                Some(Problem::Unread) => left.unread.push(texts[query.id].clone()),
                None => {}
            }
            left.results += query.unknown.len();
            left.documents.extend(query.unknown.into_iter().map(ToOwned::to_owned));
        }
    }
    out.finish()?;
    args.warn_about(&left, engine.len(), console);
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
        let as_it_was = |problem| Reranked {
            id: query.id,
            ranking: rerank(&hits, &[], 0.0, self.normalise.normalise()),
            unknown: Vec::new(),
            problem: Some(problem),
        };
        let Some(text) = texts.get(query.id) else { return as_it_was(Problem::NoText) };
        let Ok(terms) = model.read_query_of(query.id, text) else {
            return as_it_was(Problem::Unread);
        };
        let looked_at = &hits[..self.depth.unwrap_or(usize::MAX).min(hits.len())];
        let found: Vec<Option<u32>> =
            looked_at.iter().map(|hit| numbers.get(hit.doc).copied()).collect();
        let known: Vec<u32> = found.iter().copied().flatten().collect();
        let mut scored = model.scores_of(&terms, &known).into_iter();
        let scores: Vec<Option<f32>> =
            found.iter().map(|doc| doc.and_then(|_| scored.next())).collect();
        let unknown = looked_at.iter().zip(&found).filter(|(_, doc)| doc.is_none());
        Reranked {
            id: query.id,
            ranking: rerank(&hits, &scores, self.mix, self.normalise.normalise()),
            unknown: unknown.map(|(hit, _)| hit.doc).collect(),
            problem: None,
        }
    }

    fn warn_about(&self, left: &Left, n_queries: usize, console: &Console) {
        let n_queries = counted(n_queries, "query", "queries");
        let keep = |n: usize, one: &str, many: &str| {
            let does = if n == 1 { one } else { many };
            format!("{} of {n_queries} {does} the engine's order", grouped(n))
        };
        if !left.without_text.is_empty() {
            console.warn(format!(
                "{}: {}",
                keep(left.without_text.len(), "has no text and keeps", "have no text and keep"),
                some(&left.without_text)
            ));
        }
        if !left.unread.is_empty() {
            let quoted: Vec<String> = left.unread.iter().map(|text| format!("{text:?}")).collect();
            console.warn(format!(
                "{}: {}",
                keep(
                    left.unread.len(),
                    "analyses to nothing and keeps",
                    "analyse to nothing and keep"
                ),
                some(&quoted)
            ));
        }
        if !left.documents.is_empty() {
            let documents: Vec<String> = left.documents.iter().cloned().collect();
            console.warn(format!(
                "the model does not know {} ({}), left below in the engine's order: {}\n  --documents FILE brings the texts",
                counted(documents.len(), "document", "documents"),
                counted(left.results, "result", "results"),
                some(&documents)
            ));
        }
    }
}
