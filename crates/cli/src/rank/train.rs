//! `liken rank train`: trains a ranker on tables of features.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use liken::data::text_lines;
use liken::eval::Measure;
use liken::file::{FolderKind, NewFile, NewFolder};
use liken::rank::{
    FeatureTable, Goal, LearntFrom, Normalisation, Over, Propensity, RankParams, RankReport,
    RankSetup, Ranker, Scale, folds, held_out, rank_methods,
};
use serde_json::{Map, Value, json};

use super::describe::write_importance;
use super::eval::short_name;
use super::folds::cross_validated;
use super::plot::plot;
use super::table::{TableArgs, check_apart};
use crate::console::{Console, usage};
use crate::output::{Format, counted, json as write_json, plural, typed, write_file};
use crate::render::long_help;
use crate::settings::{assignment, choice, write_docs};
use crate::variant::VariantArgs;

/// Train a ranker on tables of features with grades.
#[derive(Args)]
#[command(
    disable_help_flag = true,
    override_usage = "liken rank train [OPTIONS] --output <DIR> <METHOD> <TABLE>…\n       liken rank train [OPTIONS] --output <DIR> --method <METHOD> <TABLE>…",
    after_help = "\
With --validation, the best step is kept and training stops early when validation no longer improves.
--folds N cross-validates the method: each of N folds is the test fold of a ranker that is trained on the
others, of which the fold before it is for validation; with `--folds files` every table is a fold.
For linear methods, features are scaled to mean 0 and deviation 1 unless --normalise says otherwise, and
missing values are 0. Trees use features as they are, and learn where missing values go.

Examples:
  liken rank train lambdamart train.txt --validation vali.txt -o ranker
  liken rank train --method ranking_svm train.csv -o ranker --normalise minmax --over query
  liken rank train lambdamart all.csv --folds 5 --measure AP
  liken rank train lambdamart S1.txt S2.txt S3.txt S4.txt S5.txt --folds files --preset letor
  liken rank train lambdamart clicks.csv -o ranker --propensity power:1
  liken rank train lambdamart --help                     every parameter of LambdaMART"
)]
pub struct TrainArgs {
    /// Method (unless --method is given), and tables to learn from.
    #[arg(required_unless_present = "help", value_name = "METHOD TABLE…", num_args = 1..)]
    words: Vec<String>,

    /// Method: lambdamart, mart, ranking_svm, listnet … (`liken rank train --help` lists them).
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,

    /// Ranker folder to write.
    #[arg(short, long, value_name = "DIR", required_unless_present_any = ["help", "folds"])]
    output: Option<PathBuf>,

    /// Replace the ranker folder if it exists.
    #[arg(long)]
    force: bool,

    /// Validation table, for early stopping.
    #[arg(long, value_name = "TABLE", conflicts_with = "validation_share")]
    validation: Option<PathBuf>,

    /// Share of the queries to hold out for validation.
    #[arg(long, value_name = "SHARE")]
    validation_share: Option<f64>,

    /// Cross-validate with N folds of the queries, or with every table as a fold (files).
    #[arg(long, value_name = "N|files")]
    folds: Option<String>,

    /// Measure on validation, which AdaRank, coordinate ascent and others also optimise.
    #[arg(long, value_name = "M", default_value = "nDCG@10")]
    measure: Measure,

    #[command(flatten)]
    variant: VariantArgs,

    /// Normalisation of features: none, sum, zscore, minmax or quantile [default: zscore for
    /// linear methods, none for others].
    #[arg(long, alias = "normalize", value_name = "HOW",
        value_parser = choice::<Scale>(["none", "sum", "zscore", "minmax", "quantile"]))]
    normalise: Option<Scale>,

    /// Rows to normalise together: those of each query, or all training rows [default: all].
    #[arg(long, value_name = "ROWS", value_parser = choice::<Over>(["query", "all"]))]
    over: Option<Over>,

    /// Weight clicks by the inverse of the examination propensity, if grades are clicks and rows have
    /// positions: power:ETA (the propensity of a rank is 1/rank^ETA), or a file with the propensity of
    /// each rank, one per line.
    #[arg(long, value_name = "power:ETA|FILE")]
    propensity: Option<String>,

    /// Limit of the weight of a click with --propensity.
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    clip: f64,

    /// Set any parameter, e.g. --set trees=500.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Read parameters from a TOML file.
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,

    /// Random seed.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// SVG file to write, with a plot of the measure by step.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    #[command(flatten)]
    table: TableArgs,

    /// Output format of the report.
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Print help; after a method, with all its parameters.
    #[arg(short, long)]
    help: bool,
}

