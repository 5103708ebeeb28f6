//! How connections are set up: what was acknowledged is on disk, and nobody waits for readers.

use super::*;

/// A setting of the connection, as SQLite says it.
fn pragma(connection: &Connection, name: &str) -> Result<String> {
    let value =
        connection.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))?;
    Ok(match value {
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text,
        other => format!("{other:?}"),
    })
}

#[test]
fn a_write_waits_for_the_disk_however_the_store_was_opened() {
    let (folder, created) = fresh();
    let path = folder.path().join("store.sqlite");
    let settings = |store: &Store| {
        let names = ["synchronous", "journal_mode", "foreign_keys", "query_only"];
        store
            .write(Space::Reserve, move |connection| {
                names.iter().map(|name| pragma(connection, name)).collect::<Result<Vec<_>>>()
            })
            .unwrap()
    };
    // synchronous: 0 OFF, 1 NORMAL, 2 FULL. In a write-ahead log only FULL syncs every commit.
    let expected = ["2", "wal", "1", "0"];
    assert_eq!(settings(&created), expected);
    drop(created);
    let opened = reopened(&path).unwrap();
    assert_eq!(settings(&opened), expected);
    assert_eq!(settings(&Store::open_for_keys(&path).unwrap()), expected);
}

#[test]
fn readers_see_the_log_and_cannot_write() {
    let (folder, store) = fresh();
    let path = folder.path().join("store.sqlite");
    let looking = Store::read_only(&path).unwrap();
    for store in [&store, &looking] {
        let read = store.read(|connection| {
            assert!(connection.execute("DELETE FROM documents", []).is_err());
            Ok([pragma(connection, "journal_mode")?, pragma(connection, "query_only")?])
        });
        assert_eq!(read.unwrap(), ["wal", "1"]);
    }
}
