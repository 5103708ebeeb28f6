//! Regularised latent semantic indexing: topics of few words, for all documents alike (RLSI), with
//! topics of their own for classes of documents (GRLSI), or with nothing but those (CRLSI).
//!
//! ```text
//! min ‖D − UV‖² + λ₁·Σ|u| + λ₂·‖V‖²,  D: terms × documents, tf-idf, documents scaled to 1
//! ```
//! [`crate::topic::Factorise`] has the objective with classes and how it is lowered.

use super::classes::Grouping;
use super::factorised::{Grouped, factorisation, wanted};
use crate::matchers::Varied;
use crate::topic::Rule;

factorisation! {
    /// Parameters of regularised latent semantic indexing.
    Rlsi, sweeps = 20, passes = 50 {
        /// Topics.
        dim: usize = 100,
        /// λ₁, the price of a word's weight in a topic: more of it leaves fewer words.
        lambda1: f64 = 0.2,
        /// λ₂, the price of a topic's squared weight in a document: more of it makes documents alike.
        lambda2: f64 = 0.1,
    }
}

factorisation! {
    /// Parameters of group regularised latent semantic indexing.
    Grlsi, sweeps = 20, passes = 50 {
        /// Topics that all documents share.
        dim: usize = 50,
        /// Topics of every class.
        class_dim: usize = 10,
        /// The field of a document that its class stands in; `class` if not set, where documents have it.
        class: Option<String> = None,
        /// Clusters that documents are dealt into where they have no classes.
        clusters: usize = 10,
        /// λ₁, the price of a word's weight in a topic: more of it leaves fewer words.
        lambda1: f64 = 0.2,
        /// λ₂, the price of a topic's squared weight in a document: more of it makes documents alike.
        lambda2: f64 = 0.1,
    }
}

factorisation! {
    /// Parameters of RLSI class by class.
    Crlsi, sweeps = 20, passes = 50 {
        /// Topics of every class.
        dim: usize = 10,
        /// The field of a document that its class stands in; `class` if not set, where documents have it.
        class: Option<String> = None,
        /// Clusters that documents are dealt into where they have no classes.
        clusters: usize = 10,
        /// λ₁, the price of a word's weight in a topic: more of it leaves fewer words.
        lambda1: f64 = 0.2,
        /// λ₂, the price of a topic's squared weight in a document: more of it makes documents alike.
        lambda2: f64 = 0.1,
    }
}

impl Rlsi {
    /// What varies beside the topics.
    const SPACE: &[Varied] = &[
        ("lambda1", "{ min = 0.01, max = 1.0, log = true }"),
        ("lambda2", "{ min = 0.003, max = 1.0, log = true }"),
    ];

    fn grouped(&self) -> Grouped {
        let rule = Rule::Sparse { lambda1: self.lambda1, lambda2: self.lambda2 };
        self.of(self.dim, 0, rule, None)
    }

    fn class_field_wanted(&self) -> Option<&str> {
        None
    }
}

impl Grlsi {
    /// What varies beside the topics.
    const SPACE: &[Varied] = &[
        ("lambda1", "{ min = 0.01, max = 1.0, log = true }"),
        ("lambda2", "{ min = 0.003, max = 1.0, log = true }"),
        ("class_dim", "{ min = 5, max = 50, log = true, int = true }"),
    ];

    fn grouped(&self) -> Grouped {
        let rule = Rule::Sparse { lambda1: self.lambda1, lambda2: self.lambda2 };
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

impl Crlsi {
    /// What varies beside the topics.
    const SPACE: &[Varied] = &[
        ("lambda1", "{ min = 0.01, max = 1.0, log = true }"),
        ("lambda2", "{ min = 0.003, max = 1.0, log = true }"),
    ];

    fn grouped(&self) -> Grouped {
        let rule = Rule::Sparse { lambda1: self.lambda1, lambda2: self.lambda2 };
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
