//! A log before its import: `clicks.tsv` (or the raw `events.tsv`), `documents.jsonl` and
//! `judgments.tsv` in a folder that appears whole or not at all. The demo has judgments by facet as
//! well (`facets.tsv` and two files of judgments). A corpus has `documents.jsonl` and `topics.jsonl`.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::file::{Output, StagedFolder};

/// Query, document, clicks.
pub(super) const CLICKS: &str = "clicks.tsv";
/// Time, user, page, query, document, rank, clicked.
pub(super) const EVENTS: &str = "events.tsv";
/// The first line of the events.
pub(super) const EVENTS_HEADER: &str = "time\tuser\tpage\tquery\tdoc\trank\tclicked";
/// When events begin: 2026-01-01T00:00:00Z.
pub(super) const START: u64 = 1_767_225_600;
/// The seconds that events cover: thirty days.
pub(super) const PERIOD: u64 = 30 * 86_400;
/// Documents with their fields.
pub(super) const DOCUMENTS: &str = "documents.jsonl";
/// Query, document, grade and, in some logs, split.
pub(super) const JUDGMENTS: &str = "judgments.tsv";
/// Broad queries of the demo: id, text.
pub(super) const FACETS: &str = "facets.tsv";
/// Judgments of the broad queries by facet: id, facet, document, grade.
pub(super) const FACETS_TRAIN: &str = "facets-train.qrels";
/// The same for test.
pub(super) const FACETS_TEST: &str = "facets-test.qrels";
/// The planted topics of a corpus.
pub(super) const TOPICS: &str = "topics.jsonl";

/// Every file name.
const OURS: [&str; 8] =
    [CLICKS, EVENTS, DOCUMENTS, JUDGMENTS, FACETS, FACETS_TRAIN, FACETS_TEST, TOPICS];

/// A raw log being written.
pub(super) struct RawFolder {
    staged: StagedFolder,
}

impl RawFolder {
    /// Starts the folder that will appear at `target`. With `force` it replaces a folder that holds
    /// nothing but files of a raw log.
    pub(super) fn create(target: &Path, force: bool) -> Result<Self> {
        let is_ours = |folder: &Path| {
            fs::read_dir(folder).is_ok_and(|entries| {
                entries.flatten().all(|entry| OURS.iter().any(|name| entry.file_name() == *name))
            })
        };
        Ok(RawFolder { staged: StagedFolder::create(target, force, is_ours)? })
    }

    /// Starts a file of lines.
    pub(super) fn lines(&self, name: &str) -> Result<Output> {
        Output::create(&self.staged.path(name))
    }

    /// Starts a table with a header line.
    pub(super) fn table(&self, name: &str, header: &str) -> Result<Output> {
        let mut table = self.lines(name)?;
        table.line(format_args!("{header}"))?;
        Ok(table)
    }

    /// Publishes the folder.
    pub(super) fn commit(self) -> Result<()> {
        self.staged.publish()
    }
}
