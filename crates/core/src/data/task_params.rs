//! The parameters of retrieval tasks made of documents and links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::Language;
use crate::{Error, Result};

/// The kind of a task: its queries and their relevant documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskKind {
    /// From a document to the documents that it links to.
    #[default]
    Links,
    /// From some words of a document to the documents that it links to.
    Keywords,
    /// From a page to the adverts that were clicked on it at rank 1.
    Content,
}

/// Unit of the split into training, validation and test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskSplit {
    /// Links: a document may have some in training and others in test.
    #[default]
    Links,
    /// Documents: training has no document of the test, and links between splits are dropped.
    Documents,
}

/// The parameters of a retrieval task made of documents and links, or of a log, as written in an
/// experiment file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskParams {
    /// The queries, and their relevant documents.
    pub kind: TaskKind,
    /// In `keywords`: how many words of its document a query has (10 if not set).
    pub words: Option<usize>,
    /// The fields that are the text of a document, where its text is the query.
    pub fields: Vec<String>,
    /// In `keywords`: the language whose stop words are not drawn; `none`: any word may be.
    pub language: Language,
    /// Unit of the split.
    pub split: TaskSplit,
    /// Share of all links kept for training; all that validation and test leave, if not set.
    /// Validation and test are the same for any share.
    pub share: Option<f64>,
    /// Share of pairs held out for validation.
    pub validation: f64,
    /// Share of pairs held out for the test.
    pub test: f64,
    /// Seed of everything drawn.
    pub seed: u64,
}

impl Default for TaskParams {
    fn default() -> Self {
        TaskParams {
            kind: TaskKind::default(),
            words: None,
            fields: ["title", "body"].map(str::to_owned).to_vec(),
            language: Language::En,
            split: TaskSplit::default(),
            share: None,
            validation: 0.1,
            test: 0.3,
            seed: 0,
        }
    }
}

impl TaskKind {
    /// Its name in files and options.
    pub(super) fn name(self) -> &'static str {
        match self {
            TaskKind::Links => "links",
            TaskKind::Keywords => "keywords",
            TaskKind::Content => "content",
        }
    }
}

impl TaskParams {
    /// Whether the queries are documents; a document is never relevant to itself.
    pub fn queries_are_documents(&self) -> bool {
        self.kind != TaskKind::Content
    }

    /// An error if a value is out of range, or set for a kind that does not use it.
    pub fn check(&self) -> Result<()> {
        if self.words.is_some() && self.kind != TaskKind::Keywords {
            let expected = "no value: it applies only to kind = \"keywords\"";
            return Err(Error::parameter("words", self.words.unwrap_or_default(), expected));
        }
        if self.words == Some(0) {
            return Err(Error::parameter("words", 0, "1 or more"));
        }
        let usual = TaskParams::default();
        if self.language != usual.language && self.kind != TaskKind::Keywords {
            let expected = "no value: it applies only to kind = \"keywords\"";
            return Err(Error::parameter("language", self.language, expected));
        }
        if self.fields != usual.fields && self.kind == TaskKind::Content {
            let expected = "no value: it does not apply to kind = \"content\"";
            return Err(Error::parameter("fields", self.fields.join(", "), expected));
        }
        if self.fields.is_empty() {
            return Err(Error::parameter("fields", "[]", "at least one field of the documents"));
        }
        let shares = [("validation", self.validation), ("test", self.test)];
        for (name, share) in shares.into_iter().chain(self.share.map(|share| ("share", share))) {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::parameter(name, share, "a share between 0 and 1"));
            }
        }
        if self.share == Some(0.0) {
            return Err(Error::parameter("share", 0, "more than 0: training needs a link"));
        }
        let sum = self.validation + self.test;
        if sum >= 1.0 {
            return Err(Error::parameter("validation + test", sum, "a sum below 1"));
        }
        Ok(())
    }
}
