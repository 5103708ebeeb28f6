//! Data: statistics of the index's dataset, the report of its import, and the changes since.

mod examples;
mod sections;

use std::sync::Arc;

use liken::data::Dataset;
use liken_engine::{Engine, ServedModel};
use maud::{Markup, html};
use serde::Serialize;

use super::dataset_stats::DatasetStats;
use super::layout::{self, Cell, Tab, TableColumn, empty, grouped};
use super::page_jobs::{MAX_WAIT, PageJobs, waiting};
use super::page_params::PageParams;
use crate::jobs::JobStatus;
use crate::problem::Problem;
use examples::examples;
use sections::sections;
pub use sections::{click_bins, statistics};

/// `GET /data`.
pub fn page(engine: &Engine, jobs: &PageJobs, asked: &PageParams) -> Result<Markup, Problem> {
    let status = engine.status();
    let live = LiveCounts {
        documents: status.documents,
        events: engine.store().count_events()? as usize,
        grades: engine.judgments(None).map_or(0, |judged| judged.len()),
        behind: status.written.saturating_sub(status.applied),
    };
    let body = body(&engine.active(), engine.dataset(), &live, jobs, asked)?;
    Ok(layout::page("Data", Tab::Data, body))
}

/// Current counts of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveCounts {
    /// Documents that search finds.
    pub documents: usize,
    /// Recorded events.
    pub events: usize,
    /// Current grades.
    pub grades: usize,
    /// Changes that search does not see yet.
    pub behind: u64,
}

/// The page below the navigation.
pub fn body(
    active: &[Arc<ServedModel>],
    dataset: Option<&Dataset>,
    now: &LiveCounts,
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
            JobStatus::Ready(stats) => sections(&stats),
            JobStatus::Running(progress) => waiting(
                "Counting the dataset.",
                &[("statistics".into(), progress)],
                &asked.address("/data", &[]),
            ),
        })
        (examples(dataset, from))
        (origin(dataset))
    })
}

/// The statistics, from the counts of a model of the dataset if there is one.
fn counted(
    active: &[Arc<ServedModel>],
    jobs: &PageJobs,
    dataset: &Dataset,
) -> Result<JobStatus<DatasetStats>, Problem> {
    let identity = dataset.folder.identity();
    let path = dataset.folder.path.clone();
    // A model with other evidence than clicks does not know how many there are.
    let fits = |served: &&Arc<ServedModel>| {
        let about = &served.model.about;
        about.dataset.identity == identity && about.evidence.is_none()
    };
    let served = active.iter().find(fits).cloned();
    jobs.dataset_stats.get(&identity, MAX_WAIT, move |reporter| {
        Ok(reporter.run(|run| {
            let dataset = Dataset::open(&path)?;
            match served {
                Some(served) => DatasetStats::of(&dataset, &served.model.counts, run),
                None => DatasetStats::count(&dataset, run),
            }
        })?)
    })
}

/// Current counts of the index, and its differences from the dataset.
fn live(live: &LiveCounts, dataset: Option<&Dataset>) -> Markup {
    let now = live.documents;
    let made = dataset.map(|dataset| dataset.about().counts.documents);
    let tile = |n: usize, noun: &str, rest: &str| {
        html! { strong { (grouped(n)) } " " (noun) (if n == 1 { "" } else { "s" }) " " (rest) }
    };
    html! {
        ul.tiles {
            li { (tile(now, "document", "now"))
                @match made {
                    Some(made) if now > made => { " (" (grouped(now - made)) " more than the dataset)" }
                    Some(made) if now < made => { " (" (grouped(made - now)) " fewer than the dataset)" }
                    Some(_) => { " (as many as the dataset)" }
                    None => {}
                }
            }
            li { (tile(live.events, "event", "recorded")) }
            li { (tile(live.grades, "grade", "given")) }
            @if live.behind > 0 { li { (tile(live.behind as usize, "change", "not searchable yet")) } }
        }
    }
}

/// The size of the dataset and of its splits.
fn sizes(dataset: &Dataset) -> Markup {
    let about = dataset.about();
    let counts = &about.counts;
    let parts = [
        ("training", None, counts.pairs),
        ("validation", Some(counts.validation.0), counts.validation.1),
        ("test", Some(counts.test.0), counts.test.1),
    ];
    let rows = parts.into_iter().map(|(name, queries, pairs)| {
        let queries =
            queries.unwrap_or_else(|| dataset.clicks.rows().filter(|row| !row.is_empty()).count());
        vec![Cell::text(name), Cell::count(queries), Cell::count(pairs)]
    });
    let split = serde_name(&about.split.by);
    let judged = serde_name(&about.evidence).replace('-', " ");
    html! {
        p {
            strong { (grouped(counts.queries)) } " queries, "
            strong { (grouped(counts.documents)) } " documents, "
            strong { (grouped(counts.clicks.max(0.0).round() as usize)) } " training clicks. Split by " (split)
            " (seed " (about.split.seed) "); relevance is given by " (judged) "."
            @if let Some(least) = about.min_clicks { " Training pairs with fewer than " (least) " clicks were dropped." }
        }
        (layout::table("Splits of the dataset", &[TableColumn::text("split"), TableColumn::number("queries"), TableColumn::number("pairs")], rows.collect()))
    }
}

/// The name of a variant in files.
fn serde_name(value: &impl Serialize) -> String {
    let name = serde_json::to_value(value).ok();
    name.as_ref().and_then(|name| name.as_str()).unwrap_or_default().to_owned()
}

/// The sources of the dataset, and the report of its import.
fn origin(dataset: &Dataset) -> Markup {
    let about = dataset.about();
    html! {
        h2 { "Sources" }
        @if about.sources.is_empty() { p { "It was generated, not imported." } }
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
