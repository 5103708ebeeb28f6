//! Events, and what they are as a raw log.

use serde_json::Value;

use super::*;
use crate::types::Event;

fn click(query: &str, id: &str) -> Event {
    let (query, id) = (query.to_owned(), Some(id.to_owned()));
    Event { kind: "click".into(), query, id, time: Some(1_763_215_620.7), ..Event::default() }
}

fn page(query: &str, shown: &[&str]) -> Event {
    let shown = shown.iter().map(ToString::to_string).collect();
    let (kind, query) = ("impression".into(), query.to_owned());
    Event { kind, query, shown, time: Some(1_763_215_600.0), ..Event::default() }
}

fn log(store: &Store) -> (Vec<Value>, ExportReport) {
    let mut out = Vec::new();
    let exported = store.export_events(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), exported)
}

#[test]
fn events_come_back_in_order_and_with_a_time() {
    let (folder, store) = fresh();
    let before = limits::now();
    let events = vec![
        Event { rank: Some(3), session: Some("s".into()), ..click("q\n\"x\"", "d") },
        Event { time: None, ..page("q", &["a", "b"]) },
        page("nothing found", &[]),
    ];
    assert_eq!(store.record(events.clone()).unwrap().written, 3);
    drop(store);
    let store = reopened(&folder.path().join("store.sqlite")).unwrap();
    assert_eq!(store.record(vec![click("later", "d")]).unwrap().written, 1);
    let found = store.events(0, 100).unwrap();
    assert_eq!(found.iter().map(|(no, _)| *no).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(found[0].1, events[0]);
    assert_eq!(found[2].1, events[2]);
    let time = found[1].1.time.unwrap();
    assert!(time >= before && time <= limits::now(), "now, if nothing is said");
    assert_eq!(found[1].1.shown, ["a", "b"]);
    assert_eq!(store.events(1, 2).unwrap(), found[1..3]);
    assert_eq!(store.events(4, 2).unwrap(), []);
    assert_eq!(store.count_events().unwrap(), 4);
    store.record(vec![click(" \t later\n", "d")]).unwrap();
    assert_eq!(store.events(4, 1).unwrap()[0].1.query, "later");
}

#[test]
fn what_cannot_have_happened_is_refused_with_all_that_came_with_it() {
    let (_folder, store) = fresh();
    let bad = [
        Event { kind: "view".into(), ..click("q", "d") },
        Event { id: None, ..click("q", "d") },
        Event { id: Some("d".into()), ..page("q", &["d"]) },
        click(" \n", "d"),
        click(&"q".repeat(LONGEST_QUERY + 1), "d"),
        click("q", ""),
        page("q", &["a", "b\n"]),
        page("q", &vec!["a"; limits::MOST_SHOWN + 1]),
        Event { rank: Some(0), ..click("q", "d") },
        Event { session: Some(String::new()), ..click("q", "d") },
        Event { time: Some(f64::NAN), ..click("q", "d") },
        Event { time: Some(-1.0), ..click("q", "d") },
        Event { time: Some(1.7e12), ..click("q", "d") },
    ];
    for event in bad {
        let error = store.record(vec![click("fine", "d"), event.clone()]).unwrap_err();
        assert!(matches!(&error, StoreError::Bad(why) if why.starts_with("event 2: ")), "{error}");
    }
    assert_eq!(store.count_events().unwrap(), 0);
}

#[test]
fn the_log_has_a_line_for_each_document_shown_or_clicked() {
    let (_folder, store) = fresh();
    let session = Some("s 1".to_owned());
    store
        .record(vec![
            Event { session: session.clone(), ..page("bread", &["a", "b", "a"]) },
            Event { session, rank: Some(2), ..click("bread", "b") },
            Event { shown: vec!["x".into(), "y".into()], ..click("tea\tcup", "y") },
            page("nothing", &[]),
        ])
        .unwrap();
    let (lines, said) = log(&store);
    let (shown, clicked) = ("2025-11-15T14:06:40Z", "2025-11-15T14:07:00Z");
    let expected = [
        json!({"time": shown, "session": "s 1", "query": "bread", "doc": "a", "rank": 1, "clicked": 0}),
        json!({"time": shown, "session": "s 1", "query": "bread", "doc": "b", "rank": 2, "clicked": 0}),
        json!({"time": clicked, "session": "s 1", "query": "bread", "doc": "b", "rank": 2, "clicked": 1}),
        json!({"time": clicked, "page": "event 3", "query": "tea\tcup", "doc": "x", "rank": 1, "clicked": 0}),
        json!({"time": clicked, "page": "event 3", "query": "tea\tcup", "doc": "y", "rank": 2, "clicked": 1}),
        json!({"time": shown, "query": "nothing", "clicked": 0}),
    ];
    assert_eq!(lines, expected);
    assert_eq!((said.taken, said.lines, said.left_out), (4, 6, 0));
}

#[test]
fn a_long_log_is_whole() {
    let (_folder, store) = fresh();
    let events: Vec<Event> = (0..11_000).map(|n| click(&format!("q{n}"), "d")).collect();
    store.record(events).unwrap();
    let (lines, _) = log(&store);
    assert_eq!(lines.len(), 11_000);
    assert!(lines.iter().enumerate().all(|(n, line)| line["query"] == format!("q{n}")));
}
