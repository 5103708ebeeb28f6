//! Web search logs with the shape of the papers' one week and half a year.
//!
//! The papers' logs cannot be had, but their Table 1 can: numbers of queries, documents and
//! words, the averages of partners and features, and the non-zeros of C = XᵀRY that decide
//! what a sweep of RMLS costs. The averages are met exactly; nnz(C) hangs on the tails of the
//! degrees (too heavy and C is ten times too dense), which are calibrated here. What is
//! planted is simpler than the web: `line` says who belongs together, `speech` who uses
//! which word, `judgments` how good an answer is. Text is made row by row while it is
//! written, so that half a year needs about a gibibyte.

mod judgments;
mod line;
mod log;
pub(super) mod names;
mod speech;
mod spread;
#[cfg(test)]
mod table_one;
#[cfg(test)]
mod tests;

use std::path::Path;

use serde_json::{Map, Value};

use self::judgments::Judged;
use self::log::{Log, Page};
use super::raw::{CLICKS, DOCUMENTS, EVENTS, EVENTS_HEADER, JUDGMENTS, PERIOD, RawFolder, START};
use crate::data::{
    DatasetAbout, DatasetSize, DatasetWriter, Document, Evidence, Query, SplitAbout, SplitBy,
};
use crate::{Error, Result, Run};

/// Pairs with fewer clicks than this are not in the log, as after the papers' filter.
const LEAST_CLICKS: f64 = 4.0;

/// The fewest queries, documents and words that still make a log.
const LEAST_SIZE: usize = 200;

/// A synthetic log: its shape and its seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Weblog {
    /// Queries in the log, at scale 1.
    pub queries: usize,
    /// Documents, each clicked at least once, at scale 1.
    pub documents: usize,
    /// Different words, at scale 1; at most as many as documents.
    pub words: usize,
    /// Average number of clicked documents a query (the papers' ñ^y).
    pub docs_per_query: f64,
    /// Average number of different words of a query.
    pub words_per_query: f64,
    /// Average number of different words of a document's title and URL.
    pub words_per_document: f64,
    /// Exponent of the power law of clicked documents a query: smaller is heavier.
    pub query_tail: f64,
    /// Exponent of the power law of queries a document: smaller is heavier.
    pub document_tail: f64,
    /// Average number of clicked pairs within one aspect of a concept.
    pub pairs_per_aspect: f64,
    /// Judged queries, at scale 1; half are for validation, half for test.
    pub judged_queries: usize,
    /// Average number of judged documents a judged query.
    pub judged_per_query: f64,
    /// Multiplies queries, documents, words and judged queries; averages stay.
    pub scale: f64,
    /// Everything drawn depends on this alone.
    pub seed: u64,
}

/// A shape's numbers at its scale.
#[derive(Debug, Clone, Copy)]
struct Size {
    queries: usize,
    documents: usize,
    words: usize,
    pairs: usize,
    judged: usize,
}

impl Weblog {
    /// The shape of the papers' one week.
    pub fn one_week() -> Self {
        Weblog {
            queries: 94_022,
            documents: 111_631,
            words: 101_904,
            docs_per_query: 1.74,
            words_per_query: 2.26,
            words_per_document: 4.44,
            query_tail: 3.55,
            document_tail: 3.55,
            pairs_per_aspect: 30.0,
            judged_queries: 4_445,
            judged_per_query: 11.34,
            scale: 1.0,
            seed: 1,
        }
    }

    /// The shape of the papers' half year.
    pub fn half_year() -> Self {
        Weblog {
            queries: 6_372_254,
            documents: 4_599_849,
            words: 271_561,
            docs_per_query: 2.92,
            words_per_query: 2.58,
            words_per_document: 4.56,
            query_tail: 3.55,
            document_tail: 3.55,
            pairs_per_aspect: 120.0,
            judged_queries: 57_514,
            judged_per_query: 13.84,
            scale: 1.0,
            seed: 1,
        }
    }

