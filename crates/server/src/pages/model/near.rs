//! Nearest neighbours of words, queries and documents by their embeddings, and translations of words.

use liken::matchers::{Dictionary, Model};
use liken_engine::ServedModel;
use liken_pages::shorten;
use maud::{Markup, html};

use super::dimensions::latent_space;
use crate::api::types::{Neighbour, SimilarRequest, SimilarResponse};
use crate::pages::layout::{self, Cell, NoticeKind, TableColumn, fixed, notice};
use crate::pages::page_params::PageParams;
use crate::pages::titles::LONGEST;
use crate::problem::Problem;

/// The number of neighbours.
const NEAR: usize = 15;

/// Finds the neighbours in the index.
pub type FindSimilar<'a> = &'a dyn Fn(&SimilarRequest) -> Result<SimilarResponse, Problem>;

/// Lists of neighbours with headings.
type NearLists = Vec<(&'static str, Vec<Neighbour>)>;

/// The neighbours of the word, query or document in the address.
fn near(
    find: FindSimilar<'_>,
    model: &str,
    asked: &PageParams,
) -> Option<Result<NearLists, Problem>> {
    // Of several kinds the first counts.
    let kind = ["word", "query", "id"].into_iter().find(|kind| asked.one(kind).is_some())?;
    let given = |name: &str| asked.one(name).filter(|_| name == kind).map(str::to_owned);
    let request = SimilarRequest {
        model: Some(model.to_owned()),
        word: given("word"),
        query: given("query"),
        id: given("id"),
        k: Some(NEAR),
    };
    let headings = match kind {
        "word" => ["words of queries", "words of documents"],
        "query" => ["queries", ""],
        _ => ["", "documents"],
    };
    Some(find(&request).map(|found| {
        let lists = headings.into_iter().zip([found.queries, found.documents]);
        lists.filter(|(heading, _)| !heading.is_empty()).collect()
    }))
}

/// Forms for neighbours, and the neighbours found.
pub fn near_part(find: FindSimilar<'_>, served: &ServedModel, asked: &PageParams) -> Markup {
    if latent_space(&served.model).is_none() {
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
        @match near(find, &served.about.model.name, asked) {
            None => {}
            Some(Err(problem)) => (notice(NoticeKind::Warning, html! { (problem.detail) })),
            Some(Ok(lists)) => {
                div.beside { @for (heading, list) in &lists { (near_table(asked, heading, list)) } }
            }
        }
    }
}

fn near_table(asked: &PageParams, heading: &str, list: &[Neighbour]) -> Markup {
    let link = |name: &str| {
        let kind = match heading {
            "queries" => "query",
            "documents" => "id",
            _ => "word",
        };
        let changes = ["word", "query", "id"].map(|k| (k, if k == kind { name } else { "" }));
        asked.address("/model", &changes) + "#near"
    };
    if list.is_empty() {
        return html! { p { "No " (heading) ": the model has no embedding of it." } };
    }
    let rows = list.iter().map(|Neighbour { name, title, cosine }| {
        let shown = html! {
            a href=(link(name)) { (shorten(title.as_deref().unwrap_or(name), LONGEST)) }
            @if title.is_some() { " " span.id.quiet { (name) } }
        };
        vec![Cell::markup(shown), Cell::bar(*cosine, &fixed(*cosine, 3), 1.0)]
    });
    let columns = [TableColumn::text(heading), TableColumn::text("cosine")];
    layout::table(&format!("Nearest {heading}"), &columns, rows.collect())
}

/// Translations of a word, if the model has a dictionary.
pub fn dictionary_part(model: &Model, asked: &PageParams) -> Markup {
    let Ok(dictionary) = Dictionary::of(model) else { return html! {} };
    let word = asked.one("translate");
    let found = word.map(|word| {
        [
            ("translations to words of queries, t(q|w)", dictionary.from_document(word, NEAR)),
            ("words of documents that translate to it, P(w|q)", dictionary.from_query(word, NEAR)),
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
                Err(error) => (notice(NoticeKind::Warning, html! { (Problem::from(error).detail) })),
                Ok(entry) => {
                    @let rows = entry.translations.iter().map(|(word, p)| {
                        vec![Cell::text(word), Cell::bar(*p, &fixed(*p, 3), 1.0)]
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
