//! Non-negative matrix factorisation: topics whose words only add up, for all documents alike (NMF),
//! with topics of their own for classes of documents (GNMF), or with nothing but those (CNMF).
//!
//! ```text
//! min ‖D − UV‖² over U, V ≥ 0,  D: terms × documents, tf-idf, documents scaled to 1
//! ```
//! [`crate::topic::Factorise`] has the objective with classes and how it is lowered.

use super::factorised::factorisation;
use super::fitted::ClassCosine;
use crate::topic::FactorKind;

factorisation! {
    /// Parameters of non-negative matrix factorisation.
    Nmf, sweeps = 50, passes = 1, published = &[], |params| (params.dim, 0, FactorKind::Nmf, None) {
        /// Number of topics.
        dim: usize = 100,
    }
}

factorisation! {
    /// Parameters of group non-negative matrix factorisation.
    Gnmf, sweeps = 50, passes = 1, published = &[], |params| (
        params.dim,
        params.class_dim,
        FactorKind::Nmf,
        Some((&params.class, params.clusters, params.cosine))
    ) {
        /// Topics that all documents share.
        dim: usize = 50,
        /// Topics of every class.
        class_dim: usize = 10,
        /// The field with the class of a document; `class` if not set, where documents have it.
        class: Option<String> = None,
        /// Clusters to group documents into where they have no classes.
        clusters: usize = 10,
        /// The score of a document of a class.
        cosine: ClassCosine = ClassCosine::Weighted,
    }
}

factorisation! {
    /// Parameters of NMF class by class.
    Cnmf, sweeps = 50, passes = 1, published = &[], |params| (
        0,
        params.dim,
        FactorKind::Nmf,
        Some((&params.class, params.clusters, params.cosine))
    ) {
        /// Topics of every class.
        dim: usize = 10,
        /// The field with the class of a document; `class` if not set, where documents have it.
        class: Option<String> = None,
        /// Clusters to group documents into where they have no classes.
        clusters: usize = 10,
        /// The score of a document of a class.
        cosine: ClassCosine = ClassCosine::Weighted,
    }
}
