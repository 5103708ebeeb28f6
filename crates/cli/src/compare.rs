//! `liken compare`: several models on one dataset, as a table with intervals and tests.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use liken::data::Dataset;
use liken::eval::{Candidates, CompareParams, Comparison, HeldOut, Measure, click_bins};
use liken::experiment::fit_and_compare_with;
use liken::matchers::{FitReport, Mixture, Params, methods};
use liken::stack::Rankers;

use crate::console::{Console, usage};
use crate::output::{Grid, TableFormat, counted, four_digits, grouped, json, remark};
use crate::rankers::{self, RankerArgs};
use crate::settings::{FitArgs, choice, expand_all, parse_mixtures};
use crate::tables::Table;
use crate::variant::VariantArgs;

const EXAMPLES: &str = "\
Examples:
  liken compare DATASET
  liken compare DATASET --models all,pls+bm25,ridge+bm25     every method, and two mixes
  liken compare DATASET --models bm25,vsm,lm,pls,rmls,pls+bm25 --measures nDCG@10,AP
  liken compare DATASET --models bm25,rmls,rmls+bm25 --set rmls.dim=100 --format latex
  liken compare DATASET --models vsm,ssi --measures RankLossAll,AP,P@10 --standard-errors \
    --candidates sampled:10000:1000      1000 queries, each against 10000 others
  liken compare DATASET --preset letor --measures nDCG@5,AP --relevant-from 2
  liken compare DATASET --models bm25,0.7*pls+0.3*bm25 --baseline bm25 --format json
  liken compare DATASET --models bm25,pls,rmls --rankers mart:-pls+-rmls,mart:-rmls,mart:-pls,mart \
    --baseline mart:-pls+-rmls      what matchers add as features of a ranker";

/// Compared where no models are named.
const MODELS: [&str; 8] =
    ["bm25", "vsm", "lm", "pls", "rmls", "association", "pls+bm25", "rmls+bm25"];

/// Compare models on a dataset's test queries, with confidence intervals and significance tests.
#[derive(Args)]
#[command(after_help = after_help())]
pub struct CompareArgs {
    /// Dataset folder with test judgments or held-out clicks.
    dataset: PathBuf,

    /// Models and mixes, separated by commas; `all` is every method
    /// [default: bm25,vsm,lm,pls,rmls,association,pls+bm25,rmls+bm25; without training pairs, those of them that
    /// do not learn].
    #[arg(long, value_name = "M,M", value_delimiter = ',')]
    models: Option<Vec<String>>,

    #[command(flatten)]
    rankers: RankerArgs,

    /// Measures: nDCG@k, AP, P@k, R@k, RR, ERR@k, Rprec, Success@k, Judged@k, RankLoss (over judged
    /// pairs), RankLossAll (over pairs of a relevant and any other document).
    #[arg(
        long,
        value_name = "M,M",
        value_delimiter = ',',
        default_value = "nDCG@1,nDCG@3,nDCG@5,nDCG@10"
    )]
    measures: Vec<Measure>,

    /// The measure on validation by which the weights of mixes are tuned.
    #[arg(long, value_name = "MEASURE", default_value = "nDCG@10")]
    tune_on: Measure,

    /// The model to test the others against [default: the first].
    #[arg(long, value_name = "MODEL")]
    baseline: Option<String>,

    /// Queries to measure on: test, or validation while choosing parameters.
    #[arg(long, value_name = "PART", default_value = "test",
        value_parser = choice::<HeldOut>(["test", "validation"]))]
    on: HeldOut,

    /// Documents to rank: all, judged, auto (judged if some judgments are not relevant, else all),
    /// sampled:N (the judged ones and N others), or sampled:N:Q (the same for Q of the queries).
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    candidates: Candidates,

    /// Print standard errors of the means instead of intervals.
    #[arg(long)]
    standard_errors: bool,

    #[command(flatten)]
    variant: VariantArgs,

    #[command(flatten)]
    fit: FitArgs,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,
}

