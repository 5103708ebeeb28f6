//! Topic models: factorisations of the matrix of terms and documents, PLSI and LDA.
//!
//! Only mathematics: sparse rows in, topics and weights out. Matchers turn text into rows and topics
//! into scores.

mod bags;
mod clusters;
mod coherence;
mod completion;
mod corpus;
mod descent;
mod factorise;
mod fold;
mod layout;
pub mod lda;
mod momentum;
pub mod plsi;
mod seeds;
mod simd;
mod spectral;
mod start;
mod symmetric;

#[cfg(test)]
mod tests;

pub use bags::{BagTopics, Workspace};
pub use clusters::{Clusters, clusters, nearest_centre};
pub use coherence::npmi;
pub use completion::{Completion, completion, halves};
pub use corpus::Corpus;
pub use factorise::{Factorise, Factors, Sweep};
pub use fold::{FactorKind, Folding, Topics};
pub use layout::{Distance, classical_mds, distances};
pub use start::TopicStart;
