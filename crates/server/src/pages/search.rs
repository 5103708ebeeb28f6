//! Search: one box, two to four models side by side, and what moved between them.

mod form;

use liken_engine::{Engine, Served, Snapshot};
use maud::{Markup, html};

use super::examples;
use super::hits;
use super::layout::{Tab, Tone, count, grouped, notice, page};
use super::search_params::{FUSIONS, SearchParams, fusion_name, models_of};
use crate::api::types::{SearchRequest, SearchResponse};
use crate::problem::Problem;

/// How deep the other columns are looked through for a hit's rank there.
pub const LOOK: usize = 100;

/// How long a list of example queries is.
const EXAMPLES: usize = 12;

/// A model, as far as the page describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// The name in the index.
    pub name: String,
    /// What it is made of.
    pub method: String,
    /// Whether it is lexical: it only counts words.
    pub lexical: bool,
    /// Whether it has learnt from clicks.
    pub from_clicks: bool,
}

impl ModelInfo {
    fn of(served: &Served) -> Self {
        ModelInfo {
            name: served.about.model.name.clone(),
            method: served.about.method.clone(),
            lexical: served.model.is_lexical(),
            from_clicks: served.model.parts.iter().any(|part| part.params.learns_from_clicks()),
        }
    }

    /// What it does, for somebody who has never heard of it.
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

/// A column: a model or a fusion, and what it found.
pub struct ColumnView {
    /// As it stands in the address.
    pub name: String,
    /// The models.
    pub models: Vec<String>,
    /// The hits of this page.
    pub answer: Result<SearchResponse, Problem>,
    /// Ids of its first [`LOOK`] documents in order.
    pub first: Vec<String>,
}

/// All that the page shows.
pub struct SearchView {
    /// What was asked.
    pub ask: SearchParams,
    /// The active models.
    pub models: Vec<ModelInfo>,
    /// The columns; none where there is no query.
    pub columns: Vec<ColumnView>,
    /// Queries to try.
    pub examples: Vec<String>,
    /// Documents in the index.
    pub documents: usize,
    /// The rankers that can be asked for.
    pub rankers: Vec<String>,
}

/// `GET /`.
pub fn search(engine: &Engine, ask: &SearchParams) -> Result<Markup, Problem> {
    // All columns see the same documents and the same versions of models.
    let now = engine.snapshot();
    let models: Vec<ModelInfo> = now.models().map(ModelInfo::of).collect();
    let names: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
    let mut ask = ask.clone();
    if ask.columns.is_empty() {
        ask.columns = usual_columns(&models);
    }
    let mut columns = Vec::new();
    if !ask.query.is_empty() {
        for name in &ask.columns {
            columns.push(column(engine, &now, &ask, name, models_of(name, &names))?);
        }
    }
    let examples = match ask.query.as_str() {
        "" => examples::queries(engine, EXAMPLES),
        _ => Vec::new(),
    };
    let (documents, rankers) = (now.documents(), now.rankers());
    Ok(render(&SearchView { ask, models, columns, examples, documents, rankers }))
}

/// One column: the hits of the page, and the order of the first few without their text.
fn column(
    engine: &Engine,
    now: &Snapshot,
    ask: &SearchParams,
    name: &str,
    models: Vec<String>,
) -> Result<ColumnView, Problem> {
    // What is wrong with the address is wrong for all columns; what a model says is its own.
    let request = SearchRequest { highlight: true, explain: true, ..ask.request(&models)? };
    let (answer, first) = match engine.search_in(now, &request, LOOK) {
        Ok((answer, first)) => (Ok(answer), first),
        Err(error) => (Err(error.into()), Vec::new()),
    };
    Ok(ColumnView { name: name.to_owned(), models, answer, first })
}

/// The first lexical model, the first learnt one, and their fusion; the first two of all where
/// there is only one kind.
pub fn usual_columns(models: &[ModelInfo]) -> Vec<String> {
    let lexical = models.iter().find(|model| model.lexical);
    let learnt = models.iter().find(|model| !model.lexical);
    match (lexical, learnt) {
        (Some(lexical), Some(learnt)) => vec![
            lexical.name.clone(),
            learnt.name.clone(),
            format!("{}+{}", lexical.name, learnt.name),
        ],
        _ => models.iter().take(2).map(|model| model.name.clone()).collect(),
    }
}

/// The page.
pub fn render(view: &SearchView) -> Markup {
    let title = match view.ask.query.as_str() {
        "" => "Search".to_owned(),
        query => format!("{query} · Search"),
    };
    page(
        &title,
        Tab::Search,
        html! {
            h1.hush { "Search" }
            (form::form(view))
            @if view.models.is_empty() {
                (notice(Tone::Warn, html! { "No model is active yet, so nothing can be scored. Load one with " code { "POST /models" } "." }))
            }
            @if view.ask.query.is_empty() { (welcome(view)) } @else { (results(view)) }
        },
    )
}

/// What stands below the box before the first query.
fn welcome(view: &SearchView) -> Markup {
    html! {
        section.welcome {
            p.lead { "One query, several models side by side: see what each finds in "
                (count(view.documents, "document")) ", where they differ, and why." }
            @if !view.examples.is_empty() {
                h2 { "Try one of these" }
                ul.chips { @for query in &view.examples {
                    li { a.chip href=(view.ask.for_query(query)) { (query) } }
                } }
            }
            @if !view.ask.columns.is_empty() {
                h2 { "The columns you will see" }
                dl.models { @for column in &view.ask.columns {
                    div { dt { (column) } dd { (about_column(column, view)) } }
                } }
            }
            p.quiet.small { "Words in \"double quotes\" must stand side by side. " kbd { "/" } " goes to the box." }
        }
    }
}

/// What a column is, in a sentence.
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

/// The columns, what differs between them, and the way to the next page.
fn results(view: &SearchView) -> Markup {
    let answers: Vec<&SearchResponse> =
        view.columns.iter().filter_map(|column| column.answer.as_ref().ok()).collect();
    let end = view.ask.offset + view.ask.k;
    let more = answers.iter().any(|answer| answer.candidates > end);
    html! {
        (hits::differences(view))
        @if view.columns.len() > 1 {
            nav.jump aria-label="Columns" { ul.chips {
                @for (i, column) in view.columns.iter().enumerate() {
                    li { a.chip href={ "#c" (i) } { (column.name) } }
                }
            } }
        }
        div class={ "columns c" (view.columns.len()) } {
            @for (i, column) in view.columns.iter().enumerate() { (hits::column(view, i, column)) }
        }
        @if view.ask.offset > 0 || more {
            nav.pages aria-label="Pages of results" {
                @if view.ask.offset > 0 {
                    a.button rel="prev" href=(view.ask.at_offset(view.ask.offset.saturating_sub(view.ask.k))) { "← Better ones" }
                }
                span.quiet { "Ranks " (grouped(view.ask.offset + 1)) "–" (grouped(end)) }
                @if more { a.button rel="next" href=(view.ask.at_offset(end)) { "Further ones →" } }
            }
        }
    }
}