pub fn run(args: &TrainArgs, console: &Console) -> anyhow::Result<()> {
    if args.help {
        let method = args.method.as_ref().or(args.words.first());
        return help(method.map(String::as_str), console);
    }
    let (method, paths) = args.method_and_tables()?;
    let setup = args.setup(method)?;
    let fold_count = args.fold_count(paths.len())?;
    if let Some(share) = args.validation_share
        && !(share > 0.0 && share < 1.0)
    {
        let message = format!("--validation-share {share}: expected a share between 0 and 1");
        return Err(usage(message));
    }
    let for_one_ranker =
        args.validation.is_some() || args.validation_share.is_some() || args.plot.is_some();
    if fold_count.is_some() && args.output.is_none() && for_one_ranker {
        let message = "--validation, --validation-share and --plot are for the ranker that -o writes; each fold has its own validation";
        return Err(usage(message));
    }
    if let Some(path) = &args.plot {
        NewFile::check(path, args.force)?;
        let inputs = paths.iter().chain(&args.validation).map(PathBuf::as_path);
        check_apart(path, &inputs.collect::<Vec<_>>())?;
    }
    // Created before the work, so that an output that cannot be written fails early.
    let folder = match &args.output {
        Some(path) => Some(NewFolder::create(FolderKind::Ranker, path, args.force)?),
        None => None,
    };
    let mut tables = Vec::new();
    for path in &paths {
        tables.push(args.weighted(args.table.read(path, console)?, console)?);
    }
    let mut ids = std::collections::HashSet::new();
    let all = tables.iter().flat_map(FeatureTable::queries);
    let twice = all.filter(|id| !ids.insert(id.as_str())).count();
    if twice > 0 {
        console.warn(format!(
            "{} in several tables: the rows of each table count as another query",
            plural(twice, "query id is", "query ids are")
        ));
    }
    let mut out = match args.format {
        Format::Table => console.report_out(),
        Format::Json => console.out(),
    };
    let mut folded = None;
    if let Some(count) = fold_count {
        let parts = match count {
            None => tables.clone(),
            Some(n) => {
                let all = FeatureTable::joined(&tables.iter().collect::<Vec<_>>());
                if all.n_queries() < n {
                    let queries = counted(all.n_queries(), "query");
                    return Err(usage(format!("--folds {n}: there are only {queries}")));
                }
                folds(&all, n, args.seed.unwrap_or(1))
            }
        };
        let names: Vec<String> = match count {
            None => paths.iter().map(|path| short_name(path)).collect(),
            Some(n) => (1..=n).map(|fold| fold.to_string()).collect(),
        };
        folded = cross_validated(&setup, &parts, &names, args.format, console, &mut out)?;
    }
    if let (None, Some(folded)) = (&folder, &folded) {
        write_json(&mut out, folded)?;
    }
    if let Some(folder) = folder {
        let table = FeatureTable::joined(&tables.iter().collect::<Vec<_>>());
        drop(tables);
        let (ranker, report) = trained(args, &setup, &paths, table, folder, console)?;
        print(args, &ranker, &report, folded, &mut out)?;
    }
    Ok(out.flush()?)
}

impl TrainArgs {
    /// The method and the tables: the first word is the method where no flag names it.
    fn method_and_tables(&self) -> anyhow::Result<(&str, Vec<PathBuf>)> {
        let (method, tables) = match (&self.method, self.words.split_first()) {
            (Some(method), _) => (method.as_str(), &self.words[..]),
            (None, Some((method, tables))) => (method.as_str(), tables),
            (None, None) => ("", &[][..]),
        };
        if tables.is_empty() {
            // If the only word is a table, the error is that it is no method.
            RankParams::named(method)?;
            return Err(usage(format!("rank train {method}: expected a table to learn from")));
        }
        Ok((method, tables.iter().map(PathBuf::from).collect()))
    }

    fn setup(&self, method: &str) -> anyhow::Result<RankSetup> {
        let mut params = RankParams::named(method)?;
        if let Some(path) = &self.params {
            let text = std::fs::read_to_string(path).map_err(liken::Error::io("read", path))?;
            let wrong = |error: String| anyhow::anyhow!("{}: {error}", path.display());
            let table: Map<String, Value> =
                toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
            params.merge(&table).map_err(|error| wrong(error.to_string()))?;
        }
        if let Some(seed) = self.seed {
            params.set_seed(seed)?;
        }
        for assignment in &self.set {
            let (key, value) = self::assignment("--set", assignment, "trees=500")?;
            params.set(key, value)?;
        }
        params.check()?;
        let usual = if params.is_linear() { Scale::ZScore } else { Scale::None };
        let scale = self.normalise.unwrap_or(usual);
        Ok(RankSetup {
            params,
            normalisation: Normalisation { scale, over: self.over.unwrap_or(Over::All) },
            goal: Goal { measure: self.measure, variant: self.variant.variant()? },
        })
    }

    /// The number of folds, of which `Some(None)` is one per table.
    fn fold_count(&self, n_tables: usize) -> anyhow::Result<Option<Option<usize>>> {
        match self.folds.as_deref() {
            None => Ok(None),
            Some("files") if n_tables >= 3 => Ok(Some(None)),
            Some("files") => Err(usage("--folds files: expected three tables or more")),
            Some(n) => match n.parse::<usize>() {
                Ok(n) if n >= 3 => Ok(Some(Some(n))),
                _ => {
                    let expected = "expected a number ≥ 3, or files";
                    Err(usage(format!("--folds {n}: {expected}")))
                }
            },
        }
    }

