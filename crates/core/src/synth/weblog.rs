//! Web search logs with the shape of the papers' one week and half a year.
//!
//! The papers' logs are not public, but their Table 1 is: the numbers of queries, documents and words,
//! the averages of partners and features, and the non-zeros of C = XᵀRY, which determine the cost of a
//! sweep of RMLS. The averages are exact; nnz(C) depends on the tails of the degrees (too heavy, and C
//! is ten times too dense), which are calibrated here. The planted truth is simpler than the web:
//! `line` relates queries and documents, `speech` chooses the words, `judgments` the grades. Text is
//! generated row by row while it is written, so that half a year needs about a gibibyte.

mod judgments;
mod line;
mod log;
pub(super) mod names;
mod shape;
mod speech;
mod spread;
#[cfg(test)]
mod table_one;
#[cfg(test)]
mod tests;
mod text;

use std::path::Path;

use serde_json::{Map, Value};

use self::judgments::Judged;
use self::log::Log;
use self::shape::{LEAST_CLICKS, Size};
use self::text::Page;
use super::raw::{CLICKS, DOCUMENTS, EVENTS, EVENTS_HEADER, JUDGMENTS, PERIOD, RawFolder, START};
use crate::data::{
    DatasetAbout, DatasetSize, DatasetWriter, Document, Query, RelevanceSource, SplitAbout, SplitBy,
};
use crate::sparse::Csr;
use crate::{Result, Run};

pub use self::shape::Weblog;

impl Weblog {
    /// Writes the log as a dataset folder.
    pub fn write(&self, path: &Path, force: bool, run: &Run) -> Result<DatasetAbout> {
        let size = self.size()?;
        let mut writer = DatasetWriter::create(path, force)?;
        let (log, clicks, mut judged) = self.draw(size, run)?;
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
            evidence: RelevanceSource::Judgments,
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

    fn draw(&self, size: Size, run: &Run) -> Result<(Log, Csr, Judged)> {
        let log = Log::new(self, size, run)?;
        let clicks = log.clicks()?;
        let judged = Judged::pick(&log, &clicks);
        Ok((log, clicks, judged))
    }

    /// Writes the log as files to import: `clicks.tsv` (query, doc, clicks), `documents.jsonl` (id,
    /// title, url) and `judgments.tsv` (query, doc, grade, split). The folder appears whole or not at
    /// all.
    pub fn write_raw(&self, dir: &Path, force: bool, run: &Run) -> Result<()> {
        let folder = RawFolder::create(dir, force)?;
        let (log, clicks, mut judged) = self.draw(self.size()?, run)?;
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

    /// Like [`Weblog::write_raw`], with raw events in `events.tsv` instead of `clicks.tsv`: for every
    /// click a result page of the query's first documents, with time, user, rank and click. The pages
    /// are sorted by query, not by time.
    pub fn write_events(&self, dir: &Path, force: bool, run: &Run) -> Result<()> {
        let folder = RawFolder::create(dir, force)?;
        let (log, clicks, mut judged) = self.draw(self.size()?, run)?;
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
                    // The first ten, and the clicked one.
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
}

/// Writes the documents and the judgments, and publishes the folder.
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
