//! A full disk.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::store::documents;

fn large(n: usize) -> Vec<(String, Body)> {
    (0..n).map(|i| (format!("large {i}"), saying("x".repeat(4000)))).collect()
}

#[test]
fn a_full_disk_ends_writes_and_not_reads() {
    let (folder, store) = fresh();
    store.upsert(vec![("a".into(), saying("first"))]).unwrap();
    store.limit(Some(1 << 20)).unwrap();
    let mut acknowledged = 1;
    let error = loop {
        let id = format!("{acknowledged}");
        match store.upsert(vec![(id, saying("y".repeat(9000)))]) {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full(_)), "{error:?}");
    assert!(matches!(crate::Error::from(error), crate::Error::Full(_)));
    assert!(store.is_full());
    assert_eq!(store.document("a"), Some((0, saying("first"))));
    assert_eq!(standing(&store).len(), acknowledged);
    assert!(matches!(store.upsert(large(50)), Err(StoreError::Full(_))), "still");
    store.limit(None).unwrap();
    store.upsert(large(50)).unwrap();
    assert!(!store.is_full());
    assert_eq!(standing(&store).len(), acknowledged + 50);
    drop(store);

    let path = folder.path().join("store.sqlite");
    let store = reopened(&path).unwrap();
    store.limit(Some(1 << 20)).unwrap();
    assert!(matches!(store.upsert(large(1000)), Err(StoreError::Full(_))));
    assert_eq!(standing(&store).len(), acknowledged + 50);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn what_does_not_fit_takes_nothing_else_with_it() {
    let (_folder, store) = fresh();
    store.limit(Some(1 << 20)).unwrap();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let store = &store;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            store.write(Space::Usual(0), move |_| {
                let _ = held.recv();
                Ok(())
            })
        });
        let threads: Vec<_> = (0..8)
            .map(|i| {
                scope.spawn(move || match i {
                    3 => matches!(store.upsert(large(1000)), Err(StoreError::Full(_))),
                    _ => store.upsert(vec![(i.to_string(), saying("small"))]).is_ok(),
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(50));
        drop(release);
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
    assert_eq!(standing(store).len(), 7);
}

#[test]
fn the_reserve_is_for_what_must_be_possible() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = Store::create(&path).unwrap();
    store.upsert(vec![("a".into(), saying("x")), ("b".into(), saying("x"))]).unwrap();
    store.add_key("old", crate::types::Scope::Read).unwrap();
    drop(store);
    let store = Store::open(&path, u64::MAX).unwrap();
    let error = store.upsert(vec![("c".into(), saying("x"))]).unwrap_err();
    assert!(matches!(&error, StoreError::Full(why) if why.contains("kept free")), "{error}");
    assert!(store.is_full());
    store.revoke_key("old").unwrap();
    store.delete(&["a".into()]).unwrap();
    assert_eq!(standing(&store).into_keys().collect::<Vec<_>>(), ["b"]);
}

/// A store on a disk that has as much space as `ask` says, of which 64 MiB are kept free.
fn on_disk(ask: fn(&Path) -> Option<u64>) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let connection = schema::connect(&path, schema::Access::Create).unwrap();
    schema::create(&connection).unwrap();
    let disk = Disk::measured_by(&path, 64 << 20, ask);
    (folder, Store::begin(&path, connection, disk, None))
}

