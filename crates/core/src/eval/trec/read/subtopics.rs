//! Reading judgments by subtopic.

use std::collections::HashMap;
use std::path::Path;

use super::super::gathered::{Span, Twice};
use super::super::lists::Qrels;
use super::{Bad, Fields, File, GRADE, Problem, Read};
use crate::rows::{Dropped, WholeText, whole_text};
use crate::{Result, Run};

const SHAPE: &str = "a judgment by subtopic has four fields: qid subtopic docno grade \
                     (51 2 clueweb09-en0000-23-00000 1)";
const FIELDS: Problem =
    Problem { why: "not four fields", expected: "four fields: qid subtopic docno grade" };
const TWICE: Problem = Problem {
    why: "a document named before for the same subtopic",
    expected: "each document once for a subtopic of a query",
};

/// Reads judgments by subtopic, `qid subtopic docno grade`, from a file (packed or not; `-` is
/// standard input). A subtopic may have any name. A bad line is an error that says where it
/// stands, as is a document that is judged twice for a subtopic; if `lenient`, such lines are
/// left out and counted (of a document's judgments for a subtopic the first is kept).
pub fn read_diversity_qrels(
    path: &Path,
    lenient: bool,
    run: Run<'_>,
) -> Result<(Qrels, Vec<Dropped>)> {
    let WholeText { label, text, not_utf8 } = whole_text(path, lenient, run)?;
    let file = File { path: &label, lenient, shape: SHAPE };
    let (lines, bad) = file.lines(&text, judgment);
    let mut dropped = file.not_utf8(&not_utf8);
    dropped.extend(file.bad(&text, &bad)?);
    let mut first: HashMap<(&str, &str, &str), Span> = HashMap::new();
    let mut twice = Vec::new();
    for (query, doc, (subtopic, _)) in lines.iter() {
        let key = (query.of(&text), subtopic.of(&text), doc.of(&text));
        match first.get(&key) {
            Some(&first) => twice.push(Twice { query, first, again: doc }),
            None => {
                first.insert(key, doc);
            }
        }
    }
    dropped.extend(file.twice(&text, &twice, &TWICE)?);
    let judged = lines.iter().map(|(query, doc, (subtopic, grade))| {
        (query.of(&text), subtopic.of(&text), doc.of(&text), grade)
    });
    let qrels = Qrels::by_subtopic(judged);
    if qrels.is_empty() { Err(file.empty("no judgments")) } else { Ok((qrels, dropped)) }
}

fn judgment(text: &str, line: &Fields) -> Read<(Span, i32)> {
    let [query, subtopic, doc, grade, ..] = line.fields;
    if line.n != 4 {
        return Err(Bad { at: line.whole(text), problem: &FIELDS });
    }
    let value = grade.of(text).parse().map_err(|_| Bad { at: grade, problem: &GRADE })?;
    Ok((query, doc, (subtopic, value)))
}
