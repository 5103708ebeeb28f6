//! The content of the search page, from which its markup is made.

use liken_engine::ServedModel;
use maud::{Markup, html};

use super::search_params::{FUSIONS, SearchParams, fusion_name};
use crate::api::types::SearchResponse;
use crate::problem::Problem;

/// The depth to which columns are compared: the rank of a hit in another column is known down to
/// this depth.
pub const COMPARED: usize = 100;

/// The description of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// The name in the index.
    pub name: String,
    /// Whether it only counts words.
    pub lexical: bool,
    /// Whether it was trained with clicks.
    pub from_clicks: bool,
}

impl ModelInfo {
    /// The description of an active model.
    pub fn of(served: &ServedModel) -> Self {
        ModelInfo {
            name: served.about.model.name.clone(),
            lexical: served.model.is_lexical(),
            from_clicks: served.model.parts.iter().any(|part| part.params.learns_from_clicks()),
        }
    }

    /// A description of the model for the search page.
    pub fn about(&self) -> &'static str {
        match (self.lexical, self.from_clicks) {
            (true, _) => "counts the words of your query in each document; rare words weigh more",
            (false, true) => {
                "has learnt from clicks which words belong together, so it also finds documents \
                 that have none of your words"
            }
            (false, false) => {
                "has learnt from the documents which words belong together, so it also finds \
                 documents that have none of your words"
            }
        }
    }
}

/// A column: a model or a fusion, and its hits.
pub struct ColumnView {
    /// Its name in the address.
    pub name: String,
    /// The hits of this page.
    pub answer: Result<SearchResponse, Problem>,
    /// The ids of its first [`COMPARED`] documents, in order.
    pub first: Vec<String>,
}

/// The content of the page.
pub struct SearchView {
    /// The parameters.
    pub ask: SearchParams,
    /// The active models.
    pub models: Vec<ModelInfo>,
    /// The columns; none without a query.
    pub columns: Vec<ColumnView>,
    /// Example queries.
    pub examples: Vec<String>,
    /// The number of documents in the index.
    pub documents: usize,
    /// The rankers of the index.
    pub rankers: Vec<String>,
}

/// A sentence about a column.
pub fn about_column(column: &str, view: &SearchView) -> Markup {
    match view.models.iter().find(|model| model.name == column) {
        Some(model) => html! { (model.about()) "." },
        None => {
            let method = view.ask.fusion.unwrap_or_default();
            let about = FUSIONS.iter().find(|(name, _, _)| *name == fusion_name(method));
            html! { "fusion of the models: their " (about.map_or("", |(_, about, _)| about)) " are added up." }
        }
    }
}