#[test]
fn a_write_needs_disk_space_for_all_that_becomes_of_it() {
    static FREE: AtomicU64 = AtomicU64::new(67 << 20);
    let (folder, store) = on_disk(|_| Some(FREE.load(Ordering::Relaxed)));
    let bulk = || vec![("bulk".to_owned(), saying("x".repeat(37 << 20)))];
    let size = || -> u64 {
        let files = std::fs::read_dir(folder.path()).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    };
    let before = size();
    let error = store.upsert(bulk()).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, StoreError::Full(_)), "{text}");
    assert!(text.contains("67 MiB left") && text.contains("112 MiB for a while"), "{text}");
    assert_eq!((size(), store.last_change().unwrap()), (before, 0), "nothing was written");
    // Small ones still fit.
    assert!(!store.is_full());
    store.upsert(vec![("small".into(), saying("x"))]).unwrap();
    FREE.store((64 + 3 * 38) << 20, Ordering::Relaxed);
    store.upsert(bulk()).unwrap();
    // The text index has still to take it in, and the disk space for that is not given away.
    FREE.store((64 + 2) << 20, Ordering::Relaxed);
    let small = || vec![("small".to_owned(), saying("y"))];
    assert!(matches!(store.upsert(small()), Err(StoreError::Full(_))));
    assert!(!store.is_full());
    assert!(store.changes_after(store.last_change().unwrap(), 1, 0).unwrap().is_empty());
    store.upsert(small()).unwrap();
    assert_eq!(standing(&store).len(), 2);
}

#[test]
fn documents_take_no_more_than_is_counted() {
    for length in [1, 30, 200, 450, 600, 900, 1300, 1400, 2030, 2100, 3000, 4000, 4100, 6200, 9000]
    {
        let (folder, store) = fresh();
        let documents: Vec<(String, Body)> = (0..4_000_000 / (length + 400))
            .map(|n| (format!("document {n}"), saying("x".repeat(length))))
            .collect();
        let counted: usize = documents
            .iter()
            .map(|(id, body)| documents::taken(id, &documents::to_text(body).unwrap()))
            .sum();
        store.upsert(documents).unwrap();
        let of = |name: &str| folder.path().join(name).metadata().unwrap().len() as usize;
        // Besides, there are tables with nothing in them.
        let most = counted + (256 << 10);
        assert!(of("store.sqlite-wal") <= most + most / 100, "{length}: log");
        drop(store);
        assert!(of("store.sqlite") <= most, "{length}: {} of {most}", of("store.sqlite"));
    }
}

#[test]
fn requests_that_come_together_share_the_disk_space() {
    static FREE: AtomicU64 = AtomicU64::new((64 + 3 * 5) << 20);
    let (_folder, store) = on_disk(|_| Some(FREE.load(Ordering::Relaxed)));
    let (release, held) = std::sync::mpsc::channel::<()>();
    let store = &store;
    let written = std::thread::scope(|scope| {
        scope.spawn(move || {
            store.write(Space::Reserve, move |_| {
                let _ = held.recv();
                Ok(())
            })
        });
        let large = saying("x".repeat(2 << 20));
        let threads: Vec<_> = (0..8)
            .map(|i| {
                let large = large.clone();
                scope.spawn(move || store.upsert(vec![(i.to_string(), large)]).is_ok())
            })
            .collect();
        std::thread::sleep(Duration::from_millis(50));
        release.send(()).unwrap();
        threads.into_iter().map(|t| usize::from(t.join().unwrap())).sum::<usize>()
    });
    // The space of 5 MiB is that of two, also if they come one by one: what is written waits for
    // the text index.
    assert_eq!(standing(store).len(), written);
    assert!((1..=3).contains(&written), "{written}");
}

#[test]
fn disk_space_that_comes_back_is_seen_without_a_write() {
    static FREE: AtomicU64 = AtomicU64::new(60 << 20);
    let (_folder, store) = on_disk(|_| Some(FREE.load(Ordering::Relaxed)));
    assert!(store.is_full(), "before anybody wrote");
    assert!(store.upsert(vec![("a".into(), saying("x"))]).is_err());
    assert!(store.is_full());
    let until_full = |full: bool| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while store.is_full() != full {
            assert!(Instant::now() < deadline, "never full: {full}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    FREE.store(70 << 20, Ordering::Relaxed);
    until_full(false);
    FREE.store(0, Ordering::Relaxed);
    until_full(true);
}
