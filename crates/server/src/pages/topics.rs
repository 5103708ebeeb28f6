//! Topics: the topics of a topic model, as a map and by their words.

pub mod plots;

use std::sync::Arc;

use liken::data::Dataset;
use liken::matchers::{Model, TextTopics, TopicSummary, TopicSummaryOptions, TopicsSummary};
use liken_engine::{Engine, ServedModel};
use maud::{Markup, PreEscaped, html};

use super::layout::{
    self, Cell, NoticeKind, Tab, TableColumn, bar, empty, figure, fixed, notice,
    plots as side_by_side,
};
use super::model_choice;
use super::page_jobs::{MAX_WAIT, PageJobs, waiting};
use super::page_params::PageParams;
use super::paging::Paging;
use super::titles::title;
use crate::jobs::JobStatus;
use crate::problem::Problem;

/// Words shown per topic.
const WORDS: usize = 10;
/// Documents shown per topic.
const DOCUMENTS: usize = 5;
/// Topics shown for a text.
const MAX_TEXT_TOPICS: usize = 10;
/// Topics per page.
const PER_PAGE: usize = 60;

/// `GET /topics`.
pub fn page(engine: &Engine, jobs: &PageJobs, asked: &PageParams) -> Result<Markup, Problem> {
    let body = body(&engine.active(), engine.dataset(), jobs, asked)?;
    Ok(layout::page("Topics", Tab::Topics, body))
}

/// The page below the navigation.
pub fn body(
    active: &[Arc<ServedModel>],
    dataset: Option<&Dataset>,
    jobs: &PageJobs,
    asked: &PageParams,
) -> Result<Markup, Problem> {
    let with_topics: Vec<Arc<ServedModel>> =
        active.iter().filter(|served| has_topics(&served.model)).cloned().collect();
    let chosen = match model_choice::named(active, asked)? {
        None => with_topics.first(),
        Some(named) => with_topics.iter().find(|served| Arc::ptr_eq(served, named)),
    };
    let Some(served) = chosen else {
        return Ok(no_topics_page(asked.one("name"), &with_topics));
    };
    let name = &served.about.model.name;
    let key = format!("{name}@{}", served.about.model.version);
    let owned = Arc::clone(served);
    let found = jobs.topics.get(&key, MAX_WAIT, move |reporter| {
        let options = TopicSummaryOptions {
            words: WORDS,
            documents: DOCUMENTS,
            map: true,
            ..TopicSummaryOptions::default()
        };
        Ok(reporter.run(|run| TopicsSummary::of(&owned.model, None, &options, run))?)
    })?;
    Ok(html! {
        h1 { "Topics of " (name) }
        (model_choice::links(&with_topics, name, asked, "/topics"))
        @match found {
            JobStatus::Ready(summary) => (sections(&served.model, dataset, &summary, asked)?),
            JobStatus::Running(progress) => (waiting(
                "Summarising the topics.",
                &[(name.clone(), progress)],
                &asked.address("/topics", &[]),
            )),
        }
    })
}

/// Whether a part of the model has topics to show.
pub fn has_topics(model: &Model) -> bool {
    model.parts.iter().any(|part| part.matcher.topics().is_some())
}

/// The page where no model has topics.
fn no_topics_page(name: Option<&str>, others: &[Arc<ServedModel>]) -> Markup {
    let what = match name {
        Some(name) => format!("{name} has no topics"),
        None => "No active model has topics".to_owned(),
    };
    html! {
        h1 { "Topics" }
        (empty(&what, html! {
            p { "A topic model groups the words of the documents into topics. To get one, train it on the dataset of this index (its folder " code { "dataset" } ") and load its folder, here " code { "topics" } "; " code { "$SERVICE" } " is the address of this page without what follows the host:" }
            pre { code {
                "curl $SERVICE/models -H 'content-type: application/json' \\\n"
                "  -d \"{\\\"name\\\": \\\"topics\\\", \\\"path\\\": \\\"$PWD/topics\\\", \\\"activate\\\": true}\""
            } }
            p { code { "lda" } ", " code { "plsi" } ", " code { "nmf" } ", " code { "rlsi" } " and " code { "lsi" } " learn topics; " code { "grlsi" } " and " code { "gnmf" } " learn topics of classes as well." }
            @if !others.is_empty() {
                p { "These have topics: " @for other in others { @let name = &other.about.model.name; a href=(layout::address("/topics", &[("name", name)])) { (name) } " " } }
            }
        }))
    }
}

