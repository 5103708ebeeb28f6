//! Flags for reading the tables of an import: columns, formats, encodings, presets, codes
//! of grades, and the files beside a bag of words.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use liken::data::{Encoding, Import, Table, TableFormat};

use crate::console::usage;
use crate::presets::{PRESETS, Preset};
use crate::table_role::Role;

/// Flags for reading tables.
#[derive(Args)]
pub struct InputTableArgs {
    /// Names of columns: our name = name in the table, or position from 0. They are columns of the
    /// clicks unless another table is named first. Repeatable.
    #[arg(long, value_name = "[TABLE:]OURS=THEIRS,…", value_parser = parse_columns)]
    columns: Vec<Columns>,

    /// The first line is a row, not a heading; of all tables, or of those named.
    #[arg(long, value_name = "TABLE,…", value_enum, value_delimiter = ',',
        num_args = 0.., require_equals = true)]
    no_header: Option<Vec<Role>>,

    /// Format of a table (tsv, csv, jsonl, json, smart, trec, qrels, ldac, lines, parquet), or of all
    /// whose ending does not tell it. Repeatable.
    #[arg(long, value_name = "[TABLE:]FORMAT", value_parser = parse_format)]
    input_format: Vec<(Option<Role>, TableFormat)>,

    /// Encoding of a table, or of all: gb18030, big5, shift_jis, euc-kr, utf-16le, latin1 and any
    /// other name in the WHATWG standard [default: UTF-8, or detected if certain]. Repeatable.
    #[arg(long, value_name = "[TABLE:]NAME", value_parser = parse_encoding)]
    encoding: Vec<(Option<Role>, Encoding)>,

    /// Columns and formats of a well-known collection.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(PRESETS.map(|p| p.name)))]
    preset: Option<String>,

    /// Grades for the codes in the judgments, as in 1=4,2=3,3=2,4=1,-1=0.
    #[arg(long, value_name = "CODE=GRADE,…", value_parser = parse_grade, value_delimiter = ',',
        allow_hyphen_values = true)]
    grades: Vec<(String, f64)>,

    /// The doc column of the other tables holds the text of this field of the document instead of its
    /// id, as in pairs of query and title: --doc-text title.
    #[arg(long, value_name = "FIELD", conflicts_with = "documents")]
    pub doc_text: Option<String>,

    /// Words of LDA-C documents by number, one per line.
    #[arg(long, value_name = "FILE", requires = "documents")]
    vocabulary: Option<PathBuf>,

    /// Classes of LDA-C documents, one per line.
    #[arg(long, value_name = "FILE", requires = "documents")]
    classes: Option<PathBuf>,
}

/// One `--columns`.
#[derive(Clone)]
struct Columns {
    role: Role,
    names: BTreeMap<String, String>,
}

impl InputTableArgs {
    /// The table of `role` in the file at `path`, if there is one.
    pub fn table(&self, role: Role, path: &Option<PathBuf>) -> Option<Table> {
        let mut table = Table::new(path.as_ref()?);
        if let Some(of_role) = self.preset().and_then(|preset| preset.table(role)) {
            table.format = Some(of_role.format);
            table.no_header = of_role.no_header;
            table.brackets = of_role.brackets;
            let columns = of_role.columns.iter();
            table.columns.extend(columns.map(|(ours, at)| ((*ours).into(), (*at).into())));
        }
        let known = table.format.is_some() || TableFormat::of(&table.path).is_some();
        let general = of_table(&self.input_format, None).filter(|_| !known);
        table.format = of_table(&self.input_format, Some(role)).or(general).or(table.format);
        table.encoding =
            of_table(&self.encoding, Some(role)).or_else(|| of_table(&self.encoding, None));
        if role == Role::Judgments {
            table.grades = self.grades.iter().cloned().collect();
        }
        if role == Role::Documents {
            table.vocabulary.clone_from(&self.vocabulary);
            table.classes.clone_from(&self.classes);
        }
        let no_header = self.no_header.as_ref();
        table.no_header |= no_header.is_some_and(|roles| roles.is_empty() || roles.contains(&role));
        for columns in self.columns.iter().filter(|columns| columns.role == role) {
            table.columns.extend(columns.names.clone());
        }
        Some(table)
    }

