//! `liken rank train`: tables of features become a ranker.

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

use super::eval::short_name;
use super::folds::cross_validated;
use super::plot::plot;
use super::{TableArgs, check_apart};
use crate::console::{Console, Usage};
use crate::output::{Format, Grid, TableFormat, counted, grouped, json as write_json, typed};
use crate::settings::named;
use crate::train::write_docs;
use crate::variant::VariantArgs;

/// Learn a ranker from tables of features with grades.
#[derive(Args)]
#[command(
    disable_help_flag = true,
    override_usage = "liken rank train [OPTIONS] --output <DIR> <METHOD> <TABLE>…\n       liken rank train [OPTIONS] --output <DIR> --method <METHOD> <TABLE>…",
    after_help = "\
With --validation the best step is kept and the fit stops where validation has not become better for a
while. --folds N deals the queries into N folds and says how good the method is on queries that it
never saw: each fold is the test of a ranker that learnt from the others, the fold before it being
its validation; `--folds files` takes every table for a fold.
Linear methods see features of mean 0 and deviation 1 unless --normalise says otherwise, and 0 where a
value is missing; trees see them as they are, and learn where missing values go.

Examples:
  liken rank train lambdamart train.txt --validation vali.txt -o ranker
  liken rank train --method ranking_svm train.csv -o ranker --normalise minmax --over query
  liken rank train lambdamart all.csv --folds 5 --measure AP
  liken rank train lambdamart S1.txt S2.txt S3.txt S4.txt S5.txt --folds files --preset letor
  liken rank train lambdamart clicks.csv -o ranker --propensity power:1
  liken rank train lambdamart --help                     every parameter of LambdaMART"
)]
pub struct TrainArgs {
    /// The method (unless --method says it), and the tables to learn from.
    #[arg(required_unless_present = "help", value_name = "METHOD TABLE…", num_args = 1..)]
    words: Vec<String>,

    /// Method: lambdamart, mart, ranking_svm, listnet … (`liken rank train --help` lists them).
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,

    /// Ranker folder to write.
    #[arg(short, long, value_name = "DIR", required_unless_present_any = ["help", "folds"])]
    output: Option<PathBuf>,

    /// Replace the ranker folder if it is there.
    #[arg(long)]
    force: bool,

    /// Table that says which step is best.
    #[arg(long, value_name = "TABLE", conflicts_with = "validation_share")]
    validation: Option<PathBuf>,

    /// Share of the queries that is held out to say which step is best, if there is no such table.
    #[arg(long, value_name = "SHARE")]
    validation_share: Option<f64>,

    /// Cross-validate: deal the queries into N folds, or take every table for one (files).
    #[arg(long, value_name = "N|files")]
    folds: Option<String>,

    /// Measure on validation, which AdaRank, coordinate ascent and others also learn.
    #[arg(long, value_name = "M", default_value = "nDCG@10")]
    measure: Measure,

    #[command(flatten)]
    variant: VariantArgs,

