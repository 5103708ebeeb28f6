//! Tests of the store.

mod crash;
mod documents;
mod durable;
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

/// The database at `path`, to read and to write.
fn reopened(path: &Path) -> Result<Store> {
    Store::open(path, RESERVE)
}

impl Store {
    /// Loads all documents of a new index; returns their number.
    fn load_all(&self, documents: impl IntoIterator<Item = (String, Body)>) -> Result<u32> {
        let mut loading = self.bulk_load()?;
        for (id, body) in documents {
            loading.push(id, &body)?;
        }
        loading.finish()
    }

    /// The number of documents of the bulk load.
    fn base(&self) -> u32 {
        self.read(|connection| schema::meta(connection, "base")).unwrap().unwrap().parse().unwrap()
    }

    /// The numbers of standing documents from `from` on, ascending.
    fn live_after(&self, from: u32) -> Vec<u32> {
        let mut numbers = Vec::new();
        self.ids_at(u64::MAX, |no, _| numbers.push(no)).unwrap();
        numbers.retain(|no| *no >= from);
        numbers
    }

    /// The number of the current document called `id`.
    fn number(&self, id: &str) -> Result<Option<u32>> {
        self.read(|connection| super::documents::number(connection, id))
    }

    /// The standing document called `id`, with its number.
    fn document(&self, id: &str) -> Option<(u32, Body)> {
        let no = self.number(id).unwrap()?;
        Some((no, self.bodies(&[no]).unwrap().pop()??))
    }

    /// Lets the database grow to `most` bytes; without limit if `None`.
    fn limit(&self, most: Option<u64>) -> Result<()> {
        self.write(Space::Reserve, move |connection| {
            let size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            // The largest number of pages that SQLite knows.
            let pages = most.map_or(4_294_967_294, |most| most as i64 / size);
            connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
            Ok(())
        })
    }
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
    assert_eq!(store.live_after(0), numbers.iter().copied().collect::<Vec<_>>());
    assert_eq!(store.count().unwrap(), numbers.len());
    let mut ids = BTreeMap::new();
    let end =
        store.ids_at(seen, |no, id| assert!(ids.insert(no, id.to_owned()).is_none())).unwrap();
    assert!(ids.keys().all(|&no| no < end));
    assert_eq!(ids.len(), by_id.len());
    for (id, (no, body)) in &by_id {
        assert_eq!(ids.get(no), Some(id));
        assert_eq!(store.number(id).unwrap(), Some(*no));
        assert_eq!(store.ids_of(&[*no]).unwrap(), [Some(id.clone())]);
        assert_eq!(store.document(id).as_ref(), Some(&(*no, body.clone())));
    }
    for no in store.gone_at(seen).unwrap() {
        assert!(!numbers.contains(&no));
        assert!(store.ids_of(&[no]).unwrap()[0].is_some(), "a number that is gone was something");
    }
    by_id
}

/// The numbers that stand after all changes, a few at a time.
fn replay(store: &Store) -> BTreeSet<u32> {
    let mut numbers: BTreeSet<u32> = (0..store.base()).collect();
    let mut after = 0;
    loop {
        let changes = store.changes_after(after, 7, u64::MAX).unwrap();
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
