//! Judge: grades for the documents that all models find for a query, by keyboard, mouse or touch.
//! Their order hides the models that found them.

use std::collections::{HashMap, HashSet};

use liken_engine::Engine;
use liken_engine::titles::text_of;
use liken_pages::shorten;
use maud::{Markup, html};

use super::examples;
use super::hits::snippet;
use super::layout::{NoticeKind, Tab, count, empty, notice, page};
use super::pool::{JudgeParams, Pooled, pooled};
use super::titles::title_of;
use crate::api::types::{Hit, Judgment, SearchRequest};
use crate::problem::Problem;

/// The most queries of the dataset that are offered.
const OFFERED: usize = 200;

/// A query that the page offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryToJudge {
    /// Its text.
    pub query: String,
    /// The number of its documents with a grade.
    pub judged: usize,
}

/// The content of the page.
pub struct JudgeView {
    /// The parameters.
    pub ask: JudgeParams,
    /// The documents to grade.
    pub pool: Vec<Pooled>,
    /// Models that failed, and why.
    pub failed: Vec<(String, String)>,
    /// Queries to choose from.
    pub offered: Vec<QueryToJudge>,
    /// The number of all grades.
    pub total: usize,
}

/// `GET /judge`.
pub fn judge(engine: &Engine, ask: &JudgeParams) -> Result<Markup, Problem> {
    let all = engine.judgments(None)?;
    let offered = offered(engine, &all);
    let (mut pool, mut failed) = (Vec::new(), Vec::new());
    if !ask.query.is_empty() {
        let mut found: Vec<Hit> = Vec::new();
        for served in engine.active() {
            let name = served.about.model.name.clone();
            let request = SearchRequest {
                query: ask.query.clone(),
                k: Some(ask.depth),
                models: vec![name.clone()],
                ranker: Some("none".into()),
                highlight: true,
                ..SearchRequest::default()
            };
            match engine.search(&request) {
                Ok(answer) => found.extend(answer.hits),
                Err(error) => failed.push((name, error.to_string())),
            }
        }
        let own: Vec<&Judgment> = all.iter().filter(|j| j.query == ask.query).collect();
        pool = pooled(&ask.query, found, &own, &ask.judge);
    }
    let view = JudgeView { ask: ask.clone(), pool, failed, offered, total: all.len() };
    Ok(render(&view))
}

/// Queries with held-out judgments, else the most clicked; those without a grade first.
fn offered(engine: &Engine, all: &[Judgment]) -> Vec<QueryToJudge> {
    let mut queries = engine.dataset().map_or_else(Vec::new, |d| examples::judged(d, OFFERED));
    if queries.is_empty() {
        queries = examples::queries(engine, OFFERED);
    }
    let mut known: HashSet<String> = queries.iter().cloned().collect();
    queries.extend(all.iter().map(|j| j.query.clone()).filter(|q| known.insert(q.clone())));
    let mut judged: HashMap<&str, HashSet<&str>> = HashMap::new();
    for judgment in all.iter().filter(|judgment| judgment.grade.is_some()) {
        judged.entry(&judgment.query).or_default().insert(&judgment.id);
    }
    let judged = |query: &str| judged.get(query).map_or(0, HashSet::len);
    let mut offered: Vec<QueryToJudge> =
        queries.into_iter().map(|query| QueryToJudge { judged: judged(&query), query }).collect();
    offered.sort_by_key(|offered| offered.judged > 0);
    offered
}

/// The meaning of a grade on the usual scales.
pub fn meaning(grade: u8, max: u8) -> &'static str {
    match (grade, max) {
        (0, _) => "not relevant",
        (1, 1) => "relevant",
        (1, 3) => "related",
        (2, 3) => "relevant",
        (3, 3) => "just right",
        _ => "",
    }
}

/// The page on which documents of a query are judged.
pub fn render(view: &JudgeView) -> Markup {
    let ask = &view.ask;
    let body = html! {
        h1 { "Judge" @if !ask.query.is_empty() { ": “" (ask.query) "”" } }
        (form(view))
        @for (name, why) in &view.failed { (notice(NoticeKind::Warning, html! { (name) " did not answer: " (why) })) }
        @if ask.query.is_empty() {
            p.lead { "How good is each document for a query? Choose a query; you see what all models \
                find for it, mixed, so that nothing tells which model found what." }
            (offers(view))
        } @else if view.pool.is_empty() {
            (empty("Nothing to judge", html! { p { "No model finds a document for this query." } }))
            (offers(view))
        } @else {
            (cards(view))
        }
        (exports(view))
    };
    page("Judge", Tab::Judge, body)
}

/// The form: query, judge, depth and best grade.
fn form(view: &JudgeView) -> Markup {
    let ask = &view.ask;
    html! {
        form.search #ask action="/judge" method="get" {
            div.fields {
                div.field.grow {
                    label for="q" { "Query" }
                    input #q type="search" name="q" value=(ask.query) autocomplete="off" maxlength="4096";
                }
                div.field {
                    label for="judge" { "Your name" }
                    input #judge type="text" name="judge" value=(ask.judge) maxlength="100" autocomplete="nickname" size="12";
                }
                div.field {
                    label for="depth" { "Hits of each model" }
                    input #depth type="number" name="depth" min="1" max="100" value=(ask.depth);
                }
                div.field {
                    label for="max" { "Best grade" }
                    input #max type="number" name="max" min="1" max="9" value=(ask.max);
                }
                button type="submit" { "Show" }
            }
        }
    }
}