    /// Writes the log as a dataset folder.
    pub fn write(&self, path: &Path, force: bool, run: &Run) -> Result<DatasetAbout> {
        let size = self.size()?;
        let mut writer = DatasetWriter::create(path, force)?;
        let log = Log::new(self, size, run)?;
        let clicks = log.clicks()?;
        let mut judged = Judged::pick(&log, &clicks);
        log.each_query(&mut judged, run, |row, text| {
            // Adding 0 turns the empty sum's −0 into 0.
            let clicks = clicks.row(row).values.iter().map(|&n| f64::from(n)).sum::<f64>() + 0.0;
            writer.query(&Query { id: text.clone(), text, clicks })
        })?;
        log.each_document(&mut judged, run, |page| writer.document(&page.into()))?;
        let (validation, test) = judged.grade(&log)?;
        let about = DatasetAbout {
            counts: DatasetSize::default(),
            sources: Vec::new(),
            split: SplitAbout { by: SplitBy::Judgments, seed: self.seed, shares: (0.5, 0.5) },
            min_clicks: Some(LEAST_CLICKS),
            evidence: Evidence::Judgments,
            events: None,
            task: None,
            report: vec![
                format!(
                    "synthetic log of {} queries, {} documents and {} words with planted \
                     concepts, seed {}",
                    size.queries, size.documents, size.words, self.seed
                ),
                format!(
                    "{} queries judged in five levels from the planted truth, {} of them not in \
                     the log",
                    size.judged,
                    judged.n_unseen()
                ),
            ],
        };
        writer.finish(&clicks, &validation, &test, &[], about)
    }

    /// Writes the log as somebody would have it who has not met liken: `clicks.tsv` (query,
    /// doc, clicks), `documents.jsonl` (id, title, url) and `judgments.tsv` (query, doc,
    /// grade, split). The folder appears whole or not at all.
    pub fn write_raw(&self, dir: &Path, force: bool, run: &Run) -> Result<()> {
        let folder = RawFolder::create(dir, force)?;
        let log = Log::new(self, self.size()?, run)?;
        let clicks = log.clicks()?;
        let mut judged = Judged::pick(&log, &clicks);
        let mut table = folder.table(CLICKS, "query\tdoc\tclicks")?;
        log.each_query(&mut judged, run, |row, text| {
            clicks
                .row(row)
                .iter()
                .try_for_each(|(doc, n)| table.line(format_args!("{text}\t{}\t{n}", log::id(doc))))
        })?;
        table.finish()?;
        write_rest(folder, &log, &mut judged, run)
    }

    /// The same with the log as it was written down, `events.tsv` instead of `clicks.tsv`: for
    /// every click a page that shows the query's first documents, with time, user, rank and
    /// whether clicked. The pages come query by query, not in the order of time.
    pub fn write_events(&self, dir: &Path, force: bool, run: &Run) -> Result<()> {
        let folder = RawFolder::create(dir, force)?;
        let log = Log::new(self, self.size()?, run)?;
        let clicks = log.clicks()?;
        let mut judged = Judged::pick(&log, &clicks);
        let n_users = 20 * clicks.n_rows() as u64;
        let mut table = folder.table(EVENTS, EVENTS_HEADER)?;
        let mut page = 0u64;
        log.each_query(&mut judged, run, |row, text| {
            let mut random = log.random(log::Draw::Visits, row);
            let mut shown: Vec<(u32, f32)> = clicks.row(row).iter().collect();
            shown.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            for at in 0..shown.len() {
                for _ in 0..shown[at].1 as u64 {
                    page += 1;
                    let (time, user) = (START + random.below(PERIOD), random.below(n_users));
                    // The first ten, and the one that is clicked.
                    for rank in (0..shown.len().min(10)).chain((at >= 10).then_some(at)) {
                        let (doc, clicked) = (log::id(shown[rank].0), u8::from(rank == at));
                        let rank = rank + 1;
                        table.line(format_args!(
                            "{time}\tu{user}\tp{page}\t{text}\t{doc}\t{rank}\t{clicked}"
                        ))?;
                    }
                }
            }
            Ok(())
        })?;
        table.finish()?;
        write_rest(folder, &log, &mut judged, run)
    }

