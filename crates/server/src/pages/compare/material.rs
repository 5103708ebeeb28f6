//! What the index has to compare and to judge by, and the runs that people bring and take away.

use std::collections::HashMap;
use std::sync::Arc;

use liken::data::Dataset;
use liken_engine::{Changed, Engine, Served};

use super::{choice, fitting};
use crate::api::types::Judgment;
use crate::pages::layout;
use crate::pages::page_jobs::PageJobs;
use crate::problem::Problem;
use crate::runs::RunAbout;

/// What there is to compare and to judge by.
pub struct Material<'a> {
    /// The active models.
    pub models: Vec<Arc<Served>>,
    /// The dataset of the index.
    pub dataset: Option<&'a Dataset>,
    /// The grades that people gave on the pages.
    pub judged: &'a dyn Fn() -> Result<Vec<Judgment>, Problem>,
    /// The texts of queries that were graded on the pages, by their ids in exported qrels.
    pub named: &'a dyn Fn() -> Result<HashMap<String, String>, Problem>,
    /// Whether any of these documents is in the index.
    pub has_any: &'a dyn Fn(&[String]) -> Result<bool, Problem>,
    /// How the index differs from its dataset. Rankings are of the documents that models were
    /// trained with: with those of the moment, no comparison would ever be done in an index that
    /// changes.
    pub changed: Changed,
}

/// Does `work` with what the index has to compare and to judge by.
pub(super) fn with_material<T>(
    engine: &Engine,
    work: impl FnOnce(&Material<'_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let judged = || Ok(engine.judgments(None)?);
    let named = || Ok(engine.store().judged_queries()?);
    let now = engine.snapshot();
    let has_any = |ids: &[String]| Ok(engine.has_any(&now, ids)?);
    work(&Material {
        models: engine.active(),
        dataset: engine.dataset(),
        judged: &judged,
        named: &named,
        has_any: &has_any,
        changed: now.changed(),
    })
}

/// `POST /runs`: keeps a run that can be measured here, and says where it is compared.
pub fn upload(
    engine: &Engine,
    jobs: &PageJobs,
    name: &str,
    text: &str,
) -> Result<(RunAbout, String), Problem> {
    // The same name twice in a table would leave everybody guessing.
    if engine.models()?.iter().any(|about| about.model.name == name.trim()) {
        return Err(Problem::bad(format!(
            "a model is called {:?}: a run needs another name",
            name.trim()
        )));
    }
    with_material(engine, |material| keep(material, jobs, name, text))
}

/// Keeps a run that can be measured by `material`, and says where it is compared.
pub fn keep(
    material: &Material<'_>,
    jobs: &PageJobs,
    name: &str,
    text: &str,
) -> Result<(RunAbout, String), Problem> {
    let run = jobs.runs.save(name, text, |run| fitting::check(run, material))?;
    let key = format!("{}{}", choice::UPLOADED, run.name);
    Ok((run, layout::address("/compare", &[("add", &key)])))
}

/// `POST /runs/delete`: says where to go on.
pub fn delete(jobs: &PageJobs, name: &str) -> Result<&'static str, Problem> {
    jobs.runs.delete(name)?;
    Ok("/compare")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use liken::data::Document;

    use super::*;
    use liken_engine::testing::small;

    #[test]
    fn runs_of_others_and_names_of_models_are_refused() {
        let (engine, folder) = (small(), tempfile::tempdir().unwrap());
        let jobs = PageJobs::new(folder.path());
        let (query, id) = ("car insurance".to_owned(), "cars".to_owned());
        engine.judge(vec![Judgment { query, id, grade: Some(2), judge: None }]).unwrap();
        let upload =
            |name: &str, text: &str| upload(&engine, &jobs, name, text).map(|(run, _)| run.name);
        let good = "car insurance,cars,1\n";
        for (name, text, said) in [
            ("bm25", good, "another name"),
            (" pls ", good, "another name"),
            ("run", "nobody asked this,cars,1\n", "car insurance"),
            ("run", "car insurance,nothing,1\n", "documents"),
        ] {
            let problem = upload(name, text).unwrap_err();
            assert!(problem.status == 400 && problem.detail.contains(said), "{problem}");
        }
        assert_eq!(upload(" run ", good).unwrap(), "run");
        assert_eq!(delete(&jobs, "run").unwrap(), "/compare");
        assert_eq!(delete(&jobs, "run").unwrap_err().status, 404);
    }

    #[test]
    fn later_and_gone_documents_are_counted() {
        let engine = small();
        assert_eq!(engine.snapshot().changed(), Changed::default());
        for id in ["new", "new", "sun"] {
            let document = Document { id: id.into(), fields: Default::default() };
            engine.upsert(vec![document]).unwrap();
        }
        let last = engine.delete(&["moon".into()]).unwrap().sequence;
        assert!(engine.wait_for(last, Duration::from_secs(60)));
        assert_eq!(engine.snapshot().changed(), Changed { added: 2, removed: 2 });
    }
}
