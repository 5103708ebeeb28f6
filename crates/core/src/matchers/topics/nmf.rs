//! Non-negative matrix factorisation: topics whose words only add up, for all documents alike (NMF),
//! with topics of their own for classes of documents (GNMF), or with nothing but those (CNMF).
//!
//! ```text
//! min ‖D − UV‖² over U, V ≥ 0,  D: terms × documents, tf-idf, documents scaled to 1
//! ```
//! [`crate::topic::Factorise`] has the objective with classes and how it is lowered.

use super::classes::Grouping;
use super::factorised::{Grouped, factorisation, wanted};
use crate::matchers::Varied;
use crate::topic::Rule;

factorisation! {
    /// Parameters of non-negative matrix factorisation.
    Nmf, sweeps = 50, passes = 1 {
        /// Topics.
        dim: usize = 100,
    }
}

factorisation! {
    /// Parameters of group non-negative matrix factorisation.
    Gnmf, sweeps = 50, passes = 1 {
        /// Topics that all documents share.
        dim: usize = 50,
        /// Topics of every class.
        class_dim: usize = 10,
        /// The field of a document that its class stands in; `class` if not set, where documents have it.
        class: Option<String> = None,
        /// Clusters that documents are dealt into where they have no classes.
        clusters: usize = 10,
    }
}

factorisation! {
    /// Parameters of NMF class by class.
    Cnmf, sweeps = 50, passes = 1 {
        /// Topics of every class.
        dim: usize = 10,
        /// The field of a document that its class stands in; `class` if not set, where documents have it.
        class: Option<String> = None,
        /// Clusters that documents are dealt into where they have no classes.
        clusters: usize = 10,
    }
}

impl Nmf {
    /// What varies beside the topics.
    const SPACE: &[Varied] = &[];

    fn grouped(&self) -> Grouped {
        let rule = Rule::NonNegative;
        self.of(self.dim, 0, rule, None)
    }

    fn class_field_wanted(&self) -> Option<&str> {
        None
    }
}

impl Gnmf {
    /// What varies beside the topics.
    const SPACE: &[Varied] = &[("class_dim", "{ min = 5, max = 50, log = true, int = true }")];

    fn grouped(&self) -> Grouped {
        let rule = Rule::NonNegative;
        self.of(
            self.dim,
            self.class_dim,
            rule,
            Some(Grouping { class: self.class.clone(), clusters: self.clusters, seed: self.seed }),
        )
    }

    fn class_field_wanted(&self) -> Option<&str> {
        wanted(&self.class)
    }
}

impl Cnmf {
    /// What varies beside the topics.
    const SPACE: &[Varied] = &[];

    fn grouped(&self) -> Grouped {
        let rule = Rule::NonNegative;
        self.of(
            0,
            self.dim,
            rule,
            Some(Grouping { class: self.class.clone(), clusters: self.clusters, seed: self.seed }),
        )
    }

    fn class_field_wanted(&self) -> Option<&str> {
        wanted(&self.class)
    }
}
