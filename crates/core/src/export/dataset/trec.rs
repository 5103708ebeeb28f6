//! TREC's files: documents between `<DOC>` and `</DOC>`, topics between `<top>` and `</top>`,
//! and qrels. `&`, `<` and `>` in texts are written as `&amp;`, `&lt;` and `&gt;`.

use std::collections::BTreeSet;

use super::source::{FormatAbout, ImportOptions, Source, plain_text};
use crate::data::Document;
use crate::export::folder::ExportFolder;
use crate::{Result, Run};

pub(super) fn write(
    source: &Source<'_>,
    folder: &mut ExportFolder,
    run: &Run<'_>,
) -> Result<FormatAbout> {
    let fits = |id: &str| !id.is_empty() && !id.contains(char::is_whitespace);
    source.check_ids("an id without white space", fits)?;
    let mut left_out = BTreeSet::new();
    let mut out = folder.file("documents.trec", "documents: <DOC>, <DOCNO>, <TITLE>, <TEXT>")?;
    for document in source.documents(run) {
        let Document { id, mut fields } = document?;
        let title = source.take_text(&id, &mut fields, "title")?;
        let body = source.take_text(&id, &mut fields, "body")?;
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

    let files = ["qrels.train", "qrels.validation", "qrels.test"];
    let mut warnings =
        source.write_qrels(folder, files, "grades", None, |out, query, doc, grade| {
            out.line(format_args!("{query} 0 {doc} {grade}"))
        })?;
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.into_iter().collect();
        warnings.push(format!("fields that TREC cannot hold are left out: {}", names.join(", ")));
    }
    Ok(FormatAbout {
        numbers: "grades are whole numbers: clicks unchanged, fractions rounded, a training weight never to 0".into(),
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
