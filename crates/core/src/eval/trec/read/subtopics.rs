//! Reads judgments by subtopic.

use std::collections::HashMap;
use std::path::Path;

use crate::eval::trec::Qrels;
use crate::rows::{Dropped, JudgmentsBySubtopic, Problem, Span, TrecFile, Twice, read_trec};
use crate::{Result, Run};

const TWICE: Problem = Problem {
    why: "a document that the subtopic names twice",
    expected: "each document once for a subtopic of a query",
};

/// Reads judgments by subtopic, `qid subtopic docno grade`, from a file (compressed or not; `-`
/// is standard input). A subtopic may have any name. A bad line is an error with its number, and so
/// is a document that is judged twice for a subtopic; if `lenient`, such lines are left out and
/// counted (of a document's judgments for a subtopic the first is kept).
pub fn read_diversity_qrels(
    path: &Path,
    lenient: bool,
    run: Run<'_>,
) -> Result<(Qrels, Vec<Dropped>)> {
    let TrecFile { text, lines, mut dropped, about } =
        read_trec::<JudgmentsBySubtopic>(path, lenient, run)?;
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
    dropped.extend(about.named_twice(&text, &twice, &TWICE)?);
    let judged = lines.iter().map(|(query, doc, (subtopic, grade))| {
        (query.of(&text), subtopic.of(&text), doc.of(&text), grade)
    });
    let qrels = Qrels::by_subtopic(judged);
    if qrels.is_empty() { Err(about.empty("no judgments")) } else { Ok((qrels, dropped)) }
}
