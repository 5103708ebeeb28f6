//! Nearest neighbours in a model: words, queries and documents by their embeddings, and words by
//! their translations.

use liken::matchers::{Dictionary, Model};
use liken_engine::Served;
use liken_pages::shorten;
use maud::{Markup, html};

use super::space;
use crate::api::types::{Neighbour, SimilarRequest, SimilarResponse};
use crate::pages::layout::{self, Cell, TableColumn, Tone, bar, fixed, notice};
use crate::pages::page_params::PageParams;
use crate::pages::titles::LONGEST;
use crate::problem::Problem;

/// Neighbours shown.
const NEAR: usize = 15;

/// Asks the index for neighbours.
pub type Look<'a> = &'a dyn Fn(&SimilarRequest) -> Result<SimilarResponse, Problem>;

/// Lists of neighbours, each with a heading.
type NearLists = Vec<(&'static str, Vec<Neighbour>)>;

/// The neighbours of a word, a query or a document, whichever `asked` names.
fn near(look: Look<'_>, model: &str, asked: &PageParams) -> Option<Result<NearLists, Problem>> {
    let given = |name: &str| asked.one(name).map(str::to_owned);
    let (word, query, id) = (given("word"), given("query"), given("id"));
    let request =
        SimilarRequest { model: Some(model.to_owned()), k: Some(NEAR), ..Default::default() };
    // Of several the first counts.
    let (request, headings) = match (word, query, id) {
        (Some(word), _, _) => (
            SimilarRequest { word: Some(word), ..request },
            ["words of queries", "words of documents"],
        ),
        (None, Some(query), _) => {
            (SimilarRequest { query: Some(query), ..request }, ["queries", ""])
        }
        (None, None, Some(id)) => (SimilarRequest { id: Some(id), ..request }, ["", "documents"]),
        (None, None, None) => return None,
    };
    Some(look(&request).map(|found| {
        let lists = headings.into_iter().zip([found.queries, found.documents]);
        lists.filter(|(heading, _)| !heading.is_empty()).collect()
    }))
}

/// Forms that ask for neighbours, and the neighbours found.
pub fn near_part(look: Look<'_>, served: &Served, asked: &PageParams) -> Markup {
    if space(&served.model).is_none() {
        return html! {};
    }
    let form = |name: &str, label: &str, example: &str| {
        let id = format!("near-{name}");
        html! {
            form method="get" action="/model#near" {
                @for (name, value) in asked.except(&["word", "query", "id", "translate", "page"]) {
                    input type="hidden" name=(name) value=(value);
                }
                div.field {
                    label for=(id) { (label) }
                    span.pair {
                        input type="text" id=(id) name=(name) placeholder=(example) required maxlength="400"
                            value=[asked.one(name)];
                        button type="submit" { "Show" }
                    }
                }
            }
        }
    };
    html! {
        h2 #near { "Nearest neighbours" }
        p.small.quiet { "By the cosine of the embeddings." }
        div.fields {
            (form("word", "Near a word", "automobile"))
            (form("query", "Near a query", "how far is the sun"))
            (form("id", "Near a document, by its id", "doc7"))
        }
        @match near(look, &served.about.model.name, asked) {
            None => {}
            Some(Err(problem)) => (notice(Tone::Warn, html! { (problem.detail) })),
            Some(Ok(lists)) => {
                div.beside { @for (heading, list) in &lists { (near_table(asked, heading, list)) } }
            }
        }
    }
}

/// A cell with a number and a bar of its size beside it.
pub fn drawn(value: f64, shown: &str, largest: f64) -> Cell {
    let shown = html! { span.drawn { span { (shown) } (bar(value, largest, false)) } };
    Cell { shown, key: Some(value) }
}

fn near_table(asked: &PageParams, heading: &str, list: &[Neighbour]) -> Markup {
    let link = |name: &str| {
        let kind = match heading {
            "queries" => "query",
            "documents" => "id",
            _ => "word",
        };
        let changes = [("word", ""), ("query", ""), ("id", ""), (kind, name)];
        let changes: Vec<_> =
            changes.into_iter().filter(|(n, v)| *n != kind || !v.is_empty()).collect();
        asked.address("/model", &changes) + "#near"
    };
    if list.is_empty() {
        return html! { p { "No " (heading) ": the model has learnt nothing about it." } };
    }
    let rows = list.iter().map(|Neighbour { name, title, cosine }| {
        let shown = html! {
            a href=(link(name)) { (shorten(title.as_deref().unwrap_or(name), LONGEST)) }
            @if title.is_some() { " " span.id.quiet { (name) } }
        };
        vec![Cell::markup(shown), drawn(*cosine, &fixed(*cosine, 3), 1.0)]
    });
    let columns = [TableColumn::text(heading), TableColumn::text("cosine")];
    layout::table(&format!("Nearest {heading}"), &columns, rows.collect())
}

/// The table of translations, where the model has one.
pub fn dictionary_part(model: &Model, asked: &PageParams) -> Markup {
    let Ok(dictionary) = Dictionary::of(model) else { return html! {} };
    let word = asked.one("translate");
    let found = word.map(|word| {
        [
            ("words of queries that it becomes, t(q|w)", dictionary.from_document(word, NEAR)),
            ("words of documents that it comes from, P(w|q)", dictionary.from_query(word, NEAR)),
        ]
    });
    html! {
        h2 #dictionary { "Dictionary" }
        form method="get" action="/model#dictionary" {
            @for (name, value) in asked.except(&["word", "query", "id", "translate", "page"]) {
                input type="hidden" name=(name) value=(value);
            }
            div.field {
                label for="translate" { "Translations of a word" }
                span.pair {
                    input #translate type="text" name="translate" required maxlength="100" value=[word];
                    button type="submit" { "Show" }
                }
            }
        }
        @for (heading, entry) in found.into_iter().flatten() {
            @match entry {
                Err(error) => (notice(Tone::Warn, html! { (Problem::from(error).detail) })),
                Ok(entry) => {
                    @let rows = entry.translations.iter().map(|(word, p)| {
                        vec![Cell::text(word), drawn(*p, &fixed(*p, 3), 1.0)]
                    });
                    (layout::table(
                        &format!("{}: {heading}", entry.term),
                        &[TableColumn::text("word"), TableColumn::text("probability")],
                        rows.collect(),
                    ))
                }
            }
        }
    }
}
