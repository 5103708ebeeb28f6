//! `liken eval`: measures runs of any engine against judgments, in the format of trec_eval or as a table
//! with significance tests.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use liken::eval::trec::{Qrels, TrecRun};
use liken::eval::trec_eval::{
    EvalParams, Evaluation, MeasureColumn, Over, Value, columns, columns_as, evaluate,
};
use liken::eval::{CAVEAT_CUT, RunCaveats, RunComparison, Ties, Variant, compare_runs};
use serde_json::json;

use crate::console::{Console, usage};
use crate::output::{Grid, TableFormat, counted, grouped, json, plural, remark};
use crate::runs::{check_stdin, read_diversity_judgments, read_engine_run, read_judgments};
use crate::tables::Table;
use crate::variant::VariantArgs;

/// Evaluate runs against judgments as trec_eval does, or compare several.
#[derive(Args)]
#[command(after_help = "\
Judgments: qid iteration docno grade. Runs: qid Q0 docno rank score tag. Fields are separated by
white space; lines that begin with # are comments. Files may be compressed (.gz, .zst) or - (standard
input). Measures have trec_eval's names (map, P.5,10, ndcg_cut.10, ndcg.1=3,2=9, official, set, all_trec)
or those of ir_measures (nDCG@10, AP, R@100, RR@10, ERR@20, RBP(p=0.8), Judged@10, AP(rel=2)@1000,
nDCG(dcg='exp-log2')@10). One run is printed in trec_eval's format, several as a table.
Measures of diversity (alpha_nDCG@10, alpha_nDCG(alpha=0.3)@10, alpha_DCG@10, ERR_IA@10,
nERR_IA@10, P_IA@10, StRecall@10; as in TREC's ndeval) read the second column of the judgments as the
subtopic: qid subtopic docno grade. Other measures then use the highest grade of a document.
With --preset (or --gain, --discount and so on), measures with names of ir_measures are those of
`liken compare` in that variant, which the table names; RankLoss is one of them.

Examples:
  liken eval qrels.txt run.trec
  liken eval -q -c -m ndcg_cut.10 -m map qrels.txt run.trec
  liken eval qrels.txt bm25.trec mine.trec -m nDCG@10 -m AP --format markdown
  liken eval qrels.txt mine.trec --preset letor -m nDCG@5 -m AP
  liken eval qrels.txt bm25.trec mine.trec -m nDCG@10 --top 5     where they differ most
  liken eval diversity.qrels bm25.trec mmr.trec -m alpha_nDCG@10 -m ERR_IA@10 -m StRecall@10
  zcat run.gz | liken eval qrels.txt - -m all_trec --format json")]
pub struct EvalArgs {
    /// File of judgments (qrels).
    qrels: PathBuf,

    /// Run files.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Measure to compute. Repeatable [default: official as in trec_eval; for tables nDCG@10, AP,
    /// P@10, RR and R@100].
    #[arg(short, long = "measure", value_name = "MEASURE", allow_hyphen_values = true)]
    measures: Vec<String>,

    /// Also print the values of each query; for several runs, sorted by difference to the baseline.
    #[arg(short = 'q', long)]
    per_query: bool,

    /// Average over all judged queries, with 0 for those without results, not only over those with
    /// results.
    #[arg(short, long)]
    complete: bool,

    /// The lowest grade that counts as relevant.
    #[arg(short, long, value_name = "GRADE", default_value_t = 1,
        value_parser = clap::value_parser!(i32).range(0..))]
    level: i32,

    /// Use only the first N results of a query.
    #[arg(short = 'M', long, value_name = "N")]
    max_results: Option<usize>,

    /// Remove unjudged documents from the rankings before measuring.
    #[arg(short = 'J', long)]
    judged_only: bool,

    /// Number of documents in the collection, for the measure utility.
    #[arg(short = 'N', long, value_name = "N", default_value_t = 0)]
    n_docs: u64,

    /// Do not print means over all queries, as in trec_eval; for --format trec.
    #[arg(short = 'n', long)]
    no_summary: bool,

    /// The run to test the others against, by its file or tag [default: the first].
    #[arg(long, value_name = "RUN")]
    baseline: Option<String>,

    /// Print the queries with the N largest gains and the N largest losses against the baseline.
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    #[command(flatten)]
    variant: VariantArgs,

    /// Skip and count bad lines instead of stopping at the first.
    #[arg(long)]
    lenient: bool,

    /// Random seed of the bootstrap and the randomisation test.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Output format [default: trec for one run, table for several].
    #[arg(long, value_enum)]
    format: Option<EvalFormat>,
}

