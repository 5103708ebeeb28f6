//! `liken rank`: rankers of rows of features, one verb a file.

mod eval;
mod explain;
mod folds;
mod plot;
mod predict;
mod system;
mod train;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use liken::rank::{Columns, FeatureTable, RankFormat, Ranker, TableFile};

use crate::console::{Console, Usage};
use crate::output::{counted, grouped};

/// Learn to rank from tables of features, and use what was learnt.
#[derive(Args)]
#[command(after_help = "\
A table has a row for every document of a query: LETOR and SVMlight files (`grade qid:ID 1:value 2:value …
# docid = ID`; LightGBM's .query, .weight and .position files beside it are read, too), or CSV, TSV and
Parquet with columns query, grade, doc (weight, position) and a column a feature. `liken features` makes
such tables from a dataset and its models.

Examples:
  liken rank train lambdamart train.txt --validation vali.txt -o ranker
  liken rank eval test.txt ranker
  liken rank predict ranker test.txt -o scores.txt
  liken rank explain ranker test.txt --query 18219
  liken rank train --help                                every method")]
pub struct RankArgs {
    #[command(subcommand)]
    verb: RankVerb,
}

#[derive(Subcommand)]
enum RankVerb {
    Train(Box<train::TrainArgs>),
    Predict(predict::PredictArgs),
    Eval(Box<eval::EvalArgs>),
    Explain(explain::ExplainArgs),
}

pub fn run(args: &RankArgs, console: &Console) -> anyhow::Result<()> {
    match &args.verb {
        RankVerb::Train(args) => train::run(args, console),
        RankVerb::Predict(args) => predict::run(args, console),
        RankVerb::Eval(args) => eval::run(args, console),
        RankVerb::Explain(args) => explain::run(args, console),
    }
}

/// How a feature table is read.
#[derive(Args)]
pub struct TableArgs {
    /// How tables are written: letor, csv, tsv or parquet [default: by the ending of the name].
    #[arg(long, value_name = "FORMAT", value_parser = ["letor", "csv", "tsv", "parquet"])]
    table_format: Option<String>,

    /// Names of the features of LETOR files, one a line, the first of feature 1.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,

    /// What a feature is that a row of a LETOR file does not name.
    #[arg(long, value_name = "WHAT", default_value = "zero", value_parser = ["zero", "missing"])]
    absent: String,

    /// Which column is the query, doc, grade, weight, position or group (queries of a group are never held
    /// out apart), e.g. --column query=session.
    #[arg(long, value_name = "ROLE=NAME")]
    column: Vec<String>,

    /// A column that is no feature.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    ignore: Vec<String>,
}

impl TableArgs {
    /// The table in the file at `path`.
    fn file(&self, path: &Path) -> anyhow::Result<TableFile> {
        let mut columns = Columns { ignore: self.ignore.clone(), ..Columns::default() };
        for said in &self.column {
            let (role, name) = said.split_once('=').unwrap_or((said, ""));
            let place = match role {
                "query" => &mut columns.query,
                "doc" => &mut columns.doc,
                "grade" => &mut columns.grade,
                "weight" => &mut columns.weight,
                "position" => &mut columns.position,
                "group" => &mut columns.group,
                _ => {
                    let expected =
                        "query, doc, grade, weight, position or group before =, as in query=qid";
                    return Err(Usage(format!("--column {said}: expected {expected}")).into());
                }
            };
            *place = Some(name.to_owned());
        }
        let known = RankFormat::ALL.iter();
        let format = self.table_format.as_ref().and_then(|name| {
            known.clone().find(|(known, _)| known == name).map(|&(_, format)| format)
        });
        Ok(TableFile {
            path: path.to_owned(),
            format,
            names: self.names.clone(),
            absent_is_missing: self.absent == "missing",
            columns,
            without_grades: false,
        })
    }

    /// Reads the table in the file at `path`.
    fn read(&self, path: &Path, console: &Console) -> anyhow::Result<FeatureTable> {
        let file = self.file(path)?;
        let table = console.run(|run| file.read(run))?;
        warn_of_rounding(path, &table, console);
        Ok(table)
    }

    /// The same, of a table that need not have grades.
    fn read_ungraded(&self, path: &Path, console: &Console) -> anyhow::Result<FeatureTable> {
        let file = TableFile { without_grades: true, ..self.file(path)? };
        let table = console.run(|run| file.read(run))?;
        warn_of_rounding(path, &table, console);
        Ok(table)
    }
}

/// Describes a ranker.
pub fn describe(ranker: &Ranker, path: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let about = &ranker.about;
    writeln!(out, "ranker      {}", path.display())?;
    writeln!(out, "method      {}", ranker.name())?;
    for path in &about.learnt_from.paths {
        writeln!(out, "learnt from {}", path.display())?;
    }
    if about.learnt_from.rows > 0 {
        let (rows, queries) = (about.learnt_from.rows, about.learnt_from.queries);
        writeln!(
            out,
            "rows        {} of {}",
            grouped(rows),
            counted(grouped(queries), "query", "queries")
        )?;
    }
    if let Some(score) = about.validation {
        writeln!(out, "validation  {} {score:.4}", about.goal.measure)?;
    }
    writeln!(out, "features    {}", about.features.len())?;
    writeln!(out)?;
    train::write_importance(ranker, out)
}

/// Refuses to write over what is read.
fn check_apart(output: &Path, inputs: &[&Path]) -> anyhow::Result<()> {
    let whole = |path: &Path| path.canonicalize().ok();
    if let Some(input) =
        inputs.iter().find(|input| whole(input).is_some() && whole(input) == whole(output))
    {
        return Err(Usage(format!("{} is read and cannot be written", input.display())).into());
    }
    Ok(())
}

/// Warns of numbers that are too long for a table.
fn warn_of_rounding(path: &Path, table: &FeatureTable, console: &Console) {
    if let Some(feature) = table.rounded() {
        console.warn(format!(
            "{}: numbers of the feature {feature} are rounded to 32 bits, and unlike ones may become equal: subtract what they share (the first time, say)",
            path.display()
        ));
    }
}

/// Says how the features of `table` are taken where that must be guessed.
fn note_names(ranker: &Ranker, table: &FeatureTable, console: &Console) {
    if let (_, Some(note)) = ranker.names_in(table) {
        console.note(note);
    }
    if ranker.about.absent_is_missing && !table.absent_is_missing() {
        console.warn("the ranker learnt where features that a row does not name are missing; here they are 0: --absent missing");
    }
}

/// Warns of features that a table does not have.
fn warn_of_lacking(path: &Path, lacking: &[String], table: &FeatureTable, console: &Console) {
    if !lacking.is_empty() && table.absent_is_missing() {
        let (what, names) = (counted(lacking.len(), "feature", "features"), some(lacking));
        console.warn(format!(
            "{}: {what} of the ranker are not in the table and count as missing: {names}",
            path.display()
        ));
    }
}

/// A few names, for people.
fn some(names: &[String]) -> String {
    crate::unseen::some(names)
}