    /// Refuses flags for a table that `import` does not have.
    pub fn check(&self, import: &Import) -> anyhow::Result<()> {
        let given = |role| match role {
            Role::Clicks => import.clicks.is_some(),
            Role::Events => import.events.is_some(),
            Role::Links => import.links.is_some(),
            Role::Documents => import.documents.is_some(),
            Role::Queries => import.queries.is_some(),
            Role::Judgments => import.judgments.is_some(),
        };
        let formats = self.input_format.iter().filter_map(|(role, _)| *role);
        let encodings = self.encoding.iter().filter_map(|(role, _)| *role);
        let grades = self.grades.iter().take(1).map(|_| Role::Judgments);
        let preset = self.preset().into_iter().flat_map(Preset::roles);
        let columns = self.columns.iter().map(|columns| columns.role);
        let flags = formats.map(|role| (role, "--input-format"));
        let flags = flags.chain(encodings.map(|role| (role, "--encoding")));
        let flags = flags.chain(grades.map(|role| (role, "--grades")));
        let flags = flags.chain(preset.map(|role| (role, "--preset")));
        let mut flags = flags.chain(columns.map(|role| (role, "--columns")));
        let Some((role, flag)) = flags.find(|(role, _)| !given(*role)) else { return Ok(()) };
        let advice = match flag {
            "--columns" => "; to name the table it is for: --columns TABLE:OURS=THEIRS",
            _ => "",
        };
        let name = role.name();
        Err(usage(format!("{flag} is for the {name}, but there is no --{name}{advice}")))
    }

    fn preset(&self) -> Option<&'static Preset> {
        let name = self.preset.as_ref()?;
        PRESETS.iter().find(|preset| preset.name == name)
    }
}

/// The last value for the table of `role`, or for all.
fn of_table<T: Copy>(values: &[(Option<Role>, T)], role: Option<Role>) -> Option<T> {
    values.iter().rfind(|(table, _)| *table == role).map(|&(_, value)| value)
}

/// Splits `[TABLE:]VALUE`.
fn parse_for(text: &str) -> Result<(Option<Role>, &str), String> {
    match text.split_once(':') {
        Some((role, rest)) => Ok((Some(Role::from_str(role, true)?), rest)),
        None => Ok((None, text)),
    }
}

fn parse_format(text: &str) -> Result<(Option<Role>, TableFormat), String> {
    let (role, name) = parse_for(text)?;
    let known = TableFormat::ALL.into_iter().find(|format| format.name() == name);
    let names = TableFormat::ALL.map(TableFormat::name).join(", ");
    known.map(|format| (role, format)).ok_or(format!("{name:?}: expected one of {names}"))
}

fn parse_encoding(text: &str) -> Result<(Option<Role>, Encoding), String> {
    let (role, name) = parse_for(text)?;
    Encoding::from_str(name).map(|found| (role, found)).map_err(|error| error.to_string())
}

fn parse_grade(text: &str) -> Result<(String, f64), String> {
    let wrong = || format!("{text:?}: expected CODE=GRADE, as in 1=4 or -1=0");
    let (code, grade) = text.split_once('=').ok_or_else(wrong)?;
    let grade: f64 = grade.trim().parse().map_err(|_| wrong())?;
    let fits = !code.trim().is_empty() && grade >= 0.0 && (grade as f32).is_finite();
    if fits { Ok((code.trim().to_owned(), grade)) } else { Err(wrong()) }
}

fn parse_columns(text: &str) -> Result<Columns, String> {
    let (role, names) = match text.split_once(':') {
        Some((role, names)) if !role.contains('=') => (Role::from_str(role, true)?, names),
        _ => (Role::Clicks, text),
    };
    let names = names.split(',').map(|pair| match pair.split_once('=') {
        Some((ours, theirs)) if !ours.is_empty() && !theirs.is_empty() => {
            Ok((ours.trim().to_owned(), theirs.to_owned()))
        }
        _ => Err(format!("{pair:?}: expected OURS=THEIRS, as in query=0 or query=q")),
    });
    Ok(Columns { role, names: names.collect::<Result<_, _>>()? })
}
