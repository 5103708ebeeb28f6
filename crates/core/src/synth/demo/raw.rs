//! Writes the demo log as files to import.

use std::path::Path;

use super::draw::Stream;
use super::log::{Demo, DemoLog, Engine};
use crate::synth::raw::{
    CLICKS, DOCUMENTS, EVENTS, EVENTS_HEADER, JUDGMENTS, PERIOD, RawFolder, START,
};
use crate::{Result, Run};

impl DemoLog {
    /// Writes `clicks.tsv` (query, doc, clicks), `documents.jsonl`, `judgments.tsv` (query, doc, grade),
    /// `facets.tsv`, `facets-train.qrels` and `facets-test.qrels` into the new folder `dir`. An existing
    /// folder is refused; `force` replaces it if it holds nothing but such files. It appears whole or not
    /// at all.
    pub fn write_raw(&self, dir: &Path, force: bool) -> Result<()> {
        let folder = RawFolder::create(dir, force)?;
        let mut table = folder.table(CLICKS, "query\tdoc\tclicks")?;
        for &(i, j, clicks) in &self.clicks {
            let (query, id) = self.pair(i, j);
            table.line(format_args!("{query}\t{id}\t{clicks}"))?;
        }
        table.finish()?;
        self.write_rest(&folder)?;
        folder.commit()
    }

    /// Writes the documents and all judgments.
    fn write_rest(&self, folder: &RawFolder) -> Result<()> {
        let mut table = folder.lines(DOCUMENTS)?;
        self.documents.iter().try_for_each(|document| table.json(document))?;
        table.finish()?;
        let mut table = folder.table(JUDGMENTS, "query\tdoc\tgrade")?;
        for &(i, j, grade) in &self.judgments {
            let (query, id) = self.pair(i, j);
            table.line(format_args!("{query}\t{id}\t{grade}"))?;
        }
        table.finish()?;
        self.write_facets(folder)
    }

    /// The text of query `i` and the id of document `j`.
    fn pair(&self, i: u32, j: u32) -> (&str, &str) {
        (&self.queries[i as usize], &self.documents[j as usize].id)
    }
}

/// Average number of searches per user.
const SEARCHES_PER_USER: u64 = 12;

impl Demo {
    /// Builds the log on the rankings of `engine` and writes it to `dir` with raw events in `events.tsv`
    /// instead of `clicks.tsv`: every result of every search with time, user, page, rank and click.
    pub fn write_events(
        &self,
        engine: &Engine<'_>,
        dir: &Path,
        force: bool,
        run: &Run<'_>,
    ) -> Result<()> {
        let folder = RawFolder::create(dir, force)?;
        let mut table = folder.table(EVENTS, EVENTS_HEADER)?;
        let mut random = self.random(Stream::Visitors);
        let n_users = (self.searches as u64 / SEARCHES_PER_USER).max(1);
        let mut search = 0;
        let mut watch = |log: &DemoLog, query: usize, page: &[u32], clicked: &[bool]| {
            // Some users search much more than others.
            let user = (random.uniform().powi(2) * n_users as f64) as u64;
            let time = START + search * PERIOD / (self.searches as u64).max(1);
            search += 1;
            for (rank, (&document, &clicked)) in (1..).zip(page.iter().zip(clicked)) {
                let (query, id) = log.pair(query as u32, document);
                let clicked = u8::from(clicked);
                table.line(format_args!(
                    "{time}\tu{user}\tp{search}\t{query}\t{id}\t{rank}\t{clicked}"
                ))?;
            }
            Ok(())
        };
        let log = self.build_watched(engine, &mut watch, run)?;
        table.finish()?;
        log.write_rest(&folder)?;
        folder.commit()
    }
}
