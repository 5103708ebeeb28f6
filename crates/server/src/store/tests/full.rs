//! A disk without room.

use super::*;

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
    assert_eq!(crate::problem::Problem::from(error).status, 507);
    assert!(store.is_full());
    assert_eq!(store.document("a").unwrap(), Some((0, saying("first"))));
    assert_eq!(standing(&store).len(), acknowledged);
    assert!(matches!(store.upsert(large(50)), Err(StoreError::Full(_))), "still");
    store.limit(None).unwrap();
    store.upsert(large(50)).unwrap();
    assert!(!store.is_full());
    assert_eq!(standing(&store).len(), acknowledged + 50);
    drop(store);

    let path = folder.path().join("store.sqlite");
    let limited = Options { max_bytes: Some(1 << 20), ..Options::default() };
    let store = Store::open_with(&path, limited).unwrap();
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
            store.write(Room::Usual, move |_| {
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
        std::thread::sleep(std::time::Duration::from_millis(50));
        release.send(()).unwrap();
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
    store.add_key("old", crate::engine::Scope::Read).unwrap();
    drop(store);
    let store =
        Store::open_with(&path, Options { reserve: u64::MAX, ..Options::default() }).unwrap();
    let error = store.upsert(vec![("c".into(), saying("x"))]).unwrap_err();
    assert!(matches!(&error, StoreError::Full(why) if why.contains("kept free")), "{error}");
    assert!(store.is_full());
    store.revoke_key("old").unwrap();
    store.delete(&["a".into()]).unwrap();
    assert_eq!(standing(&store).into_keys().collect::<Vec<_>>(), ["b"]);
}
