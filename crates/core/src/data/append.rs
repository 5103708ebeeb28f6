//! Appends another day of the log to an existing dataset.
//!
//! A dataset stores its aggregated raw log and its documents. Both are read again and merged with the
//! new tables; split, filter and matrices are made anew: the result equals an import of all days at
//! once. Only `min_users` applies to each import separately, because a dataset stores no users.

use std::path::Path;

use super::dataset::{Dataset, SplitBy};
use super::events::{self, AggregatedLogReader, EventsAbout};
use super::import_spec::Import;
use crate::rows::Source;
use crate::{Error, Result};

/// The dataset that is appended to.
pub(super) struct Previous {
    pub dataset: Dataset,
    pub events: EventsAbout,
}

impl Previous {
    /// Opens the dataset at `path` to append what `import` names.
    pub(super) fn open(path: &Path, import: &Import) -> Result<Self> {
        let dataset = Dataset::open(path)?;
        let unusable = |problem: String, advice: &str| Error::Unusable {
            path: path.to_owned(),
            problem,
            advice: advice.into(),
        };
        let Some(events) = dataset.about().events.clone() else {
            return Err(unusable(
                "was not made from events, so nothing can be appended to it".into(),
                "import all its tables into a new dataset",
            ));
        };
        let again = [
            ("queries", import.queries.is_some()),
            ("clicks", import.clicks.is_some()),
            ("links", import.links.is_some()),
            ("judgments", import.judgments.is_some()),
        ];
        for (role, given) in again {
            if !given && dataset.about().sources.iter().any(|source| source.role == role) {
                return Err(unusable(
                    format!("was made with a table of {role}, which it does not store"),
                    &format!("give it again: `{role} = FILE`"),
                ));
            }
        }
        Ok(Previous { dataset, events })
    }

    /// `import` with the settings of the dataset as defaults.
    pub(super) fn fill(&self, import: &Import) -> Import {
        let about = self.dataset.about();
        let mut filled = import.clone();
        filled.split = import.split.or(Some(about.split.by));
        if import.split.is_none_or(|by| by == about.split.by) && about.split.by != SplitBy::Given {
            filled.validation = import.validation.or(Some(about.split.shares.0));
            filled.test = import.test.or(Some(about.split.shares.1));
        }
        filled.seed = import.seed.or(Some(about.split.seed));
        let names_no_cut = import.validation_from.is_none() && import.test_from.is_none();
        if names_no_cut && import.validation.is_none() && import.test.is_none() {
            filled.validation_from.clone_from(&self.events.from.0);
            filled.test_from.clone_from(&self.events.from.1);
        }
        let min_clicks = about.min_clicks.map_or(1, |clicks| clicks as u32);
        filled.min_clicks = import.min_clicks.or(Some(min_clicks));
        let rules = &mut filled.rules;
        let before = &self.events.rules;
        rules.min_users = rules.min_users.or(before.min_users);
        rules.max_per_user = rules.max_per_user.or(before.max_per_user);
        rules.max_user_events = rules.max_user_events.or(before.max_user_events);
        rules.half_life = rules.half_life.or(before.half_life);
        filled
    }

    /// The aggregated log of the dataset.
    pub(super) fn log(&self) -> Result<AggregatedLogReader> {
        AggregatedLogReader::open(&self.dataset.folder.file(events::FILE))
    }

    /// Whether it has a table of documents, not only ids from the log.
    pub(super) fn has_documents(&self) -> bool {
        self.dataset.about().sources.iter().any(|source| source.role == "documents")
    }

    /// The files of events and documents it was made from.
    pub(super) fn sources(&self) -> Vec<Source> {
        let kept = |source: &&Source| matches!(source.role.as_str(), "events" | "documents");
        self.dataset.about().sources.iter().filter(kept).cloned().collect()
    }

    /// An error if it was made from one of the event files in `sources`.
    pub(super) fn check_new(&self, sources: &[Source]) -> Result<()> {
        let old = self.sources();
        let known = |new: &&Source| {
            let same = |old: &Source| old.role == "events" && old.sha256 == new.sha256;
            new.role == "events" && old.iter().any(same)
        };
        match sources.iter().find(known) {
            None => Ok(()),
            Some(source) => Err(Error::Unusable {
                path: source.name.clone().into(),
                problem: format!(
                    "was appended to {} before; its events would count twice",
                    self.dataset.folder.path.display()
                ),
                advice: "append each day once".into(),
            }),
        }
    }
}
