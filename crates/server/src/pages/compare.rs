//! Compare: models of the index and runs of any engine, evaluated with the same judgments, with
//! confidence intervals, significance tests and the wins and losses of every query.

mod by_query;
mod caveats;
mod fitting;
mod params;
mod plots;
mod queries;
mod ranking;
mod sections;
mod sources;
mod uploads;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use liken::data::Dataset;
use liken::eval::trec::TrecRun;
use liken::eval::trec_eval::{EvalParams, MeasureColumn, columns_as};
use liken::eval::{RunComparison, Variant, compare_runs};
use liken_engine::{Engine, ServedModel};
use maud::{Markup, html};

pub use super::judged_queries::{JudgedQueries, JudgedQuery};
use super::layout::{self, Tab, empty};
use super::page_jobs::{MAX_WAIT, PageJobs, waiting};
use super::page_params::PageParams;
use crate::jobs::JobStatus;
use crate::problem::Problem;
pub use params::{CompareParams, JudgedBy, System};
pub use queries::{Histogram, Order, Outcome, QueryRow, Sort};
pub use ranking::rank;
pub use sources::CompareSources;
use sources::with_sources;
pub use uploads::{store, upload};

/// The seed of the bootstrap and the randomisation test: reloading a page shows the same numbers.
const SEED: u64 = 1;

/// `GET /compare`.
pub fn page(engine: &Engine, jobs: &PageJobs, asked: &PageParams) -> Result<Markup, Problem> {
    let body = with_sources(engine, |sources| body(sources, jobs, asked))?;
    Ok(layout::page("Compare", Tab::Compare, body))
}

/// The page below the navigation.
pub fn body(
    sources: &CompareSources<'_>,
    jobs: &PageJobs,
    asked: &PageParams,
) -> Result<Markup, Problem> {
    let runs = jobs.runs.list();
    let models = sources.models.iter().cloned().map(System::Model);
    let all: Vec<System> = models.chain(runs.iter().cloned().map(System::Uploaded)).collect();
    let params = CompareParams::of(asked, &all)?;
    columns(&params.measures)?;
    let results = match judged(sources, jobs, asked, &params)? {
        Ok((key, judged)) => measured(jobs, asked, &params, &key, &judged)?,
        Err(placeholder) => placeholder,
    };
    Ok(html! {
        h1 { "Compare" }
        (sections::form(asked, &params, &all))
        (sections::changed(sources.changed, params.by))
        (results)
        (uploads::uploads(&runs))
    })
}

/// The judged queries with a key that identifies them, or a placeholder as long as there are none.
fn judged(
    sources: &CompareSources<'_>,
    jobs: &PageJobs,
    asked: &PageParams,
    params: &CompareParams,
) -> Result<Result<(String, Arc<JudgedQueries>), Markup>, Problem> {
    let (models, candidates) = (&sources.models, params.candidates);
    let (key, judged) = match params.by {
        JudgedBy::Page => {
            let judgments = (sources.judgments)()?;
            let known = |text: &str| {
                let counts = &models.first()?.model.counts;
                counts.query_ids.get(counts.find_query("", text)? as usize).cloned()
            };
            let named = (sources.named)()?;
            let judged = JudgedQueries {
                named,
                ..JudgedQueries::of_judgments(&judgments, candidates, known)
            };
            // New grades need a new comparison.
            let mut hasher = DefaultHasher::new();
            for query in judged.qrels.queries() {
                query.id.hash(&mut hasher);
                query.grades().for_each(|grade| grade.hash(&mut hasher));
            }
            (format!("judged {candidates} {:x}", hasher.finish()), Arc::new(judged))
        }
        JudgedBy::HeldOut(on) => {
            let Some(dataset) = sources.dataset else {
                return Ok(Err(sections::no_dataset()));
            };
            let identity = dataset.folder.identity();
            let fits = |served: &&Arc<ServedModel>| served.model.about.dataset.identity == identity;
            let Some(served) = models.iter().find(fits).cloned() else {
                return Ok(Err(sections::no_model_of_the_dataset()));
            };
            let key = format!("{} {candidates} {identity}", params.by.name());
            let path = dataset.folder.path.clone();
            let found = jobs.judged_queries.get(&key, MAX_WAIT, move |reporter| {
                reporter.report("reading judgments", 0, None);
                JudgedQueries::held_out(&Dataset::open(&path)?, on, candidates, &served.model)
            })?;
            match found {
                JobStatus::Ready(judged) => (key, judged),
                JobStatus::Running(progress) => {
                    let again = asked.address("/compare", &[]);
                    let jobs = [("judgments".into(), progress)];
                    return Ok(Err(waiting("Reading the judgments.", &jobs, &again)));
                }
            }
        }
    };
    if judged.queries.is_empty() {
        return Ok(Err(sections::nothing_judged(params.by)));
    }
    Ok(Ok((key, judged)))
}

