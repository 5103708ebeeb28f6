//! Explanations of a score: from the fused score down to single words. The contributions of every
//! level add up to the score above.

use liken_engine::Engine;
use maud::{Markup, html};

use super::heat_map::{digits, heat_map};
use super::layout::{NoticeKind, Tab, bar, count, fixed, notice, page, signed};
use super::search_params::{SearchParams, models_of};
use super::titles::title_of;
use crate::api::types::{
    ExplainRequest, ExplainResponse, ModelExplanation, PartExplanation, RankerExplanation,
};
use crate::problem::Problem;

/// The most pairs of words that an explanation lists.
const MOST_PAIRS: usize = 40;

/// `GET /explain`: a page, or the fragment that the script puts below a hit.
pub fn explain(engine: &Engine, ask: &SearchParams) -> Result<Markup, Problem> {
    if ask.id.is_empty() {
        return Err(Problem::bad("the address has no `id=`: expected the id of a document"));
    }
    let known: Vec<String> = engine.active().iter().map(|s| s.about.model.name.clone()).collect();
    let column = ask.columns.first().map_or("", String::as_str);
    let search = ask.request(&models_of(column, &known))?;
    let request = ExplainRequest { search, id: ask.id.clone(), most: Some(MOST_PAIRS) };
    let answer = engine.explain(&request)?;
    let fragment = explanation(&answer);
    if ask.fragment {
        return Ok(fragment);
    }
    let title = engine.document(&ask.id).ok().map(|d| title_of(&d.id, &d.fields));
    Ok(whole_page(ask, column, title.as_deref().unwrap_or(&ask.id), fragment))
}

/// The page of an explanation, for browsers without script.
pub fn whole_page(ask: &SearchParams, column: &str, title: &str, fragment: Markup) -> Markup {
    // The address has the column of the hit alone; the search goes back to the default ones.
    let back = SearchParams { columns: Vec::new(), ..ask.clone() }.at_offset(0);
    page(
        &format!("Why: {title}"),
        Tab::Search,
        html! {
            h1 { "Why " span.title { (title) } " has its score" }
            p { a href=(back) { "Back to the search" } }
            h2 { "“" (ask.query) "” under " (column) }
            h3.hush { "Where the score comes from" }
            (fragment)
        },
    )
}

/// An explanation.
pub fn explanation(answer: &ExplainResponse) -> Markup {
    html! {
        div.explanation {
            @for note in &answer.notes { (notice(NoticeKind::Info, html! { (note) })) }
            @if let Some(ranker) = &answer.ranker { (ranker_part(ranker)) }
            @if answer.models.len() > 1 { (fusion_line(answer)) }
            @if answer.shared_words.is_empty() {
                p { "No word of the query is in the document." }
            } @else {
                p { "In both: " (words(&answer.shared_words)) "." }
            }
            @for model in &answer.models { (model_part(model, answer.models.len() > 1)) }
            @if answer.models.is_empty() && answer.ranker.is_none() {
                (notice(NoticeKind::Info, html! { "No model gave it a score." }))
            }
        }
    }
}

/// Words, each emphasised.
pub fn words(list: &[String]) -> Markup {
    html! { @for (i, word) in list.iter().enumerate() { @if i > 0 { ", " } em { (word) } } }
}

/// The sum of the fused score in one line, then a table of the models.
fn fusion_line(answer: &ExplainResponse) -> Markup {
    let largest = answer.models.iter().fold(0.0, |most: f64, m| most.max(m.contribution.abs()));
    let total: f64 = answer.models.iter().map(|m| m.contribution).sum();
    let d = digits(largest.max(total.abs()));
    let both = answer.models.iter().any(|m| m.contribution < 0.0);
    html! {
        p.sum-line {
            @if answer.ranker.is_some() { "fused score " } @else { "score " }
            strong { (fixed(total, d)) } " = "
            (terms(answer.models.iter().map(|m| (m.contribution, m.model.name.as_str())), d))
        }
        (parts_table("parts fusion", "Fusion of the models", &[("model", false), ("score", true), ("computed as", false), ("contribution", true)], html! {
            tbody { @for model in &answer.models { tr {
                th scope="row" { (model.model.name) }
                td.n { (fixed(model.score, digits(model.score.abs()))) }
                td { (model.how) }
                td.n { (signed(model.contribution, d)) }
                td.bars { (bar(model.contribution, largest, both)) }
            } } }
        }))
    }
}

/// A table of contributions; `headings` say which columns hold numbers, and the last column has bars.
fn parts_table(class: &str, caption: &str, headings: &[(&str, bool)], rows: Markup) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) { table class=(class) {
            caption { (caption) }
            thead { tr {
                @for (name, number) in headings {
                    th class=[number.then_some("n")] scope="col" { (name) }
                }
                td {}
            } }
            (rows)
        } }
    }
}

/// Named contributions as a sum.
fn terms<'a>(contributions: impl Iterator<Item = (f64, &'a str)>, digits: usize) -> Markup {
    html! {
        @for (i, (value, name)) in contributions.enumerate() {
            @if i > 0 { @if value < 0.0 { " − " } @else { " + " } }
            span.term { (fixed(if i > 0 { value.abs() } else { value }, digits)) " " span.quiet { "(" (name) ")" } }
        }
    }
}