/// The map, the plots, the words, and the topics of a text.
pub fn sections(
    model: &Model,
    dataset: Option<&Dataset>,
    summary: &TopicsSummary,
    asked: &PageParams,
) -> Result<Markup, Problem> {
    let sort = asked.one("sort").unwrap_or("number");
    let mut topics: Vec<&TopicSummary> =
        summary.topics.iter().filter(|topic| topic.n_words > 0).collect();
    match sort {
        "share" => topics.sort_by(|a, b| b.share.total_cmp(&a.share)),
        "coherence" => {
            let of = |topic: &TopicSummary| topic.npmi.unwrap_or(f64::NEG_INFINITY);
            topics.sort_by(|a, b| of(b).total_cmp(&of(a)));
        }
        _ => {}
    }
    let paging = Paging::new(asked.number("page", 1)?, topics.len(), PER_PAGE);
    let here = &topics[paging.range()];
    let same = dataset.filter(|d| d.folder.identity() == model.about.dataset.identity);
    let left_out = summary.topics.iter().filter(|t| t.place.is_none() && t.n_words > 0).count();
    let address = |page: &str| asked.address("/topics", &[("page", page)]) + "#words";
    Ok(html! {
        (figures(summary))
        (text_part(model, summary, asked))
        h2 #map { "Map" }
        (figure(
            "Topics with the same words lie near each other; the larger a circle, the more of the documents is its topic. Choose one to see its words.",
            html! { (PreEscaped(plots::map(summary))) },
        ))
        @if left_out > 0 { p.small { "Not on the map: " (layout::count(left_out, "smaller topic")) "." } }
        h2 { "Size and coherence" }
        (figure(
            "Share: the topic’s part of all documents. NPMI: how well its heaviest words belong together, from −1 (never in one document) over 0 (by chance) to 1 (always together).",
            side_by_side(&plots::sizes(summary)),
        ))
        @if !summary.classes.is_empty() { (classes(summary)) }
        h2 #words { "Topics by their words" }
        ul.chips {
            @for (name, about) in [("number", "by number"), ("share", "largest first"), ("coherence", "most coherent first")] {
                li { a.chip href=(asked.address("/topics", &[("sort", name), ("page", "")]) + "#words")
                    aria-current=[(name == sort).then_some("true")] { (about) } }
            }
        }
        div.dimensions { @for topic in here { (card(topic, summary, same)) } }
        (paging.nav("Pages of topics", address))
    })
}

fn figures(summary: &TopicsSummary) -> Markup {
    let figures = &summary.all;
    let npmi = figures.npmi.map_or_else(|| "–".to_owned(), |npmi| fixed(npmi, 3));
    html! {
        p {
            strong { (layout::grouped(figures.topics)) } " topics of " strong { (summary.method) } " in "
            (layout::count(summary.documents, "document")) ". Mean NPMI " (npmi) "; a topic has "
            (plots::percent(figures.avg_comp)) " of the vocabulary on average."
            @if figures.dead > 0 { " " (layout::count(figures.dead, "topic")) " without a word." }
            @if summary.documents_without > 0 { " " (layout::count(summary.documents_without, "document")) " without a word of the topics." }
        }
        @if summary.signed {
            p.small.quiet { "Weights may be below zero; each topic is turned so that its largest weight is positive." }
        }
    }
}

