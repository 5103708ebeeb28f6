//! Retrieval tasks made of documents and the links between them, or of a log of pages and adverts,
//! as ordinary datasets (Bai et al., Supervised Semantic Indexing, 2009).
//!
//! ```text
//! links      query = the text of a document, relevant = the documents that it links to
//! keywords   the same, but the query is k random words of the text
//! content    query = a page, relevant = the adverts clicked on it at rank 1
//! ```
//! A document is no answer to itself: such links are dropped, and it is not ranked for its own
//! query. The split is by links (mutual links go together), so that a document may have some in
//! training and some in test; or by documents, and links between documents of different splits are
//! dropped, so that training sees no document of the test.
//!
//! A dropped link is still relevant, and so is one of another split. Its document is neither a right
//! nor a wrong answer, so it is not ranked for the query.
//!
//! Random choices follow a seeded hash of ids, so that nothing depends on the order of lines, and a
//! smaller share of training links is a subset of a larger one, with the same test.

mod split_links;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;

use super::checks;
use super::dataset::{DatasetWriter, Document, SplitBy};
use super::events::{EventLog, EventRules};
use super::import_spec::Import;
use super::log::Log;
use super::pairs::Edge;
use super::queries::Queries;
use super::report::ImportReport;
use super::source_table::SourceTable;
use super::split::{Split, SplitPairs};
use super::split_name::SplitName;
use super::task_params::{TaskKind, TaskParams, TaskSplit};
use super::write::Prepared;
use crate::file::LineTable;
use crate::rows::{Role, Table};
use crate::{Error, Result, Run, counted, memory};
use split_links::SplitLinks;
use words::Words;

/// Words of a query unless `words` is set.
const WORDS: usize = 10;

impl TaskParams {
    /// Makes the task from the tables of `import`: documents and links; for `content` events and,
    /// optionally, documents and queries. On any error, and when `run` is stopped, nothing is left
    /// at `target`.
    pub fn run(
        &self,
        import: &Import,
        target: &Path,
        force: bool,
        run: &Run<'_>,
    ) -> Result<ImportReport> {
        self.check()?;
        self.check_source(import)?;
        let mut writer = DatasetWriter::create(target, force)?;
        let mut log = Log::new(import.lenient, None);
        let mut dropped: Vec<(String, u64)> = Vec::new();
        let tables = [
            (Role::Queries, &import.queries),
            (Role::Documents, &import.documents),
            (Role::Events, &import.events),
            (Role::Links, &import.links),
        ];
        for (role, table) in tables.into_iter().filter_map(|(r, t)| Some((r, t.as_ref()?))) {
            if role == Role::Links {
                log.queries = documents_as_queries(&log);
            }
            if role == Role::Events {
                let memory = import.max_memory.unwrap_or_else(|| memory::available() / 2);
                let rules = EventRules::default();
                log.events = Some(EventLog::new(&writer.path(""), memory, &rules)?);
            }
            let table = table.clone();
            log.read(
                &SourceTable { role, table, part: None, also_links: false },
                &mut writer,
                run,
            )?;
        }
        if log.has_splits {
            return Err(Error::Empty {
                what: "the source has a column split, and a task makes its own split".into(),
                advice: "remove the column, or import the tables as a dataset".into(),
            });
        }
        if self.kind == TaskKind::Content {
            dropped = take_first_clicks(&mut log, run)?;
        }

        run.step("splitting", 0, None)?;
        let (given, cancelled) = log.take_pairs(SplitBy::Edges)?;
        let mut edges: Vec<Edge> = given.into_iter().flat_map(|(_, edges)| edges).collect();
        dropped.push(("pairs whose weights add up to 0".into(), cancelled as u64));
        if self.queries_are_documents() {
            let before = edges.len();
            edges.retain(|edge| edge.query != edge.doc);
            dropped.push(("links of a document to itself".into(), (before - edges.len()) as u64));
            let documents = writer.documents_so_far()?;
            self.make_queries(&mut log, &mut edges, &documents, &mut dropped, run)?;
        }
        let split = Split {
            by: match self.split {
                TaskSplit::Links => SplitBy::Edges,
                TaskSplit::Documents => SplitBy::Documents,
            },
            seed: self.seed,
            shares: (self.validation, self.test),
        };
        let SplitLinks { mut divided, crossing, beyond_share } =
            self.split_links(edges, &log, &split)?;
        dropped.push(("links between documents of different splits".into(), crossing));
        dropped.push(("training links beyond `share`".into(), beyond_share));
        for (why, count) in &dropped {
            divided.drop(why, *count as usize);
        }
        if self.queries_are_documents() {
            drop_unused_queries(&mut log.queries, &mut divided);
        }
        let warnings = checks::warnings(&divided, &log, None, split.by);
        run.step("writing", 0, None)?;
        let task = Some(self.clone());
        Prepared { log, divided, split, filter: None, events: None, task, warnings }
            .write(writer, run)
    }