/// The formats of an evaluation.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EvalFormat {
    /// The format of trec_eval.
    Trec,
    /// Aligned columns for the terminal.
    Table,
    /// For programs.
    Json,
    /// For a README.
    Markdown,
    /// For a paper.
    Latex,
}

const FOR_TABLES: [&str; 5] = ["nDCG@10", "AP", "P@10", "RR", "R@100"];

/// A larger share of ties is worth a warning.
const MANY_TIES: f64 = 0.1;
/// A smaller share of judged documents is worth a warning.
const FEW_JUDGED: f64 = 0.5;

pub fn run(args: &EvalArgs, console: &Console) -> anyhow::Result<()> {
    let several = args.runs.len() > 1;
    let own = own_variant(args)?;
    let format = args.format.unwrap_or(if several || args.top.is_some() || own.is_some() {
        EvalFormat::Table
    } else {
        EvalFormat::Trec
    });
    let wanted = wanted(&args.measures, format == EvalFormat::Trec, own.as_ref())?;
    check_stdin(args.runs.iter().chain([&args.qrels]))?;
    let params = EvalParams {
        level: args.level,
        complete: args.complete,
        max_results: args.max_results.unwrap_or(usize::MAX),
        judged_only: args.judged_only,
        n_docs: args.n_docs,
    };
    let names = names(&args.runs);
    let qrels = match by_subtopic(&wanted) {
        true => read_diversity_judgments(&args.qrels, args.lenient, console)?,
        false => read_judgments(&args.qrels, args.lenient, console)?,
    };
    let mut runs = Vec::with_capacity(names.len());
    for (name, path) in names.into_iter().zip(&args.runs) {
        runs.push((name, read_engine_run(path, args.lenient, console)?));
    }
    let baseline = baseline(args, &runs)?;
    let mut out = console.out();
    let table = match format {
        EvalFormat::Trec => {
            for (name, run) in &runs {
                let evaluation = evaluate(&qrels, run, &wanted, &params)?;
                let caveats = RunCaveats::of(&qrels, run, &params)?;
                warn_about(name, &caveats, qrels.len(), args.complete, several, console);
                evaluation.write(&mut out, args.per_query, !args.no_summary)?;
            }
            return Ok(out.flush()?);
        }
        EvalFormat::Json => TableFormat::Json,
        EvalFormat::Table => TableFormat::Table,
        EvalFormat::Markdown => TableFormat::Markdown,
        EvalFormat::Latex => TableFormat::Latex,
    };
    let comparison =
        console.run(|_| compare_runs(&qrels, &runs, &wanted, &params, baseline, args.seed))?;
    for row in &comparison.rows {
        warn_about(&row.name, &row.caveats, qrels.len(), args.complete, several, console);
    }
    if several && !args.complete && comparison.queries.len() < qrels.len() {
        console.warn(format!(
            "the table is about {} of {}, for which every run has results (-c counts missing results \
             as 0)",
            grouped(comparison.queries.len()),
            counted(qrels.len(), "judged query")
        ));
    }
    if table == TableFormat::Json {
        write_json(&mut out, args, &params, &comparison, &qrels, &runs, &wanted)?;
    } else {
        write_table(&mut out, args, &params, &comparison, &wanted, table)?;
    }
    Ok(out.flush()?)
}

fn wanted(
    given: &[String],
    as_trec_eval: bool,
    own: Option<&Variant>,
) -> anyhow::Result<Vec<MeasureColumn>> {
    let for_tables = FOR_TABLES.map(str::to_owned);
    let names = if given.is_empty() { &for_tables[..] } else { given };
    Ok(match own {
        Some(variant) => columns_as(names, variant)?,
        None if given.is_empty() && as_trec_eval => columns(&["official"])?,
        None => columns(names)?,
    })
}

/// Whether a measure needs subtopics, in the second column of the judgments.
fn by_subtopic(wanted: &[MeasureColumn]) -> bool {
    wanted.iter().any(|column| column.statistic.needs_subtopics())
}

/// The variant of our own measures, if a flag asks for one.
fn own_variant(args: &EvalArgs) -> anyhow::Result<Option<Variant>> {
    if !args.variant.is_given() {
        return Ok(None);
    }
    let mut variant = args.variant.variant()?;
    if args.level != 1 {
        variant.relevant_from = args.level as f32;
    }
    // The order of a run's lines has no meaning, only scores and ids.
    variant.ties = Ties::DocnoDesc;
    Ok(Some(variant))
}

