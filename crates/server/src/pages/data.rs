//! Data: what the index was made of. How large and how sparse it is, how clicks are spread, what
//! import kept and dropped, and what has come since.

mod examples;
mod figures;
mod shown;

use std::sync::Arc;

use liken::data::Dataset;
use liken_engine::{Engine, Served};
use maud::{Markup, html};

use super::layout::{self, Cell, Tab, TableColumn, empty, grouped};
use super::page_jobs::{PATIENCE, PageJobs, waiting};
use super::page_params::PageParams;
use crate::jobs::Found;
use crate::problem::Problem;
use examples::examples;
pub use figures::{Bins, Figures, doubling};
pub use shown::{click_bins, shown, statistics};

/// `GET /data`.
pub fn page(
    engine: &Engine,
    jobs: &PageJobs,
    parameters: &[(String, String)],
) -> Result<Markup, Problem> {
    let asked = PageParams(parameters.to_vec());
    let status = engine.status();
    let live = Live {
        documents: status.documents,
        events: engine.store().count_events()? as usize,
        grades: engine.judgments(None).map_or(0, |judged| judged.len()),
        behind: status.written.saturating_sub(status.applied),
    };
    let body = body(&engine.active(), engine.dataset(), &live, jobs, &asked)?;
    Ok(layout::page("Data", Tab::Data, body))
}

/// What has come since the index was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Live {
    /// Documents that can be found now.
    pub documents: usize,
    /// Events recorded.
    pub events: usize,
    /// Grades that stand.
    pub grades: usize,
    /// Changes that search does not see yet.
    pub behind: u64,
}

/// What is below the navigation.
pub fn body(
    active: &[Arc<Served>],
    dataset: Option<&Dataset>,
    now: &Live,
    jobs: &PageJobs,
    asked: &PageParams,
) -> Result<Markup, Problem> {
    let Some(dataset) = dataset else {
        return Ok(html! {
            h1 { "Data" }
            (live(now, None))
            (empty("This index has no dataset inside", html! {
                p { "Build the index again from a dataset to see its statistics here." }
            }))
        });
    };
    let from = asked.number("from", 0)?;
    Ok(html! {
        h1 { "Data" }
        (live(now, Some(dataset)))
        (sizes(dataset))
        (match counted(active, jobs, dataset)? {
            Found::Ready(figures) => shown(&figures),
            Found::Working(progress) => waiting(
                "The dataset is counted.",
                &[("figures".into(), progress)],
                &asked.address("/data", &[]),
            ),
        })
        (examples(dataset, from))
        (origin(dataset))
    })
}

/// The figures, from a model's counts where one has them, else counted anew.
fn counted(
    active: &[Arc<Served>],
    jobs: &PageJobs,
    dataset: &Dataset,
) -> Result<Found<Figures>, Problem> {
    let identity = dataset.folder.identity();
    let path = dataset.folder.path.clone();
    // A model that made something else of the clicks cannot say how many there are.
    let fits = |served: &&Arc<Served>| {
        let about = &served.model.about;
        about.dataset.identity == identity && about.evidence.is_none()
    };
    let served = active.iter().find(fits).cloned();
    jobs.figures.get(&identity, PATIENCE, move |reporter| {
        let figures = reporter.run(|run| {
            let dataset = Dataset::open(&path)?;
            match served {
                Some(served) => Figures::of(&dataset, &served.model.counts, run),
                None => Figures::read(&dataset, run),
            }
        })?;
        Ok(figures)
    })
}

/// What has come and gone since the index was made.
fn live(live: &Live, dataset: Option<&Dataset>) -> Markup {
    let now = live.documents;
    let made = dataset.map(|dataset| dataset.about().counts.documents);
    html! {
        ul.tiles {
            li { strong { (grouped(now)) } (if now == 1 { " document now" } else { " documents now" })
                @match made {
                    Some(made) if now > made => { " (" (grouped(now - made)) " more than the dataset)" }
                    Some(made) if now < made => { " (" (grouped(made - now)) " fewer than the dataset)" }
                    Some(_) => { " (as many as the dataset)" }
                    None => {}
                }
            }
            li { strong { (grouped(live.events)) } (if live.events == 1 { " event recorded" } else { " events recorded" }) }
            li { strong { (grouped(live.grades)) } (if live.grades == 1 { " grade given" } else { " grades given" }) }
            @if live.behind > 0 {
                li { strong { (grouped(live.behind as usize)) } " changes not searchable yet" }
            }
        }
    }
}

/// How much there is, and how it was split.
fn sizes(dataset: &Dataset) -> Markup {
    let about = dataset.about();
    let counts = &about.counts;
    let parts = [
        ("training", None, counts.pairs),
        ("validation", Some(counts.validation.0), counts.validation.1),
        ("test", Some(counts.test.0), counts.test.1),
    ];
    let rows = parts.into_iter().map(|(name, queries, pairs)| {
        let whole = |n: usize| Cell { shown: html! { (grouped(n)) }, key: Some(n as f64) };
        let queries =
            queries.unwrap_or_else(|| dataset.clicks.rows().filter(|row| !row.is_empty()).count());
        vec![Cell::text(name), whole(queries), whole(pairs)]
    });
    let split = serde_json::to_value(about.split.by).ok();
    let split = split.as_ref().and_then(|by| by.as_str()).unwrap_or_default();
    let judged = serde_json::to_value(about.evidence).ok();
    let judged = judged.as_ref().and_then(|by| by.as_str()).unwrap_or_default().replace('-', " ");
    html! {
        p {
            strong { (grouped(counts.queries)) } " queries, "
            strong { (grouped(counts.documents)) } " documents, "
            strong { (grouped(counts.clicks.max(0.0).round() as usize)) } " training clicks. Split by " (split)
            " (seed " (about.split.seed) "), judged by " (judged) "."
            @if let Some(least) = about.min_clicks { " Training pairs with fewer than " (least) " clicks were dropped." }
        }
        (layout::table("Splits of the dataset", &[TableColumn::text("split"), TableColumn::number("queries"), TableColumn::number("pairs")], rows.collect()))
    }
}

/// Where it came from: sources, and what import kept and dropped.
fn origin(dataset: &Dataset) -> Markup {
    let about = dataset.about();
    html! {
        h2 { "Where it came from" }
        @if about.sources.is_empty() { p { "It was made, not imported." } }
        @else {
            ul { @for source in &about.sources {
                li { (source.name) " " span.quiet { "(" (source.role) ", " (grouped(source.bytes as usize)) " bytes, sha256 " (source.sha256.chars().take(12).collect::<String>()) "…)" } }
            } }
        }
        @if !about.report.is_empty() {
            details open { summary { "What import kept and dropped" } ul { @for line in &about.report { li { (line) } } } }
        }
        p.small.quiet { "Identity " span.id { (dataset.folder.identity()) } }
    }
}
