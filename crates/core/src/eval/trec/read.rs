//! Reads judgments and runs of TREC files; a query names each document once.

mod subtopics;

use std::path::Path;

use super::{Qrels, TrecRun};
use crate::rows::{Dropped, Judgments, Problem, RunFormat, TrecFile, read_trec};
use crate::{Result, Run};

pub use subtopics::read_diversity_qrels;

/// Reads judgments, `qid iteration docno grade`, from a file (compressed or not; `-` is
/// standard input). A bad line is an error with its number, and so is a document that is judged
/// twice for a query; if `lenient`, such lines are left out and counted (of a document's judgments
/// the first is kept).
pub fn read_qrels(path: &Path, lenient: bool, run: Run<'_>) -> Result<(Qrels, Vec<Dropped>)> {
    let TrecFile { text, lines, mut dropped, about } = read_trec::<Judgments>(path, lenient, run)?;
    let (qrels, twice) = Qrels::read(text, lines);
    dropped.extend(about.named_twice(&qrels.text, &twice, &TWICE_JUDGED)?);
    if qrels.is_empty() { Err(about.empty("no judgments")) } else { Ok((qrels, dropped)) }
}

/// Reads a run, `qid Q0 docno rank score tag`, from a file (compressed or not; `-` is
/// standard input). A bad line is an error with its number, and so is a document that is ranked
/// twice for a query; if `lenient`, such lines are left out and counted (of a document's lines the
/// first is kept).
pub fn read_run(path: &Path, lenient: bool, run: Run<'_>) -> Result<(TrecRun, Vec<Dropped>)> {
    let TrecFile { text, lines, mut dropped, about } = read_trec::<RunFormat>(path, lenient, run)?;
    let tag = RunFormat::tag(&text, &lines).to_owned();
    let (ranked, twice) = TrecRun::read(tag, text, lines);
    dropped.extend(about.named_twice(&ranked.text, &twice, &TWICE)?);
    if ranked.is_empty() { Err(about.empty("no results")) } else { Ok((ranked, dropped)) }
}

const TWICE: Problem = Problem {
    why: "a document that the query names twice",
    expected: "each document once for a query",
};

const TWICE_JUDGED: Problem = Problem {
    expected: "each document once for a query (or a measure such as alpha_nDCG@10, if documents \
               are judged by subtopic)",
    ..TWICE
};

#[cfg(test)]
mod tests;
