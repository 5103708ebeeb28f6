//! Search: one box, and the hits of up to four models or fusions side by side.

mod form;

use liken_engine::{Engine, Snapshot};
use maud::{Markup, html};

use super::examples;
use super::hits;
use super::layout::{NoticeKind, Tab, count, grouped, notice, page};
use super::search_params::{SearchParams, models_of};
use super::search_view::{COMPARED, ColumnView, ModelInfo, SearchView, about_column};
use crate::api::types::{SearchRequest, SearchResponse};
use crate::problem::Problem;

/// The number of example queries.
const EXAMPLES: usize = 12;

/// `GET /`.
pub fn search(engine: &Engine, ask: &SearchParams) -> Result<Markup, Problem> {
    // All columns use the same documents and the same versions of models.
    let now = engine.snapshot();
    let models: Vec<ModelInfo> = now.models().map(ModelInfo::of).collect();
    let names: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
    let mut ask = ask.clone();
    if ask.columns.is_empty() {
        ask.columns = default_columns(&models);
    }
    let mut columns = Vec::new();
    if !ask.query.is_empty() {
        for name in &ask.columns {
            columns.push(column(engine, &now, &ask, name, &models_of(name, &names))?);
        }
    }
    let examples = match ask.query.as_str() {
        "" => examples::queries(engine, EXAMPLES),
        _ => Vec::new(),
    };
    let (documents, rankers) = (now.documents(), now.rankers());
    Ok(render(&SearchView { ask, models, columns, examples, documents, rankers }))
}

/// One column: the hits of the page, and the order of the first documents.
fn column(
    engine: &Engine,
    now: &Snapshot,
    ask: &SearchParams,
    name: &str,
    models: &[String],
) -> Result<ColumnView, Problem> {
    // An error in the address concerns all columns, an error of a model its own alone.
    let request = SearchRequest { highlight: true, explain: true, ..ask.request(models)? };
    let (answer, first) = match engine.search_in(now, &request, COMPARED) {
        Ok((answer, first)) => (Ok(answer), first),
        Err(error) => (Err(error.into()), Vec::new()),
    };
    Ok(ColumnView { name: name.to_owned(), answer, first })
}

/// The first lexical model, the first learnt one, and their fusion; the first two of all where
/// there is only one kind.
pub fn default_columns(models: &[ModelInfo]) -> Vec<String> {
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

/// The search page: form, results and their explanations.
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
                (notice(NoticeKind::Warning, html! { "No model is active yet, so nothing can be scored. Load one with " code { "POST /models" } "." }))
            }
            @if view.ask.query.is_empty() { (welcome(view)) } @else { (results(view)) }
        },
    )
}

/// The page below the box before the first query.
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

/// The columns, their differences, and links to other pages of hits.
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
            nav.pages aria-label="Result pages" {
                @if view.ask.offset > 0 {
                    a.button rel="prev" href=(view.ask.at_offset(view.ask.offset.saturating_sub(view.ask.k))) { "← Previous" }
                }
                span.quiet { "Ranks " (grouped(view.ask.offset + 1)) "–" (grouped(end)) }
                @if more { a.button rel="next" href=(view.ask.at_offset(end)) { "Next →" } }
            }
        }
    }
}
