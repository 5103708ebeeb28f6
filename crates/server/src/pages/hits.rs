//! The columns of hits, and their differences.

use std::collections::{BTreeSet, HashSet};

use liken_engine::titles::text_of;
use liken_pages::shorten;
use maud::{Markup, html};
use serde_json::Value;

use super::explain::words;
use super::heat_map::digits;
use super::layout::{NoticeKind, count, empty, fixed, notice};
use super::rank_changes::rank_changes;
use super::reason::Reason;
use super::search_view::{ColumnView, SearchView, about_column};
use super::titles::title_of;
use crate::api::types::{Fragment, Hit, SearchResponse};

/// Characters shown of a text without highlights.
const SNIPPET: usize = 240;

/// The differences between the columns, in a few lines.
pub fn differences(view: &SearchView) -> Markup {
    let good = answered(view);
    let unknown = unknown_everywhere(&good);
    html! {
        div.differences {
            @if !unknown.is_empty() {
                p { "No model knows " (words(&unknown)) "." }
            }
            @if let [(a, first), (b, second), ..] = good.as_slice() {
                @let (ours, theirs) = (ids(first), ids(second));
                @let both = ours.intersection(&theirs).count();
                @let most = ours.len().max(theirs.len());
                @if most > 0 {
                    p {
                        strong { (a.name) } " and " strong { (b.name) }
                        @if both == 0 { " agree on none of the " (most) " documents below." }
                        @else if both == most && first.hits.iter().map(|h| &h.id).eq(second.hits.iter().map(|h| &h.id)) {
                            " show the same " (count(most, "document")) " in the same order."
                        }
                        @else { " agree on " (both) " of the " (most) " documents below." }
                        @for (column, answer) in &good {
                            @let without = without_words(answer);
                            @if without > 0 {
                                " " strong { (column.name) } " finds "
                                @if without == 1 { "1 that shares" } @else { (without) " that share" }
                                " no word with your query."
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The columns that have an answer.
fn answered(view: &SearchView) -> Vec<(&ColumnView, &SearchResponse)> {
    let answers = view.columns.iter().map(|column| (column, column.answer.as_ref()));
    answers.filter_map(|(column, answer)| Some((column, answer.ok()?))).collect()
}

/// The number of hits that share no word with the query.
pub fn without_words(answer: &SearchResponse) -> usize {
    let explained = answer.hits.iter().filter_map(|hit| hit.explanation.as_ref());
    explained.filter(|explanation| explanation.shared_words.is_empty()).count()
}

fn ids(answer: &SearchResponse) -> HashSet<&str> {
    answer.hits.iter().map(|hit| hit.id.as_str()).collect()
}

/// The words that no column knows.
fn unknown_everywhere(good: &[(&ColumnView, &SearchResponse)]) -> Vec<String> {
    let mut sets = good.iter().map(|(_, a)| a.unknown_words.iter().collect::<BTreeSet<_>>());
    let first = sets.next().unwrap_or_default();
    let all = sets.fold(first, |known, set| known.intersection(&set).copied().collect());
    all.into_iter().cloned().collect()
}

/// The words that this column does not know but another does; the others are shown once, above.
fn unknown_here(view: &SearchView, answer: &SearchResponse) -> Vec<String> {
    let everywhere = unknown_everywhere(&answered(view));
    answer.unknown_words.iter().filter(|word| !everywhere.contains(word)).cloned().collect()
}

/// One column.
pub fn column(view: &SearchView, at: usize, column: &ColumnView) -> Markup {
    html! {
        section.column aria-labelledby={ "c" (at) } {
            header {
                h2 id={ "c" (at) } { (column.name) }
                p.about { (about_column(&column.name, view)) }
                @if let Ok(answer) = &column.answer { (figures(answer)) }
            }
            div.found { @match &column.answer {
                Err(problem) => { (notice(NoticeKind::Error, html! { (problem.detail) })) }
                Ok(answer) => {
                    @let unknown = unknown_here(view, answer);
                    @if !unknown.is_empty() { p.small.quiet { "Not known here: " (words(&unknown)) } }
                    @for note in &answer.notes { (notice(NoticeKind::Info, html! { (note) })) }
                    @if answer.hits.is_empty() { (nothing(view, answer)) }
                    @else {
                        ol.hits start=(answer.offset + 1) {
                            @for hit in &answer.hits { (one_hit(view, at, column, hit)) }
                        }
                    }
                }
            } }
        }
    }
}

/// Candidates, time and models of an answer.
fn figures(answer: &SearchResponse) -> Markup {
    html! {
        p.figures {
            (count(answer.candidates, "candidate"))
            " · " (fixed(answer.took_ms, if answer.took_ms < 10.0 { 1 } else { 0 })) " ms"
            @if let Some(ranker) = &answer.ranker { " · ranker " (ranker) }
            @for model in &answer.models {
                " · " span title="the model and its version" { (model.name) " " code { (model.version) } }
            }
        }
    }
}

/// The text of a column without hits: the reason, and advice.
fn nothing(view: &SearchView, answer: &SearchResponse) -> Markup {
    let title = if view.ask.offset > 0 { "No further documents" } else { "Nothing found" };
    empty(
        title,
        html! {
            @if view.ask.offset > 0 {
                p { "The search has " (count(answer.candidates, "candidate")) ". "
                    a href=(view.ask.at_offset(0)) { "Back to the first ones" } }
            } @else {
                @if !answer.unknown_words.is_empty() {
                    p { "Unknown: " (words(&answer.unknown_words)) ". Another spelling or another word may help." }
                }
                @if !view.ask.filter.is_empty() {
                    p { "Only documents that pass the filter are searched; it may leave too few." }
                }
                @if view.ask.query.contains('"') {
                    p { "Words in double quotes must be adjacent; a search without quotes finds more." }
                }
                @if answer.unknown_words.is_empty() && view.ask.filter.is_empty() && answer.notes.is_empty() {
                    p { "No document has a word of the query." }
                }
            }
        },
    )
}

/// A hit: its ranks, its text, and the reason of its score.
fn one_hit(view: &SearchView, at: usize, column: &ColumnView, hit: &Hit) -> Markup {
    let title = title_of(&hit.id, &hit.document);
    html! {
        li.hit data-doc=(hit.id) tabindex="-1" {
            div.head {
                span.rank aria-hidden="true" { (hit.rank) }
                h3 { (titled(marked_title(&title, hit), hit)) }
            }
            (rank_changes(view, at, hit))
            (snippet(&title, hit))
            @if let Some(explanation) = &hit.explanation {
                p.reason { (Reason::of(explanation).sentence()) }
            }
            details.why data-explain=(view.ask.explanation(&column.name, &hit.id, true)) {
                summary {
                    "Score " (fixed(hit.score, digits(hit.score.abs())))
                    span.quiet { " – why?" }
                    span.hush { " " (title) }
                }
                @if hit.scores.len() > 1 {
                    p.small.quiet { @for (i, (name, score)) in hit.scores.iter().enumerate() {
                        @if i > 0 { " · " } (name) " " (fixed(*score, digits(score.abs())))
                    } }
                }
                div.fragment {
                    a href=(view.ask.explanation(&column.name, &hit.id, false)) { "Show where the score comes from" }
                }
                p.small.quiet {
                    "id " code.id { (hit.id) } " · "
                    a href=(view.ask.explanation(&column.name, &hit.id, false)) { "on a page of its own" }
                }
            }
        }
    }
}

/// The title, with the query's words marked if the highlights cover all of it.
fn marked_title(title: &str, hit: &Hit) -> Markup {
    let fragments = hit.highlights.get("title").map_or(&[][..], Vec::as_slice);
    let whole: String = fragments.iter().map(|fragment| fragment.text.as_str()).collect();
    html! { @if whole.split_whitespace().eq(title.split_whitespace()) { (marked(fragments)) } @else { (title) } }
}

/// Fragments of text, with highlights.
fn marked(fragments: &[Fragment]) -> Markup {
    html! { @for fragment in fragments {
        @if fragment.marked { mark { (fragment.text) } } @else { (fragment.text) }
    } }
}

/// The title, as a link if the document has a URL.
fn titled(title: Markup, hit: &Hit) -> Markup {
    let url = hit.document.get("url").and_then(Value::as_str);
    // Other schemes could run script.
    match url.filter(|url| url.starts_with("https://") || url.starts_with("http://")) {
        Some(url) => html! { a href=(url) rel="noopener noreferrer nofollow" { (title) } },
        None => html! { (title) },
    }
}

/// Fragments with the query's words marked, or the start of the longest text.
pub fn snippet(title: &str, hit: &Hit) -> Markup {
    let in_text = hit.highlights.iter().filter(|(field, fragments)| {
        field.as_str() != "title" && fragments.iter().any(|fragment| fragment.marked)
    });
    let fragments: Vec<_> = in_text.take(2).collect();
    if !fragments.is_empty() {
        return html! {
            @for (_, fragments) in fragments {
                p.snippet { (marked(fragments)) }
            }
        };
    }
    let texts = hit.document.iter().filter(|(name, _)| !matches!(name.as_str(), "title" | "url"));
    let texts = texts.filter_map(|(_, value)| text_of(value)).filter(|text| text != title);
    let longest = texts.max_by_key(String::len);
    html! { @if let Some(text) = longest { p.snippet { (shorten(&text, SNIPPET)) } } }
}