/// The results of the comparison, or the progress of their jobs.
fn measured(
    jobs: &PageJobs,
    asked: &PageParams,
    params: &CompareParams,
    key: &str,
    judged: &Arc<JudgedQueries>,
) -> Result<Markup, Problem> {
    if params.systems.is_empty() {
        return Ok(empty(
            "Nothing to compare yet",
            html! { p { "This index has no active model. Upload runs of any engine below." } },
        ));
    }
    let mut ranked: Vec<(String, Arc<TrecRun>)> = Vec::new();
    let mut running = Vec::new();
    for system in &params.systems {
        // If one is not done, the page cannot be shown anyway.
        let max_wait = if running.is_empty() { MAX_WAIT } else { Duration::ZERO };
        match ranking(jobs, system, key, judged, max_wait)? {
            JobStatus::Ready(run) => ranked.push((system.name().to_owned(), run)),
            JobStatus::Running(progress) => running.push((system.name().to_owned(), progress)),
        }
    }
    let again = asked.address("/compare", &[]);
    if !running.is_empty() {
        return Ok(waiting("Ranking the documents of the judged queries.", &running, &again));
    }
    let names: Vec<String> =
        params.systems.iter().map(|e| format!("{}@{}", e.key(), e.version())).collect();
    let wanted = (params.measures.clone(), params.baseline, params.complete);
    let study = format!("{key}\n{names:?}\n{wanted:?}");
    let (owned, (measures, baseline, complete)) = (Arc::clone(judged), wanted);
    let found = jobs.comparisons.get(&study, MAX_WAIT, move |reporter| {
        reporter.report("intervals and tests", 0, None);
        table(&owned, &ranked, &measures, baseline, complete)
    })?;
    Ok(match found {
        JobStatus::Ready(comparison) => sections::results(asked, params, judged, &comparison),
        JobStatus::Running(progress) => {
            waiting("Computing intervals and tests.", &[("comparison".into(), progress)], &again)
        }
    })
}

fn ranking(
    jobs: &PageJobs,
    system: &System,
    key: &str,
    judged: &Arc<JudgedQueries>,
    max_wait: Duration,
) -> Result<JobStatus<TrecRun>, Problem> {
    let key = format!("{key}\n{}@{}", system.key(), system.version());
    let judged = Arc::clone(judged);
    match system.clone() {
        System::Model(served) => jobs.rankings.get(&key, max_wait, move |reporter| {
            let total = judged.queries.len() as u64;
            Ok(rank(&served.model, &judged, &|done| {
                reporter.report("ranking queries", done as u64, Some(total));
            }))
        }),
        System::Uploaded(about) => {
            let runs = Arc::clone(&jobs.runs);
            jobs.rankings.get(&key, max_wait, move |reporter| {
                reporter.report("reading the run", 0, None);
                Ok(judged.fitted(runs.open(&about.name)?))
            })
        }
    }
}

/// The measures, as for comparisons of models.
fn columns(measures: &str) -> Result<Vec<MeasureColumn>, Problem> {
    let columns = columns_as(&[measures], &Variant::default());
    // An unknown measure is a typing error, not a missing page.
    columns.map_err(|error| Problem::bad(error.to_string()))
}

/// Evaluates runs as [`liken::eval::compare`] evaluates models.
pub fn table(
    judged: &JudgedQueries,
    runs: &[(String, Arc<TrecRun>)],
    measures: &str,
    baseline: usize,
    complete: bool,
) -> Result<RunComparison, Problem> {
    let columns = columns(measures)?;
    let params = EvalParams { complete, judged_only: judged.judged_only, ..EvalParams::default() };
    let runs: Vec<(String, TrecRun)> =
        runs.iter().map(|(name, run)| (name.clone(), run.as_ref().clone())).collect();
    let compared = compare_runs(&judged.qrels, &runs, &columns, &params, baseline, SEED);
    compared.map_err(|error| match error {
        liken::Error::Empty { what, .. } => Problem::bad(format!(
            "{what}. Runs must use the ids (or the texts) of the judged queries; if each has some of them, tick “count missing queries as 0”"
        )),
        other => other.into(),
    })
}