    /// An error if `import` has settings that a task does not use, or lacks tables that it needs.
    pub(crate) fn check_source(&self, import: &Import) -> Result<()> {
        let content = self.kind == TaskKind::Content;
        let tables: [(&str, &Option<Table>, bool); 6] = [
            ("clicks", &import.clicks, false),
            ("judgments", &import.judgments, false),
            ("documents", &import.documents, true),
            ("queries", &import.queries, content),
            ("events", &import.events, content),
            ("links", &import.links, !content),
        ];
        let name = self.kind.name();
        for (table, given, wanted) in tables {
            if given.is_some() && !wanted {
                let expected = format!("no {table} for the task {name}");
                return Err(Error::parameter(table, "given", &expected));
            }
        }
        let needed: &[(&str, &Option<Table>)] = if content {
            &[("events", &import.events)]
        } else {
            &[("documents", &import.documents), ("links", &import.links)]
        };
        for (table, given) in needed {
            if given.is_none() {
                return Err(Error::Empty {
                    what: format!("the task {name} needs {table}"),
                    advice: format!("give them: `{table} = FILE`"),
                });
            }
        }
        let others = [
            ("beir", import.beir.is_some()),
            ("append", import.append.is_some()),
            ("doc_text", import.doc_text.is_some()),
            ("rules", import.rules != EventRules::default()),
            ("min_clicks", import.min_clicks.is_some()),
            ("split", import.split.is_some()),
            ("validation", import.validation.is_some()),
            ("test", import.test.is_some()),
            ("seed", import.seed.is_some()),
            ("validation_from", import.validation_from.is_some()),
            ("test_from", import.test_from.is_some()),
        ];
        match others.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((setting, _)) => {
                let expected = "nothing in the data of a task, which has settings of its own";
                Err(Error::parameter(setting, "given", expected))
            }
        }
    }

    /// Makes a query of every document that links to another, of its text.
    fn make_queries(
        &self,
        log: &mut Log,
        edges: &mut Vec<Edge>,
        documents: &LineTable<Document>,
        dropped: &mut Vec<(String, u64)>,
        run: &Run<'_>,
    ) -> Result<()> {
        let words = match self.kind {
            TaskKind::Keywords => {
                let k = self.words.unwrap_or(WORDS);
                Some(Words::new(k, self.language, self.seed)?)
            }
            _ => None,
        };
        let mut silent = 0;
        let mut short = 0;
        let mut others: BTreeSet<String> = BTreeSet::new();
        let mut kept: Vec<Edge> = Vec::with_capacity(edges.len());
        for (done, links) in edges.chunk_by(|a, b| a.query == b.query).enumerate() {
            if done.is_multiple_of(1 << 12) {
                run.step("making queries", done as u64, None)?;
            }
            let query = links[0].query;
            let document = documents.get(query as usize)?;
            let text = match &words {
                None => words::whole(&document, &self.fields),
                Some(words) => {
                    let drawn = words.of(&document, &self.fields);
                    short += u64::from(drawn.len() < words.k && !drawn.is_empty());
                    drawn.join(" ")
                }
            };
            if text.is_empty() {
                silent += links.len() as u64;
                others.extend(document.fields.into_iter().map(|(name, _)| name));
                continue;
            }
            log.queries.texts[query as usize] = text.into();
            kept.extend_from_slice(links);
        }
        if kept.is_empty() && !edges.is_empty() {
            let asked = self.fields.join(", ");
            others.retain(|name| !self.fields.contains(name));
            let others: Vec<String> = others.into_iter().collect();
            return Err(Error::Empty {
                what: format!("no document that links to another has a word in {asked}"),
                advice: match others.is_empty() {
                    true => "check the documents: they have no other fields".into(),
                    false => format!(
                        "set the fields with their text (`fields`): they also have {}",
                        others.join(", ")
                    ),
                },
            });
        }
        *edges = kept;
        dropped.push(("links of documents without a word".into(), silent));
        if let Some(words) = words.filter(|_| short > 0) {
            log.notes.push(format!(
                "{} with fewer than {} words, because the documents are that short",
                counted(short, "query"),
                words.k
            ));
        }
        Ok(())
    }
}