/// Names of runs: file names, or whole paths if two file names are equal. A file that is given again is
/// called `name#2`.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let short =
        |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let shorts: Vec<String> = paths.iter().map(|path| short(path)).collect();
    let twice = |name: &String| shorts.iter().filter(|other| *other == name).count() > 1;
    if !shorts.iter().any(twice) {
        return shorts;
    }
    let mut names: Vec<String> = Vec::with_capacity(paths.len());
    for (r, path) in paths.iter().enumerate() {
        let before = paths[..r].iter().filter(|other| *other == path).count();
        let again = if before > 0 { format!("#{}", before + 1) } else { String::new() };
        names.push(format!("{}{again}", path.display()));
    }
    names
}

fn baseline(args: &EvalArgs, runs: &[(String, TrecRun)]) -> anyhow::Result<usize> {
    let Some(wanted) = &args.baseline else { return Ok(0) };
    let by_file = args
        .runs
        .iter()
        .zip(runs)
        .position(|(path, (name, _))| path.as_os_str() == wanted.as_str() || name == wanted);
    let found = by_file.or_else(|| runs.iter().position(|(_, run)| &run.tag == wanted));
    found.ok_or_else(|| {
        let there: Vec<&str> = runs.iter().map(|(name, _)| name.as_str()).collect();
        let there = there.join(", ");
        usage(format!("--baseline {wanted}: expected one of the runs: {there}"))
    })
}

fn warn_about(
    name: &str,
    caveats: &RunCaveats,
    judged: usize,
    complete: bool,
    several: bool,
    console: &Console,
) {
    if caveats.missing > 0 {
        let effect = match (complete, several) {
            (true, _) => "they count as 0",
            (false, true) => "they do not count",
            (false, false) => "they do not count; -c counts them as 0",
        };
        console.warn(format!(
            "{name}: no results for {} of {}; {effect}",
            grouped(caveats.missing),
            counted(judged, "judged query")
        ));
    }
    if caveats.unjudged_queries > 0 {
        let queries = plural(
            caveats.unjudged_queries,
            "query has no judgments and does not count",
            "queries have no judgments and do not count",
        );
        console.warn(format!("{name}: {queries}"));
    }
    if caveats.tied > MANY_TIES {
        console.warn(format!(
            "{name}: {:.0} % of the results have the same score as another result of the query; they \
             are ordered by id, descending",
            caveats.tied * 100.0
        ));
    }
    if caveats.judged < FEW_JUDGED {
        console.warn(format!(
            "{name}: only {:.0} % of the first {CAVEAT_CUT} results are judged; the others count \
             as not relevant",
            caveats.judged * 100.0
        ));
    }
}

/// The heading of a table: queries and variant of the measures.
fn variant(
    params: &EvalParams,
    comparison: &RunComparison,
    own: Option<&Variant>,
    by_subtopic: bool,
) -> [String; 2] {
    let averaged = match (params.complete, comparison.rows.len()) {
        (true, _) => "all judged queries, those without results as 0",
        (false, 1) => "the judged queries with results",
        (false, _) => "the judged queries with results in every run",
    };
    let trec = format!(
        "nDCG: gain g unless named otherwise, discount 1/log2(i+1), ideal from the judgments; \
         relevant: grade >= {}; ties: larger id first",
        params.level
    );
    let mut how = match by_subtopic {
        true => "diversity as in ndeval, with a greedy ideal ranking; other measures use the \
                 highest grade of a document; "
            .to_owned(),
        false => String::new(),
    };
    how += &own.map_or(trec, |variant| format!("{variant}; trec_eval's names as trec_eval"));
    if params.judged_only {
        how.push_str("; unjudged documents are removed");
    }
    if params.max_results < usize::MAX {
        how.push_str(&format!("; the first {} results per query", params.max_results));
    }
    let queries = format!(
        "{} of {}: {averaged}",
        grouped(comparison.queries.len()),
        counted(comparison.judged_queries, "judged query")
    );
    [queries, how]
}

fn write_table(
    out: &mut impl Write,
    args: &EvalArgs,
    params: &EvalParams,
    comparison: &RunComparison,
    wanted: &[MeasureColumn],
    format: TableFormat,
) -> anyhow::Result<()> {
    let table = Table {
        kind: "run",
        measures: comparison.measures.clone(),
        baseline: &comparison.baseline,
        standard_errors: false,
        rows: comparison.rows.iter().map(|row| (row.name.as_str(), &row.cells[..])).collect(),
    };
    let judged: Vec<String> = comparison
        .rows
        .iter()
        .map(|row| format!("{} {:.0} %", row.name, row.caveats.judged * 100.0))
        .collect();
    let judged = format!("judged of the first {CAVEAT_CUT}: {}", judged.join(", "));
    let own = own_variant(args)?;
    for text in variant(params, comparison, own.as_ref(), by_subtopic(wanted))
        .into_iter()
        .chain([judged, table.legend()])
    {
        remark(out, format, &text)?;
    }
    writeln!(out)?;
    table.write_means(out, format)?;
    table.write_tests(out, format)?;
    if args.per_query || args.top.is_some() {
        write_queries(out, args.top, comparison, format)?;
    }
    Ok(())
}

