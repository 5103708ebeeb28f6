//! Model: facts about a model, the history of its fit, neighbours and latent dimensions.

mod dimensions;
mod facts;
mod history;
mod near;

use std::sync::Arc;

use liken::matchers::Model;
use liken_engine::{Engine, ServedModel};
use maud::{Markup, html};

use super::layout::{self, NoticeKind, Tab, bar, empty, figure, fixed, notice, plots};
use super::model_choice;
use super::page_params::PageParams;
use super::paging::Paging;
use crate::api::types::SimilarRequest;
use crate::problem::Problem;
use dimensions::latent_space;
pub use dimensions::{Dimension, WordWeight, dimensions};
pub use facts::{facts, parameters, reports, statistics};
pub use history::FitHistory;
pub use near::FindSimilar;
use near::{dictionary_part, near_part};

/// The words of each side of a dimension.
const WORDS: usize = 10;

/// `GET /model`.
pub fn page(engine: &Engine, asked: &PageParams) -> Result<Markup, Problem> {
    let name = asked.one("name").unwrap_or_default();
    let title = format!("Model {name}");
    let find = |request: &SimilarRequest| Ok(engine.similar(request)?);
    let body = body(&engine.active(), &find, asked)?;
    Ok(layout::page(title.trim_end(), Tab::Model, body))
}

/// The page below the navigation.
pub fn body(
    active: &[Arc<ServedModel>],
    find: FindSimilar<'_>,
    asked: &PageParams,
) -> Result<Markup, Problem> {
    let Some(first) = active.first() else {
        return Ok(html! {
            h1 { "Model" }
            (empty("This index has no active model", html! {
                p { "Train one, such as rmls, and load it with " code { "POST /models" } "." }
            }))
        });
    };
    let served = model_choice::named(active, asked)?.unwrap_or(first);
    let name = &served.about.model.name;
    Ok(html! {
        h1 { "Model " (name) }
        (model_choice::links(active, name, asked, "/model"))
        (about(served))
        (near_part(find, served, asked))
        (dictionary_part(&served.model, asked))
        (dimensions_part(&served.model, asked)?)
    })
}

fn list(caption: &str, pairs: &[(String, String)]) -> Markup {
    html! {
        table.facts {
            caption { (caption) }
            tbody { @for (name, value) in pairs { tr { th scope="row" { (name) } td { (value) } } } }
        }
    }
}

/// Facts, and for each part its parameters and the history of its fit.
fn about(served: &ServedModel) -> Markup {
    let model = &served.model;
    let reports = reports(&served.folder);
    let several = model.parts.len() > 1;
    let version = &served.about.model.version;
    html! {
        (list("Facts", &facts(model, version, served.about.neighbours.as_deref())))
        @if several {
            p.small.quiet { "A mix of " (model.parts.len()) " parts; their scores are standardised per query and added with these weights." }
        }
        @for (at, part) in model.parts.iter().enumerate() {
            h2 { (part.params.name()) @if several { " × " (part.weight) } }
            @let fit = reports.get(at).map(FitHistory::of).unwrap_or_default();
            @for warning in &fit.warnings { (notice(NoticeKind::Warning, html! { (warning) })) }
            @for (svgs, caption) in &fit.plots { (figure(caption, plots(svgs))) }
            @if !fit.facts.is_empty() { ul { @for fact in &fit.facts { li { (fact) } } } }
            @if part.matcher.is_lexical() {
                (list("Counts", &statistics(model)))
            }
            @let settings = parameters(part);
            @if !settings.is_empty() {
                details { summary { "Parameters" } (list("Parameters", &settings)) }
            }
        }
    }
}

fn dimensions_part(model: &Model, asked: &PageParams) -> Result<Markup, Problem> {
    let Some(space) = latent_space(model) else { return Ok(html! {}) };
    let paging = Paging::new(asked.number("page", 1)?, space.dim(), dimensions::PER_PAGE);
    let shown = dimensions(space.maps(), &model.counts, paging.range(), WORDS);
    let address = |page: &str| asked.address("/model", &[("page", page)]) + "#dimensions";
    Ok(html! {
        h2 #dimensions { "Latent dimensions by their strongest words" }
        p.small.quiet {
            "A dimension matches queries and documents whose words have weights of the same sign: blue words match blue ones, orange words orange ones. Words are shown as the analyser reads them."
        }
        div.dimensions { @for dimension in &shown { (card(dimension)) } }
        (paging.nav("Pages of dimensions", address))
    })
}

fn card(dimension: &Dimension) -> Markup {
    let mut words = dimension.queries.iter().chain(&dimension.documents);
    let both = words.any(|(_, weight)| *weight < 0.0);
    let side = |heading: &str, words: &[WordWeight]| {
        let largest = words.first().map_or(1.0, |(_, weight)| f64::from(weight.abs()));
        html! {
            table.pulls {
                caption { (heading) }
                tbody { @for (word, weight) in words { tr {
                    th scope="row" title=(word) { (word) }
                    td.n { (fixed(f64::from(*weight), 2)) }
                    td { (bar(f64::from(*weight), largest, both)) }
                } } }
            }
            @if words.is_empty() { p.quiet.small { "no word" } }
        }
    };
    html! {
        section.card {
            h3 { "Dimension " (dimension.number) }
            div.beside { div { (side("queries", &dimension.queries)) } div { (side("documents", &dimension.documents)) } }
        }
    }
}
