//! The specification of an import.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::dataset::SplitBy;
use super::events::EventRules;
use crate::rows::{Table, is_stdin};

/// The tables to import, and how, as written in an experiment file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Import {
    /// A BEIR folder, instead of tables.
    pub beir: Option<PathBuf>,
    /// Columns query, doc and, optionally, clicks or a signed weight, and split.
    pub clicks: Option<Table>,
    /// Columns id, title, body, url, class and anything else.
    pub documents: Option<Table>,
    /// Columns id, text and, optionally, split; the other tables then name queries by id.
    pub queries: Option<Table>,
    /// Columns query, doc, grade and, optionally, split.
    pub judgments: Option<Table>,
    /// Columns query, doc and, optionally, weight and split: pairs to learn from that are not
    /// clicks, so that no click filter applies.
    pub links: Option<Table>,
    /// A raw log, one event per line: columns query, doc and, optionally, time, user, session,
    /// page, rank, clicked.
    pub events: Option<Table>,
    /// Rules for reading the raw log.
    pub rules: EventRules,
    /// A dataset to append to: its log and documents come first. Its settings are the defaults.
    pub append: Option<PathBuf>,
    /// When validation begins, where the split is by time. Unset: its share of the clicks decides.
    pub validation_from: Option<String>,
    /// When test begins, likewise.
    pub test_from: Option<String>,
    /// Bytes that sorting the raw log, and then its ids and pairs, may take: half of the free memory
    /// unless set. The dataset does not depend on it.
    pub max_memory: Option<u64>,
    /// The field of the documents whose text the other tables have in place of an id; there is no
    /// table of documents then.
    pub doc_text: Option<String>,
    /// What to split. Unset: as given, if the source gives a split; judgments, if there are any; else
    /// queries.
    pub split: Option<SplitBy>,
    /// The share of validation: 0.1 unless set. Of judged queries, half unless set.
    pub validation: Option<f64>,
    /// The share of test, likewise.
    pub test: Option<f64>,
    /// The seed of the split: 0 unless set.
    pub seed: Option<u64>,
    /// Drop training pairs with fewer clicks than this: 4 unless set, where the source counts
    /// clicks; 0 or 1 switches the filter off.
    pub min_clicks: Option<u32>,
    /// Skip and count bad rows instead of stopping.
    pub lenient: bool,
}

impl Import {
    /// The files and folders it reads.
    pub fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let tables = [
            &mut self.clicks,
            &mut self.documents,
            &mut self.queries,
            &mut self.judgments,
            &mut self.links,
            &mut self.events,
        ];
        let paths = tables.into_iter().flatten().flat_map(Table::paths);
        paths.chain(self.beir.as_mut()).chain(self.append.as_mut())
    }

    /// Resolves relative paths against `folder`.
    pub fn relative_to(&mut self, folder: &Path) {
        for path in self.paths().filter(|path| !is_stdin(path)) {
            *path = folder.join(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_is_written_as_toml_and_refuses_unknown_keys() {
        let text = r#"
            clicks = { path = "log.tsv.gz", columns = { query = "q", doc = "2" }, no_header = true }
            documents = { path = "/abs/docs.jsonl" }
            split = "edges"
            min_clicks = 1
        "#;
        let mut import: Import = toml::from_str(text).unwrap();
        assert_eq!(import.split, Some(SplitBy::Edges));
        let again: Import = toml::from_str(&toml::to_string(&import).unwrap()).unwrap();
        assert_eq!(again, import);
        import.relative_to(Path::new("/data"));
        assert_eq!(import.clicks.unwrap().path, Path::new("/data/log.tsv.gz"));
        assert_eq!(import.documents.unwrap().path, Path::new("/abs/docs.jsonl"));
        assert!(toml::from_str::<Import>("click = 1").is_err());
        assert!(toml::from_str::<Import>("clicks = { file = \"x\" }").is_err());
    }
}
