//! TREC's files: documents between `<DOC>` and `</DOC>`, topics between `<top>` and `</top>`,
//! and qrels. `&`, `<` and `>` in texts are written as `&amp;`, `&lt;` and `&gt;`.

use std::collections::BTreeSet;

use super::{ImportOptions, Source, Whole, Written, plain_text, take_text};
use crate::export::folder::ExportFolder;
use crate::{Result, Run};

pub(super) fn write(
    source: &Source<'_>,
    folder: &mut ExportFolder,
    run: &Run<'_>,
) -> Result<Written> {
    let fits = |id: &str| !id.is_empty() && !id.contains(char::is_whitespace);
    source.check_ids("an id without white space", fits)?;
    let mut left_out = BTreeSet::new();
    let mut out = folder.file("documents.trec", "documents: <DOC>, <DOCNO>, <TITLE>, <TEXT>")?;
    for (j, document) in source.dataset.documents.iter().enumerate() {
        source.step(run, j)?;
        let document = document?;
        let (id, mut fields) = (document.id, document.fields);
        let title = take_text(source, &id, &mut fields, "title")?;
        let body = take_text(source, &id, &mut fields, "body")?;
        out.line(format_args!("<DOC>\n<DOCNO>{}</DOCNO>", escaped(&id)))?;
        out.line(format_args!("<TITLE>{}</TITLE>", escaped(&title)))?;
        for (name, value) in fields {
            let tag = name.to_ascii_uppercase();
            let taken = ["DOC", "DOCNO", "TITLE", "TEXT"].contains(&tag.as_str());
            match plain_text(&value).filter(|_| is_tag(&tag) && !taken) {
                Some(text) => out.line(format_args!("<{tag}>{}</{tag}>", escaped(&text)))?,
                None => {
                    left_out.insert(name);
                }
            }
        }
        out.line(format_args!("<TEXT>\n{}\n</TEXT>\n</DOC>", escaped(&body)))?;
    }
    out.finish()?;
    let mut out = folder.file("topics.trec", "queries: <top>, <num>, <title>")?;
    for query in source.queries() {
        let query = query?;
        let text = query.text.split_whitespace().collect::<Vec<_>>().join(" ");
        out.line(format_args!(
            "<top>\n<num> Number: {}\n<title> {}\n</top>\n",
            escaped(&query.id),
            escaped(&text)
        ))?;
    }
    out.finish()?;

    let mut whole = Whole::default();
    let dataset = source.dataset;
    for (name, matrix, holds) in [
        ("train", &dataset.clicks, "training clicks (or weights) as grades"),
        ("validation", &dataset.validation, "grades of validation"),
        ("test", &dataset.test, "grades of test"),
    ] {
        if matrix.nnz() == 0 {
            continue;
        }
        let mut out = folder.file(&format!("qrels.{name}"), holds)?;
        for (query, doc, value) in source.pairs(matrix) {
            let grade = if name == "train" { whole.weight(value) } else { whole.grade(value) };
            out.line(format_args!("{query} 0 {doc} {grade}"))?;
        }
        out.finish()?;
    }
    let mut warnings = whole.warnings();
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.into_iter().collect();
        warnings
            .push(format!("fields that TREC has no place for are left out: {}", names.join(", ")));
    }
    Ok(Written {
        numbers: "grades are whole numbers: clicks as they are, fractions rounded, a training weight never to 0".into(),
        import: ImportOptions::new(),
        warnings,
    })
}

fn is_tag(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