    /// How features are made comparable: none, sum, zscore, minmax or quantile [default: zscore for
    /// linear methods, none for others].
    #[arg(long, alias = "normalize", value_name = "HOW",
        value_parser = ["none", "sum", "zscore", "minmax", "quantile"])]
    normalise: Option<String>,

    /// Which rows that is done over: those of each query, or all that are learnt from [default: all].
    #[arg(long, value_name = "ROWS", value_parser = ["query", "all"])]
    over: Option<String>,

    /// Grades are clicks, and rows say their position: count a click by how rarely people look there.
    /// power:ETA (the chance at a rank is 1/rank^ETA), or a file with the chance at each rank, one a
    /// line.
    #[arg(long, value_name = "power:ETA|FILE")]
    propensity: Option<String>,

    /// The most that a click counts with --propensity.
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    clip: f64,

    /// Set any parameter, e.g. --set trees=500.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Read parameters from a TOML file.
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,

    /// Seed of everything random.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Plot the measure by step into an SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    #[command(flatten)]
    table: TableArgs,

    /// How to print the report of the fit.
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
        return Err(Usage(message).into());
    }
    let of_one =
        args.validation.is_some() || args.validation_share.is_some() || args.plot.is_some();
    if fold_count.is_some() && args.output.is_none() && of_one {
        let message = "--validation, --validation-share and --plot are for the ranker that -o writes; folds have validation of their own";
        return Err(Usage(message.into()).into());
    }
    if let Some(path) = &args.plot {
        NewFile::check(path, args.force)?;
        let inputs = paths.iter().chain(&args.validation).map(PathBuf::as_path);
        check_apart(path, &inputs.collect::<Vec<_>>())?;
    }
    // A place that cannot be written to is found before the work, not after it.
    let folder = match &args.output {
        Some(path) => Some(NewFolder::create(FolderKind::Ranker, path, args.force)?),
        None => None,
    };
    let mut tables = Vec::new();
    for path in &paths {
        tables.push(args.weighed(args.table.read(path, console)?, console)?);
    }
    let mut ids = std::collections::HashSet::new();
    let all = tables.iter().flat_map(FeatureTable::queries);
    let twice = all.filter(|id| !ids.insert(id.as_str())).count();
    if twice > 0 {
        console.warn(format!(
            "{} in several tables: its rows there count as another query",
            counted(twice, "query id is", "query ids are")
        ));
    }
    let mut out = console.out();
    let mut folded = None;
    if let Some(count) = fold_count {
        let parts = match count {
            None => tables.clone(),
            Some(n) => {
                let all = FeatureTable::joined(&tables.iter().collect::<Vec<_>>());
                if all.n_queries() < n {
                    let queries = counted(all.n_queries(), "query", "queries");
                    return Err(Usage(format!("--folds {n}: there are only {queries}")).into());
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
            // A table that stands where the method should is said to be no method.
            RankParams::named(method)?;
            return Err(
                Usage(format!("rank train {method}: expected a table to learn from")).into()
            );
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
            params.set_seed(seed);
        }
        for assignment in &self.set {
            let Some((key, value)) = assignment.split_once('=') else {
                let expected = "expected KEY=VALUE, such as --set trees=500";
                return Err(Usage(format!("--set {assignment}: {expected}")).into());
            };
            params.set(key.trim(), value.trim())?;
        }
        params.check()?;
        let scale = match &self.normalise {
            Some(name) => named(name)?,
            None if params.is_linear() => Scale::ZScore,
            None => Scale::None,
        };
        let over = match &self.over {
            Some(name) => named(name)?,
            None => Over::All,
        };
        Ok(RankSetup {
            params,
            normalisation: Normalisation { scale, over },
            goal: Goal { measure: self.measure, variant: self.variant.variant()? },
        })
    }

    /// Into how many folds; nothing inside for every table a fold.
    fn fold_count(&self, n_tables: usize) -> anyhow::Result<Option<Option<usize>>> {
        match self.folds.as_deref() {
            None => Ok(None),
            Some("files") if n_tables >= 3 => Ok(Some(None)),
            Some("files") => {
                Err(Usage("--folds files: expected three tables or more".into()).into())
            }
            Some(n) => match n.parse::<usize>() {
                Ok(n) if n >= 3 => Ok(Some(Some(n))),
                _ => {
                    let expected = "expected a number from 3 on, or files";
                    Err(Usage(format!("--folds {n}: {expected}")).into())
                }
            },
        }
    }

    /// The table with its clicks weighed, if that is asked for.
    fn weighed(&self, table: FeatureTable, console: &Console) -> anyhow::Result<FeatureTable> {
        let Some(said) = &self.propensity else { return Ok(table) };
        let propensity = match said.starts_with("power:") {
            true => said.parse::<Propensity>()?,
            false => chances(Path::new(said), console)?,
        };
        if table.weights().is_some() {
            console.warn("--propensity: rows have weights already, and both are multiplied; --ignore weight takes the table's away");
        }
        let weights = propensity.weights(&table, self.clip)?;
        Ok(table.with_weights(Some(weights)))
    }
}

/// The chances of a file, one a line.
fn chances(path: &Path, console: &Console) -> anyhow::Result<Propensity> {
    let ranks = console.run(|run| {
        let mut ranks = Vec::new();
        for line in text_lines(path, *run)? {
            let (number, line) = line?;
            let found = line.trim();
            let chance = found.parse::<f64>().ok().filter(|p| *p > 0.0 && *p <= 1.0);
            ranks.push(chance.ok_or_else(|| liken::Error::Line {
                path: path.to_owned(),
                line: number,
                expected: "the chance that the document at this rank is looked at, above 0 and up to 1"
                    .into(),
                found: format!("{found:?}"),
                advice: "write one chance a line, the first for rank 1".into(),
            })?);
        }
        Ok(ranks)
    })?;
    Ok(Propensity::by_rank(ranks)?)
}

/// Trains and writes a ranker.
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
                let queries = counted(table.n_queries(), "query", "queries");
                Usage(format!("--validation-share {share}: nothing is left of {queries}"))
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
        let file = NewFile::create(path)?;
        file.writer()?.write_all(svg.as_bytes()).map_err(liken::Error::io("write", path))?;
        file.commit()?;
    }
    Ok((ranker, report))
}

