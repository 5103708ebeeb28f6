//! What a fitted model shows of its topics.

use std::borrow::Cow;

use crate::linalg::Dense;
use crate::matchers::Map;

/// The topics of a fitted model, to be looked at.
pub struct TopicsView<'a> {
    /// Terms × topics: what a word weighs in a topic; topics that all classes share come first,
    /// then those of every class.
    pub weights: Cow<'a, Map>,
    /// Topics that all documents share.
    pub n_shared: usize,
    /// Topics of every class.
    pub per_class: usize,
    /// The classes by name; empty where there are none.
    pub classes: &'a [String],
    /// The class of every document; empty where there are none.
    pub class_of: &'a [u32],
    /// Documents × (n_shared + per_class): what a topic weighs in a document; the columns after
    /// the shared ones are those of the document's own class.
    pub documents: Cow<'a, Dense>,
    /// Whether weights and shares are probabilities or at least never below zero (LSI and RLSI:
    /// false).
    pub non_negative: bool,
}

impl TopicsView<'_> {
    /// The number of topics, shared ones and those of every class.
    pub fn n_topics(&self) -> usize {
        self.n_shared + self.classes.len() * self.per_class
    }

    /// The class that topic `k` belongs to; `None` for one that all share.
    pub fn class_of_topic(&self, k: usize) -> Option<u32> {
        (k >= self.n_shared).then(|| ((k - self.n_shared) / self.per_class.max(1)) as u32)
    }

    /// The topic that column `column` of the documents means for a document of `class`.
    pub fn topic_at(&self, column: usize, class: Option<u32>) -> usize {
        match class {
            Some(class) if column >= self.n_shared => column + class as usize * self.per_class,
            _ => column,
        }
    }
}