pub fn run(args: &CompareArgs, console: &Console) -> anyhow::Result<()> {
    let names = match &args.models {
        Some(names) => expand_all(names),
        None => default_models(&args.dataset, console)?,
    };
    let mut rows = parse_mixtures(&names)?;
    let specs = args.rankers.specs()?;
    let asked = rows.iter().cloned().chain(rankers::models_of(&specs)).collect::<Vec<_>>();
    rows.extend(specs.iter().map(|spec| rankers::row(&spec.name)));
    if let Some(twice) = (1..rows.len()).find(|&r| rows[..r].contains(&rows[r])) {
        return Err(usage(format!("--models: {} is named twice", rows[twice])));
    }
    let settings = args.fit.resolve(&asked)?;
    let stacking = args.rankers.stacking(args.fit.params.seed)?;
    let baseline = match &args.baseline {
        None => 0,
        Some(name) => match rows.iter().position(|row| &row.to_string() == name) {
            Some(at) => at,
            None => {
                let all: Vec<String> = rows.iter().map(Mixture::to_string).collect();
                let all = all.join(", ");
                return Err(usage(format!("--baseline {name}: expected one of the models: {all}")));
            }
        },
    };
    let params = CompareParams {
        rows: &rows,
        measures: &args.measures,
        tune_on: args.tune_on,
        baseline,
        on: args.on,
        candidates: args.candidates,
        variant: args.variant.variant()?,
        seed: args.fit.params.seed.unwrap_or(1),
    };
    let (comparison, fits) = console.run(|run| {
        let dataset = Dataset::open(&args.dataset)?;
        let run = &args.fit.within(run);
        let (preparation, models) = (&settings.preparation, &settings.models);
        let rankers = Rankers { specs: &specs, stacking: &stacking };
        fit_and_compare_with(&dataset, preparation, models, rankers, &params, run)
    })?;
    warn_about(&comparison, &fits, console);
    let mut out = console.out();
    if args.format == TableFormat::Json && !specs.is_empty() {
        let mut all = serde_json::to_value(&comparison)?;
        all["rankers"] = rankers::reports(&fits)?;
        json(&mut out, &all)?;
        return Ok(out.flush()?);
    }
    write_all(&mut out, &comparison, args.standard_errors, args.format)?;
    rankers::write(&mut out, &fits, args.format)?;
    Ok(out.flush()?)
}

/// Examples and the methods.
fn after_help() -> String {
    let mut text =
        format!("{EXAMPLES}\n\nMethods (`liken train METHOD --help` lists parameters):\n");
    for (name, about) in methods() {
        text.push_str(&format!("  {name:<13} {about}\n"));
    }
    text
}

/// The models to compare where none are named: those that can be fitted to the dataset.
fn default_models(dataset: &Path, console: &Console) -> anyhow::Result<Vec<String>> {
    let mut names: Vec<String> = MODELS.map(str::to_owned).to_vec();
    if Dataset::open(dataset)?.about().counts.pairs > 0 {
        return Ok(names);
    }
    let learns = |name: &String| {
        let parts = Mixture::parse(name).map(|mix| mix.parts).unwrap_or_default();
        parts.iter().any(|(_, part)| Params::named(part).is_ok_and(|params| params.learns()))
    };
    let left_out: Vec<String> = names.extract_if(.., |name| learns(name)).collect();
    console.warn(format!(
        "the dataset has no training pairs, so these models are left out: {}; to learn from judged pairs, import with --split queries",
        left_out.join(", ")
    ));
    Ok(names)
}

/// Warns of text without terms, of ties and of problems of the fits.
pub fn warn_about(comparison: &Comparison, fits: &[(String, FitReport)], console: &Console) {
    if comparison.unread.documents > 0 {
        let documents = counted(comparison.unread.documents, "document");
        console.warn(format!("analysed to nothing: {documents}"));
    }
    if comparison.unread_queries > 0 {
        console.warn(format!(
            "analysed to nothing that training knew: {} of {}",
            grouped(comparison.unread_queries),
            counted(comparison.queries, "judged query")
        ));
    }
    // Some queries share no word with any document; if most do, the row measures the tie-breaking.
    let tied = comparison.rows.iter().filter(|row| row.tied * 2 > comparison.queries);
    console.warn_each(tied.map(|row| {
        let text = format!(
            "for {} of {} every document has the same score; the order is that of the ids, descending",
            grouped(row.tied),
            counted(comparison.queries, "query")
        );
        (row.name.clone(), text)
    }));
    console.warn_each(fits.iter().flat_map(|(name, report)| {
        report.warnings().into_iter().map(move |warning| (name.clone(), warning.to_string()))
    }));
}

/// Writes a comparison in any format, with intervals.
pub fn write(
    out: &mut impl Write,
    comparison: &Comparison,
    format: TableFormat,
) -> anyhow::Result<()> {
    write_all(out, comparison, false, format)
}