/// Features shown of a ranker.
const SHOWN: usize = 10;

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
    writeln!(out, "{}: {}", ranker.name(), said_of_steps(report))?;
    if let Some(score) = ranker.about.validation {
        writeln!(out, "{} on validation: {score:.4}", ranker.about.goal.measure)?;
    }
    write_importance(ranker, out)?;
    writeln!(out, "{} written", output.display())?;
    let test = args.validation.as_deref().map_or("TABLE".into(), typed);
    Ok(writeln!(out, "next: liken rank eval {test} {}", typed(output))?)
}

fn said_of_steps(report: &RankReport) -> String {
    let steps = counted(report.steps.len(), "step", "steps");
    match report.kept.filter(|&kept| kept != report.steps.len()) {
        Some(kept) => format!("{steps}, step {kept} is kept"),
        None => steps,
    }
}

/// Writes which features count most.
pub fn write_importance(ranker: &Ranker, out: &mut impl Write) -> anyhow::Result<()> {
    let features = ranker.importance();
    let with_splits = features.iter().any(|feature| feature.splits.is_some());
    let mut grid = match with_splits {
        true => Grid::new(["feature", "share of gain", "splits"]),
        false => Grid::new(["feature", "weight"]),
    };
    let used = features.iter().filter(|feature| feature.weight != 0.0);
    for feature in used.clone().take(SHOWN) {
        match feature.splits {
            Some(splits) => grid.row([
                feature.name.clone(),
                format!("{:.1} %", 100.0 * feature.weight),
                grouped(splits),
            ]),
            None => grid.row([feature.name.clone(), format!("{:+.4}", feature.weight)]),
        }
    }
    grid.write(out, TableFormat::Table)?;
    let n_used = used.count();
    if n_used > SHOWN {
        writeln!(out, "… and {} more of {} features", n_used - SHOWN, features.len())?;
    }
    Ok(())
}

fn help(method: Option<&str>, console: &Console) -> anyhow::Result<()> {
    // An unknown method is refused before anything is printed.
    let params = method.map(RankParams::named).transpose()?;
    let mut out = console.out();
    let mut cli = crate::command();
    cli.build();
    let command = cli.find_subcommand_mut("rank").and_then(|c| c.find_subcommand_mut("train"));
    if let Some(command) = command {
        write!(out, "{}", command.render_long_help())?;
    }
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