fn text_part(model: &Model, summary: &TopicsSummary, asked: &PageParams) -> Markup {
    let text = asked.one("text");
    let found = text.map(|text| {
        let query = model.read_query(text)?;
        TextTopics::of(model, None, &query, summary)
    });
    html! {
        form method="get" action="/topics" {
            @for (name, value) in asked.except(&["text", "page"]) { input type="hidden" name=(name) value=(value); }
            div.field {
                label for="text" { "Topics of a text" }
                span.pair {
                    input #text type="text" name="text" maxlength="4000" value=[text] placeholder="price of oil";
                    button type="submit" { "Show" }
                }
            }
        }
        @match found {
            None => {}
            Some(Err(error)) => (notice(NoticeKind::Warning, html! { (Problem::from(error).detail) })),
            Some(Ok(found)) => {
                @if !found.unknown.is_empty() { (notice(NoticeKind::Info, html! { "The model does not know " (found.unknown.join(", ")) "." })) }
                @if let Some(class) = &found.class { p { "It fits best into " strong { (class) } "." } }
                @if found.topics.is_empty() { p { "No topic has a word of the text." } }
                @else {
                    @let rows = found.topics.iter().take(MAX_TEXT_TOPICS).map(|topic| vec![
                        Cell::markup(html! { a href={ "#" (plots::id(topic.topic)) } { (topic.topic) } }),
                        Cell::bar(topic.share, &plots::percent(topic.share), 1.0),
                        Cell::text(&topic.words.join(" ")),
                    ]);
                    @let columns = [TableColumn::number("topic"), TableColumn::text("share"), TableColumn::text("words")];
                    (layout::table("Topics of the text, the strongest first", &columns, rows.collect()))
                }
            }
        }
    }
}

/// The share of shared topics in every class.
fn classes(summary: &TopicsSummary) -> Markup {
    let rows = summary.classes.iter().map(|class| {
        vec![
            Cell::text(&class.name),
            Cell::number(class.documents as f64, 0),
            Cell::bar(class.shared, &plots::percent(class.shared), 1.0),
        ]
    });
    let columns = [
        TableColumn::text("class"),
        TableColumn::number("documents"),
        TableColumn::text("shared topics")
            .about("the share of its documents in topics that all classes share"),
    ];
    html! {
        h2 { "Shared topics and topics of classes" }
        (layout::table("Share of shared topics by class", &columns, rows.collect()))
    }
}

fn card(topic: &TopicSummary, summary: &TopicsSummary, dataset: Option<&Dataset>) -> Markup {
    let largest = topic.words.first().map_or(1.0, |word| f64::from(word.weight.abs()));
    let npmi = topic.npmi.map_or_else(|| "–".to_owned(), |npmi| fixed(npmi, 3));
    html! {
        section.card id=(plots::id(topic.topic)) tabindex="-1" {
            h3 { (plots::title(topic)) }
            p.small.quiet {
                (plots::percent(topic.share)) " of the documents, strongest in " (layout::grouped(topic.strongest_in))
                "; NPMI " (npmi) "; " (layout::grouped(topic.n_words)) " of " (layout::grouped(summary.terms)) " words"
            }
            table.pulls {
                caption.hush { "Heaviest words" }
                tbody { @for word in &topic.words { tr {
                    th scope="row" { (word.word) }
                    td.n { (fixed(f64::from(word.weight), 3)) }
                    td { (bar(f64::from(word.weight), largest, false)) }
                } } }
            }
            @if !topic.documents.is_empty() {
                details {
                    summary { "Documents" }
                    ul.small { @for document in &topic.documents {
                        @let title = dataset.and_then(|dataset| title(&dataset.documents.get(document.doc as usize).ok()?.fields));
                        li { (title.as_deref().unwrap_or(&document.id)) @if title.is_some() { " " span.id.quiet { (document.id) } } }
                    } }
                }
            }
            p.small { a href="#map" { "back to the map" } }
        }
    }
}