/// Writes each query: the values of a single run, or the differences of several in the first measure.
fn write_queries(
    out: &mut impl Write,
    top: Option<usize>,
    comparison: &RunComparison,
    format: TableFormat,
) -> anyhow::Result<()> {
    let four = |value: f64| format!("{value:.4}");
    if let [only] = &comparison.rows[..] {
        writeln!(out)?;
        let heading = std::iter::once("query".to_owned()).chain(comparison.measures.clone());
        let mut grid = Grid::new(heading);
        for (q, id) in comparison.queries.iter().enumerate() {
            let values = only.values.iter().map(|values| four(values[q]));
            grid.row(std::iter::once(id.clone()).chain(values));
        }
        return Ok(grid.write(out, format)?);
    }
    let at = comparison.baseline_row;
    let (base, measure) = (&comparison.rows[at], &comparison.measures[0]);
    for (_, row) in comparison.rows.iter().enumerate().filter(|&(r, _)| r != at) {
        writeln!(out)?;
        let mut order: Vec<usize> = (0..comparison.queries.len()).collect();
        let difference = |q: usize| row.values[0][q] - base.values[0][q];
        order.sort_by(|&a, &b| difference(b).total_cmp(&difference(a)));
        let shown = match top {
            Some(n) if 2 * n < order.len() => {
                let gains = order.iter().copied().filter(|&q| difference(q) > 0.0).take(n);
                let worst_first = order.iter().rev().copied();
                let losses: Vec<usize> =
                    worst_first.filter(|&q| difference(q) < 0.0).take(n).collect();
                order = gains.chain(losses.into_iter().rev()).collect();
                format!("largest gains and losses, at most {n} of each")
            }
            _ => "all queries by difference".to_owned(),
        };
        remark(out, format, &format!("{} against {}, {measure}: {shown}", row.name, base.name))?;
        let mut grid = Grid::new(["query", base.name.as_str(), row.name.as_str(), "difference"]);
        for q in order {
            grid.row([
                comparison.queries[q].clone(),
                four(base.values[0][q]),
                four(row.values[0][q]),
                format!("{:+.4}", difference(q)),
            ]);
        }
        grid.write(out, format)?;
    }
    Ok(())
}

fn write_json(
    out: &mut impl Write,
    args: &EvalArgs,
    params: &EvalParams,
    comparison: &RunComparison,
    qrels: &Qrels,
    runs: &[(String, TrecRun)],
    wanted: &[MeasureColumn],
) -> anyhow::Result<()> {
    let own = own_variant(args)?;
    let [averaged, how] = variant(params, comparison, own.as_ref(), by_subtopic(wanted));
    let mut described = serde_json::to_value(comparison)?;
    described["averaged_over"] = json!(averaged);
    described["variant"] = json!(how);
    for (r, (_, run)) in runs.iter().enumerate() {
        described["rows"][r]["summary"] = summary(&evaluate(qrels, run, wanted, params)?);
    }
    let per_query = args.per_query || args.top.is_some();
    if !per_query && let Some(rows) = described["rows"].as_array_mut() {
        for row in rows.iter_mut().filter_map(|row| row.as_object_mut()) {
            row.remove("values");
        }
    }
    Ok(json(out, &described)?)
}

/// The field `summary` of a row: all columns, with counts, over the run's own queries. The `mean` of a
/// cell is over the queries of the table, for which every run has results.
fn summary(evaluation: &Evaluation) -> serde_json::Value {
    let shown = |value: &Value| match value {
        Value::Real(value) => json!(value),
        Value::Count(count) => json!(count),
        Value::Text(text) => json!(text),
        Value::Absent => json!(null),
    };
    let columns = evaluation.columns.iter().zip(&evaluation.summary);
    let named = columns
        .filter(|(column, _)| column.statistic.over() != Over::Nothing)
        .filter_map(|(column, value)| Some((column.name.clone(), shown(value.as_ref()?))));
    serde_json::Value::Object(named.collect())
}
