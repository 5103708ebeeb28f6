//! Topic models as matchers: documents and queries are weighed in topics, and match as far as these
//! weights point the same way. The mathematics is [`crate::topic`]'s.

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
mod view;

#[cfg(test)]
mod tests;

pub use lda::Lda;
pub use nmf::{Cnmf, Gnmf, Nmf};
pub use plsi::Plsi;
pub use rlsi::{Crlsi, Grlsi, Rlsi};
pub use summary::{
    TopicClass, TopicDocument, TopicFigures, TopicSummary, TopicWord, TopicsLook, TopicsSummary,
};
pub use text::{TextTopic, TextTopics};
pub use view::TopicsView;

/// Defines the parameters of a method, each with its default beside it.
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
