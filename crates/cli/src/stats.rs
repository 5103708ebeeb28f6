//! `liken stats`: the papers' Table 1 for a dataset, and a histogram of its clicks.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use liken::data::{Agreement, Dataset, Impressions};
use liken::features::{
    ClickEvidence, ClickHistogram, Counts, EvidenceAbout, Features, Featurizer, Response, TableOne,
    Weighted, Weighting,
};
use liken_server::pages::data::{click_bins, statistics};

use crate::console::Console;
use crate::output::{Format, Grid, TableFormat, counted, grouped, json};
use crate::settings::{ParamArgs, TextArgs, resolve};
use crate::tables::NOTHING;

/// Show how large and how sparse a dataset is (the papers' Table 1).
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken stats DATASET
  liken stats DATASET --format json
  liken stats DATASET --language none --min-df 2")]
pub struct StatsArgs {
    /// Dataset folder.
    dataset: PathBuf,

    #[command(flatten)]
    text: TextArgs,

    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Ranks of which the click-through is shown.
const RANKS: usize = 10;

pub fn run(args: &StatsArgs, console: &Console) -> anyhow::Result<()> {
    let mut preparation = resolve(&args.text, &ParamArgs::default(), &[])?.preparation;
    // The tables are about the clicks as they are.
    preparation.evidence = ClickEvidence::Clicks;
    let mut untrained = None;
    let mut shown = Impressions::default();
    let mut agreement = Agreement::default();
    let mut evidence = None;
    let found = console.run(|run| {
        let dataset = Dataset::open(&args.dataset)?;
        shown = dataset.impressions()?;
        let grades = [&dataset.validation, &dataset.test];
        agreement = Agreement::of(&shown.preferences(false), &grades);
        evidence = EvidenceAbout::for_dataset(&dataset, ClickEvidence::Auto, run)?;
        let counts = Counts::of(&dataset, &preparation, run)?;
        if counts.clicks.nnz() == 0 {
            untrained = Some(counts);
            return Ok(None);
        }
        // Table 1 counts both kinds of features on both sides.
        let features = Features { query_clicks: 1.0, doc_clicks: 1.0, ..Features::default() };
        let featurizer = Featurizer::new(&counts, &features)?;
        let data = Weighted::of(&counts, &featurizer, Weighting::Sum, Response::Raw)?;
        run.step("counting C", 0, None)?;
        let table = TableOne::of(&counts, &data);
        let histogram = ClickHistogram::of(&counts);
        Ok(Some((counts, table, histogram)))
    })?;
    let mut out = console.out();
    let Some((counts, table, histogram)) = found else {
        if let Some(counts) = &untrained {
            text_alone(counts, args.format, &mut out)?;
            warn_of_unread(counts, console);
        }
        return Ok(out.flush()?);
    };
    if args.format == Format::Json {
        json(
            &mut out,
            &serde_json::json!({
                "table": table,
                "histogram": histogram.bins,
                "negative_pairs": histogram.negative,
                "impressions": { "lists": shown.len(), "by_rank": shown.by_rank(RANKS) },
                "preferences": agreement,
                "evidence": evidence,
                "unread": counts.unread,
            }),
        )?;
        return Ok(out.flush()?);
    }
    let mut grid = Grid::new(["statistic", "value", "meaning"]).left(&[2]);
    for (name, value, whole, meaning) in statistics(&table) {
        let value = if whole { grouped(value) } else { format!("{value:.2}") };
        grid.row([name.to_owned(), value, meaning.to_owned()]);
    }
    grid.write(&mut out, TableFormat::Table)?;
    writeln!(out)?;
    let most = histogram.bins.iter().map(|bin| bin.1).max().unwrap_or(0).max(1);
    let mut grid = Grid::new(["clicks", "queries", "pairs", ""]).left(&[3]);
    for (name, queries, pairs) in click_bins(&histogram) {
        let bar = "▇".repeat((queries * 40).div_ceil(most));
        grid.row([name, grouped(queries), grouped(pairs), bar]);
    }
    grid.write(&mut out, TableFormat::Table)?;
    if histogram.negative > 0 {
        let pairs = counted(histogram.negative, "pair has", "pairs have");
        writeln!(out, "{pairs} a weight below zero, in no bin")?;
    }
    click_through(&shown, evidence.as_ref(), &mut out)?;
    preferences(&agreement, &mut out)?;
    warn_of_unread(&counts, console);
    Ok(out.flush()?)
}

/// How often results were clicked at each rank, where the log tells what was shown.
fn click_through(
    shown: &Impressions,
    evidence: Option<&EvidenceAbout>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    if shown.is_empty() {
        return Ok(());
    }
    let times: u64 = shown.iter().map(|list| u64::from(list.count)).sum();
    let lists = counted(shown.len(), "different list", "different lists");
    writeln!(out, "\n{lists} of results were shown, {} times in all", grouped(times as usize))?;
    if let Some(evidence) = evidence {
        writeln!(out, "evidence: {evidence}")?;
    }
    let by_rank = shown.by_rank(RANKS);
    if by_rank.iter().all(|(shown, _)| *shown == 0) {
        return Ok(());
    }
    let propensities = evidence.and_then(|evidence| evidence.propensities.as_ref());
    let rate = |&(shown, clicked): &(u64, u64)| clicked as f64 / shown.max(1) as f64;
    let most = by_rank.iter().map(rate).fold(f64::MIN_POSITIVE, f64::max);
    let first = by_rank.first().map_or(0.0, &rate);
    let mut grid = match propensities {
        // Beside one another: how much less a rank is clicked than the first, and how much less
        // it is looked at.
        Some(_) => Grid::new([
            "rank",
            "shown",
            "clicked",
            "rate",
            "of rank 1",
            "propensity",
            "telling clicks",
            "",
        ])
        .left(&[7]),
        None => Grid::new(["rank", "shown", "clicked", "rate", ""]).left(&[4]),
    };
    for (rank, both) in (1..).zip(&by_rank).filter(|(_, (shown, _))| *shown > 0) {
        let mut cells =
            vec![format!("{rank}"), grouped(both.0), grouped(both.1), format!("{:.4}", rate(both))];
        let bar = match propensities {
            Some(propensities) => {
                let look = propensities.at(rank);
                let telling = propensities.telling.get(rank as usize - 1);
                let ratio = if first > 0.0 {
                    format!("{:.3}", rate(both) / first)
                } else {
                    NOTHING.to_owned()
                };
                cells.push(ratio);
                cells.push(format!("{look:.3}"));
                cells.push(grouped(telling.copied().unwrap_or(0.0).round()));
                (look * 40.0).ceil() as usize
            }
            None => (rate(both) / most * 40.0).ceil() as usize,
        };
        cells.push("▇".repeat(bar));
        grid.row(cells);
    }
    grid.write(out, TableFormat::Table)?;
    if propensities.is_some() {
        writeln!(
            out,
            "propensity: how much less people look at a rank than at the first (the bars); where few clicks tell, the ranks around it do"
        )?;
    }
    Ok(())
}

/// How many pairs of results the clicks order, and how many of them judgments order otherwise.
fn preferences(agreement: &Agreement, out: &mut impl Write) -> anyhow::Result<()> {
    if agreement.pairs == 0 {
        return Ok(());
    }
    let pairs = counted(agreement.pairs, "preference pair", "preference pairs");
    writeln!(out, "\n{pairs}: a clicked result beats an unclicked one above it")?;
    if agreement.judged > 0 {
        let share = |n: usize| 100.0 * n as f64 / agreement.judged as f64;
        writeln!(
            out,
            "{} of them judged: judgments contradict {:.1} %, {:.1} % are equal",
            grouped(agreement.judged),
            share(agreement.contradicted),
            share(agreement.tied)
        )?;
    }
    Ok(())
}

/// What there is to say of a dataset without training pairs.
fn text_alone(counts: &Counts, format: Format, out: &mut impl Write) -> anyhow::Result<()> {
    let per = |terms: usize, texts: usize| terms as f64 / texts.max(1) as f64;
    let (queries, documents) = (counts.query_ids.len(), counts.doc_ids.len());
    let per_query = per(counts.queries.nnz(), queries);
    let per_document = per(counts.docs.nnz(), documents);
    if format == Format::Json {
        let text = serde_json::json!({
            "queries": queries,
            "documents": documents,
            "words": counts.vocabulary.len(),
            "words_per_query": per_query,
            "words_per_document": per_document,
        });
        return Ok(json(out, &serde_json::json!({ "text": text, "unread": counts.unread }))?);
    }
    let mut grid = Grid::new(["statistic", "value", "meaning"]).left(&[2]);
    for (name, value, meaning) in [
        ("queries", grouped(queries), "none of them with training clicks"),
        ("documents", grouped(documents), "all of them"),
        ("words", grouped(counts.vocabulary.len()), "distinct words"),
        ("c_x", format!("{per_query:.2}"), "distinct words a query"),
        ("c_y", format!("{per_document:.2}"), "distinct words a document"),
    ] {
        grid.row([name.to_owned(), value, meaning.to_owned()]);
    }
    Ok(grid.write(out, TableFormat::Table)?)
}

fn warn_of_unread(counts: &Counts, console: &Console) {
    if counts.unread.queries + counts.unread.documents > 0 {
        console.warn(format!(
            "{} queries and {} documents analyse to nothing",
            grouped(counts.unread.queries),
            grouped(counts.unread.documents)
        ));
    }
}
