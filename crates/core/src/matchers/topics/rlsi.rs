//! Regularised latent semantic indexing: topics of few words, for all documents alike (RLSI), with
//! topics of their own for classes of documents (GRLSI), or with nothing but those (CRLSI).
//!
//! ```text
//! min ‖D − UV‖² + λ₁·Σ|u| + λ₂·‖V‖²,  D: terms × documents, tf-idf, documents scaled to 1
//! ```
//! [`crate::topic::Factorise`] has the objective with classes and how it is lowered.

use super::factorised::factorisation;
use super::fitted::ClassCosine;
use crate::topic::{FactorKind, TopicStart};

factorisation! {
    /// Parameters of regularised latent semantic indexing.
    Rlsi, sweeps = 20, passes = 50, published = &[("start", "random")], |params| (
        params.dim,
        0,
        FactorKind::Rlsi {
            lambda1: params.lambda1,
            lambda2: params.lambda2,
            start: params.start,
        },
        None
    ) {
        /// Number of topics.
        dim: usize = 100,
        /// λ₁, the ℓ1 penalty on the weights of words in topics: more of it leaves fewer words.
        lambda1: f64 = 0.2,
        /// λ₂, the ℓ2 penalty on the weights of topics in documents: more of it makes documents alike.
        lambda2: f64 = 0.1,
        /// Initial weights of topics in documents.
        start: TopicStart = TopicStart::Documents,
    }
}

factorisation! {
    /// Parameters of group regularised latent semantic indexing.
    Grlsi, sweeps = 20, passes = 50,
    published = &[("start", "random"), ("cosine", "plain")],
    |params| (
        params.dim,
        params.class_dim,
        FactorKind::Rlsi {
            lambda1: params.lambda1,
            lambda2: params.lambda2,
            start: params.start,
        },
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
        /// λ₁, the ℓ1 penalty on the weights of words in topics: more of it leaves fewer words.
        lambda1: f64 = 0.2,
        /// λ₂, the ℓ2 penalty on the weights of topics in documents: more of it makes documents alike.
        lambda2: f64 = 0.1,
        /// Initial weights of topics in documents.
        start: TopicStart = TopicStart::Documents,
    }
}

factorisation! {
    /// Parameters of RLSI class by class.
    Crlsi, sweeps = 20, passes = 50, published = &[], |params| (
        0,
        params.dim,
        FactorKind::Rlsi {
            lambda1: params.lambda1,
            lambda2: params.lambda2,
            start: params.start,
        },
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
        /// λ₁, the ℓ1 penalty on the weights of words in topics: more of it leaves fewer words.
        lambda1: f64 = 0.2,
        /// λ₂, the ℓ2 penalty on the weights of topics in documents: more of it makes documents alike.
        lambda2: f64 = 0.1,
        /// Initial weights of topics in documents.
        start: TopicStart = TopicStart::Documents,
    }
}
