//! Model: what a model is, how its fit went, and what it has learnt.

mod dimensions;
mod facts;
mod history;
mod near;

use std::sync::Arc;

use liken::matchers::{Bilinear, Model};
use liken_engine::{Engine, Served};
use maud::{Markup, html};

use super::layout::{self, Tab, Tone, bar, empty, figure, fixed, notice};
use super::page_jobs::plots;
use super::page_params::PageParams;
use crate::api::types::SimilarRequest;
use crate::problem::Problem;
pub use dimensions::{Dimension, Pull, dimensions};
pub use facts::{facts, parameters, reports, statistics};
pub use history::History;
pub use near::{Look, drawn};
use near::{dictionary_part, near_part};

/// Words of each side of a dimension.
const WORDS: usize = 10;

/// `GET /model`.
pub fn page(engine: &Engine, parameters: &[(String, String)]) -> Result<Markup, Problem> {
    let asked = PageParams(parameters.to_vec());
    let name = asked.one("name").unwrap_or_default();
    let title = format!("Model {name}");
    let look = |request: &SimilarRequest| Ok(engine.similar(request)?);
    let body = body(&engine.active(), &look, &asked)?;
    Ok(layout::page(title.trim_end(), Tab::Model, body))
}

/// What is below the navigation.
pub fn body(active: &[Arc<Served>], look: Look<'_>, asked: &PageParams) -> Result<Markup, Problem> {
    let Some(first) = active.first() else {
        return Ok(html! {
            h1 { "Model" }
            (empty("This index has no active model", html! {
                p { "Train one, such as rmls, and load it with " code { "POST /models" } "." }
            }))
        });
    };
    let served = match asked.one("name") {
        None => first,
        Some(name) => {
            active.iter().find(|served| served.about.model.name == name).ok_or_else(|| {
                let names: Vec<&str> =
                    active.iter().map(|served| served.about.model.name.as_str()).collect();
                let name: String = name.chars().take(100).collect();
                Problem::missing(format!(
                    "no active model is called {name:?}; there are: {}",
                    names.join(", ")
                ))
            })?
        }
    };
    let name = &served.about.model.name;
    Ok(html! {
        h1 { "Model " (name) }
        (choose(active, name, asked, "/model"))
        (about(served))
        (near_part(look, served, asked))
        (dictionary_part(&served.model, asked))
        (dimensions_part(&served.model, asked)?)
    })
}

/// Links to the active models.
pub fn choose(active: &[Arc<Served>], chosen: &str, asked: &PageParams, path: &str) -> Markup {
    html! {
        @if active.len() > 1 {
            nav aria-label="Models" { ul.chips { @for served in active {
                @let name = &served.about.model.name;
                @let part = asked.one("part").map(|_| "");
                li { a.chip href=(asked.address(path, &[("name", name), ("page", ""), ("part", part.unwrap_or_default())]))
                    aria-current=[(name == chosen).then_some("page")] { (name) } }
            } } }
        }
    }
}

fn list(caption: &str, pairs: &[(String, String)]) -> Markup {
    html! {
        table.facts {
            caption { (caption) }
            tbody { @for (name, value) in pairs { tr { th scope="row" { (name) } td { (value) } } } }
        }
    }
}

/// What it is, its parts and their fits.
fn about(served: &Served) -> Markup {
    let model = &served.model;
    let reports = reports(&served.folder);
    let several = model.parts.len() > 1;
    let version = &served.about.model.version;
    html! {
        (list("What it is", &facts(model, version, served.about.neighbours.as_deref())))
        @if several {
            p.small.quiet { "A mix of " (model.parts.len()) " parts; scores are made comparable for each query and added with these weights." }
        }
        @for (at, part) in model.parts.iter().enumerate() {
            h2 { (part.params.name()) @if several { " × " (part.weight) } }
            @let fit = reports.get(at).map(History::of).unwrap_or_default();
            @for warning in &fit.warnings { (notice(Tone::Warn, html! { (warning) })) }
            @for (svgs, caption) in &fit.plots { (figure(caption, plots(svgs))) }
            @if !fit.facts.is_empty() { ul { @for fact in &fit.facts { li { (fact) } } } }
            @if part.matcher.is_lexical() {
                (list("What it counts with", &statistics(model)))
            }
            @let settings = parameters(part);
            @if !settings.is_empty() {
                details { summary { "Parameters" } (list("Parameters", &settings)) }
            }
        }
    }
}

/// The first latent space of a model.
fn space(model: &Model) -> Option<&Bilinear> {
    model.parts.iter().find_map(|part| part.matcher.bilinear())
}

fn dimensions_part(model: &Model, asked: &PageParams) -> Result<Markup, Problem> {
    let Some(space) = space(model) else { return Ok(html! {}) };
    let pages = space.dim().div_ceil(dimensions::PER_PAGE).max(1);
    let page = asked.number("page", 1)?.clamp(1, pages);
    let from = (page - 1) * dimensions::PER_PAGE;
    let range = from..from + dimensions::PER_PAGE;
    let shown = dimensions(space.maps(), &model.counts, range, WORDS);
    let link = |to: usize| asked.address("/model", &[("page", &to.to_string())]) + "#dimensions";
    Ok(html! {
        h2 #dimensions { "Latent dimensions by their strongest words" }
        p.small.quiet {
            "Words that point the same way along a dimension are alike to it: a query with one side’s blue words meets documents with the other’s, and so for the orange ones. Words are shown as the model reads them."
        }
        div.dimensions { @for dimension in &shown { (card(dimension)) } }
        @if pages > 1 {
            nav.pager aria-label="Pages of dimensions" {
                @if page > 1 { a.button rel="prev" href=(link(page - 1)) { "Before" } " " }
                span { "Page " (page) " of " (pages) } " "
                @if page < pages { a.button rel="next" href=(link(page + 1)) { "Next" } }
            }
        }
    })
}

fn card(dimension: &Dimension) -> Markup {
    // Where nothing points the other way, bars have the whole width.
    let pulls = || dimension.queries.iter().chain(&dimension.documents);
    let both = pulls().any(|(_, pull)| *pull < 0.0);
    let side = |heading: &str, pulls: &[Pull]| {
        let largest = pulls.first().map_or(1.0, |(_, pull)| f64::from(pull.abs()));
        html! {
            table.pulls {
                caption { (heading) }
                tbody { @for (word, pull) in pulls { tr {
                    th scope="row" title=(word) { (word) }
                    td.n { (fixed(f64::from(*pull), 2)) }
                    td { (bar(f64::from(*pull), largest, both)) }
                } } }
            }
            @if pulls.is_empty() { p.quiet.small { "no word" } }
        }
    };
    html! {
        section.card {
            h3 { "Dimension " (dimension.number) }
            div.beside { div { (side("queries", &dimension.queries)) } div { (side("documents", &dimension.documents)) } }
        }
    }
}
