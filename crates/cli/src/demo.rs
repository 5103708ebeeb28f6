//! `liken demo`: all steps on a built-in click log, with explanations.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use liken::Run;
use liken::data::Dataset;
use liken::eval::{Candidates, CompareParams, Comparison, HeldOut, Measure, Variant};
use liken::experiment::fit_and_compare;
use liken::features::Preparation;
use liken::matchers::{Explanation, FitReport, Mixture, Model, Params, Trained};
use liken::synth::{Synthetic, SyntheticLog, import};
use liken::training;
use liken_engine::Error;
use liken_engine::{BuildReport, IndexBuilder};
use liken_pages::shorten;

use crate::console::{Console, with_flags};
use crate::index::lock;
use crate::output::{Grid, NOTHING, TableFormat, grouped, typed};
use crate::search::DocTexts;
use crate::serve::ServiceArgs;
use crate::settings::{every_method, parse_mixtures};
use crate::{compare, explain};

/// Latent dimensions: enough for a few hundred concepts.
const DIM: &str = "200";
/// Mixes of `--all` besides those of [`ROWS`].
const MORE_MIXES: [&str; 4] = ["walk+bm25", "lsi_qd+bm25", "ridge+bm25", "clicked+bm25"];
const ROWS: [&str; 8] =
    ["bm25", "vsm", "lm", "pls", "rmls", "association", "pls+bm25", "rmls+bm25"];

/// Train, compare and explain on a built-in click log.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken demo
  liken demo --serve      then search the log in the browser
  liken demo --all        compare all methods
  liken demo -o demo      keeps the log, the dataset and the model in the folder demo")]
pub struct DemoArgs {
    /// Compare all methods.
    #[arg(long)]
    all: bool,

    /// Keep everything in this folder.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Replace the files of an earlier demo in the folder.
    #[arg(long)]
    force: bool,

