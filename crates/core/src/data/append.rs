//! Another day of the log for a dataset that is there already.
//!
//! The dataset kept its raw log in aggregated form, and its documents; both are read again
//! and merged with what is new, and everything after that (split, filter, matrices) is made
//! anew: the outcome is what importing all days at once would have given. Only `min_users`
//! looks at each import for itself, because a dataset keeps no users.

use std::path::Path;

use super::dataset::{Dataset, SplitBy};
use super::events::{self, EventsAbout, KeptLog};
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
                "was not made from events, so nothing can be appended".into(),
                "import it anew with all its tables",
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
                    format!("was made with a table of {role}, which it does not keep as it was"),
                    &format!("give it again: --{role} FILE"),
                ));
            }
        }
        Ok(Previous { dataset, events })
    }

    /// `import` with the settings of the dataset wherever it names none.
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

    /// The log that the dataset kept.
    pub(super) fn log(&self) -> Result<KeptLog> {
        KeptLog::open(&self.dataset.folder.file(events::FILE))
    }

    /// Whether it has documents of its own, not only ids out of the log.
    pub(super) fn has_documents(&self) -> bool {
        self.dataset.about().sources.iter().any(|source| source.role == "documents")
    }

    /// The files it was made from that are not given again.
    pub(super) fn sources(&self) -> Vec<Source> {
        let kept = |source: &&Source| matches!(source.role.as_str(), "events" | "documents");
        self.dataset.about().sources.iter().filter(kept).cloned().collect()
    }

    /// An error if the events of one of `sources` are in it already.
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
                    "is in {} already; its events would count twice",
                    self.dataset.folder.path.display()
                ),
                advice: "append each day once".into(),
            }),
        }
    }
}
