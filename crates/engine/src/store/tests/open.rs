//! Who may open which database.

use std::fs::File;
use std::io::Write;

use super::*;

#[test]
fn one_process_writes_and_others_may_look_on() {
    let (folder, store) = fresh();
    let path = folder.path().join("store.sqlite");
    store.upsert(vec![("a".into(), saying("x"))]).unwrap();
    let error = reopened(&path).err().unwrap();
    assert!(matches!(error, StoreError::Unavailable(_)));
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    let looking = Store::read_only(&path).unwrap();
    assert_eq!(standing(&looking).len(), 1);
    store.upsert(vec![("b".into(), saying("x"))]).unwrap();
    assert_eq!(standing(&looking).len(), 2, "what is written is seen at once");
    assert!(matches!(looking.upsert(vec![]), Err(StoreError::Bad(_))));
    drop(store);
    assert_eq!(standing(&looking).len(), 2);
    assert_eq!(standing(&reopened(&path).unwrap()).len(), 2);
}

#[test]
fn only_our_own_databases_are_opened() {
    let (folder, store) = fresh();
    let path = folder.path().join("store.sqlite");
    assert!(matches!(reopened(&folder.path().join("no")), Err(StoreError::Missing(_))));
    drop(store);
    assert!(matches!(Store::create(&path), Err(StoreError::Bad(_))), "nothing is overwritten");

    let newer = Connection::open(&path).unwrap();
    schema::set_meta(&newer, "schema", Some("2")).unwrap();
    drop(newer);
    for opened in [reopened(&path), Store::read_only(&path)] {
        let error = opened.err().unwrap();
        assert!(matches!(error, StoreError::Unusable(_)));
        let text = error.to_string();
        assert!(text.contains("version 2") && text.contains("newer liken"), "{text}");
    }

    let other = folder.path().join("other.sqlite");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t(a)").unwrap();
    assert!(matches!(reopened(&other), Err(StoreError::Unusable(_))));
    let noise = folder.path().join("noise.sqlite");
    File::create(&noise).unwrap().write_all(&[b'x'; 5000]).unwrap();
    assert!(reopened(&noise).is_err());
}

#[test]
fn what_opening_needs_stays_on_the_disk() {
    let (folder, store) = fresh();
    let path = folder.path().join("store.sqlite");
    drop(store);
    let store = reopened(&path).unwrap();
    store.upsert(vec![("a".into(), saying("x".repeat(1 << 20)))]).unwrap();
    drop(store);
    // An index of the log in its full length, and a log that takes no room.
    let length = |name: &str| folder.path().join(name).metadata().unwrap().len();
    assert_eq!((length("store.sqlite-wal"), length("store.sqlite-shm") >= 1 << 15), (0, true));
    for store in [Store::read_only(&path).unwrap(), reopened(&path).unwrap()] {
        assert_eq!(standing(&store).len(), 1);
    }
}
