//! The registry of models.

use super::*;
use crate::types::{ModelAbout, ModelRef};

fn named(name: &str, version: &str) -> ModelRef {
    ModelRef { name: name.into(), version: version.into() }
}

fn version(name: &str, version: &str) -> ModelEntry {
    let about = ModelAbout {
        model: named(name, version),
        active: false,
        method: "rmls".into(),
        dim: Some(8),
        loaded: 0.0,
        neighbours: None,
    };
    ModelEntry { about, folder: String::new() }
}

fn active(store: &Store) -> Vec<String> {
    let active = store.active_models().unwrap().into_iter();
    active.map(|ModelEntry { about, .. }| text(&about.model)).collect()
}

fn rolled_back(store: &Store) -> String {
    text(&store.roll_back("a").unwrap().about.model)
}

fn text(model: &ModelRef) -> String {
    format!("{} {}", model.name, model.version)
}

#[test]
fn activations_are_a_stack() {
    let (folder, store) = fresh();
    for (name, of) in [("a", "1"), ("b", "1"), ("a", "2"), ("a", "3")] {
        let added = store.add_model(&version(name, of)).unwrap().about;
        assert!(!added.active && added.loaded > 0.0 && added.dim == Some(8));
    }
    assert!(active(&store).is_empty());
    assert!(matches!(store.activate(&named("a", "9")), Err(StoreError::Missing(_))));
    assert!(matches!(store.roll_back("a"), Err(StoreError::Missing(_))));
    store.activate(&named("b", "1")).unwrap();
    for of in ["1", "2", "2", "3"] {
        assert!(store.activate(&named("a", of)).unwrap().about.active);
    }
    assert_eq!(active(&store), ["a 3", "b 1"]);
    assert_eq!(text(&store.version_before("a").unwrap().about.model), "a 2");
    assert_eq!(rolled_back(&store), "a 2");
    assert_eq!(active(&store), ["a 2", "b 1"]);
    drop(store);
    let store = reopened(&folder.path().join("store.sqlite")).unwrap();
    assert_eq!(active(&store), ["a 2", "b 1"]);
    assert_eq!(rolled_back(&store), "a 1", "a version activated twice is one step");
    assert!(matches!(store.roll_back("a"), Err(StoreError::Missing(_))));
    assert_eq!(active(&store), ["a 1", "b 1"]);
    store.activate(&named("a", "3")).unwrap();
    assert_eq!(rolled_back(&store), "a 1", "what was taken back stays so");
    assert!(matches!(store.version_before("b"), Err(StoreError::Missing(_))));
    assert!(matches!(store.roll_back("b"), Err(StoreError::Missing(_))));

    let moved = ModelEntry { folder: "elsewhere".into(), ..version("a", "1") };
    let moved = store.add_model(&moved).unwrap();
    assert!(moved.about.active && moved.folder == "elsewhere");
    assert_eq!(store.models().unwrap().len(), 4);
}