    /// Random seed of the log.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// Then serve the log with BM25 and RMLS, and open the pages in the browser.
    #[arg(long)]
    serve: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

pub fn run(args: &DemoArgs, console: &Console) -> anyhow::Result<()> {
    let temporary = tempfile::tempdir()?;
    let folder = args.output.clone().unwrap_or_else(|| temporary.path().to_owned());
    let (raw, data, model) = (folder.join("log"), folder.join("data"), folder.join("model"));
    for path in [&raw, &data, &model] {
        // Before the work, not in the middle of it.
        if path.exists() && !args.force {
            let again = match folder.join("index") {
                index if args.serve && index.exists() => {
                    format!(", or serve the existing index: liken serve {}", typed(&index))
                }
                _ => String::new(),
            };
            let exists = liken::Error::Exists { path: path.clone() };
            return Err(anyhow::anyhow!("{}{again}", with_flags(&exists)));
        }
    }
    let index = folder.join("index");
    let locked = (args.serve && args.force).then(|| lock(&index)).transpose()?;
    let mut out = console.out();

    writeln!(out, "1. A click log: users search and click")?;
    let log = Synthetic { seed: args.seed, ..Synthetic::new(SyntheticLog::Demo) };
    console.run(|run| log.write_raw(&raw, args.force, run))?;
    for line in first_lines(&raw.join("clicks.tsv"), 4)? {
        writeln!(out, "     {}", line.replace('\t', "  |  "))?;
    }

    writeln!(
        out,
        "\n2. Import: drop rare pairs as noise, split the judged queries into validation and test"
    )?;
    out.flush()?;
    let report = console.run(|run| import(&raw, false).run(&data, args.force, run))?;
    let counts = &report.about.counts;
    writeln!(
        out,
        "     {} queries, {} documents, {} training pairs with {} clicks; {} + {} judged queries",
        grouped(counts.queries),
        grouped(counts.documents),
        grouped(counts.pairs),
        grouped(counts.clicks as usize),
        counts.validation.0,
        counts.test.0
    )?;

    writeln!(
        out,
        "\n3. Train and compare: lexical models, models learnt from clicks, and mixes of both"
    )?;
    out.flush()?;
    let dataset = console.run(|_| Dataset::open(&data))?;
    let rows = if args.all { all_rows() } else { ROWS.map(str::to_owned).to_vec() };
    let comparison = console.run(|run| compare_rows(&dataset, &rows, run))?;
    writeln!(out)?;
    compare::write_means(&mut out, &comparison, TableFormat::Table)?;
    let best = best_mix(&comparison).context("no mix was compared")?;
    verdict(&mut out, &comparison, best)?;
    out.flush()?;

    let name = &comparison.rows[best].name;
    let started = Instant::now();
    let learnt = console.run(|run| train(&dataset, name, run))?;
    for report in &learnt.reports {
        if let FitReport::Rmls(report) = report {
            report.remarks().iter().try_for_each(|remark| writeln!(out, "     rmls: {remark}"))?;
        }
    }
    console.run(|_| learnt.save(&model, args.force, started.elapsed()))?;
    let words = console.run(|run| train(&dataset, "bm25", run))?;
    writeln!(
        out,
        "\n4. Explain: two queries without clicks, which share no word with their best documents"
    )?;
    for (text, doc) in telling_examples(&dataset, &learnt.model, &words.model)? {
        show(&mut out, &text, doc, &learnt.model, &words.model)?;
    }

    writeln!(out, "\nWith your own log (a table of query, doc, clicks and a table of documents):")?;
    writeln!(out, "  liken import --clicks clicks.tsv --documents documents.jsonl -o data")?;
    writeln!(out, "  liken compare data")?;
    writeln!(out, "  liken train {name} data -o model")?;
    writeln!(out, "  liken search model \"your query\"")?;
    if args.output.is_some() {
        writeln!(
            out,
            "All files are in {}; try liken similar {} --query \"heart attack\"",
            folder.display(),
            typed(&model)
        )?;
    }
    if args.serve {
        writeln!(out, "\n5. Serve: search with BM25 and RMLS")?;
        out.flush()?;
        drop(out);
        console.run_engine(|run| index_of(&data, &dataset, words, &folder, args.force, run))?;
        drop(locked);
        return args.service.serve(&index, true);
    }
    Ok(out.flush()?)
}

/// Builds an index of the log with BM25 and RMLS.
fn index_of(
    data: &Path,
    dataset: &Dataset,
    words: Trained,
    folder: &Path,
    force: bool,
    run: &Run<'_>,
) -> Result<BuildReport, Error> {
    let mut models = Vec::new();
    for (name, trained) in [("bm25", words), ("rmls", train(dataset, "rmls", run)?)] {
        let path = folder.join(name);
        trained.save(&path, force, Duration::ZERO)?;
        models.push((Some(name.to_owned()), path));
    }
    let output = folder.join("index");
    IndexBuilder { dataset: data.to_owned(), models, output, force, ..IndexBuilder::default() }
        .run(run)
}

fn first_lines(path: &Path, n: u64) -> liken::Result<Vec<String>> {
    liken::data::text_lines(path, Run::silent())?
        .take_while(|line| line.as_ref().map_or(true, |&(number, _)| number <= n))
        .map(|line| line.map(|(_, text)| text))
        .collect()
}

fn named(name: &str) -> liken::Result<Params> {
    let mut params = Params::named(name)?;
    if params.has_dim() {
        params.set("dim", DIM)?;
    }
    Ok(params)
}

/// Every method, and mixes of learnt methods with BM25.
fn all_rows() -> Vec<String> {
    let mut rows = every_method();
    rows.extend(ROWS.iter().filter(|row| row.contains('+')).map(|&row| row.to_owned()));
    rows.extend(MORE_MIXES.map(str::to_owned));
    rows
}

fn compare_rows(dataset: &Dataset, names: &[String], run: &Run<'_>) -> liken::Result<Comparison> {
    let rows = parse_mixtures(names)?;
    let mut models = Vec::new();
    for name in names.iter().filter(|name| !name.contains('+')) {
        models.push((name.clone(), named(name)?));
    }
    let measures = [1, 3, 5].map(|k| Measure::Ndcg { k: Some(k) });
    let params = CompareParams {
        rows: &rows,
        measures: &measures,
        tune_on: Measure::Ndcg { k: Some(5) },
        baseline: 0,
        on: HeldOut::Test,
        candidates: Candidates::Auto,
        variant: Variant::default(),
        seed: 1,
    };
    Ok(fit_and_compare(dataset, &Preparation::default(), &models, &params, run)?.0)
}

/// The mix with the best validation score: test data must not choose.
fn best_mix(comparison: &Comparison) -> Option<usize> {
    let score = |r: usize| comparison.rows[r].validation;
    let mixes = (0..comparison.rows.len()).filter(|&r| score(r).is_some());
    mixes.max_by(|&a, &b| score(a).unwrap_or(0.0).total_cmp(&score(b).unwrap_or(0.0)))
}

fn verdict(out: &mut impl Write, comparison: &Comparison, best: usize) -> anyhow::Result<()> {
    let row = &comparison.rows[best];
    let tests = || row.cells.iter().filter_map(|cell| cell.against);
    let largest_p = tests().map(|against| against.t_holm).fold(0.0, f64::max);
    let gains: Vec<String> = comparison
        .measures
        .iter()
        .zip(&row.cells)
        .filter_map(|(measure, cell)| {
            cell.against.map(|against| format!("{:+.3} {measure}", against.difference))
        })
        .collect();
    let (name, gains) = (&row.name, gains.join(", "));
    let better = tests().all(|against| against.difference > 0.0) && largest_p < 0.01;
    Ok(match better {
        true => writeln!(
            out,
            "\n     {name} (the best mix on validation) beats BM25 alone: {gains}, p < 0.01 each."
        ),
        false => writeln!(
            out,
            "\n     {name} (best on validation) against BM25 alone: {gains}; largest p {largest_p:.3}."
        ),
    }?)
}

fn train(dataset: &Dataset, name: &str, run: &Run<'_>) -> liken::Result<Trained> {
    let mixture = Mixture::parse(name)?;
    let params: Vec<Params> =
        mixture.parts.iter().map(|(_, name)| named(name)).collect::<Result<_, _>>()?;
    training::train(dataset, &Preparation::default(), &mixture, &params, run)
}

/// Two test queries without clicks whose best document by `learnt` is relevant and shares no word with
/// the query, preferably such that BM25 ranks badly.
fn telling_examples(
    dataset: &Dataset,
    learnt: &Model,
    words: &Model,
) -> liken::Result<Vec<(String, u32)>> {
    let mut found: Vec<(f32, u32, u32)> = Vec::new();
    for i in 0..dataset.test.n_rows() {
        let judged = dataset.test.row(i);
        if judged.is_empty() || dataset.queries.get(i)?.clicks > 0.0 {
            continue;
        }
        let query = learnt.counts.query(i);
        let Some(best) = learnt.search(&query, 1).first().copied() else { continue };
        let row = learnt.counts.docs.row(best.doc as usize);
        let shares = query.indices.iter().any(|&term| row.contains(term));
        if judged.get(best.doc) < 4.0 || shares || query.indices.len() < 2 {
            continue;
        }
        let top = words.search(&words.counts.query(i), 3);
        let served: f32 = top.iter().map(|hit| judged.get(hit.doc).max(0.0)).sum();
        found.push((served, i as u32, best.doc));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let class = |doc: u32| {
        dataset.documents.get(doc as usize).ok().and_then(|d| d.fields.get("class").cloned())
    };
    // Of different classes if there are some, else of different documents.
    let mut chosen: Vec<(String, u32)> = Vec::new();
    for of_other_classes in [true, false] {
        for &(_, i, doc) in &found {
            let is_new = |&(_, other): &(String, u32)| {
                other != doc && (!of_other_classes || class(other) != class(doc))
            };
            if chosen.len() < 2 && chosen.iter().all(is_new) {
                chosen.push((learnt.counts.query_texts[i as usize].clone(), doc));
            }
        }
    }
    Ok(chosen)
}

fn show(
    out: &mut impl Write,
    text: &str,
    doc: u32,
    learnt: &Model,
    words: &Model,
) -> anyhow::Result<()> {
    let texts = DocTexts::open(learnt, None);
    let top =
        |model: &Model| -> liken::Result<Vec<String>> {
            let hits = model.search(&model.read_query(text)?, 3);
            Ok(hits
                .iter()
                .map(|hit| {
                    if hit.score > 0.0 { shorten(&texts.title(hit.doc), 44) } else { "–".into() }
                })
                .collect())
        };
    writeln!(out, "\n   “{text}”")?;
    let (by_words, by_clicks) = (top(words).unwrap_or_default(), top(learnt)?);
    let mut grid = Grid::new(["", "BM25 alone", "with clicks"]).left(&[1, 2]);
    for rank in 0..3 {
        let cell = |list: &[String]| list.get(rank).cloned().unwrap_or_else(|| NOTHING.into());
        grid.row([(rank + 1).to_string(), cell(&by_words), cell(&by_clicks)]);
    }
    grid.write(out, TableFormat::Table)?;
    writeln!(out)?;
    let explanation = learnt.explain(text, doc, 5)?;
    writeln!(out, "In words: {}\n", in_words(&explanation))?;
    explain::print(out, &explanation)
}

/// The largest contributions as a sentence.
fn in_words(explanation: &Explanation) -> String {
    let contributions = || explanation.parts.iter().flat_map(|part| &part.contributions);
    let meets = contributions().find(|line| !line.doc.starts_with("clicked for")).map(|line| {
        format!(
            "clicks taught that “{}” in a query goes with “{}” in a document",
            line.query, line.doc
        )
    });
    let asked = contributions()
        .find(|line| line.doc.starts_with("clicked for"))
        .map(|line| format!("this document was {}, which means much the same", line.doc));
    let reasons: Vec<String> = meets.into_iter().chain(asked).collect();
    format!("{}.", reasons.join("; "))
}