/// Links to queries.
fn offers(view: &JudgeView) -> Markup {
    html! {
        @if view.offered.is_empty() {
            p.quiet { "The index has no queries of its own: type one above." }
        } @else {
            h2 { "Queries to judge" }
            ul.chips.offers { @for offered in view.offered.iter().take(40) {
                li { a.chip href=(view.ask.for_query(&offered.query)) {
                    (offered.query)
                    @if offered.judged > 0 { span.small { " ✓ " (offered.judged) span.hush { " graded" } } }
                } }
            } }
        }
    }
}

/// The next query without judgments.
pub fn next_query(view: &JudgeView) -> Option<&str> {
    let at = view.offered.iter().position(|offered| offered.query == view.ask.query);
    let (before, after) = view.offered.split_at(at.map_or(0, |at| at + 1));
    let mut open =
        after.iter().chain(before).filter(|o| o.judged == 0 && o.query != view.ask.query);
    open.next().map(|offered| offered.query.as_str())
}

/// The documents with their grades.
fn cards(view: &JudgeView) -> Markup {
    let ask = &view.ask;
    let done = view.pool.iter().filter(|pooled| pooled.own.is_some()).count();
    html! {
        form #judging action="/judge" method="post" data-query=(ask.query) data-judge=(ask.judge) data-max=(ask.max) {
            input type="hidden" name="q" value=(ask.query);
            input type="hidden" name="judge" value=(ask.judge);
            input type="hidden" name="depth" value=(ask.depth);
            input type="hidden" name="max" value=(ask.max);
            div.progress-line {
                label for="progress" { span data-done { (done) } " of " (count(view.pool.len(), "document")) " graded" }
                progress #progress max=(view.pool.len()) value=(done) {}
                span.saved data-saved {}
                @if let Some(next) = next_query(view) {
                    a.button rel="next" href=(ask.for_query(next)) data-next { "Next query →" }
                }
            }
            details.keys {
                summary { "Keys" }
                ul {
                    li { kbd { "0" } "–" kbd { (ask.max) } " grade and go on" }
                    li { kbd { "j" } " " kbd { "↓" } " next, " kbd { "k" } " " kbd { "↑" } " previous" }
                    li { kbd { "u" } " undo" }
                    li { kbd { "n" } " next query" }
                    li { kbd { "?" } " show or hide the keys" }
                }
            }
            ol.cards { @for (i, pooled) in view.pool.iter().enumerate() { (card(view, i, pooled)) } }
        }
    }
}

fn card(view: &JudgeView, at: usize, pooled: &Pooled) -> Markup {
    let title = title_of(&pooled.hit.id, &pooled.hit.document);
    let id = &pooled.hit.id;
    html! {
        li.card id={ "d" (at) } data-id=(id) data-grade=[pooled.own] tabindex="-1" aria-labelledby={ "t" (at) } {
            h2 id={ "t" (at) } { (title) }
            (snippet(&title, &pooled.hit))
            (whole_text(&pooled.hit))
            div.grades role="group" aria-label={ "Grade of " (title) } {
                @for grade in 0..=view.ask.max {
                    button type="submit" name="g" value={ (grade) " " (id) } data-g=(grade)
                        aria-pressed=(if pooled.own == Some(grade) { "true" } else { "false" }) {
                        strong { (grade) }
                        @let meaning = meaning(grade, view.ask.max);
                        @if !meaning.is_empty() { span.meaning { (meaning) } }
                    }
                }
                button.back type="submit" name="g" value={ "- " (id) } data-g="-" hidden[pooled.own.is_none()] { "take back" }
            }
            @if !pooled.others.is_empty() {
                p.small.quiet { "Graded by others: "
                    @for (i, (name, grade)) in pooled.others.iter().enumerate() {
                        @if i > 0 { ", " }
                        @if name.is_empty() { "somebody" } @else { (name) } " " (grade)
                    }
                }
            }
            p.small.quiet { "id " code.id { (id) } }
        }
    }
}

/// The characters of a field that are shown.
const READABLE: usize = 5000;

/// All texts of the document.
fn whole_text(hit: &Hit) -> Markup {
    let texts: Vec<(&String, String)> =
        hit.document.iter().filter_map(|(name, value)| Some((name, text_of(value)?))).collect();
    html! {
        @if !texts.is_empty() {
            details.text {
                summary { "Whole text" }
                dl { @for (name, text) in texts { dt { (name) } dd { (shorten(&text, READABLE)) } } }
            }
        }
    }
}

/// Links to the exports.
fn exports(view: &JudgeView) -> Markup {
    html! {
        h2 { "Export" }
        p { (count(view.total, "grade")) " so far: "
            a href="/judgments.qrels" download="judgments.qrels" { "qrels" } " (TREC), "
            a href="/judgments.queries" download="judgments.queries.tsv" { "queries" } " (id and text)." }
    }
}
