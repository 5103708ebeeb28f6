//! The flags of feature tables, and warnings about a table and a ranker that do not fit together.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use liken::rank::{Columns, FeatureTable, RankFormat, Ranker, TableFile};

use crate::console::{Console, usage};
use crate::output::{plural, some_of};

/// Flags for reading feature tables.
#[derive(Args)]
pub struct TableArgs {
    /// Format of the tables: letor, csv, tsv or parquet [default: by the ending of the name].
    #[arg(long, value_name = "FORMAT", value_parser = table_format())]
    table_format: Option<RankFormat>,

    /// Names of the features of LETOR files, one per line, beginning with feature 1.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,

    /// Value of features that a row of a LETOR file does not name.
    #[arg(long, value_name = "WHAT", default_value = "zero", value_parser = ["zero", "missing"])]
    absent: String,

    /// Column of the role query, doc, grade, weight, position or group (queries of one group stay in the
    /// same part of a split), e.g. --column query=session. Repeatable.
    #[arg(long, value_name = "ROLE=NAME")]
    column: Vec<String>,

    /// Columns that are not features.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    ignore: Vec<String>,
}

impl TableArgs {
    /// The table in the file at `path`.
    fn file(&self, path: &Path) -> anyhow::Result<TableFile> {
        let mut columns = Columns { ignore: self.ignore.clone(), ..Columns::default() };
        for given in &self.column {
            let (role, name) = given.split_once('=').unwrap_or((given, ""));
            let column = match role {
                "query" => &mut columns.query,
                "doc" => &mut columns.doc,
                "grade" => &mut columns.grade,
                "weight" => &mut columns.weight,
                "position" => &mut columns.position,
                "group" => &mut columns.group,
                _ => {
                    let expected =
                        "query, doc, grade, weight, position or group before =, as in query=qid";
                    return Err(usage(format!("--column {given}: expected {expected}")));
                }
            };
            *column = Some(name.to_owned());
        }
        Ok(TableFile {
            path: path.to_owned(),
            format: self.table_format,
            names: self.names.clone(),
            absent_is_missing: self.absent == "missing",
            columns,
            without_grades: false,
        })
    }

    /// Reads the table in the file at `path`.
    pub fn read(&self, path: &Path, console: &Console) -> anyhow::Result<FeatureTable> {
        read(&self.file(path)?, console)
    }

    /// [`TableArgs::read`] of a table that need not have grades.
    pub fn read_ungraded(&self, path: &Path, console: &Console) -> anyhow::Result<FeatureTable> {
        read(&TableFile { without_grades: true, ..self.file(path)? }, console)
    }
}

fn table_format() -> impl TypedValueParser<Value = RankFormat> {
    PossibleValuesParser::new(RankFormat::ALL.map(|(name, _)| name)).map(|given| {
        let known = RankFormat::ALL.into_iter().find(|&(name, _)| name == given);
        known.map_or(RankFormat::Letor, |(_, format)| format)
    })
}

fn read(file: &TableFile, console: &Console) -> anyhow::Result<FeatureTable> {
    let table = console.run(|run| file.read(run))?;
    if let Some(feature) = table.rounded() {
        console.warn(format!(
            "{}: values of the feature {feature} are rounded to 32 bits, so that different ones may become equal; subtract a common offset, such as the earliest time",
            file.path.display()
        ));
    }
    Ok(table)
}

/// Refuses to overwrite an input.
pub fn check_apart(output: &Path, inputs: &[&Path]) -> anyhow::Result<()> {
    let whole = |path: &Path| path.canonicalize().ok();
    if let Some(input) =
        inputs.iter().find(|input| whole(input).is_some() && whole(input) == whole(output))
    {
        return Err(usage(format!(
            "{} is an input; expected another file to write",
            input.display()
        )));
    }
    Ok(())
}

/// Notes how the features of `table` are matched with those of `ranker`, if their names do not tell.
pub fn note_names(ranker: &Ranker, table: &FeatureTable, console: &Console) {
    if let (_, Some(note)) = ranker.names_in(table) {
        console.note(note);
    }
    if ranker.about.absent_is_missing && !table.absent_is_missing() {
        console.warn("the ranker learnt from a table read with --absent missing; this one is read with --absent zero");
    }
}

/// Warns of features of the ranker that a table does not have.
pub fn warn_of_lacking(path: &Path, lacking: &[String], table: &FeatureTable, console: &Console) {
    if !lacking.is_empty() && table.absent_is_missing() {
        let (one, many) = ("feature of the ranker is", "features of the ranker are");
        console.warn(format!(
            "{}: {} missing in the table, and so in every row: {}",
            path.display(),
            plural(lacking.len(), one, many),
            some_of(lacking)
        ));
    }
}
