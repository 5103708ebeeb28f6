//! Compare: models of the index and runs of any engine against the same judgments, with
//! intervals, tests, and every query's wins and losses.

mod by_query;
mod caveats;
mod choice;
mod fitting;
mod judged_queries;
mod material;
mod plots;
mod queries;
mod ranking;
mod sections;
mod uploads;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use liken::data::Dataset;
use liken::eval::trec::TrecRun;
use liken::eval::trec_eval::{EvalParams, MeasureColumn, columns_as};
use liken::eval::{RunComparison, Variant, compare_runs};
use liken_engine::{Engine, Served};
use maud::{Markup, html};

use super::layout::{self, Tab, empty};
use super::page_jobs::{PATIENCE, PageJobs, waiting};
use super::page_params::PageParams;
use crate::jobs::{Found, Progress};
use crate::problem::Problem;
use crate::runs::RunAbout;
pub use choice::{Choice, JudgedBy, System};
pub use judged_queries::{JudgedQueries, JudgedQuery};
use material::with_material;
pub use material::{Material, delete, keep, upload};
pub use queries::{Histogram, Outcome, QueryRow, Sort};
pub use ranking::rank;

/// Seed of the bootstrap and the randomisation test, so that a page looked at again says the same.
const SEED: u64 = 1;

/// `GET /compare`.
pub fn page(
    engine: &Engine,
    jobs: &PageJobs,
    parameters: &[(String, String)],
) -> Result<Markup, Problem> {
    let asked = PageParams(parameters.to_vec());
    let body = with_material(engine, |material| body(material, jobs, &asked))?;
    Ok(layout::page("Compare", Tab::Compare, body))
}

/// What is below the navigation.
pub fn body(
    material: &Material<'_>,
    jobs: &PageJobs,
    asked: &PageParams,
) -> Result<Markup, Problem> {
    let runs = jobs.runs.list();
    let all = systems(&material.models, &runs);
    let choice = Choice::of(asked, &all)?;
    columns(&choice.measures)?;
    let results = match questions(material, jobs, &choice)? {
        Asking::Nothing(why) => why,
        Asking::Later(progress) => {
            let again = asked.address("/compare", &[]);
            waiting("Judgments are read.", &[("judgments".into(), progress)], &again)
        }
        Asking::These(key, questions) => measured(jobs, asked, &choice, &key, &questions)?,
    };
    Ok(html! {
        h1 { "Compare" }
        (sections::form(asked, &choice, &all))
        (sections::changed(material.changed, choice.by))
        (results)
        (uploads::uploads(&runs))
    })
}

fn systems(models: &[Arc<Served>], runs: &[RunAbout]) -> Vec<System> {
    let models = models.iter().cloned().map(System::Model);
    models.chain(runs.iter().cloned().map(System::Uploaded)).collect()
}

/// The judged queries that are measured, with a key that identifies them.
enum Asking {
    These(String, Arc<JudgedQueries>),
    Later(Progress),
    Nothing(Markup),
}

fn questions(material: &Material<'_>, jobs: &PageJobs, choice: &Choice) -> Result<Asking, Problem> {
    let (models, candidates) = (&material.models, choice.candidates);
    let (key, questions) = match choice.by {
        JudgedBy::Page => {
            let judgments = (material.judged)()?;
            let known = |text: &str| {
                let counts = &models.first()?.model.counts;
                counts.query_ids.get(counts.find_query("", text)? as usize).cloned()
            };
            let named = (material.named)()?;
            let questions =
                JudgedQueries { named, ..JudgedQueries::judged(&judgments, candidates, known) };
            // New grades make a new comparison.
            let mut hasher = DefaultHasher::new();
            for query in questions.qrels.queries() {
                query.id.hash(&mut hasher);
                query.grades().for_each(|grade| grade.hash(&mut hasher));
            }
            (format!("judged {candidates} {:x}", hasher.finish()), Arc::new(questions))
        }
        JudgedBy::HeldOut(on) => {
            let Some(dataset) = material.dataset else {
                return Ok(Asking::Nothing(sections::no_dataset()));
            };
            let identity = dataset.folder.identity();
            let fits = |served: &&Arc<Served>| served.model.about.dataset.identity == identity;
            let Some(served) = models.iter().find(fits).cloned() else {
                return Ok(Asking::Nothing(sections::no_model_of_the_dataset()));
            };
            let key = format!("{} {candidates} {identity}", choice.by.name());
            let path = dataset.folder.path.clone();
            let found = jobs.questions.get(&key, PATIENCE, move |reporter| {
                reporter.report("reading judgments", 0, None);
                JudgedQueries::held_out(&Dataset::open(&path)?, on, candidates, &served.model)
            })?;
            match found {
                Found::Ready(questions) => (key, questions),
                Found::Working(progress) => return Ok(Asking::Later(progress)),
            }
        }
    };
    if questions.queries.is_empty() {
        return Ok(Asking::Nothing(sections::nothing_judged(choice.by)));
    }
    Ok(Asking::These(key, questions))
}