/// The score of a model, part by part.
fn model_part(model: &ModelExplanation, one_of_many: bool) -> Markup {
    let d = digits(model.score.abs());
    html! {
        section.model-part {
            h4 {
                (model.model.name)
                span.quiet { " · score " (fixed(model.score, d)) }
                @if one_of_many { span.quiet { " · contribution " (signed(model.contribution, digits(model.contribution.abs()))) } }
            }
            @if !one_of_many && !model.how.is_empty() { p.quiet.small { (model.how) } }
            @if model.parts.len() > 1 { (mix_line(model, d)) }
            @for part in &model.parts { (matcher_part(part, model.parts.len() > 1)) }
        }
    }
}

/// The sum of a linear mix in one line.
fn mix_line(model: &ModelExplanation, d: usize) -> Markup {
    html! {
        p.sum-line {
            strong { (fixed(model.score, d)) } " = "
            (terms(model.parts.iter().map(|part| (part.contribution, part.method.as_str())), d))
        }
    }
}

/// The score of a matcher: bars of words, or the heat map of pairs of words.
fn matcher_part(part: &PartExplanation, one_of_many: bool) -> Markup {
    html! {
        @if one_of_many {
            h5 { (part.method) span.quiet {
                " · own score " (fixed(part.score, digits(part.score.abs())))
                ", weight " (fixed(part.weight, 2)) ", contribution " (signed(part.contribution, digits(part.contribution.abs())))
            } }
        }
        @if part.contributions.is_empty() {
            p.quiet {
                @if part.lexical { "The document has no word of the query: score 0." }
                @else if part.n_rest > 0 { "No pair stands out: " (count(part.n_rest, "small pair")) " add up to " (fixed(part.rest, digits(part.rest.abs()))) "." }
                @else { "Nothing in the query and the document is known to it." }
            }
        } @else if part.lexical || is_diagonal(part) {
            (word_bars(part))
        } @else {
            (heat_map(part))
        }
    }
}

/// Whether a heat map would only show a diagonal, because every word is paired with itself.
fn is_diagonal(part: &PartExplanation) -> bool {
    part.contributions.iter().all(|line| line.query == line.doc)
}

/// The contribution of each word, as a bar.
fn word_bars(part: &PartExplanation) -> Markup {
    let largest =
        part.contributions.iter().fold(part.rest.abs(), |most, line| most.max(line.value.abs()));
    let total = part.contributions.iter().map(|line| line.value).sum::<f64>() + part.rest;
    let d = digits(largest.max(total.abs()));
    let both = part.rest < 0.0 || part.contributions.iter().any(|line| line.value < 0.0);
    html! {
        (parts_table("parts", "Contribution of each word", &[("word", false), ("contribution", true)], html! {
            tbody {
                @for line in &part.contributions { tr {
                    th scope="row" { (line.query) @if line.doc != line.query { span.quiet { " ~ " } (line.doc) } }
                    td.n title=(fixed(line.value, d + 2)) { (fixed(line.value, d)) }
                    td.bars { (bar(line.value, largest, both)) }
                } }
                @if part.n_rest > 0 || part.rest != 0.0 { tr {
                    th scope="row" { @if part.n_rest > 0 { "all smaller ones (" (part.n_rest) ")" } @else { "rounding" } }
                    td.n { (fixed(part.rest, d)) }
                    td.bars { (bar(part.rest, largest, both)) }
                } }
            }
            tfoot { tr { th scope="row" { "sum" } td.n { (fixed(total, d)) } td {} } }
        }))
    }
}

/// The most features of a ranker that are listed.
const MOST_FEATURES: usize = 15;

/// The contribution of each feature to the ranker's score.
fn ranker_part(ranker: &RankerExplanation) -> Markup {
    let (shown, rest) = ranker.features.split_at(ranker.features.len().min(MOST_FEATURES));
    let rest_sum: f64 = rest.iter().map(|f| f.contribution).sum();
    let total = ranker.base + ranker.features.iter().map(|f| f.contribution).sum::<f64>();
    let largest = shown
        .iter()
        .map(|f| f.contribution.abs())
        .fold(ranker.base.abs().max(rest_sum.abs()), f64::max);
    let d = digits(largest.max(total.abs()));
    html! {
        section.model-part {
            h4 { "Ranker " (ranker.ranker) span.quiet { " · score " (fixed(ranker.score, d)) } }
            p.small.quiet { "The ranker re-ranks the candidates: its score is the sum of these contributions." }
            (parts_table("parts", "Contribution of each feature", &[("feature", false), ("value", true), ("contribution", true)], html! {
                tbody {
                    tr { th scope="row" { "base (every document)" } td.n {} td.n { (signed(ranker.base, d)) } td.bars { (bar(ranker.base, largest, true)) } }
                    @for feature in shown { tr {
                        th scope="row" { (feature.name) }
                        td.n { @match feature.value { Some(value) => { (fixed(f64::from(value), 3)) } None => { span.quiet { "missing" } } } }
                        td.n { (signed(feature.contribution, d)) }
                        td.bars { (bar(feature.contribution, largest, true)) }
                    } }
                    @if !rest.is_empty() { tr {
                        th scope="row" { (count(rest.len(), "other feature")) }
                        td.n {}
                        td.n { (signed(rest_sum, d)) }
                        td.bars { (bar(rest_sum, largest, true)) }
                    } }
                }
                tfoot { tr { th scope="row" { "sum" } td {} td.n { (fixed(total, d)) } td {} } }
            }))
        }
    }
}
