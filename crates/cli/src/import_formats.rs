//! The flags of `liken import` that say how files are written: formats, encodings, presets,
//! codes of grades, and the files beside a bag of words.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use liken::data::{Encoding, Table, TableFormat};

use crate::import::Role;
use crate::presets::{PRESETS, Preset};

/// How the tables are written.
#[derive(Args)]
pub struct FormatArgs {
    /// The format of a table (tsv, csv, jsonl, json, smart, trec, qrels, ldac, lines, parquet), or of
    /// all whose ending does not say it. Repeatable.
    #[arg(long, value_name = "[TABLE:]FORMAT", value_parser = parse_format)]
    input_format: Vec<(Option<Role>, TableFormat)>,

    /// The encoding of a table, or of all: gb18030, big5, shift_jis, euc-kr, utf-16le, latin1
    /// and any other name that browsers know [default: UTF-8, or what the text surely is].
    /// Repeatable.
    #[arg(long, value_name = "[TABLE:]NAME", value_parser = parse_encoding)]
    encoding: Vec<(Option<Role>, Encoding)>,

    /// The columns of a well-known collection.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(PRESETS.map(|p| p.name)))]
    preset: Option<String>,

    /// The grades that the codes of the judgments stand for, as in 1=4,2=3,3=2,4=1,-1=0.
    #[arg(long, value_name = "CODE=GRADE,…", value_parser = parse_grade, value_delimiter = ',',
        allow_hyphen_values = true)]
    grades: Vec<(String, f64)>,

    /// The doc column of the other tables holds the text of this field of the document, as in
    /// pairs of query and title: --doc-text title.
    #[arg(long, value_name = "FIELD", conflicts_with = "documents")]
    pub doc_text: Option<String>,

    /// The words that the numbers of documents in LDA-C stand for, one a line.
    #[arg(long, value_name = "FILE", requires = "documents")]
    vocabulary: Option<PathBuf>,

    /// The classes of documents in LDA-C, one a line.
    #[arg(long, value_name = "FILE", requires = "documents")]
    classes: Option<PathBuf>,
}

impl FormatArgs {
    /// Says of the table of `role` what the flags do; columns that the user maps come later.
    pub fn apply(&self, role: Role, table: &mut Table) {
        if let Some(of_role) = self.preset().and_then(|preset| preset.table(role)) {
            table.format = Some(of_role.format);
            table.no_header = of_role.no_header;
            table.brackets = of_role.brackets;
            let columns = of_role.columns.iter();
            table.columns.extend(columns.map(|(ours, at)| ((*ours).into(), (*at).into())));
        }
        let telling = table.format.is_some() || TableFormat::of(&table.path).is_some();
        let named = self.input_format.iter().rfind(|(table, _)| *table == Some(role));
        let general = self.input_format.iter().rfind(|(table, _)| table.is_none() && !telling);
        if let Some((_, format)) = named.or(general) {
            table.format = Some(*format);
        }
        let named = self.encoding.iter().rfind(|(table, _)| *table == Some(role));
        let general = self.encoding.iter().rfind(|(table, _)| table.is_none());
        table.encoding = named.or(general).map(|(_, encoding)| *encoding);
        if role == Role::Judgments {
            table.grades = self.grades.iter().cloned().collect();
        }
        if role == Role::Documents {
            table.vocabulary.clone_from(&self.vocabulary);
            table.classes.clone_from(&self.classes);
        }
    }

    /// A table that a flag is for and that is not `given`, and the flag.
    pub fn missing(&self, given: impl Fn(Role) -> bool) -> Option<(Role, &'static str)> {
        let formats = self.input_format.iter().filter_map(|(role, _)| *role);
        let encodings = self.encoding.iter().filter_map(|(role, _)| *role);
        let grades = self.grades.iter().take(1).map(|_| Role::Judgments);
        let preset = self.preset().into_iter().flat_map(Preset::needs);
        let flags = formats.map(|role| (role, "--input-format"));
        let flags = flags.chain(encodings.map(|role| (role, "--encoding")));
        let flags = flags.chain(grades.map(|role| (role, "--grades")));
        flags.chain(preset.map(|role| (role, "--preset"))).find(|(role, _)| !given(*role))
    }

    fn preset(&self) -> Option<&'static Preset> {
        let name = self.preset.as_ref()?;
        PRESETS.iter().find(|preset| preset.name == name)
    }
}

/// What stands after `TABLE:`, and the table, if one is named.
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
