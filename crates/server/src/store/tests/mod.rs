//! Tests of the store.

mod crash;
mod documents;
mod events;
mod full;
mod group;
mod import;
mod judgments;
mod keys;
mod models;
mod open;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::*;

/// A store in a folder that ends with it.
fn fresh() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("store.sqlite")).unwrap();
    (folder, store)
}

/// A body that says `text`.
fn saying(text: impl Into<String>) -> Body {
    let mut body = Body::new();
    body.insert("title".into(), json!(text.into()));
    body
}

/// The standing documents by id, read in every way that there is; all of them must agree.
fn standing(store: &Store) -> BTreeMap<String, (u32, Body)> {
    let mut by_id = BTreeMap::new();
    let seen = store
        .documents_from(0, |no, id, body| {
            assert!(by_id.insert(id.to_owned(), (no, body)).is_none(), "{id} stands twice");
            Ok::<(), StoreError>(())
        })
        .unwrap();
    assert_eq!(seen, store.last_change().unwrap());
    let replayed = replay(store);
    let numbers: BTreeSet<u32> = by_id.values().map(|(no, _)| *no).collect();
    assert_eq!(replayed, numbers, "the changes lead to what stands");
    assert_eq!(store.live_after(0).unwrap(), numbers.iter().copied().collect::<Vec<_>>());
    assert_eq!(store.count().unwrap(), numbers.len());
    let mut ids = BTreeMap::new();
    store.ids(|no, id| assert!(ids.insert(no, id.to_owned()).is_none())).unwrap();
    assert_eq!(ids.len(), by_id.len());
    for (id, (no, body)) in &by_id {
        assert_eq!(ids.get(no), Some(id));
        assert_eq!(store.number(id).unwrap(), Some(*no));
        assert_eq!(store.id(*no).unwrap().as_ref(), Some(id));
        assert_eq!(store.body(*no).unwrap().as_ref(), Some(body));
    }
    for no in store.gone().unwrap() {
        assert!(!numbers.contains(&no));
        assert!(store.id(no).unwrap().is_some(), "a number that is gone was something");
    }
    by_id
}

/// The numbers that stand after all changes, a few at a time.
fn replay(store: &Store) -> BTreeSet<u32> {
    let mut numbers: BTreeSet<u32> = (0..store.base().unwrap()).collect();
    let mut after = 0;
    loop {
        let changes = store.changes_after(after, 7).unwrap();
        let Some(last) = changes.last() else { return numbers };
        for change in &changes {
            assert_eq!(change.seq, after + 1, "in order, none left out");
            after = change.seq;
            if change.added {
                assert!(numbers.insert(change.no));
            } else {
                assert!(numbers.remove(&change.no));
            }
        }
        assert_eq!(last.seq, after);
    }
}