/// [`write`], with standard errors instead of intervals if asked for.
fn write_all(
    out: &mut impl Write,
    comparison: &Comparison,
    standard_errors: bool,
    format: TableFormat,
) -> anyhow::Result<()> {
    if format == TableFormat::Json {
        return Ok(json(out, comparison)?);
    }
    let on = match comparison.on {
        HeldOut::Validation => "validation",
        HeldOut::Test => "test",
    };
    let ranked = match comparison.candidates {
        Candidates::Judged => "the judged documents are ranked".into(),
        Candidates::All | Candidates::Auto => "all documents are ranked".into(),
        Candidates::Sampled { docs, .. } => {
            format!("the judged documents and up to {docs} others drawn at random are ranked")
        }
    };
    let about = format!(
        "{}, {ranked}; {} without a relevant document",
        counted(comparison.queries, &format!("{on} query")),
        comparison.empty_queries
    );
    let table = Table { standard_errors, ..table(comparison) };
    for text in [about, comparison.variant.to_string(), table.legend()] {
        remark(out, format, &text)?;
    }
    if let Some(evidence) = &comparison.evidence {
        let alike = comparison.unweighed.join(", ");
        let alike = match comparison.unweighed.len() {
            0 => String::new(),
            1 => format!("; {alike} does not use it"),
            _ => format!("; {alike} do not use it"),
        };
        remark(out, format, &format!("evidence: {evidence}{alike}"))?;
    }
    writeln!(out)?;
    table.write_means(out, format)?;
    write_weights(out, comparison, format)?;
    table.write_tests(out, format)?;
    write_bins(out, comparison, format)
}

/// Writes the table of means alone.
pub fn write_means(
    out: &mut impl Write,
    comparison: &Comparison,
    format: TableFormat,
) -> anyhow::Result<()> {
    Ok(table(comparison).write_means(out, format)?)
}

fn table(comparison: &Comparison) -> Table<'_> {
    Table {
        kind: "model",
        measures: comparison.measures.iter().map(ToString::to_string).collect(),
        baseline: &comparison.baseline,
        standard_errors: false,
        rows: comparison.rows.iter().map(|row| (row.name.as_str(), &row.cells[..])).collect(),
    }
}

fn write_weights(
    out: &mut impl Write,
    comparison: &Comparison,
    format: TableFormat,
) -> anyhow::Result<()> {
    let mixes: Vec<String> = comparison
        .rows
        .iter()
        .filter(|row| row.weights.len() > 1)
        .map(|row| {
            let weights: Vec<String> =
                row.weights.iter().map(|(name, weight)| format!("{weight}*{name}")).collect();
            let tuned =
                row.validation.map_or(String::new(), |score| format!(" (validation {score:.4})"));
            format!("{}: {}{tuned}", row.name, weights.join(" + "))
        })
        .collect();
    if !mixes.is_empty() {
        writeln!(out)?;
        remark(out, format, "weights of mixes")?;
        mixes.iter().try_for_each(|line| remark(out, format, line))?;
    }
    Ok(())
}

fn write_bins(
    out: &mut impl Write,
    comparison: &Comparison,
    format: TableFormat,
) -> anyhow::Result<()> {
    let Some(first) = comparison.rows.first() else { return Ok(()) };
    let filled: Vec<usize> = (0..first.bins.len()).filter(|&b| first.bins[b].1 > 0).collect();
    if filled.len() < 2 {
        return Ok(());
    }
    let names: Vec<String> = click_bins()
        .iter()
        .zip(&first.bins)
        .map(|(name, (_, queries, _))| format!("{name} ({queries})"))
        .collect();
    // With many measures, only the first; JSON has all.
    let shown = if comparison.measures.len() <= 4 { comparison.measures.len() } else { 1 };
    for (m, measure) in comparison.measures.iter().enumerate().take(shown) {
        writeln!(out)?;
        remark(out, format, &format!("{measure} by total clicks of the query (queries)"))?;
        let heading = filled.iter().map(|&b| names[b].clone());
        let mut grid = Grid::new(std::iter::once("model".to_owned()).chain(heading));
        for row in &comparison.rows {
            let mean = |b: usize| row.bins[b].2[m];
            let cells = filled.iter().map(|&b| four_digits(mean(b)));
            grid.row(std::iter::once(row.name.clone()).chain(cells));
        }
        grid.write(out, format)?;
    }
    Ok(())
}
