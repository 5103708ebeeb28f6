//! The judgments, models and documents that a comparison uses.

use std::collections::HashMap;
use std::sync::Arc;

use liken::data::Dataset;
use liken_engine::{Changed, Engine, ServedModel};

use crate::api::types::Judgment;
use crate::problem::Problem;

/// The judgments, models and documents of an index; judgments are read when they are needed.
pub struct CompareSources<'a> {
    /// The active models.
    pub models: Vec<Arc<ServedModel>>,
    /// The dataset of the index.
    pub dataset: Option<&'a Dataset>,
    /// The grades of the Judge page.
    pub judgments: &'a dyn Fn() -> Result<Vec<Judgment>, Problem>,
    /// The texts of the Judge page's queries, by their ids in exported qrels.
    pub named: &'a dyn Fn() -> Result<HashMap<String, String>, Problem>,
    /// Whether any of these documents is in the index.
    pub has_any: &'a dyn Fn(&[String]) -> Result<bool, Problem>,
    /// Differences between the index and its dataset. Models rank the documents that they were trained on:
    /// with the current ones, no comparison would ever finish in an index that changes.
    pub changed: Changed,
}

/// Calls `work` with the sources of an index.
pub(super) fn with_sources<T>(
    engine: &Engine,
    work: impl FnOnce(&CompareSources<'_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let judgments = || Ok(engine.judgments(None)?);
    let named = || Ok(engine.store().judged_queries()?);
    let now = engine.snapshot();
    let has_any = |ids: &[String]| Ok(engine.has_any(&now, ids)?);
    work(&CompareSources {
        models: engine.active(),
        dataset: engine.dataset(),
        judgments: &judgments,
        named: &named,
        has_any: &has_any,
        changed: now.changed(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use liken::data::Document;
    use liken_engine::Changed;

    use crate::testing::small;

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
