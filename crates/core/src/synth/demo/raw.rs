//! The demo log as raw files.

use std::path::Path;

use super::{Demo, DemoLog, Engine, Stream};
use crate::synth::raw::{
    CLICKS, DOCUMENTS, EVENTS, EVENTS_HEADER, JUDGMENTS, PERIOD, RawFolder, START,
};
use crate::{Result, Run};

impl DemoLog {
    /// Writes `clicks.tsv` (query, doc, clicks), `documents.jsonl` and `judgments.tsv` (query,
    /// doc, grade), and `facets.tsv`, `facets-train.qrels` and `facets-test.qrels`, into the new folder `dir`. A folder that is there is refused; with `force`
    /// it is replaced if it holds nothing but such files. It appears whole or not at all.
    pub fn write_raw(&self, dir: &Path, force: bool) -> Result<()> {
        let folder = RawFolder::create(dir, force)?;
        let (query, id) =
            (|i: u32| &self.queries[i as usize], |j: u32| &self.documents[j as usize].id);
        let mut table = folder.table(CLICKS, "query\tdoc\tclicks")?;
        for &(i, j, clicks) in &self.clicks {
            table.line(format_args!("{}\t{}\t{clicks}", query(i), id(j)))?;
        }
        table.finish()?;
        self.write_rest(&folder)?;
        folder.commit()
    }

    /// Writes the documents and all judgments.
    fn write_rest(&self, folder: &RawFolder) -> Result<()> {
        let (query, id) =
            (|i: u32| &self.queries[i as usize], |j: u32| &self.documents[j as usize].id);
        let mut table = folder.lines(DOCUMENTS)?;
        self.documents.iter().try_for_each(|document| table.json(document))?;
        table.finish()?;
        let mut table = folder.table(JUDGMENTS, "query\tdoc\tgrade")?;
        for &(i, j, grade) in &self.judgments {
            table.line(format_args!("{}\t{}\t{grade}", query(i), id(j)))?;
        }
        table.finish()?;
        self.write_facets(folder)
    }
}

/// Searches a user, on average.
const SEARCHES_A_USER: u64 = 12;

impl Demo {
    /// Builds the log on the rankings of `engine` and writes it to `dir` as it was written
    /// down: every result of every search with time, user, page, rank and whether clicked, in
    /// `events.tsv` instead of `clicks.tsv`.
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
        let n_users = (self.searches as u64 / SEARCHES_A_USER).max(1);
        let mut search = 0;
        let mut watch = |log: &DemoLog, query: usize, page: &[u32], clicked: &[bool]| {
            // Some people search much more than others.
            let user = (random.uniform().powi(2) * n_users as f64) as u64;
            let time = START + search * PERIOD / (self.searches as u64).max(1);
            search += 1;
            for (rank, (&document, &clicked)) in (1..).zip(page.iter().zip(clicked)) {
                let (query, id) = (&log.queries[query], &log.documents[document as usize].id);
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
