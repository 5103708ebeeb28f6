//! BEIR folders: `corpus.jsonl`, `queries.jsonl` and `qrels/{train,dev,test}.tsv`, each
//! compressed or not.
//!
//! The training judgments are the links to learn from. Without them, or when another split
//! is asked for, every judged pair is both a link and a judgment, and the split decides which.

use std::path::{Path, PathBuf};

use super::dataset::SplitBy;
use super::source_table::SourceTable;
use super::split_name::SplitName;
use crate::rows::{Role, Table, TableFormat};
use crate::{Error, Result};

/// Whether `path` is a BEIR folder, by its corpus.
pub fn is_beir(path: &Path) -> bool {
    find_file(path, "corpus.jsonl").is_some()
}

/// The tables of the BEIR folder at `path`, and the split to use.
pub(super) fn tables(path: &Path, asked: Option<SplitBy>) -> Result<(Vec<SourceTable>, SplitBy)> {
    let need = |name: &str| {
        find_file(path, name).ok_or_else(|| Error::Unusable {
            path: path.to_owned(),
            problem: format!("is not a BEIR folder: there is no {name}"),
            advice: "a BEIR folder has corpus.jsonl, queries.jsonl and qrels/*.tsv; other tables are given as `clicks`, `documents` and so on".into(),
        })
    };
    let mut tables = vec![
        source_table(Role::Queries, need("queries.jsonl")?, TableFormat::Jsonl),
        source_table(Role::Documents, need("corpus.jsonl")?, TableFormat::Jsonl),
    ];
    let qrels = |name: &str| find_file(&path.join("qrels"), name);
    let train = qrels("train.tsv");
    let held_out =
        [(SplitName::Validation, qrels("dev.tsv")), (SplitName::Test, qrels("test.tsv"))];
    if train.is_none() && held_out.iter().all(|(_, file)| file.is_none()) {
        need("qrels/test.tsv")?;
    }
    let by = asked.unwrap_or(if train.is_some() { SplitBy::Given } else { SplitBy::Queries });
    if by == SplitBy::Judgments || (by == SplitBy::Given && train.is_none()) {
        let because = if train.is_none() {
            "there is no qrels/train.tsv to learn from"
        } else {
            "the judgments of a BEIR folder are also its links"
        };
        let given = if train.is_none() { "" } else { "given, " };
        let expected = format!("{given}queries, edges or documents, because {because}");
        return Err(Error::parameter("split", by.name(), &expected));
    }
    for (part, file) in std::iter::once((SplitName::Train, train)).chain(held_out) {
        let Some(file) = file else { continue };
        let given = by == SplitBy::Given;
        let as_links = given && part == SplitName::Train;
        let role = if as_links { Role::Links } else { Role::Judgments };
        let score = if as_links { "weight" } else { "grade" };
        let mut qrels = source_table(role, file, TableFormat::Tsv);
        for (name, source) in [("query", "query-id"), ("doc", "corpus-id"), (score, "score")] {
            qrels.table.columns.insert(name.into(), source.into());
        }
        qrels.part = given.then_some(part);
        qrels.also_links = !given;
        tables.push(qrels);
    }
    Ok((tables, by))
}

fn source_table(role: Role, path: PathBuf, format: TableFormat) -> SourceTable {
    let table = Table { path, format: Some(format), ..Table::default() };
    SourceTable { role, table, part: None, also_links: false }
}

/// The file `name` in `folder`, compressed or not.
fn find_file(folder: &Path, name: &str) -> Option<PathBuf> {
    ["", ".gz", ".zst"]
        .iter()
        .map(|ending| folder.join(format!("{name}{ending}")))
        .find(|path| path.is_file())
}
