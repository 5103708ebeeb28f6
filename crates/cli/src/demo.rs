//! `liken demo`: the whole path on a built-in click log, told in plain language.

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
use liken::matchers::{Explanation, Mixture, Model, Params, Trained};
use liken::synth::{Synthetic, SyntheticLog, import_of};
use liken::training;
use liken_engine::Error;
use liken_engine::{Building, Built};
use liken_pages::shorten;

use crate::console::{Console, said};
use crate::index::hold;
use crate::output::{Grid, TableFormat, grouped, typed};
use crate::search::Shelf;
use crate::serve::ServiceArgs;
use crate::{compare, explain};

/// Latent dimensions: enough for a few hundred concepts.
const DIM: &str = "200";
/// What `--all` mixes with BM25 beside the mixes of [`ROWS`].
const MORE_MIXES: [&str; 4] = ["walk+bm25", "lsi_qd+bm25", "ridge+bm25", "clicked+bm25"];
const ROWS: [&str; 7] = ["bm25", "vsm", "lm", "pls", "rmls", "pls+bm25", "rmls+bm25"];

/// Train, compare and explain on a built-in click log.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken demo
  liken demo --serve      and search it in the browser
  liken demo --all        every method there is
  liken demo -o demo      keeps the log, the dataset and the model in the folder demo")]
pub struct DemoArgs {
    /// Compare every method, not a few.
    #[arg(long)]
    all: bool,

    /// Keep everything in this folder.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Replace what an earlier demo wrote there.
    #[arg(long)]
    force: bool,

    /// Seed of the log.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// Then serve the log with BM25 and RMLS side by side, and open the pages in the browser.
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
        // Refuse before the work, not in the middle of it.
        if path.exists() && !args.force {
            let again = match folder.join("index") {
                index if args.serve && index.exists() => {
                    format!(", or serve the index that is there: liken serve {}", typed(&index))
                }
                _ => String::new(),
            };
            let exists = liken::Error::Exists { path: path.clone() };
            return Err(anyhow::anyhow!("{}{again}", said(&exists)));
        }
    }
    let index = folder.join("index");
    let held = (args.serve && args.force).then(|| hold(&index)).transpose()?;
    let mut out = console.out();

    writeln!(out, "1. A click log: people search, click, and the engine learns nothing from it")?;
    let log = Synthetic { seed: args.seed, ..Synthetic::new(SyntheticLog::Demo) };
    console.run(|run| log.write_raw(&raw, args.force, run))?;
    for line in first_lines(&raw.join("clicks.tsv"), 4)? {
        writeln!(out, "     {}", line.replace('\t', "  |  "))?;
    }

    writeln!(
        out,
        "\n2. Import: rare pairs are noise and go, judged queries are dealt into validation and test"
    )?;
    out.flush()?;
    let report = console.run(|run| import_of(&raw, false).run(&data, args.force, run))?;
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
        "\n3. Train and compare: word counting against maps learnt from clicks, and both together"
    )?;
    out.flush()?;
    let dataset = console.run(|_| Dataset::open(&data))?;
    let rows = if args.all { every_row() } else { ROWS.map(str::to_owned).to_vec() };
    let comparison = console.run(|run| compare_rows(&dataset, &rows, run))?;
    writeln!(out)?;
    compare::write_means(&mut out, &comparison, TableFormat::Table)?;
    let best = best_mix(&comparison).context("no mix was compared")?;
    verdict(&mut out, &comparison, best)?;
    out.flush()?;

    let name = &comparison.rows[best].name;
    let started = Instant::now();
    let learnt = console.run(|run| train(&dataset, name, run))?;
    console.run(|_| learnt.save(&model, args.force, started.elapsed()))?;
    let words = console.run(|run| train(&dataset, "bm25", run))?;
    writeln!(
        out,
        "\n4. Why: two queries that nobody searched before, each sharing no word with its best document"
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
            "Everything is kept in {}: try liken similar {} --query \"heart attack\"",
            folder.display(),
            typed(&model)
        )?;
    }
    if args.serve {
        writeln!(out, "\n5. Search it: words and clicks side by side")?;
        out.flush()?;
        drop(out);
        console.serve(|run| index_of(&data, &dataset, words, &folder, args.force, run))?;
        drop(held);
        return args.service.serve(&index, true);
    }
    Ok(out.flush()?)
}

