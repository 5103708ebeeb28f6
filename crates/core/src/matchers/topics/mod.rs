//! Topic models as matchers: documents and queries get weights in topics, and the score is the cosine
//! of these weights. The mathematics is in [`crate::topic`].

mod bag;
mod classes;
mod factorised;
mod fitted;
mod lda;
mod nmf;
mod plan;
mod plsi;
mod reading;
mod rlsi;
mod summary;
mod text;

#[cfg(test)]
mod tests;

pub use fitted::ClassCosine;
pub use lda::Lda;
pub use nmf::{Cnmf, Gnmf, Nmf};
pub use plsi::Plsi;
pub use rlsi::{Crlsi, Grlsi, Rlsi};
pub use summary::{
    TopicClass, TopicDocument, TopicFigures, TopicSummary, TopicSummaryOptions, TopicWord,
    TopicsSummary,
};
pub use text::{TextTopic, TextTopics};

/// Defines the parameters of a method, each with its default.
macro_rules! params {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $kind:ty = $default:expr,)* }) => {
        $(#[$about])*
        #[derive(
            Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$doc])* pub $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }
    };
}
use params;
