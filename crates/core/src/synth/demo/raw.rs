//! The demo log as raw files.

use std::path::Path;

use super::DemoLog;
use crate::Result;
use crate::synth::raw::{CLICKS, DOCUMENTS, JUDGMENTS, RawFolder};

impl DemoLog {
    /// Writes `clicks.tsv` (query, doc, clicks), `documents.jsonl` and `judgments.tsv` (query,
    /// doc, grade) into the new folder `dir`. A folder that is there is refused; with `force`
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
        let mut table = folder.lines(DOCUMENTS)?;
        self.documents.iter().try_for_each(|document| table.json(document))?;
        table.finish()?;
        let mut table = folder.table(JUDGMENTS, "query\tdoc\tgrade")?;
        for &(i, j, grade) in &self.judgments {
            table.line(format_args!("{}\t{}\t{grade}", query(i), id(j)))?;
        }
        table.finish()?;
        folder.commit()
    }
}