/// An index of the log with BM25, and RMLS in a version that only knows words as features, so that
/// what it finds for a new query can be read off them.
fn index_of(
    data: &Path,
    dataset: &Dataset,
    words: Trained,
    folder: &Path,
    force: bool,
    run: &Run<'_>,
) -> Result<Built, Error> {
    let mut models = Vec::new();
    for (name, trained) in [("bm25", words), ("rmls", train(dataset, "rmls", run)?)] {
        let path = folder.join(name);
        trained.save(&path, force, Duration::ZERO)?;
        models.push((Some(name.to_owned()), path));
    }
    let output = folder.join("index");
    Building { dataset: data.to_owned(), models, output, force, ..Building::default() }.run(run)
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

/// Every method, and those that know what words do not together with BM25.
fn every_row() -> Vec<String> {
    let mut rows = compare::every_method();
    rows.extend(ROWS.iter().filter(|row| row.contains('+')).map(|&row| row.to_owned()));
    rows.extend(MORE_MIXES.map(str::to_owned));
    rows
}

fn compare_rows(dataset: &Dataset, names: &[String], run: &Run<'_>) -> liken::Result<Comparison> {
    let rows: Vec<Mixture> =
        names.iter().map(|row| Mixture::parse(row)).collect::<Result<_, _>>()?;
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

/// The mix with the best validation score: test data chooses nothing.
fn best_mix(comparison: &Comparison) -> Option<usize> {
    (0..comparison.rows.len()).filter(|&r| comparison.rows[r].validation.is_some()).max_by(
        |&a, &b| {
            comparison.rows[a]
                .validation
                .unwrap_or(0.0)
                .total_cmp(&comparison.rows[b].validation.unwrap_or(0.0))
        },
    )
}

fn verdict(out: &mut impl Write, comparison: &Comparison, best: usize) -> anyhow::Result<()> {
    let row = &comparison.rows[best];
    let worst_p = row
        .cells
        .iter()
        .filter_map(|cell| cell.against)
        .map(|against| against.t_holm)
        .fold(0.0, f64::max);
    let gains: Vec<String> = comparison
        .measures
        .iter()
        .zip(&row.cells)
        .filter_map(|(measure, cell)| {
            cell.against.map(|against| format!("{:+.3} {measure}", against.difference))
        })
        .collect();
    let beats =
        row.cells.iter().filter_map(|cell| cell.against).all(|against| against.difference > 0.0);
    if beats && worst_p < 0.01 {
        writeln!(
            out,
            "\n     {} (best on validation) beats BM25 alone: {}, p < 0.01 each.",
            row.name,
            gains.join(", ")
        )?;
    } else {
        writeln!(
            out,
            "\n     {} (best on validation) against BM25 alone: {}; largest p {worst_p:.3}.",
            row.name,
            gains.join(", ")
        )?;
    }
    Ok(())
}

fn train(dataset: &Dataset, name: &str, run: &Run<'_>) -> liken::Result<Trained> {
    let mixture = Mixture::parse(name)?;
    let params: Vec<Params> =
        mixture.parts.iter().map(|(_, name)| named(name)).collect::<Result<_, _>>()?;
    training::train(dataset, &Preparation::default(), &mixture, &params, run)
}

/// Two test queries that nobody searched for, so that no click of their own helps, and whose
/// best document under `learnt` is judged good and shares no word with the query; those
/// first that word counting serves worst.
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
    let mut chosen: Vec<(String, u32)> = Vec::new();
    for (_, i, doc) in found {
        let text = learnt.counts.query_texts[i as usize].clone();
        // Two of different topics say more than two of one.
        let class = |doc: u32| {
            dataset.documents.get(doc as usize).ok().and_then(|d| d.fields.get("class").cloned())
        };
        if chosen.iter().all(|&(_, other)| class(other) != class(doc)) {
            chosen.push((text, doc));
        }
        if chosen.len() == 2 {
            break;
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
    let shelf = Shelf::open(learnt, None);
    let top =
        |model: &Model| -> liken::Result<Vec<String>> {
            let hits = model.search(&model.read_query(text)?, 3);
            Ok(hits
                .iter()
                .map(|hit| {
                    if hit.score > 0.0 { shorten(&shelf.title(hit.doc), 44) } else { "–".into() }
                })
                .collect())
        };
    writeln!(out, "\n   “{text}”")?;
    let (by_words, by_clicks) = (top(words).unwrap_or_default(), top(learnt)?);
    let mut grid = Grid::new(["", "BM25 alone", "with what clicks taught"]).left(&[1, 2]);
    for place in 0..3 {
        let cell = |list: &[String]| list.get(place).cloned().unwrap_or_else(|| "–".into());
        grid.row([(place + 1).to_string(), cell(&by_words), cell(&by_clicks)]);
    }
    grid.write(out, TableFormat::Table)?;
    writeln!(out)?;
    let explanation = learnt.explain(text, doc, 5)?;
    writeln!(out, "In plain words: {}\n", in_words(&explanation))?;
    explain::print(out, &explanation)
}

/// The largest contributions as a sentence.
fn in_words(explanation: &Explanation) -> String {
    let lines = || explanation.parts.iter().flat_map(|part| &part.lines);
    let meets = lines().find(|line| !line.doc.starts_with("clicked for")).map(|line| {
        format!(
            "clicks taught that “{}” in a query goes with “{}” in a document",
            line.query, line.doc
        )
    });
    let asked = lines()
        .find(|line| line.doc.starts_with("clicked for"))
        .map(|line| format!("this document was {}, which means much the same", line.doc));
    let reasons: Vec<String> = meets.into_iter().chain(asked).collect();
    format!("{}.", reasons.join("; "))
}
