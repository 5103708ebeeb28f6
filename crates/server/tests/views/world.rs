//! What the tests look at, and what holds of every page.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use liken::Run;
use liken::data::Dataset;
use liken::features::Preparation;
use liken::matchers::{Mixture, Params};
use liken::synth::{Synthetic, SyntheticLog};
use liken::training::train;
use liken_engine::{Changed, ServedModel};
use liken_server::api::types::{Judgment, ModelAbout, ModelRef};
use liken_server::pages::compare::CompareSources;
use liken_server::pages::page_params::PageParams;
use liken_server::problem::Problem;
use maud::Markup;

/// A dataset and models of it.
pub struct World {
    _folder: tempfile::TempDir,
    pub dataset: Dataset,
    pub models: Vec<Arc<ServedModel>>,
}

/// A demo log and models, made once for all tests.
pub fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let log = Synthetic { scale: 0.2, ..Synthetic::new(SyntheticLog::Demo) };
        log.write(&data, false, &Run::silent()).unwrap();
        let dataset = Dataset::open(&data).unwrap();
        let specs = [
            ("bm25", "bm25"),
            ("rmls", "rmls"),
            ("mix", "0.5*pls+0.5*bm25"),
            ("lsi", "lsi"),
            ("translation", "translation"),
        ];
        let models = specs.map(|(name, spec)| serve(&dataset, folder.path(), name, spec)).into();
        World { _folder: folder, dataset, models }
    })
}

fn serve(dataset: &Dataset, folder: &Path, name: &str, spec: &str) -> Arc<ServedModel> {
    let mixture = Mixture::parse(spec).unwrap();
    let params: Vec<Params> = mixture
        .parts
        .iter()
        .map(|(_, name)| {
            let mut params = Params::named(name).unwrap();
            if params.has_dim() {
                params.set("dim", "25").unwrap();
            }
            params
        })
        .collect();
    let trained =
        train(dataset, &Preparation::default(), &mixture, &params, &Run::silent()).unwrap();
    let path = folder.join(name);
    trained.save(&path, false, Duration::ZERO).unwrap();
    let about = ModelAbout {
        model: ModelRef { name: name.into(), version: "1".into() },
        active: true,
        method: spec.into(),
        dim: None,
        loaded: 0.0,
        neighbours: Some("exact".into()),
    };
    Arc::new(ServedModel::alone(about, path, trained.model))
}

pub fn served(name: &str) -> Arc<ServedModel> {
    world().models.iter().find(|served| served.about.model.name == name).unwrap().clone()
}

pub fn asked(pairs: &[(&str, &str)]) -> PageParams {
    PageParams(pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
}

pub fn no_judgments() -> Result<Vec<Judgment>, Problem> {
    Ok(Vec::new())
}

pub fn no_names() -> Result<HashMap<String, String>, Problem> {
    Ok(HashMap::new())
}

pub fn material(
    judged: &'static dyn Fn() -> Result<Vec<Judgment>, Problem>,
) -> CompareSources<'static> {
    let world = world();
    let dataset = Some(&world.dataset);
    CompareSources {
        models: world.models.clone(),
        dataset,
        judgments: judged,
        named: &no_names,
        has_any: &has_any,
        changed: Changed::default(),
    }
}

/// Whether the index would have one of these documents.
pub fn has_any(ids: &[String]) -> Result<bool, Problem> {
    let known = &served("bm25").model.counts.doc_ids;
    Ok(ids.iter().any(|id| known.contains(id)))
}

/// The page once the work in the background is done.
pub fn done(look: impl Fn() -> Result<Markup, Problem>) -> String {
    for _ in 0..600 {
        let html = look().unwrap().into_string();
        if !html.contains("data-reload") {
            return html;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("it is never done");
}

/// No page carries script or style of its own, or an address that runs script.
pub fn is_clean(html: &str) {
    for bad in ["<script", "style=", "javascript:", "onclick", "NaN", "inf<"] {
        assert!(!html.contains(bad), "{bad} in\n{html}");
    }
    // Every control has a label, every id is there once.
    let ids: Vec<&str> =
        html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    for label in html.split("<label for=\"").skip(1) {
        let id = label.split('"').next().unwrap();
        assert!(ids.contains(&id), "a label of nothing: {id}");
    }
}
