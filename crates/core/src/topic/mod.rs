//! Topics of documents: matrices of terms and documents taken apart.
//!
//! Mathematics alone: sparse rows go in, topics and their weights come out. How text becomes rows
//! and how topics score documents is the business of the matchers.

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
mod some_rows;
mod special;
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
pub use factorise::{Factorise, Factors, Rule, Sweep};
pub use fold::{Folding, Topics};
pub use layout::{Distance, distances, place};
