//! `liken stats`: sizes of a dataset (the papers' Table 1), histogram of clicks, position bias.

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
use crate::output::{Format, Grid, NOTHING, TableFormat, counted, grouped, plural};
use crate::settings::{ParamArgs, TextArgs, resolve};

/// Show the sizes and the sparsity of a dataset (the papers' Table 1), and its clicks by rank.
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

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Ranks in the table of click-through rates.
const RANKS: usize = 10;

pub fn run(args: &StatsArgs, console: &Console) -> anyhow::Result<()> {
    let mut preparation = resolve(&args.text, &ParamArgs::default(), &[])?.preparation;
    // The tables count clicks without weights.
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
    let Some((counts, table, histogram)) = found else {
        return untrained.map_or(Ok(()), |counts| text_alone(&counts, args.format, console));
    };
    let described = serde_json::json!({
        "table": table,
        "histogram": histogram.bins,
        "negative_pairs": histogram.negative,
        "impressions": { "lists": shown.len(), "by_rank": shown.by_rank(RANKS) },
        "preferences": agreement,
        "evidence": evidence,
        "unread": counts.unread,
    });
    console.print(args.format, &described, |out| {
        let mut grid = Grid::new(["statistic", "value", "meaning"]).left(&[2]);
        for (name, value, whole, meaning) in statistics(&table) {
            let value = if whole { grouped(value) } else { format!("{value:.2}") };
            grid.row([name.to_owned(), value, meaning.to_owned()]);
        }
        grid.write(out, TableFormat::Table)?;
        writeln!(out)?;
        let most = histogram.bins.iter().map(|bin| bin.1).max().unwrap_or(0).max(1);
        let mut grid = Grid::new(["clicks", "queries", "pairs", ""]).left(&[3]);
        for (name, queries, pairs) in click_bins(&histogram) {
            let bar = "▇".repeat((queries * 40).div_ceil(most));
            grid.row([name, grouped(queries), grouped(pairs), bar]);
        }
        grid.write(out, TableFormat::Table)?;
        if histogram.negative > 0 {
            let pairs = plural(histogram.negative, "pair has", "pairs have");
            writeln!(out, "{pairs} a weight below zero, in no bin")?;
        }
        click_through(&shown, evidence.as_ref(), out)?;
        preferences(&agreement, out)?;
        warn_of_unread(&counts, console);
        Ok(())
    })
}

/// Click-through rates by rank, if the log has impressions.
fn click_through(
    shown: &Impressions,
    evidence: Option<&EvidenceAbout>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    if shown.is_empty() {
        return Ok(());
    }
    let times: u64 = shown.iter().map(|list| u64::from(list.count)).sum();
    let lists = counted(shown.len(), "different result list");
    writeln!(out, "\n{lists}, {}", counted(times, "impression"))?;
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
        // The rate relative to rank 1 beside the propensity, which should be close to each other.
        Some(_) => {
            let fixed = ["rank", "shown", "clicked", "rate", "of rank 1"];
            Grid::new(fixed.into_iter().chain(["propensity", "effective clicks", ""])).left(&[7])
        }
        None => Grid::new(["rank", "shown", "clicked", "rate", ""]).left(&[4]),
    };
    for (rank, both) in (1..).zip(&by_rank).filter(|(_, (shown, _))| *shown > 0) {
        let mut cells =
            vec![format!("{rank}"), grouped(both.0), grouped(both.1), format!("{:.4}", rate(both))];
        let bar = match propensities {
            Some(propensities) => {
                let propensity = propensities.at(rank);
                let effective = propensities.effective_clicks.get(rank as usize - 1);
                let ratio = if first > 0.0 {
                    format!("{:.3}", rate(both) / first)
                } else {
                    NOTHING.to_owned()
                };
                cells.push(ratio);
                cells.push(format!("{propensity:.3}"));
                cells.push(grouped(effective.copied().unwrap_or(0.0).round()));
                (propensity * 40.0).ceil() as usize
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
            "propensity: examination propensity relative to rank 1 (bars); effective clicks: those it is estimated from; ranks with few of them are smoothed"
        )?;
    }
    Ok(())
}

/// Preference pairs from clicks, and how often judgments contradict them.
fn preferences(agreement: &Agreement, out: &mut impl Write) -> anyhow::Result<()> {
    if agreement.pairs == 0 {
        return Ok(());
    }
    let pairs = counted(agreement.pairs, "preference pair");
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

/// Prints the statistics of a dataset without training pairs.
fn text_alone(counts: &Counts, format: Format, console: &Console) -> anyhow::Result<()> {
    let per = |terms: usize, texts: usize| terms as f64 / texts.max(1) as f64;
    let (queries, documents) = (counts.query_ids.len(), counts.doc_ids.len());
    let per_query = per(counts.queries.nnz(), queries);
    let per_document = per(counts.docs.nnz(), documents);
    let text = serde_json::json!({
        "queries": queries,
        "documents": documents,
        "words": counts.vocabulary.len(),
        "words_per_query": per_query,
        "words_per_document": per_document,
    });
    let mut grid = Grid::new(["statistic", "value", "meaning"]).left(&[2]);
    for (name, value, meaning) in [
        ("queries", grouped(queries), "none with training clicks"),
        ("documents", grouped(documents), "all"),
        ("words", grouped(counts.vocabulary.len()), "distinct words"),
        ("c_x", format!("{per_query:.2}"), "distinct words per query"),
        ("c_y", format!("{per_document:.2}"), "distinct words per document"),
    ] {
        grid.row([name.to_owned(), value, meaning.to_owned()]);
    }
    let described = serde_json::json!({ "text": text, "unread": counts.unread });
    console.print(format, &described, |out| Ok(grid.write(out, TableFormat::Table)?))?;
    warn_of_unread(counts, console);
    Ok(())
}

fn warn_of_unread(counts: &Counts, console: &Console) {
    if counts.unread.queries + counts.unread.documents > 0 {
        console.warn(format!(
            "analysed to nothing: {} and {}",
            counted(counts.unread.queries, "query"),
            counted(counts.unread.documents, "document")
        ));
    }
}