    /// Says what is wrong with the parameters.
    pub(super) fn check(&self) -> Result<()> {
        self.size().map(|_| ())
    }

    /// The numbers at this scale, or what is wrong with the parameters.
    fn size(&self) -> Result<Size> {
        if !(self.scale.is_finite() && self.scale > 0.0) {
            return Err(Error::parameter("scale", self.scale, "a number above 0"));
        }
        let scaled = |n: usize| (n as f64 * self.scale).round() as usize;
        let (queries, documents) = (scaled(self.queries), scaled(self.documents));
        let words = scaled(self.words);
        if queries.min(documents).min(words) < LEAST_SIZE {
            let least = self.queries.min(self.documents).min(self.words).max(1);
            return Err(Error::parameter(
                "scale",
                self.scale,
                &format!(
                    "at least {:.5}, for {LEAST_SIZE} queries, documents and words",
                    (LEAST_SIZE as f64 / least as f64 * 1e5).ceil() / 1e5
                ),
            ));
        }
        let pairs = (queries as f64 * self.docs_per_query).round() as usize;
        if queries.max(documents).max(pairs) > u32::MAX as usize || words > names::MOST {
            let expected =
                format!("fewer than 2³² pairs and at most {} words: choose less", names::MOST);
            return Err(Error::parameter("scale", self.scale, &expected));
        }
        let in_range = [
            ("words", words as f64, 1.0, documents as f64),
            ("docs_per_query", self.docs_per_query, 1.0, 10.0),
            ("docs_per_query × queries / documents", pairs as f64 / documents as f64, 1.0, 10.0),
            ("words_per_query", self.words_per_query, 2.0, 10.0),
            ("words_per_document", self.words_per_document, 3.0, 30.0),
            ("query_tail", self.query_tail, 2.0, 20.0),
            ("document_tail", self.document_tail, 2.0, 20.0),
            ("pairs_per_aspect", self.pairs_per_aspect, 4.0, 1e6),
            ("judged_per_query", self.judged_per_query, 3.0, 50.0),
        ];
        for (name, value, least, most) in in_range {
            if !(least..=most).contains(&value) {
                return Err(Error::parameter(name, value, &format!("from {least} to {most}")));
            }
        }
        let judged = scaled(self.judged_queries).max(2).min(queries / 2);
        Ok(Size { queries, documents, words, pairs, judged })
    }
}

/// Writes the documents and the judgments, and gives the folder its name.
fn write_rest(folder: RawFolder, log: &Log, judged: &mut Judged, run: &Run) -> Result<()> {
    let mut table = folder.lines(DOCUMENTS)?;
    log.each_document(judged, run, |page| table.json(&Document::from(page)))?;
    table.finish()?;
    let (validation, test) = judged.grade(log)?;
    let mut table = folder.table(JUDGMENTS, "query\tdoc\tgrade\tsplit")?;
    for (row, text) in judged.texts(log) {
        for (split, grades) in [("validation", &validation), ("test", &test)] {
            for (doc, grade) in grades.row(row).iter() {
                table.line(format_args!("{text}\t{}\t{grade}\t{split}", log::id(doc)))?;
            }
        }
    }
    table.finish()?;
    folder.commit()
}

impl From<Page> for Document {
    fn from(page: Page) -> Self {
        let fields = [("title", page.title), ("url", page.url)];
        let fields = fields.map(|(name, text)| (name.to_owned(), Value::String(text)));
        Document { id: page.id, fields: Map::from_iter(fields) }
    }
}