    /// `table` with weights by `--propensity`, if the flag is given.
    fn weighted(&self, table: FeatureTable, console: &Console) -> anyhow::Result<FeatureTable> {
        let Some(given) = &self.propensity else { return Ok(table) };
        let propensity = match given.starts_with("power:") {
            true => given.parse::<Propensity>()?,
            false => propensity_of_file(Path::new(given), console)?,
        };
        if table.weights().is_some() {
            console.warn("--propensity: the table has weights, and both are multiplied; --ignore weight drops those of the table");
        }
        let weights = propensity.weights(&table, self.clip)?;
        Ok(table.with_weights(Some(weights)))
    }
}

/// Reads a file of propensities, one per line.
fn propensity_of_file(path: &Path, console: &Console) -> anyhow::Result<Propensity> {
    let ranks = console.run(|run| {
        let mut ranks = Vec::new();
        for line in text_lines(path, *run)? {
            let (number, line) = line?;
            let found = line.trim();
            let propensity = found.parse::<f64>().ok().filter(|p| *p > 0.0 && *p <= 1.0);
            ranks.push(propensity.ok_or_else(|| liken::Error::Line {
                path: path.to_owned(),
                line: number,
                expected: "the examination propensity of a rank, above 0 and up to 1".into(),
                found: format!("{found:?}"),
                advice: "write one propensity per line, the first for rank 1".into(),
            })?);
        }
        Ok(ranks)
    })?;
    Ok(Propensity::by_rank(ranks)?)
}

/// Trains and saves a ranker.
fn trained(
    args: &TrainArgs,
    setup: &RankSetup,
    paths: &[PathBuf],
    table: FeatureTable,
    folder: NewFolder,
    console: &Console,
) -> anyhow::Result<(Ranker, RankReport)> {
    let (table, validation) = match (&args.validation, args.validation_share) {
        (Some(path), _) => (table, Some(args.table.read(path, console)?)),
        (None, Some(share)) => {
            let parts = held_out(&table, share, args.seed.unwrap_or(1));
            let (table, held) = parts.ok_or_else(|| {
                let queries = counted(table.n_queries(), "query");
                usage(format!("--validation-share {share}: nothing is left of {queries}"))
            })?;
            (table, Some(held))
        }
        (None, None) => (table, None),
    };
    let (mut ranker, report) = console.run(|run| setup.train(&table, validation.as_ref(), run))?;
    ranker.about.learnt_from =
        LearntFrom { paths: paths.to_vec(), rows: table.n_rows(), queries: table.n_queries() };
    ranker.save_in(folder, &report)?;
    report.warnings.iter().for_each(|warning| console.warn(warning));
    if let Some(path) = &args.plot {
        let svg = plot(setup, &report).svg();
        write_file(path, |out| Ok(out.write_all(svg.as_bytes())?))?;
    }
    Ok((ranker, report))
}

fn print(
    args: &TrainArgs,
    ranker: &Ranker,
    report: &RankReport,
    folded: Option<Value>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let output = args.output.as_deref().unwrap_or(Path::new(""));
    if args.format == Format::Json {
        let mut value = json!({ "ranker": output, "about": ranker.about, "report": report,
            "features": ranker.importance() });
        if let Some(folded) = folded {
            value["cross_validation"] = folded;
        }
        return Ok(write_json(out, &value)?);
    }
    writeln!(out, "{}: {}", ranker.name(), steps(report))?;
    if let Some(score) = ranker.about.validation {
        writeln!(out, "{} on validation: {score:.4}", ranker.about.goal.measure)?;
    }
    write_importance(ranker, out)?;
    writeln!(out, "{} written", output.display())?;
    let test = args.validation.as_deref().map_or("TABLE".into(), typed);
    Ok(writeln!(out, "next: liken rank eval {test} {}", typed(output))?)
}

fn steps(report: &RankReport) -> String {
    let steps = counted(report.steps.len(), "step");
    match report.kept.filter(|&kept| kept != report.steps.len()) {
        Some(kept) => format!("{steps}, step {kept} is the best and kept"),
        None => steps,
    }
}

fn help(method: Option<&str>, console: &Console) -> anyhow::Result<()> {
    // First of all, so that an unknown method prints nothing else.
    let params = method.map(RankParams::named).transpose()?;
    let mut out = console.out();
    write!(out, "{}", long_help())?;
    match params {
        None => {
            let advice = "`liken rank train METHOD --help` lists a method's parameters";
            writeln!(out, "\nMethods ({advice}):")?;
            for (name, about) in rank_methods() {
                writeln!(out, "  {name:<17} {about}")?;
            }
        }
        Some(params) => {
            writeln!(out, "\nParameters of {} (--set KEY=VALUE):", params.name())?;
            write_docs(&mut out, &params.docs())?;
        }
    }
    Ok(out.flush()?)
}
