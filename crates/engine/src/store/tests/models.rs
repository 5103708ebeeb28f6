//! The registry of models.

use super::*;

fn version(name: &str, version: &str) -> ModelEntry {
    let (name, version) = (name.to_owned(), version.to_owned());
    ModelEntry { name, version, method: "rmls".into(), dim: Some(8), ..ModelEntry::default() }
}

fn active(store: &Store) -> Vec<String> {
    let active = store.active_models().unwrap().into_iter();
    active.map(|model| format!("{} {}", model.name, model.version)).collect()
}

#[test]
fn activations_are_a_stack() {
    let (folder, store) = fresh();
    for (name, of) in [("a", "1"), ("b", "1"), ("a", "2"), ("a", "3")] {
        let added = store.add_model(&version(name, of)).unwrap();
        assert!(!added.active && added.loaded > 0.0 && added.dim == Some(8));
    }
    assert!(active(&store).is_empty());
    assert!(matches!(store.activate("a", "9"), Err(StoreError::Missing(_))));
    assert!(matches!(store.roll_back("a"), Err(StoreError::Missing(_))));
    store.activate("b", "1").unwrap();
    for of in ["1", "2", "2", "3"] {
        assert!(store.activate("a", of).unwrap().active);
    }
    assert_eq!(active(&store), ["a 3", "b 1"]);
    assert_eq!(store.version_before("a").unwrap().version, "2");
    assert_eq!(store.roll_back("a").unwrap().version, "2");
    assert_eq!(active(&store), ["a 2", "b 1"]);
    drop(store);
    let store = Store::open(&folder.path().join("store.sqlite")).unwrap();
    assert_eq!(active(&store), ["a 2", "b 1"]);
    assert_eq!(store.roll_back("a").unwrap().version, "1", "a version activated twice is one step");
    assert!(matches!(store.roll_back("a"), Err(StoreError::Missing(_))));
    assert_eq!(active(&store), ["a 1", "b 1"]);
    store.activate("a", "3").unwrap();
    assert_eq!(store.roll_back("a").unwrap().version, "1", "what was taken back stays so");
    assert!(matches!(store.version_before("b"), Err(StoreError::Missing(_))));
    assert!(matches!(store.roll_back("b"), Err(StoreError::Missing(_))));

    let moved = ModelEntry { folder: "elsewhere".into(), ..version("a", "1") };
    let moved = store.add_model(&moved).unwrap();
    assert!(moved.active && moved.folder == "elsewhere");
    assert_eq!(store.models().unwrap().len(), 4);
}