/// The tables and plots, or how far they are.
fn measured(
    jobs: &PageJobs,
    asked: &PageParams,
    choice: &Choice,
    key: &str,
    questions: &Arc<JudgedQueries>,
) -> Result<Markup, Problem> {
    if choice.systems.is_empty() {
        return Ok(empty(
            "Nothing to compare yet",
            html! { p { "This index has no active model. Upload runs of any engine below." } },
        ));
    }
    let mut ranked: Vec<(String, Arc<TrecRun>)> = Vec::new();
    let mut working = Vec::new();
    for system in &choice.systems {
        // Where one is not done, there is nothing to wait for with the others.
        let patience = if working.is_empty() { PATIENCE } else { Duration::ZERO };
        match ranking(jobs, system, key, questions, patience)? {
            Found::Ready(run) => ranked.push((system.name(), run)),
            Found::Working(progress) => working.push((system.name(), progress)),
        }
    }
    let again = asked.address("/compare", &[]);
    if !working.is_empty() {
        return Ok(waiting("Models rank the judged queries.", &working, &again));
    }
    let names: Vec<String> =
        choice.systems.iter().map(|e| format!("{}@{}", e.key(), e.version())).collect();
    let wanted = (choice.measures.clone(), choice.baseline, choice.complete);
    let study = format!("{key}\n{names:?}\n{wanted:?}");
    let (questions_there, (measures, baseline, complete)) = (Arc::clone(questions), wanted);
    let found = jobs.comparisons.get(&study, PATIENCE, move |reporter| {
        reporter.report("intervals and tests", 0, None);
        table(&questions_there, &ranked, &measures, baseline, complete)
    })?;
    Ok(match found {
        Found::Ready(comparison) => sections::results(asked, choice, questions, &comparison),
        Found::Working(progress) => {
            waiting("The table is worked out.", &[("comparison".into(), progress)], &again)
        }
    })
}

fn ranking(
    jobs: &PageJobs,
    system: &System,
    key: &str,
    questions: &Arc<JudgedQueries>,
    patience: Duration,
) -> Result<Found<TrecRun>, Problem> {
    let key = format!("{key}\n{}@{}", system.key(), system.version());
    let questions = Arc::clone(questions);
    match system.clone() {
        System::Model(served) => jobs.rankings.get(&key, patience, move |reporter| {
            let total = questions.queries.len() as u64;
            Ok(rank(&served.model, &questions, &|done| {
                reporter.report("ranking queries", done as u64, Some(total));
            }))
        }),
        System::Uploaded(about) => {
            let runs = Arc::clone(&jobs.runs);
            jobs.rankings.get(&key, patience, move |reporter| {
                reporter.report("reading the run", 0, None);
                Ok(questions.fitted(runs.open(&about.name)?))
            })
        }
    }
}

/// The measures as `liken compare` has them.
fn columns(measures: &str) -> Result<Vec<MeasureColumn>, Problem> {
    let columns = columns_as(&[measures], &Variant::default());
    // A measure that nobody knows is a word mistyped, not a page that is missing.
    columns.map_err(|error| Problem::bad(error.to_string()))
}

/// Measures the runs as `liken compare` measures models.
pub fn table(
    questions: &JudgedQueries,
    runs: &[(String, Arc<TrecRun>)],
    measures: &str,
    baseline: usize,
    complete: bool,
) -> Result<RunComparison, Problem> {
    let columns = columns(measures)?;
    let params =
        EvalParams { complete, judged_only: questions.judged_only, ..EvalParams::default() };
    let runs: Vec<(String, TrecRun)> =
        runs.iter().map(|(name, run)| (name.clone(), run.as_ref().clone())).collect();
    let compared = compare_runs(&questions.qrels, &runs, &columns, &params, baseline, SEED);
    compared.map_err(|error| match error {
        liken::Error::Empty { what, .. } => Problem::bad(format!(
            "{what}. Runs must use the ids (or the texts) of the judged queries; where each has some of them, tick “count missing queries as 0”"
        )),
        other => other.into(),
    })
}
