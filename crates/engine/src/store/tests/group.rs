//! Many who write at once.

use std::sync::mpsc::channel;
use std::time::Duration;

use super::*;
use crate::store::documents::insert;
use crate::store::sql::next_number;

#[test]
fn nothing_is_lost_and_a_bad_request_fails_alone() {
    let (_folder, store) = fresh();
    let store = &store;
    let (release, held) = channel::<()>();
    std::thread::scope(|scope| {
        // The writer waits, so that all others come together.
        scope.spawn(move || {
            store.write(Space::Usual(0), move |_| {
                let _ = held.recv();
                Ok(())
            })
        });
        for thread in 0..12 {
            scope.spawn(move || {
                for i in 0..25 {
                    let id = format!("{thread}-{i}");
                    match (thread + i) % 4 {
                        0 => {
                            let id = format!("bad {id}");
                            let bad = store.write(Space::Usual(0), move |connection| {
                                let no = next_number(connection)?;
                                insert(connection, no, &id, "{}")?;
                                // A second row of one number: the database itself says no.
                                insert(connection, no, &id, "{}")
                            });
                            assert!(matches!(bad, Err(StoreError::Unusable(_))), "{bad:?}");
                        }
                        1 => {
                            let bad = store.revoke_key(&id);
                            assert!(matches!(bad, Err(StoreError::Missing(_))));
                        }
                        _ => {
                            let written = store.upsert(vec![(id.clone(), saying(&id))]).unwrap();
                            assert_eq!((written.written, written.replaced), (1, 0));
                            let no = store.number(&id).unwrap().expect("what was acknowledged");
                            let changes = store.changes_after(written.sequence - 1, 1, 0).unwrap();
                            assert!(changes[0].added && changes[0].no == no);
                        }
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_millis(50));
        drop(release);
    });
    let found = standing(store);
    let expected: BTreeSet<String> = (0..12)
        .flat_map(|thread| (0..25).map(move |i| (thread, i)))
        .filter(|(thread, i)| (thread + i) % 4 > 1)
        .map(|(thread, i)| format!("{thread}-{i}"))
        .collect();
    assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), expected);
    assert!(found.iter().all(|(id, (_, body))| body == &saying(id)));
}

#[test]
fn readers_see_whole_writes() {
    let (_folder, store) = fresh();
    let ids: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let all = |text: &str| ids.iter().map(|id| (id.clone(), saying(text))).collect::<Vec<_>>();
    store.upsert(all("0")).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..40 {
                    let mut seen = BTreeMap::new();
                    let each = |_: u32, _: &str, body: Body| {
                        *seen.entry(body["title"].to_string()).or_insert(0) += 1;
                        Ok::<(), StoreError>(())
                    };
                    store.documents_from(0, each).unwrap();
                    assert_eq!(seen.into_values().collect::<Vec<_>>(), [20]);
                }
            });
        }
        for round in 1..40 {
            store.upsert(all(&round.to_string())).unwrap();
        }
    });
}