/// The documents as queries without text, each under its own number.
fn documents_as_queries(log: &Log) -> Queries {
    let mut queries = Queries::default();
    (queries.listed, queries.are_documents) = (true, true);
    for number in 0..log.documents.len() as u32 {
        push(&mut queries, log.documents.name(number), "", 0.0);
    }
    queries
}

fn push(queries: &mut Queries, id: &str, text: &str, clicks: f64) {
    queries.names.add(id);
    queries.texts.push(text.into());
    queries.clicks.push(clicks);
    queries.parts.push(None);
    queries.given_clicks.push(None);
}

/// Drops queries without a pair in any split, and renumbers the others.
fn drop_unused_queries(queries: &mut Queries, divided: &mut SplitPairs) {
    let mut asked = vec![false; queries.names.len()];
    let held_out = divided.validation.iter().chain(&divided.test).map(|pair| pair.0);
    for query in divided.train.iter().map(|edge| edge.query).chain(held_out) {
        asked[query as usize] = true;
    }
    let mut left = Queries::default();
    (left.listed, left.are_documents) = (true, true);
    let mut numbers = vec![0u32; asked.len()];
    for (number, _) in (0u32..).zip(&asked).filter(|(_, asked)| **asked) {
        let at = number as usize;
        numbers[at] = left.names.len() as u32;
        push(&mut left, queries.names.name(number), &queries.texts[at], queries.clicks[at]);
    }
    divided.train.iter_mut().for_each(|edge| edge.query = numbers[edge.query as usize]);
    for pairs in [&mut divided.validation, &mut divided.test] {
        pairs.iter_mut().for_each(|pair| pair.0 = numbers[pair.0 as usize]);
    }
    divided.set_aside.retain(|pair| asked[pair.0 as usize]);
    divided.set_aside.iter_mut().for_each(|pair| pair.0 = numbers[pair.0 as usize]);
    *queries = left;
}

/// Turns the events into clicks at rank 1; returns what was dropped, with counts.
fn take_first_clicks(log: &mut Log, run: &Run<'_>) -> Result<Vec<(String, u64)>> {
    let Some(events) = log.events.take() else { return Ok(Vec::new()) };
    log.has_counts = true;
    let full = |what: &str| Error::Empty {
        what: format!("the events name 2³² {what} or more"),
        advice: "split the log".into(),
    };
    let found = events.first_clicks(run, |event, counts| {
        // A document that was shown but never clicked is a candidate, too.
        let doc = match log.documents_listed {
            true => log.documents.get(event.doc),
            false => log.documents.add(event.doc),
        };
        let doc = doc.ok_or_else(|| full("documents"))?;
        if counts {
            let query = log.queries.known_as(event.query).ok_or_else(|| full("queries"))?;
            log.queries.spelt(query, event.spelling, 1.0);
            log.queries.clicks[query as usize] += 1.0;
            log.clicks[SplitName::Train as usize].push(query, doc, 1.0);
        }
        Ok(())
    })?;
    log.notes.push(format!(
        "{}, {} of them with a click; {}, {} of them at rank 1",
        counted(found.pages, "result page"),
        found.pages - found.without_click,
        counted(found.first + found.below + found.unranked, "click"),
        found.first
    ));
    if found.first == 0 {
        return Err(Error::Empty {
            what: "no click is at rank 1, and the task uses no others".into(),
            advice: "ranks count from 1; check the column (`columns = events:rank=NAME`)".into(),
        });
    }
    Ok(vec![
        ("result pages without a click".into(), found.without_click),
        ("clicks below rank 1".into(), found.below),
        ("clicks without a rank".into(), found.unranked),
        ("the same event of the same user in the same second again".into(), found.repeated),
    ])
}
